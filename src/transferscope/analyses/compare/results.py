"""What other tools' runs say: read, decided and shown as the runs of a study are."""

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
from transferscope.analyses.compare.study_page import SHORT, answer_section
from transferscope.analyses.compare.summary import summarise_frames
from transferscope.analyses.compare.words import words_of
from transferscope.analyses.results.frames import frames_of
from transferscope.analyses.results.readers import read_place
from transferscope.analyses.results.runs import RunColumns, Runs, read_runs
from transferscope.arguments import checks_arguments
from transferscope.decision import next_runs
from transferscope.once import let_go
from transferscope.report.blocks import Answer, Points, Section
from transferscope.report.page import QUESTIONS, ReportFiles, Verdict, write_page
from transferscope.report.save import PaperWidth
from transferscope.study.decisions import MOST_SEEDS, Arm, arms_of, asked_of, scores_of
from transferscope.wording import ALL_LABELS, capitalised


@dataclass(frozen=True)
class ResultsComparison(ComparisonResult):
    """The result of a comparison of finished runs.

    Attributes:
        command: What gives the same answer on the command line; empty where it came from Python.
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
        """Return the runs to make next, the most useful first: rows of the table's own columns, without a score.

        A row is added to the table with its score, and the question asked again.

        Args:
            n: Most rows.

        Returns:
            At most n rows, beside those that the table has without a score; none where both questions are decided or no
            run is worth its cost. A seed that the table has not is the next number, and each run has its own where no
            two arms share one.

        Raises:
            SettingsError: n is below 1.
        """
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
        shown = [
            Section(
                QUESTIONS[part.question],
                part.question.replace(" ", "-"),
                (),
                sections=tuple(replace(section, folded=True) for section in part.sections),
            )
            for part in parts
            if part.sections
        ]
        answers = [Answer(SHORT[part.question], part.sentence, part.question.replace(" ", "-")) for part in parts]
        step = command = ""
        steps = [one for one in settling(summary.frames, summary.decided) if one.kind == "more seeds"]
        for more in steps[:1]:
            step = f"{words.say(more)} The runs to make:"
            command = f"{self.command} --next 4" if self.command else "result.next(4)"
        notes = (Points(tuple(f"{capitalised(note)}." for note in self.runs.notes)),) if self.runs.notes else ()
        runs = Section("The runs", "runs", notes, {"runs": self.runs.rows}, folded=True)
        return [answer_section(summary, answers, step, command), *shown, runs]

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
        without: Names of arms, methods or sources that need no source; empty, or "none" alone where no arm is called
            so, where all have one; None where the table has a column of sources that is empty for them.
        columns: Which column holds what; None for the usual names.
        predictions: A folder with the predictions of each run as ARM/SEED.csv, or LABELS/ARM/SEED.csv where there are
            several numbers of labels: what is said then holds for other test examples too.
        margin: Differences that do not matter, above 0, in points of percent or in the unit of the score; None for one
            point, or a hundredth.
        worth: Seconds of a run that a point is worth, above 0: the arm of the least expected loss is recommended, its
            time included. None for the cheapest within the margin.
        planned: Number of seeds of every arm that was fixed before the first run, at least 1: the test at it has more
            power. None where it was not.
        name: What the runs are called; None for the name of the file or folder.

    Raises:
        TransferscopeError: A table that cannot be used, or of which something must be said.

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
    stem = "results" if place is None else place.resolve().stem
    called = name or "-".join([stem, *columns.where.values()])  # each question has a page of its own
    summary = summarise_frames(frames_of(runs, called, margin=margin, worth=worth, planned=planned))
    where = Path(called) if place is None else place
    return ResultsComparison(summary, str(where), where, runs)
