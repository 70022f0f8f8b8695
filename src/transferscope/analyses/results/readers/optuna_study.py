"""Trials of an Optuna storage in SQLite, read without Optuna: a column for each parameter, and "value".

A trial is a run if its parameters name the arm and the seed. Intermediate values are ignored.
"""

import json
from pathlib import Path
from typing import Any

from transferscope.analyses.results.readers.run import Found, Run, is_sqlite, number, query
from transferscope.errors import CorruptDataError

_TABLES = ("trials", "trial_params", "trial_values", "studies")
_NO_NUMBERS = {"INF_POS": "inf", "INF_NEG": "-inf"}


def holds(place: Path) -> bool:
    """See `readers.RunsReader`."""
    return is_sqlite(place, _TABLES)


def read(place: Path) -> Found:
    """See `readers.RunsReader`."""
    settings: dict[Any, dict[str, object]] = {}
    for trial, name, value, distribution in query(
        place, "SELECT trial_id, param_name, param_value, distribution_json FROM trial_params"
    ):
        try:
            about = json.loads(distribution)["attributes"]  # of names Optuna keeps the place
            chosen = about["choices"][int(value)] if "choices" in about else value
        except (TypeError, ValueError, LookupError, RecursionError) as error:
            raise CorruptDataError(f"{place} is not a readable storage of Optuna ({error}); write it again") from error
        settings.setdefault(trial, {})[str(name)] = chosen
    typed = any(column[1] == "value_type" for column in query(place, "PRAGMA table_info(trial_values)"))
    series: dict[Any, list[tuple[None, str, float]]] = {}
    for trial, objective, value, kind in query(
        place, f"SELECT trial_id, objective, value, {'value_type' if typed else 'NULL'} FROM trial_values"
    ):
        name = "value" if objective == 0 else f"value_{objective}"
        series.setdefault(trial, []).append((None, name, number(_NO_NUMBERS.get(kind, value), place)))
    runs = [
        Run(
            f"trial {at} of {study}",
            {"study": study} | settings.get(trial, {}),
            tuple(series.get(trial, ())),
            str(state or ""),
            seconds if isinstance(seconds, float) else None,
        )
        for trial, at, study, state, seconds in query(
            place,
            "SELECT trial_id, number, study_name, state, (julianday(datetime_complete) - julianday(datetime_start)) "
            "* 86400 FROM trials JOIN studies USING (study_id) ORDER BY trial_id",
        )
    ]
    return Found(tuple(runs))
