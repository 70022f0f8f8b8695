"""A run with steps and scores, which every reader produces, and the choice of its score."""

import csv
import math
import re
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from transferscope.analyses.columns import FALLING, RISING, words_in
from transferscope.data.frame import Frame
from transferscope.data.places import check_bytes
from transferscope.errors import CorruptDataError
from transferscope.files import require_regular
from transferscope.wording import counted, few

_SEED = re.compile(r"(?P<rest>.*?)[-_.]?seed[-_=]?(?P<seed>\d+)")
_NUMBER = re.compile(r"(?P<seed>\d+)")
_NUMBERED = re.compile(r"(?P<rest>.+?)[-_.](?P<seed>\d+)")
_SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a tool.

    Attributes:
        name: Name for messages, unique among the runs of a place.
        settings: Columns from the tool or the path: "arm", "seed", "labels", parameters.
        series: Step, metric and value in the order of the file; the step is None for a final value.
        state: State in the words of the tool; "" if unknown.
        seconds: Duration in seconds; None if unknown.
        best: The step of the best model, with which the run ended according to the tool; None without one, NaN if its
            evaluations contradict it.
    """

    name: str
    settings: Mapping[str, object]
    series: tuple[tuple[float | None, str, float], ...]
    state: str = ""
    seconds: float | None = None
    best: float | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The runs of a place, and notes on how they were read."""

    runs: tuple[Run, ...]
    notes: tuple[str, ...] = field(default=())


def frame_of(found: Found, metric: str | None = None) -> Frame:
    """Return a table with one row per run, indexed by its name.

    The score of a run is its final value; without one, the value at the step that the tool names as the best; else at
    the largest step (the later of two lines with the same step). All other values of a row are from the same step, or
    of a metric measured once. A NaN score means that the run diverged, and becomes infinite.

    Args:
        metric: Name of the metric; None for the only one. With several, each metric has its own column, since one must
            be chosen.
    """
    names = {name for run in found.runs for _, name, _ in run.series}
    measures = [metric] if metric in names else [name for name in names if words_in(name) & (RISING | FALLING)]
    chosen = measures[0] if len(measures) == 1 else None
    rows = []
    for run in found.runs:
        row = dict(run.settings) | ({"state": run.state.lower()} if run.state else {})
        row |= {} if run.seconds is None else {"seconds": run.seconds}
        rows.append(row | {name: _cell(value) for name, value in _values(run, chosen).items()})
    called = pd.Index([run.name for run in found.runs])
    called = called if called.is_unique else pd.Index([f"{name} ({at})" for at, name in enumerate(called, 1)])
    return Frame(pd.DataFrame(rows, index=called), found.notes)


def _cell(value: float) -> float:
    return math.inf if math.isnan(value) else value


def _values(run: Run, metric: str | None) -> dict[str, float]:
    measured: dict[str, dict[float | None, float]] = {}
    for step, name, value in run.series:
        measured.setdefault(name, {})[step] = value
    shared = _step(measured[metric], run.best) if metric in measured else ...
    values: dict[str, float] = {}
    for name, by_step in measured.items():
        step = _step(by_step, run.best) if shared is ... or len(by_step) == 1 else shared
        values |= {name: by_step[step]} if step in by_step else {}
    return values


def _step(by_step: Mapping[float | None, float], best: float | None) -> float | None:
    if None in by_step:
        return None
    return best if best in by_step else max(step for step in by_step if step is not None)


def arm_and_seed(path: Path, place: Path, *, numbered: bool = False) -> dict[str, str]:
    """Return the arm and, if any, the seed of a run by its path below a place.

    A part that ends in seed and a number is the seed, as in bert/seed-3, bert-seed3 and bert/seed3/logs, and so is a
    last part that is a number, as in bert/3; the rest is the arm.

    Args:
        numbered: Whether a number at the end is a seed too, as in bert_3, but not in resnet50.
    """
    parts = list(path.relative_to(place).parts) or [path.resolve().name]
    at = max((at for at, part in enumerate(parts) if _SEED.fullmatch(part)), default=len(parts) - 1)
    forms = (_SEED, _NUMBER, _NUMBERED) if numbered else (_SEED, _NUMBER)
    named = next(filter(None, (form.fullmatch(parts[at]) for form in forms)), None)
    seed, parts[at] = (named["seed"], named.groupdict().get("rest") or "") if named else ("", parts[at])
    return {"arm": "/".join(filter(None, parts)) or place.resolve().name} | ({"seed": seed} if seed else {})


def number(value: object, place: Path, expected: str = "a number") -> float:
    """Return a value of a file as a number.

    Raises:
        CorruptDataError: The value is not a number.
    """
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise CorruptDataError(f"{place} holds {str(value)[:40]!r}; expected {expected}") from None


def text_of(path: Path, expected: str) -> str:
    """Return the text of a file within the size limit; invalid UTF-8 is replaced.

    Raises:
        DataError: The path is not a regular file, or the file is too large.
        CorruptDataError: The file cannot be read.
    """
    require_regular(path, expected)
    try:
        check_bytes(path, path.stat().st_size)
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise CorruptDataError(f"{path} cannot be read ({error}); expected {expected}") from error


def csv_rows(path: Path, expected: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file as text by column; a truncated row ends early.

    Raises:
        CorruptDataError: The file is not a CSV file.
    """
    try:
        rows = csv.DictReader(text_of(path, expected).splitlines())
        return [{name: cell for name, cell in row.items() if name and isinstance(cell, str)} for row in rows]
    except csv.Error as error:
        raise CorruptDataError(f"{path} cannot be read as {expected} ({error}); write it again") from error


def header_of(path: Path) -> list[str]:
    """Return the names in the first line of a CSV file; empty if it cannot be one."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as lines:
            return next(csv.reader([lines.readline(1 << 20)]), [])
    except (OSError, csv.Error):
        return []


def plain_yaml(path: Path) -> dict[str, str]:
    """Return the first level of a YAML file as text, without lists and objects."""
    pairs = re.findall(r"^([^\s:#-][^:\n]*):[ ](\S.*)$", text_of(path, "a YAML file"), re.MULTILINE)
    return {key: value.strip().strip("'\"") for key, value in pairs if value[0] not in "{[&*!|>"}


def is_sqlite(place: Path, tables: Iterable[str]) -> bool:
    """Return whether a file is a SQLite database with some tables, none of which is a view."""
    try:
        if not place.is_file():
            return False
        with place.open("rb") as file:
            if file.read(len(_SQLITE)) != _SQLITE:
                return False
        there = query(place, "SELECT name FROM sqlite_master WHERE type = 'table'")
        return {name for (name,) in there} >= {*tables}
    except (OSError, CorruptDataError):
        return False


def query(place: Path, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a read-only query to a file.

    Raises:
        CorruptDataError: The query fails.
    """
    try:
        with closing(sqlite3.connect(f"{place.resolve().as_uri()}?mode=ro", uri=True)) as store:
            store.text_factory = lambda raw: raw.decode("utf-8", "replace")
            return store.execute(sql).fetchall()
    except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
        raise CorruptDataError(f"{place} cannot be read as a database ({error}); write it again") from error


def several(runs: Iterable[str], what: str) -> tuple[str, ...]:
    """Return a note on runs by their names, as in "left out as deleted: 2 runs (a and b)"; empty for no run."""
    names = list(runs)
    return (f"{what}: {counted(len(names), 'run')} ({few(names, 3)})",) if names else ()
