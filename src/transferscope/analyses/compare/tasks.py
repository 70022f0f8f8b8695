"""Runs on several tasks: each compared by itself, and one summary over all of them."""

import textwrap
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.stats import rankdata

from transferscope.analyses.columns import measured_rows
from transferscope.analyses.compare.results import ResultsComparison, compare_results
from transferscope.analyses.results.readers import read_place
from transferscope.analyses.results.runs import RunColumns
from transferscope.errors import DataError, SettingsError
from transferscope.report.blocks import Cell, Column, Points, Section, Table, Text
from transferscope.report.page import ReportFiles, Verdict, write_page
from transferscope.report.save import file_name
from transferscope.study.decisions import scores_of
from transferscope.study.measure import Measure
from transferscope.wording import ALL_LABELS, counted, few, sizes_in_words

_DRAWS = 2000
_LEVEL = 0.95


@dataclass(frozen=True)
class OverTasks:
    """The same arms on several tasks.

    Attributes:
        results: The comparison of each task, by its name.
    """

    results: Mapping[str, ResultsComparison]

    @cached_property
    def _scores(self) -> dict[str, dict[str, Float[np.ndarray, " runs"]]]:
        """Points of every run, by task and number of labels, and by arm."""
        found = {}
        for task, result in self.results.items():
            frames = result.summary.frames
            for n in frames.sizes:
                scores = scores_of(frames, n)
                name = task if n == ALL_LABELS else f"{task}, {sizes_in_words([n])}"
                known = {arm: row[~np.isnan(row)] for arm, row in zip(scores.arms, scores.values, strict=True)}
                found[name] = {arm: row for arm, row in known.items() if len(row)}
        return found

    @property
    def _metric(self) -> Measure:
        return next(iter(self.results.values())).summary.frames.metric

    @property
    def arms(self) -> tuple[str, ...]:
        """Arms with a run on every task."""
        of_tasks = list(self._scores.values())
        return tuple(arm for arm in of_tasks[0] if all(arm in one for one in of_tasks))

    @cached_property
    def baselines(self) -> frozenset[str]:
        """Arms without a source, the best of which the others are held against."""
        arms = [arm for one in self.results.values() for d in one.summary.decided.values() for arm in d.arms]
        return frozenset(arm.name for arm in arms if not arm.with_source)

    @cached_property
    def _table(self) -> pd.DataFrame:
        arms, tasks = self.arms, list(self._scores.values())
        means = np.array([[one[arm].mean() for arm in arms] for one in tasks])
        own = [i for i, arm in enumerate(arms) if arm in self.baselines]
        best = max(own, key=lambda i: means[:, i].mean()) if own else None
        rng = np.random.default_rng(0)
        drawn = [[_resampled(one[arm], rng) for arm in arms] for one in tasks]  # as rliable: runs within each task
        of_draws = np.array([[rows.mean(axis=1) for rows in one] for one in drawn])  # (task, arm, draw)
        ranks = rankdata(-means, axis=1).mean(axis=0)
        rank_draws = rankdata(-of_draws, axis=1).mean(axis=0)
        rows = []
        for i, arm in enumerate(arms):
            row = {"arm": arm, "with_source": arm not in self.baselines, "tasks": len(tasks)}
            row |= _with_ends("mean", means[:, i].mean(), of_draws[:, i].mean(axis=0))
            row |= _with_ends("rank", ranks[i], rank_draws[i])
            if best is not None and i != best:
                value = np.mean([improvement(one[arm][None], one[arms[best]][None]) for one in tasks])
                draws = np.mean([improvement(one[i], one[best]) for one in drawn], axis=0)
                row |= _with_ends("improvement", value, draws)
            rows.append(row)
        return pd.DataFrame(rows).sort_values("rank", kind="stable", ignore_index=True)

    def table(self) -> pd.DataFrame:
        """One row for each arm with a run on every task, the best mean rank first.

        Returns:
            The columns arm, with_source, tasks, mean (over tasks, in points), rank (mean over tasks of that of its mean
            score, 1 is best) and improvement (the probability that a run of it is better than one of the best baseline,
            ties count half, mean over tasks; NaN for that baseline), each with its low and high: 95 % bootstrap
            intervals over the runs of each task, for other seeds on these tasks.
        """
        return self._table

    @property
    def verdict(self) -> Verdict:
        """Which arm ranks best over all tasks, and the outcome of each task."""
        first, metric = self._table.iloc[0], self._metric
        said = (
            f"Over {counted(len(self._scores), 'task')}, {first['arm']} ranks best: mean rank {first['rank']:.1f} of "
            f"{len(self.arms)} (95 % CI {first['rank_low']:.1f} to {first['rank_high']:.1f}), "
            f"mean {metric.level(first['mean'])}."
        )
        if first["with_source"] and not np.isnan(first.get("improvement", np.nan)):
            said += (
                f" A run of it is better than one of the best baseline with a probability of "
                f"{100 * first['improvement']:.0f} % (95 % CI {100 * first['improvement_low']:.0f} to "
                f"{100 * first['improvement_high']:.0f} %)."
            )
        each = tuple(f"{task}: {one.verdict.headline}" for task, one in self.results.items())
        left = sorted({arm for one in self._scores.values() for arm in one} - set(self.arms))
        notes = (f"Not on every task, and left out of the summary: {few(left)}.",) if left else ()
        return Verdict({}, said, (*notes, *each), (*textwrap.wrap(said, 80), *notes, *self._lines()))

    def _lines(self) -> list[str]:
        wide = max(len(arm) for arm in ("arm", *self.arms))
        lines = [f"{'arm':<{wide}}   rank      95 % CI      mean  better than the best baseline"]
        for row in self._table.to_dict("records"):
            share = row.get("improvement", np.nan)
            better = "" if np.isnan(share) else f"  {100 * share:.0f} %"
            ends = f"{row['rank_low']:.1f} to {row['rank_high']:.1f}"
            lines.append(
                f"{row['arm']:<{wide}}  {row['rank']:>5.1f}  {ends:>11}  {self._metric.level(row['mean']):>8}{better}"
            )
        return lines

    def report(self, path: str | Path, *, command: str = "") -> ReportFiles:
        """Write the page of the summary, and beside it a page for each task, named by it.

        Raises:
            StoreError: A file cannot be written.
        """
        path = Path(path)
        pages = [result.report(self.page_of(path, task), command=command) for task, result in self.results.items()]
        names = ", ".join(page.html.name for page in pages)
        verdict, metric = self.verdict, self._metric
        columns = (
            Column("Arm", numeric=False),
            Column("Mean rank", "Of its mean score among the arms, 1 is best, with its 95 % CI"),
            Column(f"Mean {metric.name}", "Over tasks, with its 95 % CI over the runs of each task"),
            Column(
                "Better than the best baseline", "Probability for one run of each, ties count half, with its 95 % CI"
            ),
        )
        rows = tuple(
            (
                Cell(row["arm"]),
                Cell(f"{row['rank']:.1f}", f"{row['rank_low']:.1f} to {row['rank_high']:.1f}"),
                Cell(metric.level(row["mean"]), f"{metric.level(row['mean_low'])} to {metric.level(row['mean_high'])}"),
                Cell("baseline", tone="baseline")
                if np.isnan(row.get("improvement", np.nan))
                else Cell(
                    f"{100 * row['improvement']:.0f} %",
                    f"{100 * row['improvement_low']:.0f} to {100 * row['improvement_high']:.0f} %",
                ),
            )
            for row in self._table.to_dict("records")
        )
        blocks = (
            Text(verdict.headline, "lead"),
            Table(columns, rows),
            Points(verdict.sentences),
            Text(f"Pages: {names}."),
        )
        section = Section("In short", "verdict", blocks, {"over-tasks": self._table})
        return write_page([section], path, kicker="report", title=path.stem, verdict=verdict, command=command)

    @staticmethod
    def page_of(path: Path, task: str) -> Path:
        """The page of one task beside that of the summary."""
        return path.with_name(f"{path.stem}-{file_name(task)}.html")


