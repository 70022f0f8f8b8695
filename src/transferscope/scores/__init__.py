"""Transferability scores: arrays of features and labels in, an Estimate out.

    view = TargetView(features, labels)
    with_error(SCORES["logme"], view)            # Estimate(value=..., stderr=..., n=..., status="ok")

`SCORES` lists them by name with their default settings. Higher is better for all; values compare networks on the same
examples only.
"""

from transferscope.numerics.jackknife import grouped_error
from transferscope.registry import Registry
from transferscope.scores.bhattacharyya import Bhattacharyya
from transferscope.scores.h_score import HScore
from transferscope.scores.leep import Leep
from transferscope.scores.logme import LogME
from transferscope.scores.nce import Nce
from transferscope.scores.neighbours import Neighbours
from transferscope.scores.parc import Parc
from transferscope.scores.ridge_probe import RidgeProbe
from transferscope.scores.score import Score, TargetView, leave_groups_out, with_error
from transferscope.scores.transrate import TransRate


def _as_score(kind: object) -> Score:
    """Check that the object of a reference is a class of scores that needs no settings."""
    if not isinstance(kind, type):
        raise TypeError("is not a class")
    if not issubclass(kind, Score):
        raise TypeError("does not derive from transferscope.scores.Score")
    if lacking := sorted(({"name"} - set(dir(kind))) | kind.__abstractmethods__):
        raise TypeError(f"lacks {', '.join(lacking)}")
    return kind()


_OWN: tuple[Score, ...] = (
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

SCORES: Registry[Score] = Registry("score", "transferscope.scores", {score.name: score for score in _OWN}, _as_score)
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
