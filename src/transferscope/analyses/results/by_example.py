"""Contribution of each test example to the score of a run, from a file of predictions."""

from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile

import numpy as np
import pandas as pd
from jaxtyping import Float

from transferscope.analyses.columns import words_in
from transferscope.data.frame import read_frame
from transferscope.errors import DataError, missing_file
from transferscope.files import require_regular
from transferscope.study.example_scores import example_scores


def scores_by_example(
    path: Path, score: float, measure: str
) -> tuple[Float[np.ndarray, " N"], "pd.Series[str] | None"]:
    """Return the contribution of each test example to a score, which is their mean, and the labels, if the file has
    them.

    Args:
        path: A table, or a .npz file of arrays of shape (N,): "score", or "prediction" and "label". Their score is 1 if
            both are equal and 0 otherwise; the squared error if the metric is named mse, the absolute error if mae. All
            runs have the examples in the same order.
        score: The score of the run, as a share or in percent.

    Raises:
        MissingDataError: The file does not exist.
        DataError: The file has other content, or its mean differs from the score.
    """
    if not path.is_file():
        raise missing_file("file of predictions", path, "check the path in the table")
    if path.suffix == ".npz":
        columns = _arrays(path)
    else:
        rows = read_frame(path, as_it_is=True).rows.reset_index(drop=True)
        columns = {str(name).lower(): rows[name] for name in rows}
    label = None if "label" not in columns else pd.Series(columns["label"]).astype(str)
    words = words_in(measure)
    error: Literal["squared", "absolute"] | None = (
        "squared" if "mse" in words else "absolute" if "mae" in words else None
    )
    return example_scores(columns, score, place=str(path), tolerance=2e-3, error=error), label  # three digits


def _arrays(path: Path) -> dict[str, Any]:
    require_regular(path, "a .npz file")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name].ravel() for name in arrays.files}
    except (OSError, ValueError, BadZipFile) as error:
        raise DataError(f"{path} cannot be read as a .npz file ({error}); write it again") from error