def improvement(one: Float[np.ndarray, "draws n"], other: Float[np.ndarray, "draws m"]) -> Float[np.ndarray, " draws"]:
    """Return the share of pairs of runs in which the first is better, ties count half: Mann and Whitney's U / (n m)."""
    difference = one[:, :, None] - other[:, None, :]
    return np.asarray((difference > 0).mean(axis=(1, 2)) + (difference == 0).mean(axis=(1, 2)) / 2)


def _resampled(runs: Float[np.ndarray, " n"], rng: np.random.Generator) -> Float[np.ndarray, "draws n"]:
    return runs[rng.integers(0, len(runs), (_DRAWS, len(runs)))]


def _with_ends(name: str, value: float, draws: Float[np.ndarray, " draws"]) -> dict[str, float]:
    low, high = np.quantile(draws, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return {name: float(value), f"{name}_low": float(low), f"{name}_high": float(high)}


def compare_tasks(
    results: pd.DataFrame | str | Path,
    *,
    columns: RunColumns,
    without: Collection[str] | None = None,
    margin: float | None = None,
    worth: float | None = None,
    planned: int | None = None,
    predictions: str | Path | None = None,
) -> OverTasks:
    """Compare the runs of each task, and summarise over all; arguments as of `compare_results`.

    Args:
        columns: Its `task` names the column of tasks.

    Raises:
        TransferscopeError: As `compare_results`; or there is one task alone.
    """
    task = columns.task
    if task is None:
        raise SettingsError("columns names no column of tasks; give it, as RunColumns(task='dataset')")
    place = None if isinstance(results, pd.DataFrame) else Path(results)
    read = None if place is None else read_place(place, columns.metric)
    table = measured_rows(results if read is None else read, [task], of_runs=True).rows
    if task not in table:
        raise DataError(f"there is no column {task!r} of tasks; the columns are {few(table.columns, 10)}")
    names = list(dict.fromkeys(str(one) for one in table[task].dropna()))
    if len(names) < 2:
        raise DataError(f"column {task!r} holds one task, {few(names)}; leave out task={task} for a single one")
    made = {
        name: compare_results(
            results,
            columns=replace(columns, task=None, where={**columns.where, task: name}),
            without=without,
            predictions=predictions,
            margin=margin,
            worth=worth,
            planned=planned,
        )
        for name in names
    }
    return OverTasks(made)
