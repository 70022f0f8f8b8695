"""Runs of others in the form in which a study is read, so that one decision and one set of words serve both."""

from typing import Any

import numpy as np
import pandas as pd

from transferscope.analyses.results.runs import Runs
from transferscope.store import StudyRow
from transferscope.study.frames import StudyFrames, cells_frame, records_frame

_FAILED = "marked as failed, or without a finite score"


def frames_of(
    runs: Runs, name: str, *, margin: float | None = None, worth: float | None = None, planned: int | None = None
) -> StudyFrames:
    """Return the runs as frames of a study.

    Args:
        name: What they are called.
        margin: Differences that do not matter, in points; None for what the measure says.
        worth: Seconds of a run that a point is worth; None for the cheapest within the margin.
        planned: Number of seeds of every arm that was fixed before the first run; None where it was not.
    """
    done = runs.rows[runs.rows["state"] == "done"]
    records = pd.DataFrame(
        {
            "key": done.index.map(str),
            "name": runs.measure.record,
            "part": "target_test",
            "step": np.nan,
            "value": done["score"],
            "stderr": np.nan,
            "status": "ok",
        }
    )
    cells = _cells(runs.rows)
    unnamed = sorted(arm.method for arm in runs.with_source if not arm.source)
    facts = {"of_others": True, "measure": runs.measure.as_json(), "source_unnamed": unnamed, "target": {"name": name}}
    asked = {name: value for name, value in (("margin", margin), ("worth", worth)) if value is not None}
    return StudyFrames(
        study=StudyRow(name, {"decision": asked}, {**facts, "planned_seeds": planned}, ""),
        cells=cells,
        records=records_frame(records, cells),
        predictions={str(at): examples for at, examples in runs.examples.items()},
        test_labels=None,
        documents={},
    )


def _cells(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what `cells_frame` makes of cells, of runs of which no more is known."""
    n, failed = len(rows), rows["state"] == "failed"
    known = pd.DataFrame(
        {
            "key": rows.index.astype("str"),
            "role": "method",
            "origin": rows["source"],
            **{name: rows[name] for name in ("state", "source", "method", "n_target", "seed")},
            "n_source": 0,
            **dict.fromkeys(("diagnostic", "headline", "pretrained", "failure_details"), ""),
            "failure_kind": np.where(failed, "exception", ""),
            "failure_message": np.where(failed, _FAILED, ""),
            "stopped_early": False,
            "seconds": rows["seconds"].where(rows["state"] == "done"),
        }
    )
    of_none = cells_frame(())  # whose other columns hold what runs of others lack
    objects: dict[str, Any] = {"meaning": [None] * n, "left_out": [()] * n, "tuning": [{}] * n}
    return known.assign(**objects).reindex(columns=of_none.columns)
