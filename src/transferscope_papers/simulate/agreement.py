"""Agreement of simulations with a closed form, in standard errors."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import stats

from transferscope.estimate import Estimate


@dataclass(frozen=True)
class Agreement:
    """The z-scores of many simulated points against one closed form.

    Attributes:
        z: One score per usable point, shape (K,).
        n_unusable: Points left out because their status is neither "ok" nor "converged", or they have no expected
            value.
        largest: max |z|; NaN without points.
        beyond_two: Share of points with |z| > 2; 0.046 is expected.
        p_value: Kolmogorov-Smirnov test against the standard normal, of the points beyond the known error;
            NaN without any.
        n_within: Points within the known error, which have a score of 0.
    """

    z: Float[np.ndarray, " K"]
    n_unusable: int
    largest: float
    beyond_two: float
    p_value: float
    n_within: int = 0

    @property
    def sentence(self) -> str:
        """The agreement in words."""
        left_out = f"; {self.n_unusable} points left out" if self.n_unusable else ""
        if self.n_within and self.n_within == len(self.z):
            return f"{len(self.z)} points: all within the known error{left_out}"
        within = f"; {self.n_within} within the known error" if self.n_within else ""
        return (
            f"{len(self.z)} points: largest |z| {self.largest:.2f}, {100 * self.beyond_two:.1f} % beyond 2 "
            f"(4.6 % expected), KS p = {self.p_value:.3f}{within}{left_out}"
        )


def z_score(estimate: Estimate, expected: float, *, known_error: float = 0.0) -> float:
    """Return the distance of a simulated mean from theory, in standard errors.

    The standard error of S seeds is itself an estimate, so (mean - expected)/stderr follows Student's t; it is mapped
    to the normal score of equal probability, or few seeds would give too many large scores.

    Args:
        estimate: A mean over at least two independent seeds.
        known_error: A bound on the systematic difference (step size, finite size), at least 0, in the unit of the mean;
            it is subtracted from the distance.

    Returns:
        The score; NaN where the estimate is unusable or a number is missing or infinite.
    """
    if not estimate.usable or estimate.stderr is None or not np.isfinite(expected):
        return float("nan")
    distance = estimate.value - expected
    distance = np.sign(distance) * max(abs(distance) - known_error, 0.0)
    if estimate.stderr == 0:
        return 0.0 if distance == 0 else float(np.sign(distance) * np.inf)
    t = distance / estimate.stderr
    return float(np.sign(t) * stats.norm.isf(stats.t.sf(abs(t), estimate.n - 1)))


def agreement(
    estimates: Sequence[Estimate], expected: Iterable[float], *, known_error: float | Sequence[float] = 0.0
) -> Agreement:
    """Score every point of a diagram against the closed form; `known_error` as in `z_score`, per point or for all."""
    errors = np.broadcast_to(known_error, len(estimates))
    triples = zip(estimates, expected, errors, strict=True)
    scores = np.array([z_score(estimate, value, known_error=error) for estimate, value, error in triples])
    z = scores[~np.isnan(scores)]
    if len(z) == 0:
        return Agreement(z, len(scores), float("nan"), float("nan"), float("nan"))
    tested = z[z != 0] if errors.any() else z
    return Agreement(
        z=z,
        n_unusable=len(scores) - len(z),
        largest=float(np.abs(z).max()),
        beyond_two=float((np.abs(z) > 2).mean()),
        p_value=float(stats.kstest(tested, "norm").pvalue) if len(tested) else float("nan"),
        n_within=len(z) - len(tested),
    )
