"""Comparison of finished runs of other tools, decided and shown like the runs of a study."""

import itertools
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from transferscope.analyses.columns import measured_rows
from transferscope.analyses.compare.page import study_parts
from transferscope.analyses.compare.result import ComparisonResult
from transferscope.analyses.compare.statements import settling
from transferscope.analyses.compare.study_page import SHORT, answer_section, question_section
from transferscope.analyses.compare.summary import summarise_frames
from transferscope.analyses.compare.words import words_of
from transferscope.analyses.results.frames import frames_of
from transferscope.analyses.results.means import SEED
from transferscope.analyses.results.readers import read_place
from transferscope.analyses.results.runs import Runs, read_runs
from transferscope.arguments import checks_arguments
from transferscope.decision import next_runs
from transferscope.errors import SettingsError
from transferscope.once import let_go
from transferscope.report.blocks import Answer, Points, Section
from transferscope.report.page import ReportFiles, Verdict, write_page
from transferscope.report.save import PaperWidth
from transferscope.settings.questions import RunColumns
from transferscope.study.decisions import MOST_SEEDS, Arm, arms_of, asked_of, scores_of
from transferscope.wording import ALL_LABELS, capitalised


@dataclass(frozen=True, repr=False)
class ResultsComparison(ComparisonResult):
    """The result of a comparison of finished runs.

    Attributes:
        command: The command line that gives the same answer; empty if called from Python.
    """

    runs: Runs
    command: str = ""

    @property
    def verdict(self) -> Verdict:
        """The verdict on whether transfer helps and which arm to use, with notes on how the table was read."""
        verdict = self.summary.verdict
        notes = tuple(f"{capitalised(note)}." for note in self.runs.notes)
        return Verdict(verdict.outcomes, verdict.headline, (*verdict.sentences, *notes), verdict.lines)

    def next(self, n: int = 1) -> pd.DataFrame:
        """Return the runs to make next, most useful first: rows with the columns of the table, without a score.

        Add each row to the table with its score, and compare again.

        Args:
            n: Maximum number of rows, at least 1.

        Returns:
            At most n rows, in addition to rows without a score; none if both questions are decided or no run is worth
            its cost. New seeds are the next numbers, distinct for each run if no two arms share a seed.

        Raises:
            SettingsError: n is below 1, or the table holds means.
        """
        if self.runs.columns.get("seed") == SEED:
            raise SettingsError("the table holds means of runs; to plan the next runs, give a table with a row per run")
        frames, columns, table = self.summary.frames, self.runs.columns, self.runs.table
        names, planned = self.runs.seeds, self.runs.rows[self.runs.rows["state"] == "planned"]
        used = {self.runs.seed_of(at) for at in range(len(table))}
        unused = (number for number in itertools.count() if str(number) not in used)
        looks, under_way, seeds_of = [], [], []
        for n_target in frames.sizes:
            arms = arms_of(frames, n_target)
            seeds = list(frames.seeds)
            spare = (
                seed for seed in itertools.count() if seed not in seeds and (names is None or str(seed) not in used)
            )
            seeds += [next(spare) for _ in range(MOST_SEEDS - len(seeds))]
            scores = scores_of(frames, n_target, seeds=seeds)
            listed = np.zeros(scores.values.shape, dtype=bool)
            for run in planned[planned["n_target"] == n_target].to_dict("records"):
                listed[arms.index(Arm(run["method"], run["source"])), seeds.index(run["seed"])] = True
            looks.append(scores)
            under_way.append(listed)
            seeds_of.append(seeds)
        wanted = next_runs(looks, **asked_of(frames), at_once=n, under_way=under_way).runs
        parts = [name for name in columns["arm"].split("+") if name in table] or [columns["arm"]]
        rows = []
        for one in wanted:
            n_target, seed = frames.sizes[one.table], seeds_of[one.table][one.seed]
            arm = arms_of(frames, n_target)[one.arm]
            same = [name for name in table if table[name].notna().all() and table[name].map(str).nunique() == 1]
            row: dict[str, Any] = {str(name): table[name].iloc[0] for name in same}
            for role in ("score", "cost", "state", "predictions"):
                row.pop(columns.get(role, ""), None)
            is_arm = (self.runs.rows["method"] == arm.method) & (self.runs.rows["source"] == arm.source)
            named = [*parts, *([columns["source"]] if "source" in columns else [])]
            row |= dict(table.loc[is_arm, named].iloc[0])
            if "seed" in columns:
                row[columns["seed"]] = next(unused) if names is None else names.get(seed, seed)
            row |= {columns.get("labels", "labels"): n_target} if n_target != ALL_LABELS else {}
            rows.append(row)
        return pd.DataFrame(rows, columns=[name for name in table if name != columns["arm"] or name in parts])

    def sections(self) -> list[Section]:
        """Return the answer and a picture, the questions that the runs answer, and how they were read."""
        summary, words = self.summary, words_of(self.summary.frames)
        parts = study_parts(summary)
        shown = [question_section(part.question, [part]) for part in parts if part.sections]
        answers = [Answer(SHORT[part.question], part.sentence, part.question.replace(" ", "-")) for part in parts]
        step = command = ""
        steps = [one for one in settling(summary.frames, summary.decided) if one.kind == "more seeds"]
        for more in steps[:1]:
            step = f"{words.say(more)} The runs to make:"
            command = f"{self.command} --next 4" if self.command else "result.next(4)"
        notes = Points(tuple(f"{capitalised(note)}." for note in self.runs.notes))
        if self.runs.notes:
            read = Section("How the runs were read", "runs", (notes,), folded=True)
            shown[-1] = replace(shown[-1], sections=(*shown[-1].sections, read))
        return [answer_section(summary, answers, step, command), *shown]

    def report(self, path: str | Path, *, command: str = "", width: PaperWidth | None = None) -> ReportFiles:
        """Write the report: one self-contained HTML file with its figures and tables."""
        return write_page(
            self.sections(),
            Path(path),
            kicker="report",
            title=self.title,
            verdict=self.verdict,
            facts=self.summary.in_short,
            command=command or self.command,
            width=width,
        )


