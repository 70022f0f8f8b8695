"""The runs that a page of docs/results stands on: CSVs of `studies/runs_csv.py` in docs/results/runs."""

import sys
from collections.abc import Callable, Collection
from pathlib import Path

import pandas as pd

from transferscope.errors import DataError, MissingDataError, TransferscopeError

RUNS = Path(__file__).parents[2] / "docs" / "results" / "runs"
KEYS = (
    "study",
    "method",
    "source",
    "n_source",
    "n_target",
    "seed",
    "pretrain_step",
    "diagnostic",
    "part",
    "name",
    "step",
)
COLUMNS = (*KEYS, "value")
"""Of every CSV that `studies/runs_csv.py` writes; those of before n_source was kept lack it."""

RUN_AGAIN = {"why.csv": "why-fitted.csv"}
"""Runs of before accuracies on training labels were kept, and those of the same studies for their accuracies alone."""


def csv_of(name: str, columns: Collection[str]) -> pd.DataFrame:
    """Return a CSV of runs; texts that are left out are "".

    Raises:
        MissingDataError: The file is not there.
        DataError: It lacks a column.
    """
    if not (RUNS / name).is_file():
        raise MissingDataError(f"{name} is not in docs/results/runs; run its study and write it with runs_csv.py")
    texts = dict.fromkeys(("source", "diagnostic"), str)
    table: pd.DataFrame = pd.read_csv(RUNS / name, comment="#", dtype=texts)
    if lacking := sorted(set(columns) - set(table)):
        raise DataError(f"{name} has no column {', '.join(lacking)}; write it with studies/runs_csv.py")
    return table.assign(**{column: table[column].fillna("") for column in texts if column in table})


def runs_of(name: str) -> pd.DataFrame:
    """Return the runs that `studies/runs_csv.py` wrote; no source and no diagnostic are "", the end of training −1.

    Raises:
        MissingDataError: The file is not there.
        DataError: It has other columns, or no accuracy on training labels where `RUN_AGAIN` does not name it.
    """
    table = csv_of(name, set(COLUMNS) - {"n_source"})
    if name not in RUN_AGAIN and not reads_training_labels(table).any():
        raise DataError(
            f"{name} has no accuracy on training labels (part target_train); write it from runs that kept it"
        )
    return table.assign(**{column: table[column].fillna(-1) for column in ("step", "pretrain_step")})


def reads_training_labels(table: pd.DataFrame) -> "pd.Series[bool]":
    """Return which rows are accuracies on training labels."""
    return table["part"].eq("target_train") & table["name"].eq("accuracy")


def training_accuracies(name: str) -> pd.DataFrame:
    """Return the accuracies on training labels of the runs of a CSV, or of those made again; raises as `runs_of`."""
    runs = runs_of(RUN_AGAIN.get(name, name))
    return runs[reads_training_labels(runs)]


def holds_runs(file: Path) -> bool:
    """Return whether a CSV is one of finished runs."""
    return set(pd.read_csv(file, comment="#", nrows=0)) >= set(COLUMNS) - {"n_source"}


def write_page(name: str, page: Callable[[], str]) -> None:
    """Write a page of docs/results; end with a sentence where a CSV is missing or has other columns."""
    try:
        text = page()
    except TransferscopeError as error:
        sys.exit(f"{name} is not written: {error}")
    (RUNS.parent / name).write_text(text, encoding="utf-8")
