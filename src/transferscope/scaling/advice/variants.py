"""What changing the data would gain: two variants' rates and transfer gaps."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from transferscope.scaling.advice.decision import Interval
from transferscope.scaling.posterior import PowerPosterior

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
    gap: Interval
    rate: Interval
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


def _interval(values: Float[np.ndarray, " N"]) -> Interval:
    low, median, high = np.quantile(values, (0.05, 0.5, 0.95))
    return Interval(float(median), float(low), float(high))
