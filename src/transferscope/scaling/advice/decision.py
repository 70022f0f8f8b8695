"""Can more pre-training alone reach a target error, with how much, and what would other data gain?"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from transferscope.estimate import Estimate, Interval
from transferscope.scaling.averaging import AveragedPosterior
from transferscope.scaling.posterior import PowerPosterior, WeightedDraws

Scenario = Literal["reached", "a", "b", "c", "d"]
"""The scenarios of Figure 3 of Mikami et al. 2021, and "reached".

reached: a measured error is at or below the target (that without pre-training counts). b: more data reach it within the
largest feasible size. c: the transfer gap is above it, so that no amount of this data does. d: more data would, and
would take more than is feasible.
a: what one has before the law is known; the data do not yet decide between b, c and d.
"""

DECIDED = 0.6
"""A scenario is named when its posterior probability is at least this."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the laws say about a target error.

    Attributes:
        target_error: The target.
        largest_size: The largest size that counts as feasible.
        scenario: Which case it is.
        reachable: Probability that the transfer gap is below the target.
        feasible: Probability that the target is reached at or below `largest_size`.
        size_needed: The size that reaches it; infinite where the transfer gap is above it.
        gap: The transfer gap C.
        rate: The pre-training rate alpha of the power law with a floor.
    """

    target_error: float
    largest_size: float
    scenario: Scenario
    reachable: float
    feasible: float
    size_needed: Estimate
    gap: Estimate
    rate: Estimate


def decide(
    posterior: AveragedPosterior | PowerPosterior,
    *,
    rates: PowerPosterior,
    target_error: float,
    least_error: float,
    largest_size: float,
) -> Decision:
    """Read a decision off the posterior of a curve.

    Args:
        posterior: Posterior of the curve, over one law or several.
        rates: Posterior of the power law with a floor, the only law whose rate is asked for.
        target_error: The error that is wanted, above 0.
        least_error: The smallest error that was measured.
        largest_size: The largest feasible size.

    Returns:
        Probabilities and intervals over the laws of `posterior`; the rate is that of the power law with a floor.
    """
    size = posterior.size_for(target_error)
    reachable = posterior.probability(target_error > posterior.C)
    feasible = posterior.probability(size <= largest_size)
    return Decision(
        target_error=target_error,
        largest_size=largest_size,
        scenario="reached" if least_error <= target_error else _scenario(reachable, feasible),
        reachable=reachable,
        feasible=feasible,
        size_needed=interval(posterior, size),
        gap=interval(posterior, posterior.C),
        rate=interval(rates, rates.alpha),
    )


def interval(posterior: WeightedDraws, values: Float[np.ndarray, " N"]) -> Estimate:
    """Median and central 90 % interval of a value of each draw; any of the three may be infinite."""
    return _median(*(posterior.quantile(values, level) for level in (0.05, 0.5, 0.95)), n=len(values))


def _median(low: float, median: float, high: float, *, n: int) -> Estimate:
    return Estimate(median, None, n, "ok" if np.isfinite(median) else "unbounded", Interval(low, high, 0.9))


def _scenario(reachable: float, feasible: float) -> Scenario:
    probabilities: dict[Scenario, float] = {"b": feasible, "c": 1 - reachable, "d": reachable - feasible}
    likeliest = max(probabilities, key=lambda name: probabilities[name])
    return likeliest if probabilities[likeliest] >= DECIDED else "a"


PAIRS = 4000


@dataclass(frozen=True, slots=True)
class VariantGain:
    """A variant of the pre-training data against a baseline.

    Attributes:
        baseline: Name of the baseline.
        variant: Name of the variant.
        gap: Transfer gap of the variant minus that of the baseline; negative is good.
        rate: Its rate minus that of the baseline; positive is good.
        lower_gap: Probability that the variant has the smaller transfer gap.
    """

    baseline: str
    variant: str
    gap: Estimate
    rate: Estimate
    lower_gap: float


def variant_gain(
    baseline: PowerPosterior, variant: PowerPosterior, *, names: tuple[str, str] = ("baseline", "variant")
) -> VariantGain:
    """Compare two posteriors, taken as independent.

    Args:
        baseline: Posterior of one variant.
        variant: Posterior of the other.
        names: Their names.

    Returns:
        Differences with 90 % intervals, over PAIRS pairs of draws.
    """
    first, second = _resampled(baseline, seed=0), _resampled(variant, seed=1)
    difference = second - first  # (alpha, D, C)
    return VariantGain(
        *names,
        gap=_interval(difference[:, 2]),
        rate=_interval(difference[:, 0]),
        lower_gap=float((difference[:, 2] < 0).mean()),
    )


def _resampled(posterior: PowerPosterior, *, seed: int) -> Float[np.ndarray, "N 3"]:
    index = np.random.default_rng(seed).choice(len(posterior.weights), PAIRS, p=posterior.weights)
    return posterior.theta[index]


def _interval(values: Float[np.ndarray, " N"]) -> Estimate:
    return _median(*(float(np.quantile(values, level)) for level in (0.05, 0.5, 0.95)), n=len(values))
