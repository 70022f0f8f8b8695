"""Contribution of each test example to the score of a run, from predictions and labels or scores."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from transferscope.errors import DataError
from transferscope.wording import listed


def example_scores(
    columns: Mapping[str, Any],
    score: float,
    *,
    place: str,
    tolerance: float,
    error: Literal["squared", "absolute"] | None = None,
) -> Float[np.ndarray, " N"]:
    """Return the contribution of each test example to a score, which is their mean.

    Args:
        columns: Columns of the examples, in the same order for all runs: "score", or "prediction" and "label", whose
            score is 1 for equal text and 0 otherwise, or their `error`.
        score: The score of the run, as a share or in percent.
        tolerance: Largest relative difference between mean and score.

    Raises:
        DataError: The columns are invalid, or their mean differs from the score.
    """
    import pandas as pd

    if "score" in columns:
        scores = pd.to_numeric(pd.Series(columns["score"]), errors="coerce").to_numpy(dtype=np.float64)
    elif {"prediction", "label"} <= set(columns):
        prediction, label = pd.Series(columns["prediction"]), pd.Series(columns["label"])
        if len(prediction) != len(label):
            raise DataError(
                f"{place} has {len(prediction)} predictions and {len(label)} labels; expected one per example"
            )
        if error is None:
            scores = (prediction.astype(str) == label.astype(str)).to_numpy(dtype=np.float64)
        else:
            apart = pd.to_numeric(prediction, errors="coerce") - pd.to_numeric(label, errors="coerce")
            scores = (apart**2 if error == "squared" else apart.abs()).to_numpy(dtype=np.float64)
    else:
        raise DataError(
            f"{place} has the columns {listed(list(map(str, columns)))}; expected prediction and label, or score, the "
            "contribution of each test example"
        )
    if len(scores) < 2 or not np.isfinite(scores).all():
        raise DataError(f"{place} has fewer than two scores, or some are not numbers; expected one per test example")
    mean = float(scores.mean())
    if not any(math.isclose(factor * mean, score, rel_tol=tolerance, abs_tol=1e-6) for factor in (1.0, 100.0)):
        raise DataError(
            f"the examples of {place} have the mean {mean:.6g}, but the score of the run is {score:.6g}; give a "
            "column score with that mean, or leave predictions out"
        )
    return scores * (score / mean if mean else 1.0)
