"""Finished trials of an Optuna storage in SQLite, read without Optuna: a column for each parameter, and "value".

A trial is a run where its parameters say the arm and the seed.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd

from transferscope.data.frame import Frame
from transferscope.errors import CorruptDataError

_STATES = {"COMPLETE": "finished", "FAIL": "failed", "RUNNING": "running", "WAITING": "waiting", "PRUNED": "pruned"}
_SQLITE = b"SQLite format 3\0"
_TABLES = {"trials", "trial_params", "trial_values", "studies"}


def holds(place: Path) -> bool:
    """See `readers.RunsReader`."""
    if not place.is_file():
        return False
    with place.open("rb") as file:
        if file.read(len(_SQLITE)) != _SQLITE:
            return False
    try:
        with closing(_opened(place)) as store:
            return {name for (name,) in store.execute("SELECT name FROM sqlite_master")} >= _TABLES
    except sqlite3.DatabaseError:
        return False


def read(place: Path) -> Frame:
    """See `readers.RunsReader`."""
    try:
        with closing(_opened(place)) as store:
            rows: dict[int, dict[str, Any]] = {
                trial: {"study": study, "state": _STATES.get(state, state), "seconds": seconds}
                for trial, study, state, seconds in store.execute(
                    "SELECT trial_id, study_name, state, (julianday(datetime_complete) - julianday(datetime_start)) "
                    "* 86400 FROM trials JOIN studies USING (study_id) ORDER BY trial_id"
                )
            }
            for trial, name, value, distribution in store.execute(
                "SELECT trial_id, param_name, param_value, distribution_json FROM trial_params"
            ):
                about = json.loads(distribution)["attributes"]  # of names Optuna keeps the place
                rows[trial][name] = about["choices"][int(value)] if "choices" in about else value
            for trial, objective, value in store.execute("SELECT trial_id, objective, value FROM trial_values"):
                rows[trial]["value" if objective == 0 else f"value_{objective}"] = value
    except (sqlite3.DatabaseError, KeyError, ValueError) as error:
        raise CorruptDataError(f"{place} cannot be read as a storage of Optuna ({error})") from error
    return Frame(pd.DataFrame(list(rows.values())), ())


def _opened(place: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{place.resolve().as_uri()}?mode=ro", uri=True)
