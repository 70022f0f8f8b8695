"""Runs on several tasks: a comparison of each, and a summary over all."""

import textwrap
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from transferscope.analyses.columns import MEASURE_COLUMNS, measured_rows, rows_where, texts_of
from transferscope.analyses.compare.results import ResultsComparison, compare_results
from transferscope.analyses.result import json_rows
from transferscope.analyses.results.readers import read_place
from transferscope.decision import Scores
from transferscope.errors import DataError, SettingsError, TransferscopeError, unknown_name
from transferscope.report.blocks import Cell, Column, Figure, Points, Section, Table, Text
from transferscope.report.figures.choice import beside_axis
from transferscope.report.figures.style import WITH_SOURCE, WITHOUT, drawing, new_figure
from transferscope.report.page import ReportFiles, Verdict, write_page
from transferscope.report.save import PaperWidth, file_name
from transferscope.settings.questions import RunColumns
from transferscope.study.decisions import scores_of
from transferscope.study.measure import Measure
from transferscope.wording import counted, few, probability_words, unit_kept

if TYPE_CHECKING:
    import matplotlib.figure

_DRAWS = 2000
_LEVEL = 0.95
_MOST_LINES = 30  # of the terminal


@dataclass(frozen=True)
class OverTasks:
    """The same arms on several tasks.

    Attributes:
        results: The comparison of each task, by its name.
        of_other_metrics: Tasks whose rows have other metrics alone.
        unreadable: Error of each task whose rows cannot be read.
    """

    results: Mapping[str, ResultsComparison]
    of_other_metrics: tuple[str, ...] = ()
    unreadable: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _measured(self) -> list[Scores]:
        """Scores of every run in points, by task and number of labels."""
        frames = [result.summary.frames for result in self.results.values()]
        return [scores_of(one, n) for one in frames for n in one.sizes]

    @cached_property
    def _scores(self) -> list[dict[str, Float[np.ndarray, " runs"]]]:
        """Scores in points by arm, without failed runs; means are adjusted for seeds, as in the decisions."""
        decided = [decision for result in self.results.values() for decision in result.summary.decided.values()]
        found = []
        for one, decision in zip(self._measured, decided, strict=True):
            points = {arm.name: row[~np.isnan(row)] for arm, row in zip(decision.arms, one.values, strict=True)}
            means = {arm.name: arm.mean for arm in decision.arms if arm.mean is not None}
            found.append({name: points[name] - points[name].mean() + mean for name, mean in means.items()})
        return found

    @property
    def _metric(self) -> Measure:
        return next(iter(self.results.values())).summary.frames.metric

    @property
    def _can_be_averaged(self) -> bool:
        """Whether scores of several tasks can be averaged; those with different units cannot."""
        return all(result.summary.frames.metric.has_usual_points for result in self.results.values())

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms with a run on every task."""
        return tuple(arm for arm in self._scores[0] if all(arm in one for one in self._scores))

    @cached_property
    def baselines(self) -> frozenset[str]:
        """The baselines; other arms are compared with the best of them."""
        arms = [arm for one in self.results.values() for d in one.summary.decided.values() for arm in d.arms]
        return frozenset(arm.name for arm in arms if not arm.with_source)

    @cached_property
    def _table(self) -> pd.DataFrame:
        from scipy.stats import rankdata  # here: it takes half a second to import

        arms, tasks = self.arms, self._scores
        means = np.array([[one[arm].mean() for arm in arms] for one in tasks])
        ranks = rankdata(-means, axis=1).mean(axis=0)
        own = [i for i, arm in enumerate(arms) if arm in self.baselines]
        best = max(own, key=lambda i: means[:, i].mean() if self._can_be_averaged else -ranks[i]) if own else None
        vary = min(len(one[arm]) for one in tasks for arm in arms) > 1
        rng = np.random.default_rng(0)
        drawn = [  # as rliable: runs within each task
            [one[arm][rng.integers(0, len(one[arm]), (_DRAWS, len(one[arm])))] for arm in arms] for one in tasks
        ]
        of_draws = np.array([[rows.mean(axis=1) for rows in one] for one in drawn])  # (task, arm, draw)
        rank_draws = rankdata(-of_draws, axis=1).mean(axis=0)
        rows = []
        for i, arm in enumerate(arms):
            row = {"arm": arm, "with_source": arm not in self.baselines, "tasks": len(self.results)}
            if self._can_be_averaged:
                row |= _with_ends("mean", means[:, i].mean(), of_draws[:, i].mean(axis=0), vary)
            row |= _with_ends("rank", ranks[i], rank_draws[i], vary)
            if best is not None and i != best:
                pairs = np.array([len(one[arm]) * len(one[arms[best]]) for one in tasks])
                shares = np.array([improvement(one[arm][None], one[arms[best]][None])[0] for one in tasks])
                draws = np.mean([improvement(one[i], one[best]) for one in drawn], axis=0)
                row |= _with_ends("improvement", float(shares.mean()), draws, vary)
                row |= {"ahead": float(shares @ pairs), "pairs": float(pairs.sum())}
            rows.append(row)
        return pd.DataFrame(rows).sort_values("rank", kind="stable", ignore_index=True)

    def table(self) -> pd.DataFrame:
        """Return one row per arm with a run on every task, the best mean rank first.

        Returns:
            The columns arm, with_source, tasks, mean (over tasks, in points; only for percentages and R², since errors
            of different tasks have different units), rank (of its mean score, mean over tasks, 1 is best) and
            improvement (the probability that a run of it is better than one of the best baseline,
            ties count half, mean over tasks; NaN for that baseline), each with its low and high: 95 % bootstrap
            intervals over the runs of each task, for other seeds on these tasks; NaN if an arm has one run of a task,
            or all draws coincide; ahead and pairs count the pairs of runs on one task behind it.
        """
        return self._table

    @property
    def verdict(self) -> Verdict:
        """The arm with the best rank over all tasks, those that share it, and the outcome of each task."""
        first, *others = self._table.to_dict("records")
        level = [row["arm"] for row in others if np.isclose(row["rank"], first["rank"])]
        shared = f", as {'does' if len(level) == 1 else 'do'} {few(level)}" if level else ""
        n_questions = len(self._scores)
        each_size = f" and their numbers of labels, {n_questions} in all" if n_questions > len(self.results) else ""
        said = (
            f"Over {counted(len(self.results), 'task')}{each_size}, {first['arm']} ranks best{shared}: mean rank "
            f"{first['rank']:.1f} of {len(self.arms)}{_ci(self._ends(first, 'rank'))}"
        )
        said += f", mean {self._metric.level(first['mean'])}." if self._can_be_averaged else "."
        if first["with_source"] and not np.isnan(first.get("improvement", np.nan)):
            ends = self._ends(first, "improvement")
            said += (
                f" A run of it is better than one of the best baseline "
                f"{'with a probability of ' if ends else 'in '}{self._better(first)}{_ci(ends)}."
            )
        each = tuple(f"{task}: {one.verdict.headline}" for task, one in self.results.items())
        return Verdict(
            {}, said, (*self._notes, *each), (*textwrap.wrap(unit_kept(said), 80), *self._notes, *self._lines())
        )

    @property
    def _notes(self) -> tuple[str, ...]:
        """Notes on what the summary leaves out."""
        left = sorted({arm for one in self._scores for arm in one} - set(self.arms))
        notes = [f"Not on every task, and left out of the summary: {few(left)}."] if left else []
        if other := self.of_other_metrics:
            notes.append(f"Of other metrics than {self._metric.name}, and left out: {few(other)}.")
        notes += [f"Left out: task {task}, since {error}." for task, error in self.unreadable.items()]
        failed = Counter[str]()
        for one in self._measured:
            failed.update({arm: int(row.sum()) for arm, row in zip(one.arms, one.failed, strict=True)})
        if said := [f"{arm} in {counted(n, 'run')}" for arm, n in failed.items() if n]:
            notes.append(f"Failed, and not in the means and ranks: {few(said)}.")
        if any(len(row) < 2 for one in self._scores for name, row in one.items() if name in self.arms):
            notes.append("An arm has one run of a task: there are no intervals.")
        return tuple(notes)

    def _ends(self, row: Mapping[Any, Any], name: str) -> str:
        """Return the ends of the interval of a column; "" if there is none."""
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        if np.isnan(low):
            return ""
        if name == "mean":
            return f"{self._metric.level(low)} to {self._metric.level(high)}"
        return f"{low:.1f} to {high:.1f}" if name == "rank" else f"{100 * low:.0f} to {100 * high:.0f} %"

    def _better(self, row: Mapping[Any, Any]) -> str:
        """Return the probability of improvement, or without an interval the count of pairs; "" for the baseline."""
        share = row.get("improvement", np.nan)
        if np.isnan(share) or self._ends(row, "improvement"):
            return "" if np.isnan(share) else probability_words(share)
        return f"{row['ahead']:,g} of {counted(int(row['pairs']), 'pair')}"

    def _lines(self) -> list[str]:
        wide = max(map(len, ("arm", *self._table["arm"].head(_MOST_LINES))))
        mean = f"  {'mean':>8}" if self._can_be_averaged else ""
        lines = [f"{'arm':<{wide}}   rank  {'95 % CI':>11}{mean}  better than the best baseline"]
        for row in self._table.head(_MOST_LINES).to_dict("records"):
            better = f"  {told}" if (told := self._better(row)) else ""
            mean = f"  {self._metric.level(row['mean']):>8}" if self._can_be_averaged else ""
            lines.append(f"{row['arm']:<{wide}}  {row['rank']:>5.1f}  {self._ends(row, 'rank'):>11}{mean}{better}")
        more = len(self._table) - _MOST_LINES
        return [*lines, f"and {counted(more, 'more arm')}: in the report"] if more > 0 else lines

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON values, with the answer of each task by its name in "tasks"."""
        verdict = {"headline": self.verdict.headline, "sentences": list(self.verdict.sentences)}
        each = {task: result.to_dict() for task, result in self.results.items()}
        return {"analysis": "compare", "verdict": verdict, "rows": json_rows(self._table), "tasks": each}

    def picture(self) -> Figure:
        """Return the mean rank of every arm over the tasks with its interval, the best on top."""
        rows = self._table.to_dict("records")
        names = [beside_axis(row["arm"], width=26) for row in rows]
        each = 0.34 if any("\n" in name for name in names) else 0.24

        def drawn(width: float) -> "matplotlib.figure.Figure":
            canvas = new_figure(width, 0.7 + each * len(rows))
            axes = canvas.subplots()
            for at, row in enumerate(rows):
                colour = WITH_SOURCE if row["with_source"] else WITHOUT
                axes.plot([row["rank_low"], row["rank_high"]], [at, at], color=colour, linewidth=2)
                axes.plot(row["rank"], at, "o" if row["with_source"] else "s", color=colour, markersize=6)
            axes.set_yticks(range(len(rows)), names)
            axes.set_ylim(len(rows) - 0.4, -0.6)
            axes.set_xlabel("← better: mean rank")
            axes.grid(axis="y", visible=False)
            return canvas

        with drawing():
            wide = drawn(6.4)
        caption = "Mean rank of each arm with its 95 % CI over the runs of each task. Blue: transfer arms."
        return Figure("ranks", wide, self._table, caption, narrow=drawn)

    def report(self, path: str | Path, *, command: str = "", width: PaperWidth | None = None) -> ReportFiles:
        """Write the report of the summary, and one for each task.

        Raises:
            StoreError: A file cannot be written.
        """
        path = Path(path)
        files = self.pages(path)
        each = [result.report(files[task], command=command, width=width) for task, result in self.results.items()]
        names = ", ".join(page.html.name for page in each)
        verdict = self.verdict
        mean = Column(f"Mean {self._metric.name}", "Over tasks, with its 95 % CI over the runs of each task")
        columns = (
            Column("Arm", numeric=False),
            Column(
                "Mean rank", "Of its mean score among the arms, 1 is best, with its 95 % CI over the runs of each task"
            ),
            *([mean] if self._can_be_averaged else []),
            Column(
                "Better than the best baseline",
                "Probability for one run of each with its 95 % CI; pairs of runs where there is none. Ties count half",
            ),
        )
        rows = tuple(
            (
                Cell(row["arm"]),
                Cell(f"{row['rank']:.1f}", self._ends(row, "rank")),
                *([Cell(self._metric.level(row["mean"]), self._ends(row, "mean"))] if self._can_be_averaged else []),
                Cell("baseline" if row["arm"] in self.baselines else "–", tone="baseline")
                if not (told := self._better(row))
                else Cell(told, self._ends(row, "improvement")),
            )
            for row in self._table.to_dict("records")
        )
        blocks = (
            Text(verdict.headline, "lead"),
            self.picture(),
            Table(columns, rows),
            Points(verdict.sentences),
            Text(f"Pages: {names}."),
        )
        section = Section("In short", "verdict", blocks, {"over-tasks": self._table})
        title = path.stem
        return write_page([section], path, kicker="report", title=title, verdict=verdict, command=command, width=width)

    def pages(self, path: Path) -> dict[str, Path]:
        """Return the path of each task's report; names equal to a file system are numbered."""
        pages, taken = {}, Counter[str]()
        for task in self.results:
            name = file_name(task)
            taken[name.casefold()] += 1
            number = taken[name.casefold()]
            pages[task] = path.with_name(f"{path.stem}-{name}{f'~{number}' if number > 1 else ''}.html")
        return pages


