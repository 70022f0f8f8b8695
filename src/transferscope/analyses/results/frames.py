"""Runs of others in the form in which a study is read, so that one decision and one set of words serve both."""

import numpy as np
import pandas as pd

from transferscope.analyses.results.runs import Runs
from transferscope.records import Cost, Failure
from transferscope.store import PlannedCell, StoredCell, StudyRow
from transferscope.study.frames import StudyFrames, cells_frame, records_frame

_LABELS = ("method", "source", "n_target", "seed")
_FAILED = Failure("exception", "it is marked as failed, or its score is not a finite number")


def frames_of(
    runs: Runs, name: str, *, margin: float | None = None, worth: float | None = None, planned: int | None = None
) -> StudyFrames:
    """Return the runs as frames of a study.

    Args:
        name: What they are called.
        margin: Differences of no interest, in points; None for what the measure says.
        worth: Seconds of a run that a point is worth; None for the cheapest within the margin.
        planned: Number of seeds of every arm that was fixed before the first run; None where it was not.
    """
    stored = [
        StoredCell(
            PlannedCell(str(at), "method", {label: row[label] for label in _LABELS}, {}),
            row["state"],
            cost=Cost(seconds=row["seconds"]) if row["state"] == "done" else None,
            failure=_FAILED if row["state"] == "failed" else None,
        )
        for at, row in enumerate(runs.rows.to_dict("records"))
    ]
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
    cells = cells_frame(stored)
    cells[["peak_memory", "trained_parameters", "examples_seen"]] = np.nan  # nothing says them
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
