"""Fine-tuning averaged over target examples, exact at every n, d, depth and noise.

`fine_tuning.fine_tuning_finite` puts the mean of the data into the root of shachaf2021 Thm. 5.2, which is off by a few
per cent at small n and large L. Here the root is taken for each draw of the examples, and draws are cheap: for Gaussian
inputs the theorem needs the data only through

    M = U'P U (2 x 2), P the projection on the rows of X, U a basis of the teachers' plane: a matrix beta(n, d - n)
    ||X^+ eps||^2 = sigma^2 chi^2_n / chi^2_{d-n+1}, in a direction that is uniform in the rows of X

The noise is independent of the row space because X = S V' with Haar V that is independent of S.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from transferscope.estimate import Estimate
from transferscope.theory.fine_tuning import kept_share
from transferscope.theory.linear_scratch import scratch_risk_finite
from transferscope.theory.parameters import above, angle, at_least


@dataclass(frozen=True)
class AveragedFineTuning:
    """Fine-tuning on average over target examples, with the standard error of the draws.

    Attributes:
        kappa: How much of the source's part outside the data is kept.
        risk: ||beta - theta_T||^2.
        transferability: Risk from scratch on the same examples minus this risk.
    """

    kappa: Estimate
    risk: Estimate
    transferability: Estimate


def fine_tuning_average(
    theta: float,
    n: int,
    d: int,
    *,
    sigma: float,
    source_norm: float = 1.0,
    target_norm: float = 1.0,
    depth: float = 2,
    draws: int = 20_000,
    seed: int = 0,
) -> AveragedFineTuning:
    """The mean over examples of shachaf2021 Theorem 5.2 (with label noise; eq. 5 and 6).

        risk = ||X^+ eps||^2 + ||P_perp (kappa theta_S - theta_T)||^2
        transferability = 2 kappa theta_S'P_perp theta_T - kappa^2 ||P_perp theta_S||^2

    with P_perp = I - P and kappa from A = ||P theta_T + X^+ eps||^2. Holds for Gaussian inputs, n < d; beyond,
    nothing of the source is left and the transferability is exactly 0.

    Args:
        theta: Angle between the teachers in radians, in [0, pi].
        n: Number of target examples, at least 1.
        d: Number of inputs, at least 2.
        sigma: Label noise, at least 0.
        source_norm: s, above 0.
        target_norm: tau, at least 0.
        depth: L, at least 1; may be infinite.
        draws: Draws of the examples, at least 2.
        seed: Of the draws.

    Returns:
        The means; the risk of d - 1 <= n < d with noise has no finite mean and is "unbounded".

    Raises:
        SettingsError: A parameter is out of range.
    """
    for name, value, least in (("n", n, 1), ("d", d, 2), ("sigma", sigma, 0), ("depth", depth, 1), ("draws", draws, 2)):
        at_least(name, value, least)
    s, tau = float(above("source_norm", source_norm, 0)), float(at_least("target_norm", target_norm, 0))
    c, sine = math.cos(float(angle(theta))), math.sin(theta)
    if n >= d:
        alone = _exact(float(scratch_risk_finite(n, d, sigma=sigma, target_norm=tau)))
        return AveragedFineTuning(Estimate(1.0, 0.0, 0), alone, Estimate(0.0, 0.0, 0))
    generator = np.random.default_rng(seed)
    inside = _projection(n, d, draws, generator)
    noise = sigma**2 * generator.chisquare(n, draws) / generator.chisquare(d - n + 1, draws)
    fitted = tau**2 * (c**2 * inside.first + 2 * c * sine * inside.both + sine**2 * inside.second)
    fitted = fitted + noise + 2 * np.sqrt(noise * np.maximum(fitted, 0)) * _direction(n, draws, generator)
    kappa = kept_share(np.maximum(fitted, 0), 1 - inside.first, s, depth)
    shared = s * tau * (c * (1 - inside.first) - sine * inside.both)  # theta_S'P_perp theta_T
    gain = 2 * kappa * shared - kappa**2 * s**2 * (1 - inside.first)
    outside = tau**2 * (c**2 * (1 - inside.first) - 2 * c * sine * inside.both + sine**2 * (1 - inside.second))
    bounded = sigma == 0 or d - n > 1
    risk = _mean(noise + outside - gain) if bounded else Estimate(math.inf, None, 0, "unbounded")
    return AveragedFineTuning(_mean(kappa), risk, _mean(gain))


@dataclass(frozen=True)
class _Inside:
    """The projection on the rows of X within the plane of the teachers: M_11, M_12, M_22, each of shape (draws,)."""

    first: Float64[np.ndarray, "draws"]
    both: Float64[np.ndarray, "draws"]
    second: Float64[np.ndarray, "draws"]


def _projection(n: int, d: int, draws: int, generator: np.random.Generator) -> _Inside:
    """M = R^-T G R^-1 with G ~ Wishart_2(n), G + H = R'R and H ~ Wishart_2(d - n)."""
    own, rest = _wishart(n, draws, generator), _wishart(d - n, draws, generator)
    root = np.linalg.cholesky(own + rest)  # lower, R'
    half = np.linalg.solve(root, own)
    m = np.linalg.solve(root, half.swapaxes(1, 2))
    return _Inside(m[:, 0, 0], m[:, 0, 1], m[:, 1, 1])


def _wishart(degrees: int, draws: int, generator: np.random.Generator) -> Float64[np.ndarray, "draws 2 2"]:
    """Z'Z of a degrees x 2 matrix of standard normals, by Bartlett's triangle."""
    first = generator.chisquare(degrees, draws)
    second = generator.chisquare(degrees - 1, draws) if degrees > 1 else np.zeros(draws)
    cross = generator.standard_normal(draws)
    lower = np.zeros((draws, 2, 2))
    lower[:, 0, 0], lower[:, 1, 0], lower[:, 1, 1] = np.sqrt(first), cross, np.sqrt(second)
    return lower @ lower.swapaxes(1, 2)


def _direction(n: int, draws: int, generator: np.random.Generator) -> Float64[np.ndarray, "draws"]:
    """One coordinate of a uniform direction in n dimensions."""
    along = generator.standard_normal(draws)
    others = generator.chisquare(n - 1, draws) if n > 1 else np.zeros(draws)
    return np.asarray(along / np.sqrt(along**2 + others))


def _mean(values: Float64[np.ndarray, "draws"]) -> Estimate:
    return Estimate(float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values))), len(values))


def _exact(value: float) -> Estimate:
    return Estimate(value, 0.0, 0) if math.isfinite(value) else Estimate(value, None, 0, "unbounded")