def improvement(one: Float[np.ndarray, "draws n"], other: Float[np.ndarray, "draws m"]) -> Float[np.ndarray, " draws"]:
    """Return the share of pairs of runs in which the first is better, ties count half: Mann and Whitney's U / (n m)."""
    difference = one[:, :, None] - other[:, None, :]
    return np.asarray((difference > 0).mean(axis=(1, 2)) + (difference == 0).mean(axis=(1, 2)) / 2)


def _ci(ends: str) -> str:
    return f" (95 % CI over runs {ends})" if ends else ""


def _with_ends(name: str, value: float, draws: Float[np.ndarray, " draws"], vary: bool) -> dict[str, float]:
    """Return a value with the ends of its interval, NaN for single runs and where they coincide.

    Identical draws, as for an arm that is ahead in every run, do not make a value certain.
    """
    low, high = np.quantile(draws, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2]) if vary else (np.nan, np.nan)
    if np.isclose(low, high, rtol=1e-9, atol=1e-9):
        low = high = np.nan
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
    """Compare the runs of each task, and summarise over all; arguments as for `compare_results`.

    Args:
        columns: Column by role; `task` names the column of tasks.

    Tasks that cannot be read are left out, and the summary says so with the error.

    Raises:
        TransferscopeError: As in `compare_results`, if fewer than two tasks can be read; or there is only one task, or
        no arm has runs on every task.
    """
    task = columns.task
    if task is None:
        raise SettingsError("columns has no task; give it, as in RunColumns(task='dataset')")
    place = None if isinstance(results, pd.DataFrame) else Path(results)
    read = None if place is None else read_place(place, columns.metric)
    table = rows_where(measured_rows(results if read is None else read, [task], of_runs=True).rows, columns.where)
    if task not in table:
        raise unknown_name("column of tasks", task, map(str, table.columns))
    every = dict.fromkeys(str(one) for one in table[task].dropna())
    of_measure = next((name for name in table if str(name).lower() in MEASURE_COLUMNS), None)
    if of_measure is not None and columns.metric in set(measures := texts_of(table[of_measure])):
        table = table[measures == columns.metric]
    names = list(dict.fromkeys(str(one) for one in table[task].dropna()))
    others = tuple(name for name in every if name not in names)
    if len(names) < 2:
        raise DataError(f"column {task!r} has one task, {few(names)}; leave out task={task}")
    made: dict[str, ResultsComparison] = {}
    unreadable: dict[str, TransferscopeError] = {}
    for name in names:
        try:
            made[name] = compare_results(
                results,
                columns=replace(columns, task=None, where={**columns.where, task: name}),
                without=without,
                predictions=predictions,
                margin=margin,
                worth=worth,
                planned=planned,
            )
        except TransferscopeError as error:
            unreadable[name] = error
            if len(names) - len(unreadable) < 2:
                first, cause = next(iter(unreadable.items()))
                raise DataError(f"task {first}: {cause}") from cause
    found = OverTasks(made, others, {name: str(error) for name, error in unreadable.items()})
    if not found.arms:
        raise DataError(
            f"no arm has a run on every task of {few(names)}, so arms cannot be ranked; compare each task alone"
        )
    return found
