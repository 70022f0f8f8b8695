"""Several curves of one study (tasks, models, renderings): a prior on log D and alpha that is fitted to all of them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from transferscope.errors import DataError
from transferscope.scaling.fit import usable
from transferscope.scaling.laws.curves import POWER_FLOOR
from transferscope.scaling.observations import Observations
from transferscope.scaling.posterior import PowerPosterior, power_posterior

LEAST_GROUPS = 3
MAX_PASSES = 200
WEAK_DEGREES = 4.0
WEAK_SD = (1.0, 0.2)
"""Standard deviations of log D and alpha that the covariance is shrunk to, with the weight of WEAK_DEGREES groups."""


@dataclass(frozen=True)
class HierarchicalFit:
    """Posteriors of all curves under a common prior.

    Attributes:
        names: The groups with enough points.
        left_out: Groups with fewer than two different sizes, or whose error does not fall.
    """

    names: tuple[str, ...]
    posteriors: tuple[PowerPosterior, ...]
    left_out: tuple[str, ...]


def fit_hierarchical(groups: Mapping[str, Observations]) -> HierarchicalFit:
    r"""Fit by empirical Bayes: (log D_g, \alpha_g) ~ N(m, S), with m and S fitted to all curves by EM.

    Each curve keeps its own posterior draws; the prior only reweights them, so nothing of one curve's held-out points
    can leak into a constant. S is shrunk towards a diagonal one (an inverse-Wishart prior), which keeps it from
    collapsing when the curves agree.

    Args:
        groups: Curves over one size, by name.

    Returns:
        Posteriors under the common prior; with fewer than three usable groups, each on its own.

    Raises:
        DataError: No group has two different sizes and an error that falls.
    """
    curves = {name: usable(data, POWER_FLOOR, "log") for name, data in groups.items()}
    each = {name: power_posterior(data) for name, data in curves.items() if data.n_distinct >= 2}
    used = {name: posterior for name, posterior in each.items() if posterior.falls}
    if not each:
        raise DataError("no group has two different sizes above 0; add measurements")
    if not used:
        raise DataError("the error falls with size in no group, as the law requires; check those runs")
    alone = list(used.values())
    left_out = tuple(name for name in groups if name not in used)
    if len(alone) < LEAST_GROUPS:
        return HierarchicalFit(tuple(used), tuple(alone), left_out)
    together, mean = alone, np.full(2, np.inf)
    for _ in range(MAX_PASSES):
        before, (mean, covariance) = mean, _moments(together)
        together = [one.reweighted(_log_normal(one, mean, covariance)) for one in alone]
        if np.abs(mean - before).max() < 1e-6:
            break
    return HierarchicalFit(tuple(used), tuple(together), left_out)


def _moments(posteriors: list[PowerPosterior]) -> tuple[Float[np.ndarray, "2"], Float[np.ndarray, "2 2"]]:
    """Take the M step: mean over groups, and the covariance between and within them, shrunk."""
    points = [np.stack([one.log_D, one.alpha], axis=1) for one in posteriors]
    centres = np.array([one.weights @ z for one, z in zip(posteriors, points, strict=True)])
    mean = centres.mean(axis=0)
    scatter = np.zeros((2, 2))
    for one, z in zip(posteriors, points, strict=True):
        scatter += np.einsum("n,ni,nj->ij", one.weights, z - mean, z - mean)
    weak = WEAK_DEGREES * np.diag(np.square(WEAK_SD))
    return mean, (scatter + weak) / (len(posteriors) + WEAK_DEGREES)


def _log_normal(
    one: PowerPosterior, mean: Float[np.ndarray, "2"], covariance: Float[np.ndarray, "2 2"]
) -> Float[np.ndarray, " N"]:
    z = np.stack([one.log_D, one.alpha], axis=1) - mean
    return np.asarray(-0.5 * np.einsum("ni,ij,nj->n", z, np.linalg.inv(covariance), z))
