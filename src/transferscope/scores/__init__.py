"""Transferability scores: arrays of features and labels in, an Estimate out.

    view = TargetView(features, labels)
    with_error(SCORES["logme"], view)            # Estimate(value=..., stderr=..., n=..., status="ok")

`SCORES` lists them by name with their default settings. Higher is better for all; values compare networks on the same
examples only.
"""

from transferscope.numerics.jackknife import grouped_error
from transferscope.scores.bhattacharyya import Bhattacharyya
from transferscope.scores.h_score import HScore
from transferscope.scores.leep import Leep
from transferscope.scores.logme import LogME
from transferscope.scores.nce import Nce
from transferscope.scores.neighbours import Neighbours
from transferscope.scores.parc import Parc
from transferscope.scores.ridge_probe import RidgeProbe
from transferscope.scores.score import Score, TargetView
from transferscope.scores.transrate import TransRate
from transferscope.scores.uncertainty import leave_groups_out, with_error

SCORES: dict[str, Score] = {
    score.name: score
    for score in (
        LogME(),
        HScore(),
        Leep(),
        Nce(),
        TransRate(),
        Bhattacharyya(),
        Parc(),
        Neighbours(),
        RidgeProbe(),
    )
}
"""Every score by its name, with its default settings."""

__all__ = [
    "SCORES",
    "Bhattacharyya",
    "HScore",
    "Leep",
    "LogME",
    "Nce",
    "Neighbours",
    "Parc",
    "RidgeProbe",
    "Score",
    "TargetView",
    "TransRate",
    "grouped_error",
    "leave_groups_out",
    "with_error",
]
