"""Finished runs of other tools as frames of a study, so that both share one decision and one set of words."""

from typing import Any

import numpy as np
import pandas as pd

from transferscope.analyses.results.means import SEED
from transferscope.analyses.results.runs import Runs
from transferscope.store import StudyRow
from transferscope.study.frames import StudyFrames, cells_frame, records_frame

_FAILED = "marked as failed, or without a finite score"


def frames_of(
    runs: Runs, name: str, *, margin: float | None = None, worth: float | None = None, planned: int | None = None
) -> StudyFrames:
    """Return the runs as frames of a study.

    Args:
        name: Title of the runs.
        margin: Differences that do not matter, in points; None for the default of the metric.
        worth: Seconds of a run that one point is worth; None for the cheapest arm within the margin.
        planned: Number of seeds per arm fixed before the first run; None if not fixed.
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
    of_means = runs.columns.get("seed") == SEED
    facts = {
        "of_others": True,
        "of_means": of_means,
        "measure": runs.measure.as_json(),
        "source_unnamed": unnamed,
        "target": {"name": name},
    }
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
    """Return the frame of `cells_frame` for runs without further facts."""
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
