"""Figures of papers that are drawn from a finished study: what such a figure is, and how its files are written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd

from transferscope.analyses.finished_study import finished_cells
from transferscope.consent import reads_code
from transferscope.errors import DataError, StoreError
from transferscope.numerics.intervals import t_interval
from transferscope.report.blocks import Figure
from transferscope.store import Store, StoredCell, without_password
from transferscope.study.frames import StudyFrames, read_study
from transferscope.study.places import one_study, open_existing, studies_in
from transferscope_papers.catalogue import found_at, listed
from transferscope_papers.looks import write_drawings


@dataclass(frozen=True)
class FinishedStudy:
    """A study of which no cell is left to do."""

    store: Store
    name: str
    cells: Sequence[StoredCell]
    frames: StudyFrames

    def methods(self, kind: str) -> list[str]:
        """Names in the study file of a method of transferscope, as in "merlin"."""
        tables = self.frames.study.spec["methods"]
        return [str(name) for name, table in tables.items() if table.get("name") == kind]

    def accuracies(self, methods: Sequence[str] = ()) -> pd.DataFrame:
        """Final accuracy on the target's test set of every finished run.

        Args:
            methods: The methods that count; () for all.

        Returns:
            One row per run: source ("" for none), method, n_target, seed, value.

        Raises:
            DataError: No run has an accuracy.
        """
        rows = self.frames.final("accuracy")
        rows = rows[(rows["role"] == "method") & (rows["method"].isin(methods) | (not methods))]
        if rows.empty:
            raise DataError(f"no run of {self.name} has an accuracy; this figure is about a study of classification")
        return rows[["source", "method", "n_target", "seed", "value"]].reset_index(drop=True)

    def one_setting(self, rows: pd.DataFrame, figure: str) -> None:
        """Refuse (DataError) runs of several sources or numbers of labels, which one figure cannot show."""
        sources = [source for source in rows["source"].unique() if source]
        if len(sources) > 1:
            raise DataError(
                f"{self.name} has runs from {len(sources)} sources ({', '.join(sources)}) and {figure} shows one; "
                "leave all but one out of the study file"
            )
        self.one_size(rows)

    def one_size(self, rows: pd.DataFrame) -> None:
        """Refuse (DataError) runs of several numbers of labels."""
        sizes = sorted(map(int, rows["n_target"].unique()))
        if len(sizes) > 1:
            raise DataError(
                f"{self.name} has runs of {len(sizes)} numbers of labels ({', '.join(map(str, sizes))}) and this "
                "figure shows one; leave all but one out of the study file"
            )


@dataclass(frozen=True)
class MeasuredClaim:
    """What a paper says that a figure shows, as a difference that has to be above 0.

    Attributes:
        source: Where it is made: paper, and section or figure.
        differences: One for each seed.
        unit: What the difference is counted in, as in "points".
    """

    sentence: str
    source: str
    differences: Sequence[float]
    unit: str

    @property
    def holds(self) -> bool | None:
        """Whether the 95 % t-interval of the mean difference lies above 0 (true) or below (false); None for neither."""
        interval = t_interval(np.asarray(self.differences, dtype=np.float64)).interval
        return None if interval is None or not interval.excludes(0.0) else interval.low > 0

    @property
    def words(self) -> str:
        """What came of it, with the difference and its interval."""
        mean = t_interval(np.asarray(self.differences, dtype=np.float64))
        verdict = {True: "holds", False: "DOES NOT HOLD", None: "cannot be told"}[self.holds]
        measured = f"difference {mean.value:+.3g} {self.unit}"
        if mean.interval is not None:
            measured += f" ({mean.interval.low:+.3g} to {mean.interval.high:+.3g}, 95 % over {mean.n} seeds)"
        return f"{verdict}: {self.sentence} ({self.source}); {measured}"


@dataclass(frozen=True)
class SeenClaim:
    """What a paper says that a figure shows, decided by what is drawn.

    Attributes:
        source: Where it is made: paper, and section or figure.
        seen: The numbers that decide it.
    """

    sentence: str
    source: str
    holds: bool
    seen: str

    @property
    def words(self) -> str:
        """What came of it, with the numbers."""
        return f"{'holds' if self.holds else 'DOES NOT HOLD'}: {self.sentence} ({self.source}); {self.seen}"


@dataclass(frozen=True)
class StudyFigure:
    """What came of a figure of a finished study or of the authors' rows.

    Attributes:
        sentences: What it shows, in numbers.
        claims: What the paper says of it, each with what the runs say.
        tables: Numbers to print, by title.
    """

    drawings: tuple[Figure, ...]
    sentences: tuple[str, ...] = ()
    claims: tuple[MeasuredClaim | SeenClaim, ...] = ()
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class StudyFigureMade:
    """A figure that was drawn from runs and written.

    Attributes:
        runs: The study, or the file of the authors' rows.
        written: The SVG, the PDF and the CSV of each drawing, one after another.
    """

    runs: str
    figure: StudyFigure
    written: tuple[Path, ...]

    def words(self, title: str) -> str:
        """What to tell the reader, below a title."""
        lines = [f"{title}, from {self.runs}", *self.figure.sentences]
        lines += [
            f"{name}\n{frame.to_string(index=False, float_format='{:.4g}'.format)}"
            for name, frame in self.figure.tables.items()
        ]
        lines += [f"claim {claim.words}" for claim in self.figure.claims]
        for i, drawn in enumerate(self.figure.drawings):
            svg, pdf, table = self.written[3 * i : 3 * i + 3]
            lines.append(f"{svg}, {pdf.name}, {table.name}\n{drawn.caption}")
        return "\n".join(lines)


def paired(rows: pd.DataFrame, first: pd.Series, second: pd.Series) -> list[float]:
    """Mean of `value` of one selection of rows minus that of another, for each `seed` that has both."""
    means = [rows[chosen].groupby("seed")["value"].mean() for chosen in (first, second)]
    return [float(difference) for difference in (means[0] - means[1]).dropna()]


@reads_code
def write_study_figure(paper: str, figure: str, place: str, folder: Path, *, store: str = "") -> StudyFigureMade:
    """Draw a figure from a finished study and write it.

    Args:
        place: The study file, or the path or URL of a store that holds one study.
        folder: Where SVG, PDF and CSV go; made if it is missing.
        store: The store of the study; "" for the one that its file names.

    Raises:
        UnknownNameError: There is no such figure.
        StoreError: There is no such store, or the study is not finished.
        DataError: The study has not what the figure shows.
    """
    draw = cast(Callable[[FinishedStudy], StudyFigure], found_at(listed(paper, figure).place))
    with open_existing(store or place) as opened:
        names = studies_in(opened, place)
        if len(names) > 1:
            shown = without_password(place)
            raise StoreError(
                f"{shown} holds {len(names)} studies ({', '.join(names)}); give the file of one, as in "
                f"--study STUDY.toml --store {shown}"
            )
        name = one_study(opened, place)
        cells = finished_cells(opened, name, before="it is drawn")
        made = draw(FinishedStudy(opened, name, cells, read_study(opened, name)))
    return StudyFigureMade(name, made, write_drawings(made.drawings, folder))
