"""Bounds on the risk of fine-tuning from a user's own sources: estimated from data, ranked, and shown on a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter

from transferscope.analyses.result import AnalysisResult
from transferscope.analyses.scaling.axes import log_ticks
from transferscope.data.load import load
from transferscope.data.splits import few_shot
from transferscope.data.task import check_label_units
from transferscope.errors import SettingsError
from transferscope.numerics.intervals import t_interval
from transferscope.report.blocks import Cell, Column, Figure, Section, Table, Text
from transferscope.report.figures.choice import beside_axis, short
from transferscope.report.figures.style import drawing, mark_styles, new_figure, tip
from transferscope.report.page import Verdict
from transferscope.study.read_alike import in_features_of
from transferscope.wording import few, listed
from transferscope_papers.theory.pair_bounds import estimate_pair, pair_bounds, same_classes


@dataclass(frozen=True)
class BoundsResult(AnalysisResult):
    """Bounds of Shachaf et al. 2021 for each source, and which of them each bound prefers.

    Attributes:
        target: As it was given.
        labels: Target labels that fine-tuning sees.
        values: By source, a column for each bound and a row for each draw of the labels, which all sources share.
        otherwise_named: Sources whose classes have other names than the target's.
    """

    kind: ClassVar[str] = "theory bounds"

    target: str
    labels: int
    values: Mapping[str, pd.DataFrame]
    otherwise_named: tuple[str, ...]

    @property
    def title(self) -> str:
        """The target and its labels."""
        return f"Bounds on fine-tuning: {self.target}, {self.labels:,} labels"

    @property
    def preferred(self) -> dict[str, str | None]:
        """By bound the source for which it is least; None where the draws do not tell, or there is one source."""
        found: dict[str, str | None] = {}
        for bound in map(str, next(iter(self.values.values()))):
            if bound.endswith("from scratch"):
                continue  # the same for every source
            best, *others = sorted(self.values, key=lambda name: float(self.values[name][bound].mean()))
            found[bound] = None
            if others:
                apart = (self.values[others[0]][bound] - self.values[best][bound]).to_numpy()
                ahead = t_interval(apart).interval if np.isfinite(apart).all() else None
                found[bound] = best if ahead is not None and ahead.low > 0 else None
        return found

    @property
    def verdict(self) -> Verdict:
        """Which source the bounds prefer, and how far they can be trusted."""
        told = [name for name in self.preferred.values() if name is not None]
        names = list(dict.fromkeys(told))
        if len(self.values) == 1:
            headline = f"There is one source, {next(iter(self.values))}, so that bounds have nothing to rank."
        elif not names:
            headline = f"No bound tells {listed(list(self.values))} apart."
        elif len(names) == 1:
            headline = (
                f"Start with {names[0]}: {len(told)} of {len(self.preferred)} bounds prefer it, and none another."
            )
        else:
            counts = [f"{name} by {told.count(name)}" for name in sorted(names, key=told.count, reverse=True)]
            headline = f"The bounds disagree: of {len(self.preferred)}, they prefer {listed(counts)}."
        draws = len(next(iter(self.values.values())))
        sentences = [
            "As numbers the bounds are loose (one above 1 bounds nothing): they are for ranking sources.",
            f"Values are means over {draws} draws of the labels; teachers and covariance are estimated once, and their "
            "error is not counted.",
        ]
        if self.otherwise_named:
            sentences.append(
                f"The classes of {few(self.otherwise_named)} have other names than the target's: the first is held for "
                "the first of the target's, and so on, so that another order of their names would give other bounds."
            )
        return Verdict({}, headline, tuple(sentences))

    def table(self) -> pd.DataFrame:
        """One row per source and bound: source, bound, value and stderr, of the mean over the draws."""
        parts = {name: pd.DataFrame({"value": own.mean(), "stderr": own.sem()}) for name, own in self.values.items()}
        return pd.concat(parts, names=["source", "bound"]).reset_index()

    def to_dict(self) -> dict[str, Any]:
        """As for every analysis, and "preferred", a source or None by bound, and "otherwise_named"."""
        return {**super().to_dict(), "preferred": self.preferred, "otherwise_named": list(self.otherwise_named)}

    def shown_tables(self) -> tuple[Table, ...]:
        """A row for each bound, a column for each source."""
        preferred, by_bound = self.preferred, self.table().groupby("bound", sort=False)
        rows = []
        for bound, own in by_bound:
            cells = [
                Cell(f"{value:.3g}", f"± {error:.1g}" if error > 1e-9 * value else "", "best" * (best == name))
                for name, value, error in own[["source", "value", "stderr"]].itertuples(index=False)
                for best in [preferred.get(str(bound))]
            ]
            rows.append((Cell(str(bound)), *cells))
        return (Table((Column("bound", numeric=False), *map(Column, self.values)), tuple(rows), "Smaller is better."),)

    def sections(self) -> list[Section]:
        """The figure and the table."""
        return [Section("The bounds", "bounds", (self._figure(), *self.shown_tables(), Text(_SOURCE, "note")))]

    def _figure(self) -> Figure:
        table = self.table()
        bounds, styles = list(dict.fromkeys(table["bound"])), mark_styles(list(self.values), None)

        def drawn(inches: float) -> Canvas:
            canvas = new_figure(inches, 1.1 + 0.3 * len(bounds))
            axes = canvas.subplots()
            for name, own in table[table["value"] > 0].groupby("source", sort=False):
                style, label = styles[str(name)], short(str(name), width=40)
                places = own["bound"].map(bounds.index)
                axes.errorbar(own["value"], places, xerr=own["stderr"], fmt="none", color=style.colour, linewidth=1)
                (marks,) = axes.plot(own["value"], places, style.mark, color=style.colour, label=label)
                tip(marks, *(f"{label}, {b}: {v:.3g}" for b, v in zip(own["bound"], own["value"], strict=True)))
            axes.set(xscale="log", xlabel="◂ better      bound", ylim=(len(bounds) - 0.5, -0.5))
            log_ticks(axes.xaxis, axes.get_xlim(), FuncFormatter(lambda value, _: f"{value:g}"))
            axes.set_yticks(range(len(bounds)), [beside_axis(name, width=32) for name in bounds])
            canvas.legend(loc="outside upper left", ncols=3 if inches > 5 else 1)
            return canvas

        with drawing():
            wide = drawn(7.0)
        return Figure("bounds", wide, table, "Each bound for each source, ± a standard error over the draws.", drawn)


_SOURCE = (
    "Theorems 4.2 and 6.1 and Corollary 6.3 of Shachaf, Brutzkus and Globerson 2021 (arXiv:2107.01641), for teachers, "
    "covariance and trained network as estimated from the data."
)


def bounds(
    target: str,
    sources: Sequence[str],
    *,
    labels: int = 100,
    transforms: Sequence[str] = (),
    examples: int = 1000,
    repeats: int = 5,
    constant: float = 1.0,
) -> BoundsResult:
    """Bound the risk of fine-tuning from each source.

    Args:
        sources: Data with the target's inputs and kind of labels, at least one.
        labels: Target labels n, at least 2.
        examples: Source examples, and target examples for its teacher, at least 2.
        repeats: Draws of the n labels, at least 2.
        constant: c of Theorem 4.2, which the theorem leaves open, above 0.

    Raises:
        SettingsError: A number is out of its range.
        DataError: Data cannot be read, or sources and target are not of one kind.
    """
    if repeats < 2 or not constant > 0 or examples < 2 or labels < 2:
        raise SettingsError(
            f"--repeats {repeats} --constant {constant:g} --examples {examples} --labels {labels}: expected at least 2 "
            "repeats, 2 examples and 2 labels, and a constant above 0"
        )
    task = load(target, transforms=tuple(transforms))
    train = task.train
    known = few_shot(train, min(examples, len(train)), seed=0)
    drawn = [few_shot(train, labels, seed=seed + 1) for seed in range(repeats)]
    values, otherwise_named = {}, []
    for name in dict.fromkeys(sources):
        other = load(in_features_of(name, target), transforms=tuple(transforms))
        check_label_units(other, task)
        given = other.train
        if not same_classes(given, train):
            otherwise_named.append(name)
        pair = estimate_pair(few_shot(given, min(examples, len(given)), seed=0), known)
        values[name] = pd.DataFrame([pair_bounds(pair, own, constant=constant) for own in drawn])
    return BoundsResult(target, labels, values, tuple(otherwise_named))
