"""The best way to learn from near: which classes it confuses, what it gets wrong, what it changed against scratch."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas

from transferscope.analyses.compare.figures import MOST_CONFUSED, MOST_NARROW, heat_map
from transferscope.analyses.compare.samples import Found, as_png, thumbnail
from transferscope.analyses.compare.summary import Summary
from transferscope.data.task import Dataset
from transferscope.numerics.intervals import t_interval
from transferscope.report.blocks import Block, Cell, Column, Figure, Gallery, Picture, Section, Table, Text
from transferscope.report.figures.choice import short
from transferscope.report.figures.style import INK, NARROW, drawing, mark_styles, new_figure, tip
from transferscope.study.frames import StudyFrames
from transferscope.wording import candidate_words, counted, signed

_MOST_ERRORS = 12
_ERROR_WIDTH = 56  # pixels on the page


def best_arm_section(summary: Summary, target: Found | None) -> Section | None:
    """The section at the largest number of labels; None without classes or predictions of the best way.

    Args:
        summary: The study.
        target: The target's data, or why they cannot be read.
    """
    frames = summary.frames
    if frames.test_labels is None or frames.classes is None or not frames.metric.is_of_classes:
        return None
    n_target = frames.sizes[-1]
    source, method = summary.arms[0]
    by_seed = _predictions(frames, source, method, n_target)
    if not by_seed:
        return None
    name = candidate_words(method, source or None)
    said = (
        f"{name[:1].upper()}{name[1:]}, the best over all numbers of labels, with {counted(n_target, 'label')} and "
        f"{counted(len(by_seed), 'seed')}."
    )
    blocks: list[Block] = [Text(said)]
    scratch = {} if frames.baseline in (None, method) else _predictions(frames, "", str(frames.baseline), n_target)
    changed = _changes(frames, by_seed, scratch)
    if not changed.empty:
        blocks.append(_draw_changes(changed, summary, method, n_target))
    blocks.append(_draw_confusion(frames, by_seed, n_target))
    blocks += _errors(frames, by_seed, target)
    return Section(f"The best way in detail: {summary.name_of(source, method)}", "best", tuple(blocks))


def _predictions(frames: StudyFrames, source: str, method: str, n_target: int) -> dict[int, np.ndarray]:
    """Predicted classes of the test set by seed."""
    cells = frames.method_cells
    own = cells[(cells["source"] == source) & (cells["method"] == method) & (cells["n_target"] == n_target)]
    return {
        int(seed): frames.predictions[key]
        for seed, key in zip(own["seed"], own["key"], strict=True)
        if key in frames.predictions
    }


def _changes(frames: StudyFrames, by_seed: dict[int, np.ndarray], scratch: dict[int, np.ndarray]) -> pd.DataFrame:
    """Error of every class from scratch minus that of the best way, in pairs of seeds.

    Returns:
        Columns class, n_examples, saved (mean over the seeds of both, points), low, high (a 95 % t-interval over
        seeds; NaN with fewer than three), n_seeds; by what is saved, the most first. Empty without shared seeds.
    """
    labels, classes = frames.test_labels, frames.classes
    assert labels is not None
    assert classes is not None
    shared = sorted(set(by_seed) & set(scratch))
    rows = []
    for label, name in enumerate(classes):
        own = labels == label
        if not own.any() or not shared:
            continue
        saved = np.array(
            [100.0 * (np.mean(by_seed[s][own] == label) - np.mean(scratch[s][own] == label)) for s in shared]
        )
        estimate = t_interval(saved)
        ends = estimate.interval if len(shared) > 2 else None
        rows.append(
            {
                "class": name,
                "n_examples": int(own.sum()),
                "saved": float(saved.mean()),
                "low": ends.low if ends else np.nan,
                "high": ends.high if ends else np.nan,
                "n_seeds": len(shared),
            }
        )
    table = pd.DataFrame(rows)
    return table if table.empty else table.sort_values("saved", ascending=False, kind="stable", ignore_index=True)


def _draw_changes(changed: pd.DataFrame, summary: Summary, method: str, n_target: int) -> Figure:
    """What changed class by class; of many classes those that changed most."""
    order = changed["saved"].abs().sort_values(ascending=False, kind="stable").index[:MOST_CONFUSED]
    shown = changed.loc[sorted(order)]
    style = mark_styles(summary.frames.methods, summary.frames.baseline)[method]
    span = max(float(shown["saved"].abs().max()), 1.0)
    with drawing():
        canvas = new_figure(NARROW, 0.8 + 0.26 * len(shown))
        axes = canvas.subplots()
        for row, (_, one) in enumerate(shown.iterrows()):
            ends = ""
            if not np.isnan(one["low"]):
                low, high = max(one["low"], -2.5 * span), min(one["high"], 2.5 * span)
                axes.plot([low, high], [row, row], color=style.colour, linewidth=1.8, solid_capstyle="round")
                ends = f" ({signed(one['low'], 1)} to {signed(one['high'], 1)})"
            (mark,) = axes.plot(one["saved"], row, style.mark, color=style.colour, markersize=6)
            tip(mark, f"{one['class']}: {signed(one['saved'], 1)} points{ends}, {one['n_examples']} test examples")
        axes.axvline(0, color=INK, linewidth=0.8, zorder=0.5)
        axes.set_yticks(range(len(shown)), [short(str(name)) for name in shown["class"]])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("Points over training from scratch")
    left_out = (
        f" Shown are the {len(shown)} of {len(changed)} classes that changed most." if len(shown) < len(changed) else ""
    )
    interval = (
        ", with 95 % intervals over seeds (on this test set, each class alone)" if shown["low"].notna().any() else ""
    )
    return Figure(
        name="class-changes",
        canvas=canvas,
        data=changed,
        caption=(
            f"What changed class by class against training from scratch with {n_target:,} labels: means over the "
            f"{counted(int(changed['n_seeds'].iloc[0]), 'seed')} of both{interval}.{left_out}"
        ),
    )


def _draw_confusion(frames: StudyFrames, by_seed: dict[int, np.ndarray], n_target: int) -> Figure:
    """How often each class is taken for which, in per cent of its test examples, mean over seeds."""
    labels, classes = frames.test_labels, frames.classes
    assert labels is not None
    assert classes is not None
    n = len(classes)
    counts = sum(np.bincount(labels * n + found, minlength=n * n).reshape(n, n) for found in by_seed.values())
    mean = np.asarray(counts) / len(by_seed)
    sizes = np.bincount(labels, minlength=n)
    wrong = mean.sum(axis=1) - np.diag(mean)
    shown = sorted(np.argsort(-(wrong + mean.sum(axis=0) - np.diag(mean)), kind="stable")[:MOST_CONFUSED])
    shares = 100.0 * mean[np.ix_(shown, shown)] / np.maximum(sizes[shown], 1)[:, None]
    names = [classes[i] for i in shown]
    table = pd.DataFrame(shares, index=names, columns=names)
    off = table.where(~np.eye(len(names), dtype=np.bool_) & (table > 0))

    def drawn(width: float) -> Canvas:
        canvas = new_figure(width, 1.4 + 0.3 * len(names))
        axes = canvas.subplots()
        heat_map(axes, off, "{row} taken for {column}: {value:.1f} %")
        for i, share in enumerate(np.diag(shares)):
            axes.text(i, i, f"{share:.0f}", ha="center", va="center", color=INK, fontsize="small", fontweight="bold")
        axes.set_xlabel("Predicted")
        axes.set_ylabel("True class")
        return canvas

    with drawing():
        wide = drawn(min(9.2, 2.2 + 0.42 * len(names)))
    left_out = f" Shown are the {len(names)} of {n} classes with most errors." if len(names) < n else ""
    data = pd.DataFrame(
        [
            {"true": classes[i], "predicted": classes[j], "n_examples": int(sizes[i]), "mean_count": float(mean[i, j])}
            for i in range(n)
            for j in range(n)
            if mean[i, j] > 0
        ]
    )
    return Figure(
        name="confusion",
        canvas=wide,
        narrow=(lambda: drawn(NARROW)) if len(names) <= MOST_NARROW else None,
        data=data,
        caption=(
            f"Confusion of classes with {n_target:,} labels, in per cent of the test examples of the true class, mean "
            f"over {counted(len(by_seed), 'seed')}; the diagonal is what is right.{left_out}"
        ),
    )


def _errors(frames: StudyFrames, by_seed: dict[int, np.ndarray], target: Found | None) -> list[Block]:
    """Test examples that most seeds take for the same wrong class, with their images where these can be read."""
    labels, classes = frames.test_labels, frames.classes
    assert labels is not None
    assert classes is not None
    votes = np.stack(list(by_seed.values()))
    wrong = np.where(votes == labels, -1, votes)
    counts = np.stack([(wrong == label).sum(axis=0) for label in range(len(classes))])
    often = counts.max(axis=0)
    order = [int(i) for i in np.argsort(-often, kind="stable")[:_MOST_ERRORS] if 2 * often[i] > len(by_seed)]
    if not order:
        return [Text("No test example is taken for the same wrong class by most seeds.")]
    taken = [classes[int(counts[:, i].argmax())] for i in order]
    note = Text(
        "Errors that most seeds make alike. A study keeps the predicted classes and not their probabilities, so that "
        "how confident a network was is not known.",
    )
    words = [
        f"{classes[int(labels[i])]} taken for {other} in {often[i]} of {len(by_seed)}"
        for i, other in zip(order, taken, strict=True)
    ]
    if isinstance(target, Dataset) and target.test.is_image and np.array_equal(target.test.labels, labels):
        pictures = tuple(
            Picture(as_png(thumbnail(target.test.inputs[i])), f"Test example {i}: {said}", _ERROR_WIDTH)
            for i, said in zip(order, words, strict=True)
        )
        return [note, Gallery(pictures, tuple(words))]
    why = [Text(target, "note")] if isinstance(target, str) else []
    return [note, *why, _errors_table(order, labels, classes, taken, often, len(by_seed))]


def _errors_table(
    order: Sequence[int],
    labels: np.ndarray,
    classes: Sequence[str],
    taken: Sequence[str],
    often: np.ndarray,
    n_seeds: int,
) -> Table:
    columns = (
        Column("Test example", "Its place in the test set, from 0"),
        Column("True class", numeric=False),
        Column("Taken for", numeric=False),
        Column("Seeds"),
    )
    rows = tuple(
        (Cell(f"{i}"), Cell(classes[int(labels[i])]), Cell(other), Cell(f"{often[i]} of {n_seeds}"))
        for i, other in zip(order, taken, strict=True)
    )
    return Table(columns, rows, "Errors that most seeds make alike")
