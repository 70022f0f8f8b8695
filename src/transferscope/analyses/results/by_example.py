"""What each test example gives to the score of a run, from a file of its predictions."""

import math
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd
from jaxtyping import Float

from transferscope.analyses.scaling.checks import words_in
from transferscope.data.frame import read_frame
from transferscope.errors import DataError, MissingDataError
from transferscope.files import require_regular
from transferscope.wording import listed


def example_scores(path: Path, score: float, measure: str) -> Float[np.ndarray, " N"]:
    """What each test example gives to a score, whose mean is the score.

    Args:
        path: A table, or a .npz file of arrays of shape (N,): "score", or "prediction" and "label". Of these the score
            is 1 where both are the same and 0 otherwise; the squared error where the measure is named mse, the absolute
            where it is named mae. Examples come in the same order for all runs.
        score: The score of the run, as a share or in percent.

    Raises:
        MissingDataError: There is no such file.
        DataError: It holds something else, or its mean is another number than the score.
    """
    if not path.is_file():
        raise MissingDataError(f"there is no file of predictions {path}; check the path in the table")
    columns = _arrays(path) if path.suffix == ".npz" else _table(path)
    if "score" in columns:
        found = pd.to_numeric(pd.Series(columns["score"]), errors="coerce").to_numpy(dtype=np.float64)
    elif {"prediction", "label"} <= columns.keys():
        prediction, label = pd.Series(columns["prediction"]), pd.Series(columns["label"])
        if len(prediction) != len(label):
            raise DataError(f"{path} has {len(prediction)} predictions and {len(label)} labels; expected as many")
        words = words_in(measure)
        if words & {"mse", "mae"}:
            apart = pd.to_numeric(prediction, errors="coerce") - pd.to_numeric(label, errors="coerce")
            found = (apart**2 if "mse" in words else apart.abs()).to_numpy(dtype=np.float64)
        else:
            found = (prediction.astype(str) == label.astype(str)).to_numpy(dtype=np.float64)
    else:
        raise DataError(
            f"{path} holds {listed(list(columns))}; expected prediction and label, or score, which says what each test "
            "example gives to the score"
        )
    if len(found) < 2 or not np.isfinite(found).all():
        raise DataError(f"{path} has scores that are no numbers, or fewer than two; expected one for each test example")
    mean = float(found.mean())
    if not any(math.isclose(one * mean, score, rel_tol=2e-3, abs_tol=1e-6) for one in (1.0, 100.0)):
        raise DataError(
            f"the examples of {path} have the mean {mean:.6g} and the score of the run is {score:.6g}; give a column "
            "score whose mean is the score, or leave predictions out"
        )
    return found * (score / mean if mean else 1.0)


def _arrays(path: Path) -> dict[str, Any]:
    require_regular(path, "a .npz file")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name].ravel() for name in arrays.files}
    except (OSError, ValueError, BadZipFile) as error:
        raise DataError(f"{path} cannot be read as a .npz file ({error}); write it again") from error


def _table(path: Path) -> dict[str, Any]:
    rows = read_frame(path, as_it_is=True).rows
    return {str(name).lower(): rows[name] for name in rows}
