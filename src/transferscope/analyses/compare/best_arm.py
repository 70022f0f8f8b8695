"""Details of the recommended arm: confused classes and misclassified examples."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Rectangle

from transferscope.analyses.compare.samples import Found, as_png, thumbnail
from transferscope.analyses.compare.summary import Summary
from transferscope.data.task import Dataset
from transferscope.report.blocks import Block, Figure, Gallery, Picture, Section, Text
from transferscope.report.figures.choice import MOST_CLASSES, beside_axis, short
from transferscope.report.figures.style import INK, drawing, new_figure, tip
from transferscope.wording import counted

_MOST_NARROW = 12  # classes that have room beside each other on a telephone
_HEAT, _MOST_HEAT = "#d55e00", 0.6  # so strong at most that text stays legible on light and dark paper
_MOST_ERRORS = 12
_ERROR_WIDTH = 56  # pixels on the page


def best_arm_section(summary: Summary, target: Found = None) -> Section | None:
    """Return a section on the recommended arm with the most labels; None without classes or its predictions."""
    frames, labels, classes = summary.frames, summary.frames.test_labels, summary.frames.classes
    if labels is None or classes is None or not frames.metric.is_of_classes:
        return None
    recommended = {c.n_target: c for c in summary.comparisons
                   if c.facts.name == summary.decided[c.n_target].recommended}  # fmt: skip
    if not recommended:
        return None
    n_target = max(recommended)
    source, method = recommended[n_target].arm
    cells = frames.method_cells
    own = cells[(cells["source"] == source) & (cells["method"] == method) & (cells["n_target"] == n_target)]
    by_seed = {
        int(seed): frames.predictions[key]
        for seed, key in zip(own["seed"], own["key"], strict=True)
        if key in frames.predictions
    }
    if not by_seed:
        return None
    blocks = (_draw_confusion(labels, classes, by_seed), *_errors(labels, classes, by_seed, target))
    name = frames.name_of(source, method)
    return Section(f"Confusion matrix: {name} with {counted(n_target, 'label')}", "best", blocks)


def _draw_confusion(labels: np.ndarray, classes: Sequence[str], by_seed: dict[int, np.ndarray]) -> Figure:
    n = len(classes)
    counts = sum(np.bincount(labels * n + predicted, minlength=n * n).reshape(n, n) for predicted in by_seed.values())
    mean = np.asarray(counts) / len(by_seed)
    sizes = np.bincount(labels, minlength=n)
    wrong = mean.sum(axis=1) - np.diag(mean)
    shown = sorted(np.argsort(-(wrong + mean.sum(axis=0) - np.diag(mean)), kind="stable")[:MOST_CLASSES])
    shares = 100.0 * mean[np.ix_(shown, shown)] / np.maximum(sizes[shown], 1)[:, None]
    names = [classes[i] for i in shown]
    table = pd.DataFrame(shares, index=names, columns=names)
    off = table.where(~np.eye(len(names), dtype=np.bool_) & (table > 0))

    def drawn(width: float) -> Canvas:
        canvas = new_figure(width, 1.0 + 0.23 * len(names))
        axes = canvas.subplots()
        _heat_map(axes, off)
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
        narrow=drawn if len(names) <= _MOST_NARROW else None,
        data=data,
        caption=(
            f"Percent of the test examples of each true class, mean over {counted(len(by_seed), 'seed')}; the diagonal "
            f"is correct.{left_out}"
        ),
    )


def _heat_map(axes: Axes, table: pd.DataFrame) -> None:
    """Draw percentages as coloured cells with numbers, transparent for light and dark backgrounds; NaN is empty."""
    values = table.to_numpy(dtype=np.float64)
    top = max(float(np.nanmax(values, initial=0.0)), 1.0)
    for i, j in np.ndindex(*values.shape):
        if np.isnan(values[i, j]):
            continue
        alpha = _MOST_HEAT * values[i, j] / top
        cell = Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=_HEAT, alpha=alpha, linewidth=0)
        axes.add_patch(cell)
        tip(cell, f"{table.index[i]} taken for {table.columns[j]}: {values[i, j]:.1f} %")
        axes.text(j, i, f"{values[i, j]:.0f}", ha="center", va="center", color=INK, fontsize="small")
    axes.set_xlim(-0.5, values.shape[1] - 0.5)
    axes.set_ylim(values.shape[0] - 0.5, -0.5)
    names = [short(str(name)) for name in table.columns]
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(table)), [beside_axis(str(name), width=30) for name in table.index])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def _errors(labels: np.ndarray, classes: Sequence[str], by_seed: dict[int, np.ndarray], target: Found) -> list[Block]:
    """Return images of test examples that most seeds misclassify alike; empty if they cannot be read."""
    if not (isinstance(target, Dataset) and target.test.is_image and np.array_equal(target.test.labels, labels)):
        return []
    votes = np.stack(list(by_seed.values()))
    wrong = np.where(votes == labels, -1, votes)
    counts = np.stack([(wrong == label).sum(axis=0) for label in range(len(classes))])
    often = counts.max(axis=0)
    order = [int(i) for i in np.argsort(-often, kind="stable")[:_MOST_ERRORS] if 2 * often[i] > len(by_seed)]
    if not order:
        return []
    taken = [classes[int(counts[:, i].argmax())] for i in order]
    mistakes = [f"{classes[int(labels[i])]} taken for {other}, {often[i]} of {len(by_seed)}"
            for i, other in zip(order, taken, strict=True)]  # fmt: skip
    pictures = tuple(
        Picture(as_png(thumbnail(target.test.inputs[i])), f"Test example {i}: {one}", _ERROR_WIDTH)
        for i, one in zip(order, mistakes, strict=True)
    )
    return [Text("What most seeds get wrong in the same way."), Gallery(pictures, tuple(mistakes))]
