"""Runs of MLflow, read without MLflow: of its database in SQLite (mlflow.db) and of its file store (mlruns).

Parameters and metrics are columns. Deleted runs, and parents that summarise their child runs, are left out.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transferscope.analyses.results.readers.run import (
    Found,
    Run,
    is_sqlite,
    number,
    plain_yaml,
    query,
    several,
    text_of,
)
from transferscope.errors import CorruptDataError, DataError

_STATES = {"1": "running", "2": "scheduled", "3": "finished", "4": "failed", "5": "killed"}
_PARENT = "mlflow.parentRunId"
_TABLES = ("runs", "metrics", "params", "tags", "experiments")
_DATABASE = "mlflow.db"
_INFINITE = 1.79e308
"""Values above this represent infinity in the database."""


def holds(place: Path) -> bool:
    """See `readers.RunsReader`."""
    return _database(place) is not None or (place.is_dir() and next(_folders(place), None) is not None)


def read(place: Path) -> Found:
    """See `readers.RunsReader`."""
    database = _database(place)
    runs = {} if database is None else _of_database(database)
    runs |= {run.name: run for folder in (_folders(place) if place.is_dir() else ()) for run in [_of_folder(folder)]}
    kept = {name: run for name, run in runs.items() if run.state != "deleted"}
    if not kept:
        raise DataError(f"all runs in {place} were deleted; expected at least one that was not")
    parents = {str(run.settings.get(_PARENT)) for run in kept.values() if run.series}
    sums = [name for name in kept if name in parents]
    return Found(
        tuple(_named(run, kept) for name, run in kept.items() if name not in parents),
        (
            *several((_called(runs[name]) for name in runs if name not in kept), "left out as deleted"),
            *several(map(_called, map(kept.__getitem__, sums)), "left out as sums of the runs below them"),
        ),
    )


def _called(run: Run) -> str:
    return str(run.settings.get("run_name") or run.name)


def _named(run: Run, runs: dict[str, Run]) -> Run:
    settings = {key: value for key, value in run.settings.items() if key != _PARENT}
    parent = runs.get(str(run.settings.get(_PARENT)))
    inherited = {} if parent is None else {k: v for k, v in parent.settings.items() if k not in ("run_name", _PARENT)}
    return Run(f"run {_called(run)} ({run.name[:8]})", inherited | settings, run.series, run.state, run.seconds)


def _database(place: Path) -> Path | None:
    """Return the database at a place: the file, the one in a folder, or the one beside a folder of artifacts."""
    near = [place / _DATABASE, *([place.resolve().parent / _DATABASE] if place.name == "mlruns" else [])]
    return next((one for one in ([place] if place.is_file() else near) if is_sqlite(one, _TABLES)), None)


def _of_database(place: Path) -> dict[str, Run]:
    settings: dict[str, dict[str, Any]] = {}
    series: dict[str, list[tuple[float | None, str, float]]] = {}
    for run, key, value in query(place, "SELECT run_uuid, key, value FROM params"):
        settings.setdefault(str(run), {})[str(key)] = value
    for run, value in query(place, f"SELECT run_uuid, value FROM tags WHERE key = '{_PARENT}'"):
        settings.setdefault(str(run), {})[_PARENT] = value
    sql = "SELECT run_uuid, key, value, step, is_nan FROM metrics ORDER BY timestamp, rowid"
    for run, key, value, step, is_nan in query(place, sql):
        one = math.nan if is_nan else number(value, place, "the number of a metric")
        one = math.copysign(math.inf, one) if abs(one) > _INFINITE else one
        series.setdefault(str(run), []).append((number(step, place, "a step"), str(key), one))
    runs = {}
    sql = (
        "SELECT r.run_uuid, r.name, r.status, r.start_time, r.end_time, r.lifecycle_stage, e.name FROM runs r "
        "LEFT JOIN experiments e ON r.experiment_id = e.experiment_id ORDER BY r.start_time, r.rowid"
    )
    for run, name, status, start, end, stage, experiment in query(place, sql):
        took = (end - start) / 1000 if isinstance(start, int) and isinstance(end, int) else None
        about = {"run_name": name, "experiment": experiment} | settings.get(str(run), {})
        state = "deleted" if stage == "deleted" else str(status or "").lower()
        runs[str(run)] = Run(str(run), about, tuple(series.get(str(run), ())), state, took)
    return runs


def _folders(place: Path) -> Iterator[Path]:
    for meta in sorted({*place.glob("*/meta.yaml"), *place.glob("*/*/meta.yaml")}):
        if (meta.parent / "metrics").is_dir() and not meta.parent.parent.name.startswith("."):
            yield meta.parent


def _of_folder(run: Path) -> Run:
    about = plain_yaml(run / "meta.yaml")
    experiment = run.parent / "meta.yaml"
    settings: dict[str, Any] = {"run_name": about.get("run_name", run.name)}
    settings |= {"experiment": plain_yaml(experiment).get("name", run.parent.name)} if experiment.is_file() else {}
    settings |= {_name(path, run / "params"): text_of(path, "a value").strip() for path in _files(run / "params")}
    if (run / "tags" / _PARENT).is_file():
        settings[_PARENT] = text_of(run / "tags" / _PARENT, "the name of a run").strip()
    start, end = (about.get(name, "") for name in ("start_time", "end_time"))
    took = (int(end) - int(start)) / 1000 if re.fullmatch(r"\d{1,18} \d{1,18}", f"{start} {end}") else None
    status = about.get("status", "")
    state = "deleted" if about.get("lifecycle_stage") == "deleted" else _STATES.get(status, status.lower())
    series = tuple(one for path in _files(run / "metrics") for one in _series(path, _name(path, run / "metrics")))
    return Run(run.name, settings, series, state, took)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _series(path: Path, metric: str) -> Iterator[tuple[float, str, float]]:
    for line in text_of(path, "a metric of MLflow").split("\n"):
        match line.split():
            case []:
                continue
            case [_, value, *step] if len(step) < 4:
                yield number(step[0] if step else 0, path, "a step"), metric, number(value, path)
            case _:
                raise CorruptDataError(f"{path} is not an MLflow metric; expected lines of time, value and step")
