"""Runs of a file store of MLflow (mlruns), read without MLflow: a column for each parameter and metric.

The last value of a metric is that of the run. A run that MLflow calls failed or killed has failed.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from transferscope.data.frame import Frame
from transferscope.errors import CorruptDataError, DataError

_STATES = {"1": "running", "2": "scheduled", "3": "finished", "4": "failed", "5": "killed"}
_EVERY_RUN = "run_name"


def holds(place: Path) -> bool:
    """See `readers.RunsReader`."""
    return place.is_dir() and next(_runs(place), None) is not None


def read(place: Path) -> Frame:
    """See `readers.RunsReader`."""
    rows = [row for run in _runs(place) if (row := _row(run)) is not None]
    if not rows:
        raise DataError(f"all runs in {place} were deleted; expected some that were not")
    return Frame(pd.DataFrame(rows), ())


def _runs(place: Path) -> Iterator[Path]:
    for meta in sorted({*place.glob("*/meta.yaml"), *place.glob("*/*/meta.yaml")}):
        if (meta.parent / "metrics").is_dir() and not meta.parent.parent.name.startswith("."):
            yield meta.parent


def _row(run: Path) -> dict[str, Any] | None:
    about = _meta(run / "meta.yaml")
    if about.get("lifecycle_stage") == "deleted":
        return None
    row: dict[str, Any] = {_EVERY_RUN: about.get("run_name", run.name)}
    experiment = run.parent / "meta.yaml"
    row |= {"experiment": _meta(experiment).get("name", run.parent.name)} if experiment.is_file() else {}
    row["state"] = _STATES.get(about.get("status", ""), about.get("status", "").lower())
    start, end = (about.get(name, "") for name in ("start_time", "end_time"))
    if start.isdecimal() and end.isdecimal():
        row["seconds"] = (int(end) - int(start)) / 1000
    row |= {_name(path, run / "params"): path.read_text(encoding="utf-8").strip() for path in _files(run / "params")}
    return row | {_name(path, run / "metrics"): _last(path) for path in _files(run / "metrics")}


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _last(path: Path) -> float:
    lines = path.read_text(encoding="utf-8").split("\n")
    try:
        return float([line for line in lines if line.strip()][-1].split()[1])
    except (IndexError, ValueError):
        raise CorruptDataError(f"{path} is no metric of MLflow; expected lines of time, value and step") from None


def _meta(path: Path) -> dict[str, str]:
    text = path.read_text(encoding="utf-8", errors="replace")
    return {key: value.strip().strip("'\"") for key, value in re.findall(r"^(\w+):[ ]?(.*)$", text, re.MULTILINE)}