@checks_arguments
def compare_results(
    results: pd.DataFrame | str | Path,
    *,
    without: Collection[str] | None = None,
    columns: RunColumns | None = None,
    predictions: str | Path | None = None,
    margin: float | None = None,
    worth: float | None = None,
    planned: int | None = None,
    name: str | None = None,
) -> ResultsComparison:
    """Compare finished runs, one row each.

    Args:
        results: A data frame; a CSV, TSV, JSON, JSON lines or parquet file; or a folder of runs (`readers`).
        without: Baselines: names of arms, methods or sources; empty, or only "none" unless an arm has this name, for no
            baseline; None if the table has a column of sources that is empty for baselines.
        columns: Column by role; None for the usual names.
        predictions: A folder with the predictions of each run as ARM/SEED.csv, or LABELS/ARM/SEED.csv where there are
            several numbers of labels; CIs then also cover other test examples.
        margin: Differences that do not matter, above 0, in points of percent or in the unit of the score; None for one
            point, or a hundredth.
        worth: Seconds of a run that one point is worth, above 0: the arm with the smallest expected loss, time
            included, is recommended. None for the cheapest arm within the margin.
        planned: Number of seeds per arm fixed before the first run, at least 1, which gives the test more power. None
            if not fixed.
        name: Title of the runs; None for the name of the file or folder.

    Raises:
        TransferscopeError: The table cannot be used, or a column or baseline must be named.

    Example:
        >>> rows = [(arm, s, at + 0.01 * s) for arm, at in (("scratch", 0.7), ("tuned", 0.8)) for s in range(3)]
        >>> table = pd.DataFrame(rows, columns=["arm", "seed", "accuracy"])
        >>> compare_results(table, without=["scratch"]).verdict.outcomes
        {0: 'helps'}
    """
    columns = columns or RunColumns()
    place = None if isinstance(results, pd.DataFrame) else Path(results)
    read = None if place is None else read_place(place, columns.metric)
    named = [column for column in (columns.seed, columns.arm) if column is not None]
    table = measured_rows(results if read is None else read, named, sizes=[columns.labels], of_runs=True)
    runs = read_runs(
        table,
        columns,
        without,
        folder=Path() if place is None else place if place.is_dir() else place.parent,
        predictions=None if predictions is None else Path(predictions),
    )
    let_go()  # of the file's text
    del read, table
    stem = "results" if place is None else place.resolve().stem
    called = name or "-".join([stem, *columns.where.values()])  # each question has a page of its own
    summary = summarise_frames(frames_of(runs, called, margin=margin, worth=worth, planned=planned))
    where = Path(called) if place is None else place
    return ResultsComparison(summary, str(where), where, runs)
