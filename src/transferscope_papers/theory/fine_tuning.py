"""Fine-tuning of a deep linear network: every layer is trained from the pretrained start (shachaf2021, Theorem 5.2).

Assumptions: the start is balanced (a small initialisation and a source learnt on the population), gradient flow reaches
an interpolator, n < d. With kappa = (r/s)^((L-1)/L), r the norm of the result and s that of the source,

    beta = X^+ y + kappa P_perp theta_S

where P_perp projects on the complement of the rows of X. The first layer changes within the rows of X only, so its
component along P_perp theta_S is kept; the layers above rescale it from s to r. In t = r^(2/L) this is the scalar
equation

    t^(L-1) (t - B) = A,    A = ||X^+ y||^2,    B = s^(2/L) ||P_perp theta_S||^2 / s^2.

Correction. tahir2024 (Theorem 3.9, eq. 16 and 17) has kappa = 1 at every depth. That is correct for L = 1, and nearly
so without noise and with s = tau; otherwise it can have the wrong sign (see `printed_transferability` and
docs/theory/errata.md).

Averages over examples: `fine_tuning_finite` solves for the root at the mean of the data, with an error of a few per
cent at small n and large L. `fine_tuning_average` solves for each draw of the examples, and draws are cheap: for
Gaussian inputs the theorem depends on the data only through

    M = U'P U (2 x 2), P the projection on the rows of X, U a basis of the teachers' plane: a matrix beta(n, d - n)
    ||X^+ eps||^2 = sigma^2 chi^2_n / chi^2_{d-n+1}, in a direction that is uniform in the rows of X

The noise is independent of the row space because X = S V' with Haar V that is independent of S.

Where it stops holding: a start that is not small (scale above about 1e-2), n > d with strongly opposed tasks, training
that stops early.

Everywhere `theta`, the angle between the teachers in radians, is in [0, pi]; `gamma` = n/d, `sigma` and `target_norm`
tau are at least 0; `source_norm` s is above 0; `depth` L is at least 1 and may be infinite. Results are broadcast, and
SettingsError says what is out of range.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from transferscope.estimate import Estimate
from transferscope_papers.parameters import Array, Numbers, above, angle, at_least
from transferscope_papers.theory.linear_scratch import scratch_risk_finite, variance_finite, variance_limit


@dataclass(frozen=True)
class FineTuning:
    """Fine-tuning on average over the target examples.

    Attributes:
        kappa: Factor on the part of the source outside the data; 1 keeps it unchanged.
        risk: ||beta - theta_T||^2; infinite at gamma = 1 with noise.
        transferability: Risk from scratch minus this risk; exactly 0 for gamma >= 1.
    """

    kappa: Array
    risk: Array
    transferability: Array


@dataclass(frozen=True)
class FineTunedWeights:
    """Fine-tuning on given target examples: beta, and kappa as in `FineTuning`."""

    weights: Float64[np.ndarray, " d"]
    kappa: float


def fine_tuning(
    theta: Numbers,
    gamma: Numbers,
    *,
    sigma: Numbers,
    source_norm: Numbers = 1.0,
    target_norm: Numbers = 1.0,
    depth: Numbers = 2,
) -> FineTuning:
    """Return fine-tuning for n, d -> infinity at n/d = gamma (shachaf2021 Thm. 5.2 with noise; corrects tahir2024 3.9).

        t^(L-1) (t - (1-gamma) s^(2/L)) = gamma tau^2 + sigma^2 gamma/(1-gamma),    kappa = (t^(L/2)/s)^((L-1)/L)
        risk = scratch risk + (1-gamma) (kappa^2 s^2 - 2 kappa s tau c)

    So transfer is positive if cos(theta) > kappa s / (2 tau), and best if kappa s = tau cos(theta). tahir2024 has 1/2
    for every gamma and sigma, which is the case L = 1 and s = tau.
    """
    gamma, sigma = at_least("gamma", gamma, 0), at_least("sigma", sigma, 0)
    return _fine_tuning(theta, gamma, variance_limit(gamma, sigma), source_norm, target_norm, depth)


def fine_tuning_finite(
    theta: Numbers,
    n: Numbers,
    d: Numbers,
    *,
    sigma: Numbers,
    source_norm: Numbers = 1.0,
    target_norm: Numbers = 1.0,
    depth: Numbers = 2,
) -> FineTuning:
    """Return fine-tuning at n >= 0 and d >= 1, with the exact variance sigma^2 n/(d-n-1) of the pseudo-inverse.

    Exact for L = 1; for deeper networks the root at the mean approximates the mean of the root, with an error of a few
    per cent at small n and large L; see `fine_tuning_average` for the mean itself.
    """
    n, d, sigma = at_least("n", n, 0), at_least("d", d, 1), at_least("sigma", sigma, 0)
    return _fine_tuning(theta, np.asarray(n / d), variance_finite(n, d, sigma), source_norm, target_norm, depth)


def fine_tuned_weights(
    inputs: Float64[np.ndarray, "n d"],
    targets: Float64[np.ndarray, " n"],
    source: Float64[np.ndarray, " d"],
    *,
    depth: float = 2,
) -> FineTunedWeights:
    """Return the end-to-end weights that fine-tuning reaches on given examples (shachaf2021, Theorem 5.2, eq. 5 and 6).

    Args:
        inputs: X, shape (n, d).
        targets: y, shape (n,); noisy ones are fine.
        source: theta_S, shape (d,), not zero.
        depth: L, at least 1; may be infinite. L = 1 is shachaf2021 Theorem 4.1, eq. 1.

    Raises:
        SettingsError: The depth is below 1 or the source is zero.
    """
    s = above("source_norm", float(np.linalg.norm(source)), 0)
    fitted = np.linalg.lstsq(inputs, targets, rcond=None)[0]
    outside = source - np.linalg.lstsq(inputs, inputs @ source, rcond=None)[0]  # X X' may be singular
    share = np.asarray(np.sum(outside**2) / s**2)
    kappa = float(_kept_share(np.asarray(np.sum(fitted**2)), share, s, at_least("depth", depth, 1)))
    return FineTunedWeights(np.asarray(fitted + kappa * outside), kappa)


@dataclass(frozen=True)
class AveragedFineTuning:
    """`FineTuning` on average over draws of the examples, with standard errors; scratch on the same examples."""

    kappa: Estimate
    risk: Estimate
    transferability: Estimate


def fine_tuning_average(
    theta: float,
    n: int,
    d: int,
    *,
    sigma: float = 0.0,
    source_norm: float = 1.0,
    target_norm: float = 1.0,
    depth: float = 2,
    draws: int = 20_000,
    seed: int = 0,
) -> AveragedFineTuning:
    """Return the mean over examples of shachaf2021 Theorem 5.2 (with label noise; eq. 5 and 6).

        risk = ||X^+ eps||^2 + ||P_perp (kappa theta_S - theta_T)||^2
        transferability = 2 kappa theta_S'P_perp theta_T - kappa^2 ||P_perp theta_S||^2

    with P_perp = I - P and kappa from A = ||P theta_T + X^+ eps||^2. Holds for Gaussian inputs, 1 <= n < d; for n >= d
    the source has no effect and the transferability is exactly 0. d and `draws` are at least 2.

    Returns:
        The means; "unbounded" where there is no finite one, and without standard error where there is no variance. With
        noise, ||X^+ eps||^2 has a mean for n < d - 1 and a variance for n < d - 3. At L = infinity kappa^2 goes as
        1 / M_11, which has a mean for n > 2 and a variance for n > 4 (kappa itself: n > 1 and n > 2).
    """
    for name, value, least in (("n", n, 1), ("d", d, 2), ("sigma", sigma, 0), ("depth", depth, 1), ("draws", draws, 2)):
        at_least(name, value, least)
    s, tau = float(above("source_norm", source_norm, 0)), float(at_least("target_norm", target_norm, 0))
    c, sine = math.cos(float(angle(theta))), math.sin(theta)
    if n >= d:
        alone = _exact(float(scratch_risk_finite(n, d, sigma=sigma, target_norm=tau)))
        return AveragedFineTuning(Estimate(1.0, 0.0, 0), alone, Estimate(0.0, 0.0, 0))
    generator = np.random.default_rng(seed)
    # M = R^-T G R^-1 with G ~ Wishart_2(n), G + H = R'R and H ~ Wishart_2(d - n)
    own = _wishart(n, draws, generator)
    root = np.linalg.cholesky(own + _wishart(d - n, draws, generator))  # lower, R'
    m = np.linalg.solve(root, np.linalg.solve(root, own).swapaxes(1, 2))
    first, both, second = m[:, 0, 0], m[:, 0, 1], m[:, 1, 1]
    noise = sigma**2 * generator.chisquare(n, draws) / generator.chisquare(d - n + 1, draws)
    fitted = tau**2 * (c**2 * first + 2 * c * sine * both + sine**2 * second)
    along = generator.standard_normal(draws)  # one coordinate of a uniform direction in n dimensions, before its norm
    across = generator.chisquare(n - 1, draws) if n > 1 else np.zeros(draws)
    fitted = fitted + noise + 2 * np.sqrt(noise * np.maximum(fitted, 0)) * along / np.sqrt(along**2 + across)
    kappa = _kept_share(np.maximum(fitted, 0), 1 - first, s, depth)
    shared = s * tau * (c * (1 - first) - sine * both)  # theta_S'P_perp theta_T
    gain = 2 * kappa * shared - kappa**2 * s**2 * (1 - first)
    outside = tau**2 * (c**2 * (1 - first) - 2 * c * sine * both + sine**2 * (1 - second))
    # moments of (noise^p / M_11)^m: p = (L - 1)/L, and M_11 matters for L = infinity only
    tail = math.inf if sigma == 0 else (d - n + 1) / 2
    near = math.inf if math.isfinite(depth) or (sigma == 0 and tau * abs(sine) < 1e-15 * s) else n / 2
    p = 1 - 1 / depth
    finite = [m * p < tail and m < near for m in (0.5, 1, 2)]  # kappa, its square, the square of that
    of_risk = [finite[at] and m < tail for at, m in ((1, 1), (2, 2))]
    return AveragedFineTuning(
        _mean(kappa, finite[0], finite[1]),
        _mean(noise + outside - gain, *of_risk),
        _mean(gain, finite[1], finite[2], infinite=-math.inf),
    )


def printed_transferability(theta: Numbers, gamma: Numbers) -> Array:
    """Return transferability as tahir2024 prints it (eq. 17), for comparison only: (gamma - 1)(1 - 2 cos theta), 0
    beyond 1.

    Correct for L = 1 and equal norms; see the correction at the top of this file.
    """
    gamma = at_least("gamma", gamma, 0)
    return np.asarray(np.minimum(gamma - 1, 0) * (1 - 2 * np.cos(angle(theta))))


def _fine_tuning(
    theta: Numbers, gamma: Numbers, variance: Numbers, source_norm: Numbers, target_norm: Numbers, depth: Numbers
) -> FineTuning:
    s, tau = above("source_norm", source_norm, 0), at_least("target_norm", target_norm, 0)
    c, left = np.cos(angle(theta)), np.maximum(1 - gamma, 0)
    scratch = tau**2 * left + variance
    kappa = _kept_share(tau**2 * (1 - left) + variance, left, s, at_least("depth", depth, 1))
    with np.errstate(invalid="ignore"):
        transferability = np.where(left > 0, left * kappa * s * (2 * tau * c - kappa * s), 0.0)
        risk = np.where(np.isinf(scratch), np.inf, scratch - transferability)
    shape = np.broadcast_shapes(kappa.shape, risk.shape)
    return FineTuning(np.broadcast_to(kappa, shape), np.asarray(risk), np.asarray(transferability))


def _kept_share(fitted: Numbers, share: Numbers, s: Numbers, depth: Numbers) -> Array:
    """Return kappa = (r/s)^((L-1)/L), the root of the theorem at A = `fitted` and ||P_perp theta_S||^2/s^2 =
    `share`."""
    finite = np.where(np.isinf(depth), 2.0, depth)
    t = balanced_root(*np.broadcast_arrays(fitted, share * s ** (2 / finite), finite))
    with np.errstate(divide="ignore", invalid="ignore"):
        at_depth = t ** ((finite - 1) / 2) * s ** ((1 - finite) / finite)
        deepest = np.where(share < 1, np.sqrt(fitted / (1 - share)) / s, 1.0)  # no change without data
    return np.asarray(np.where(np.isinf(depth), deepest, at_depth))


def _wishart(degrees: int, draws: int, generator: np.random.Generator) -> Float64[np.ndarray, "draws 2 2"]:
    """Return Z'Z of a degrees x 2 matrix of standard normals, by Bartlett's triangle."""
    first = generator.chisquare(degrees, draws)
    second = generator.chisquare(degrees - 1, draws) if degrees > 1 else np.zeros(draws)
    cross = generator.standard_normal(draws)
    lower = np.zeros((draws, 2, 2))
    lower[:, 0, 0], lower[:, 1, 0], lower[:, 1, 1] = np.sqrt(first), cross, np.sqrt(second)
    return lower @ lower.swapaxes(1, 2)


def _mean(
    values: Float64[np.ndarray, " draws"], has_mean: bool, has_variance: bool, *, infinite: float = math.inf
) -> Estimate:
    if not has_mean:
        return Estimate(infinite, None, 0, "unbounded")
    stderr = float(values.std(ddof=1) / math.sqrt(len(values))) if has_variance else None
    return Estimate(float(values.mean()), stderr, len(values))


def _exact(value: float) -> Estimate:
    return Estimate(value, 0.0, 0) if math.isfinite(value) else Estimate(value, None, 0, "unbounded")


_STEPS = 100


def balanced_root(
    a: Float64[np.ndarray, "..."], b: Float64[np.ndarray, "..."], depth: Float64[np.ndarray, "..."]
) -> Float64[np.ndarray, "..."]:
    """Return the positive root t of t^(L-1) (t - b) = a.

    For a, b >= 0 (not both 0) and finite L >= 1 there is exactly one, in [max(b, a^(1/L)), b + a^(1/L)]. In
    w = log(t - b) the equation reads (L - 1) log(b + e^w) + w = log a, whose left side is convex with slopes in [1, L];
    so Newton's method from the upper end, w = (log a)/L, converges to the root without overshooting.

    Returns:
        t, broadcast, to a relative accuracy near 1e-15; 0 where a and b are 0, infinite where a is.
    """
    a, b, depth = np.broadcast_arrays(a, b, depth)
    regular = (a > 0) & (b > 0) & np.isfinite(a)
    log_a = np.log(a, out=np.zeros(a.shape), where=regular)
    log_b = np.log(b, out=np.zeros(b.shape), where=regular)
    w = log_a / depth
    for _ in range(_STEPS):
        log_t = np.logaddexp(log_b, w)
        slope = 1 + (depth - 1) * np.exp(w - log_t)
        step = ((depth - 1) * log_t + w - log_a) / slope
        w = w - step
        if (
            np.abs(step) <= 1e-12 * (1 + np.abs(w))
        ).all():  # convergence is quadratic: the next step would be below 1e-16
            break
    with np.errstate(divide="ignore"):
        degenerate = np.where(a == 0, b, a ** (1 / depth))
    return np.asarray(np.where(regular, b + np.exp(w), degenerate))
