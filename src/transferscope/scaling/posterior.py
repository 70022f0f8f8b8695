"""Posterior of power laws with a floor, as weighted draws."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import special

from transferscope.scaling.laws.curves import POWER_FLOOR
from transferscope.scaling.laws.law import Law
from transferscope.scaling.observations import Observations

RATES = 160
"""Values of alpha; half of them spread over the range, half where the posterior is."""
DRAWS_PER_RATE = 64
MANY_CELLS = 400
"""From so many values of the non-linear parameters on, a quarter of the draws suffices for each."""

PRIOR_RATE_MEDIAN, PRIOR_RATE_LOG_SD = 0.4, 1.0
"""Prior of a rate: log-normal. One unit of log sd lets 95 % of rates lie between 0.06 and 2.8."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Assumptions on the noise around the law.

    Attributes:
        scale: Prior scale of the relative noise; with standard errors it is 1 in their unit.
        degrees: Degrees of freedom of its scaled inverse chi-squared prior, above 0; 1 is known to little more than an
            order of magnitude, which keeps three points from looking exact.
        effective_points: The sizes count as at most this many independent points, since residuals of neighbours are
            correlated.
    """

    scale: float = 0.003
    degrees: float = 1.0
    effective_points: float = 5.0

    def share(self, data: Observations) -> float:
        """Return the weight of each size."""
        return min(1.0, self.effective_points / data.n_distinct)

    def variance(self, data: Observations) -> float:
        """Return the prior variance of the noise, in units of the errors or of their standard errors."""
        return self.scale**2 if data.stderr is None else 1.0

    def degrees_beside(self, k: int, data: Observations) -> float:
        """Return degrees of freedom of the noise beside k coefficients."""
        return max(self.share(data) * len(data) - k + self.degrees, 0.5)


CAUTIOUS = Noise()
"""For probabilities and intervals. Chosen on development curves (docs/scaling.md)."""

RECENT_SHARE, RECENT_LEAST = 0.5, 7
"""Share of the sizes, counted from the largest, that is used, and the fewest: the law holds for large sizes, and points
far before them pull its floor and rate away from what comes next."""


class WeightedDraws:
    """Probabilities and quantiles of weighted draws."""

    weights: Float[np.ndarray, " N"]

    def probability(self, event: Bool[np.ndarray, " N"]) -> float:
        """Return the posterior probability of an event over draws."""
        return float(min(1.0, self.weights[event].sum()))

    def quantile(self, values: Float[np.ndarray, " N"], level: float) -> float:
        """Return the posterior quantile of a value of each draw (values may be infinite)."""
        return float(np.quantile(values, level, weights=self.weights, method="inverted_cdf"))


def systematic(cumulative: Float[np.ndarray, " N"], n: int) -> Int[np.ndarray, " n"]:
    """Return places of n draws, evenly spaced over weights whose cumulative sums end at 1."""
    return np.minimum(np.searchsorted(cumulative, (np.arange(n) + 0.5) / n), len(cumulative) - 1)


@dataclass(frozen=True)
class PowerPosterior(WeightedDraws):
    """Weighted draws of the parameters of D x^-alpha + C.

    Attributes:
        theta: (alpha, D, C) of each draw, shape (N, 3).
        weights: Weights that sum to 1, shape (N,).
        noise: Relative noise (standard deviation of the log error) at its posterior mean.
        falls: Whether any falling law fits the points. If none does, as for a rising curve, the draws are of the level
            only, without a rate or a floor.
    """

    theta: Float[np.ndarray, "N 3"]
    weights: Float[np.ndarray, " N"]
    noise: float
    falls: bool = True

    @property
    def alpha(self) -> Float[np.ndarray, " N"]:
        """Pretraining rates."""
        return self.theta[:, 0]

    @property
    def log_D(self) -> Float[np.ndarray, " N"]:
        """Logarithms of the coefficients."""
        return np.asarray(np.log(self.theta[:, 1]))

    @property
    def C(self) -> Float[np.ndarray, " N"]:
        """Transfer gaps."""
        return self.theta[:, 2]

    def predict(self, sizes: Float[np.ndarray, " T"]) -> Float[np.ndarray, "N T"]:
        """Return the error at each size under each draw."""
        return POWER_FLOOR.value(sizes[:, None], self.theta)

    def reweighted(self, log_factor: Float[np.ndarray, " N"]) -> "PowerPosterior":
        """Return the posterior under another prior: weights times exp(log_factor)."""
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights) + log_factor
        weights = np.exp(log_weights - log_weights.max())
        return replace(self, weights=weights / weights.sum())


def power_posterior(data: Observations, *, noise: Noise = CAUTIOUS) -> PowerPosterior:
    r"""Return the posterior of D x^{-\alpha} + C by quadrature over alpha and draws of (D, C) given alpha.

    Model: y_i = D x_i^{-\alpha} + C + \sigma y_i e_i, e_i normal: relative errors, the log error to first order. Prior:
    log-normal alpha, D with density 1/D, C flat on [0, min y], \sigma^2 scaled inverse chi-squared. Given alpha, (D, C)
    is multivariate t; its draws are the same quasi-random points for every alpha, so that the result is deterministic.

    Args:
        data: Positive errors in one size x > 0, at least 2 different sizes (`usable` with the power+floor law).

    Returns:
        Weighted draws. With few points they are wide, never degenerate. Of a long curve the last half is used.
    """
    data, unit = in_own_unit(recent(data))
    coarse = np.geomspace(0.02, 4.0, RATES // 2)
    posterior = _of_rates(data, coarse, noise)
    low, high = posterior.quantile(posterior.alpha, 1e-3), posterior.quantile(posterior.alpha, 1 - 1e-3)
    fine = np.geomspace(max(low * 0.9, 0.02), min(high * 1.1, 4.0), RATES // 2)
    posterior = _of_rates(data, np.unique(np.concatenate([coarse, fine])), noise)
    return replace(posterior, theta=POWER_FLOOR.in_unit(posterior.theta, 1 / unit))


def recent(data: Observations) -> Observations:
    """Return the last half of the sizes, at least RECENT_LEAST of them."""
    sizes = np.unique(data.sizes[:, 0])
    used = max(RECENT_LEAST, int(np.ceil(RECENT_SHARE * len(sizes))))
    return data.take(data.sizes[:, 0] >= sizes[-min(used, len(sizes))])


def in_own_unit(data: Observations) -> tuple[Observations, Float[np.ndarray, " 1"]]:
    """Return the observations with sizes over their geometric mean, and that mean."""
    unit = np.exp(np.log(data.sizes).mean(axis=0))
    return replace(data, sizes=data.sizes / unit), unit


def _of_rates(data: Observations, rates: Float[np.ndarray, " A"], assumed: Noise) -> PowerPosterior:
    log_prior = log_rate_prior(rates) - np.log(rates) + np.log(np.gradient(rates))
    theta, log_weights, _, noise = draws_of(POWER_FLOOR, data, rates[:, None], log_prior, assumed)
    if len(theta) == 0:
        theta = _level(data, assumed)
        return PowerPosterior(theta, np.full(len(theta), 1 / len(theta)), noise, falls=False)
    weights = np.exp(log_weights - log_weights.max())
    return PowerPosterior(theta, weights / weights.sum(), noise)


def draws_of(
    law: Law,
    data: Observations,
    grid: Float[np.ndarray, "G q"],
    log_prior: Float[np.ndarray, " G"],
    assumed: Noise,
    chance: float | None = None,
) -> tuple[Float[np.ndarray, "N p"], Float[np.ndarray, " N"], float, float]:
    """Return draws of falling curves of a law with a floor of at least 0, by quadrature over its non-linear parameters.

    Of a curve that starts at `chance`, chance - y = (chance - C) (1 - (1 + x / x_0)^-alpha) has one coefficient.

    Args:
        grid: Values of the non-linear parameters.
        log_prior: Log of the prior mass of each, up to a constant.

    Returns:
        The draws, none where no such curve fits; their log weights; the log evidence, up to what all laws share; and
        the relative noise.
    """
    y, k = data.errors, len(law.linear) if chance is None else 1
    basis, seen = law.basis(data.sizes, grid), y  # (G, m, k)
    if chance is not None:
        basis, seen = 1 - basis[..., :1] * (grid[:, 1:] ** grid[:, :1])[..., None], chance - y
    apart = separable(basis, data)
    eta, basis, log_prior = grid[apart], basis[apart], log_prior[apart]
    if len(eta) == 0:
        return np.zeros((0, len(law.names))), np.zeros(0), -np.inf, 0.0
    drawn, variance, log_volume, degrees = conditional(basis, seen, data, assumed)
    amplitude, floor = drawn[..., 0], drawn[..., 1] if k == 2 else np.zeros(drawn.shape[:2])
    if chance is not None:
        floor = chance - amplitude
        drawn = np.stack([amplitude * (eta[:, 1:] ** eta[:, :1]), floor], axis=2)
    allowed = (amplitude > 0) & (floor >= 0) & (floor < y.min())
    # the integral over coefficients and noise, up to what all laws share
    constant = 0.5 * k * np.log(np.pi) + special.gammaln(degrees / 2) - (np.log(y.min()) if k == 2 else 0.0)
    log_cell = log_prior - special.logsumexp(log_prior) - 0.5 * degrees * np.log(variance * degrees)
    log_cell += log_volume + constant
    log_weights = (log_cell[:, None] - np.log(np.where(allowed, amplitude, 1.0)))[allowed]
    evidence = float(special.logsumexp(log_weights) - np.log(drawn.shape[1])) if allowed.any() else -np.inf
    theta = np.concatenate([np.repeat(eta[:, None], drawn.shape[1], axis=1), drawn], axis=2)[allowed]
    return theta, log_weights, evidence, relative_noise(variance, log_cell, data)


def _level(data: Observations, assumed: Noise) -> Float[np.ndarray, "R 3"]:
    """Return draws of a curve that does not fall: its level, and rates of the prior.

    The level is Student's t about the weighted mean, and no lower than the lowest error that was measured.
    """
    degrees = assumed.degrees_beside(2, data)
    y, precision, steps = data.errors, assumed.share(data) * _precision(data), t_points(degrees)
    mean = float(np.average(y, weights=precision))
    squares = precision @ (y - mean) ** 2 + assumed.degrees * assumed.variance(data)
    level = np.maximum(mean + np.sqrt(squares / (degrees + 1) / precision.sum()) * steps[:, 0], y.min())
    ranks = (steps[:, 1].argsort().argsort() + 0.5) / len(steps)
    rate = PRIOR_RATE_MEDIAN * np.exp(PRIOR_RATE_LOG_SD * special.ndtri(ranks))
    return np.stack([rate, np.full(len(steps), 1e-9 * y.min()), level], axis=1)


def _precision(data: Observations) -> Float[np.ndarray, " m"]:
    """Return the noise scale of each error: relative, or its standard error."""
    return np.asarray(1 / (data.errors if data.stderr is None else data.stderr) ** 2)


def separable(basis: Float[np.ndarray, "A m k"], data: Observations) -> Bool[np.ndarray, " A"]:
    """Return where the one or two basis functions are distinguishable at these sizes, to machine precision."""
    precision = _precision(data)
    with np.errstate(all="ignore"):
        length = np.sqrt(np.einsum("amk,m,amk->ak", basis, precision, basis))
        finite = np.isfinite(length).all(axis=1) & (length > 0).all(axis=1)
        if basis.shape[2] == 1:
            return np.asarray(finite)
        both = np.einsum("am,m,am->a", basis[..., 0], precision, basis[..., 1]) / length.prod(axis=1)
    return np.asarray(finite & (np.abs(both) < 1 - 1e-11))


def conditional(
    basis: Float[np.ndarray, "A m k"], seen: Float[np.ndarray, " m"], data: Observations, assumed: Noise
) -> tuple[Float[np.ndarray, "A R k"], Float[np.ndarray, " A"], Float[np.ndarray, " A"], float]:
    """Return coefficients given each value of the non-linear parameters: multivariate t about weighted least squares.

    Args:
        seen: What the basis is fitted to: the errors, or what they are below the error of guessing.

    Returns:
        Draws of the coefficients, the variance of the noise and the log volume at each value; and the degrees of
        freedom.
    """
    k, share = basis.shape[2], assumed.share(data)
    precision = share * _precision(data)
    gram = np.einsum("ami,m,amj->aij", basis, precision, basis)
    moment = np.einsum("ami,m->ai", basis, precision * seen)
    mean = np.linalg.solve(gram, moment[..., None])[..., 0]
    squares = (precision * (seen - np.einsum("ami,ai->am", basis, mean)) ** 2).sum(axis=1)
    degrees = assumed.degrees_beside(k, data)
    variance = (squares + assumed.degrees * assumed.variance(data)) / degrees
    inverse = np.linalg.inv(gram)
    root = np.linalg.cholesky((inverse + np.swapaxes(inverse, 1, 2)) / 2)
    steps = t_points(degrees)[:: 1 if len(basis) < MANY_CELLS else 4, :k]
    drawn = mean[:, None, :] + np.sqrt(variance)[:, None, None] * np.einsum("aij,rj->ari", root, steps)
    return drawn, variance, -0.5 * np.linalg.slogdet(gram).logabsdet, degrees


def relative_noise(variance: Float[np.ndarray, " A"], log_weight: Float[np.ndarray, " A"], data: Observations) -> float:
    """Return the relative noise at its posterior mean, from its variance at each value of the non-linear parameters."""
    mean = np.sqrt(np.average(variance, weights=np.exp(log_weight - log_weight.max())))
    return float(mean * (1.0 if data.stderr is None else np.median(data.stderr / data.errors)))


def log_rate_prior(rates: Float[np.ndarray, " A"]) -> Float[np.ndarray, " A"]:
    """Return the log density of a rate over its logarithm, up to a constant."""
    z = (np.log(rates) - np.log(PRIOR_RATE_MEDIAN)) / PRIOR_RATE_LOG_SD
    return np.asarray(-0.5 * z**2)


@cache
def t_points(degrees: float) -> Float[np.ndarray, "R 2"]:
    """Return quasi-random points of the standard bivariate t distribution."""
    from scipy import stats  # here: it takes half a second to import

    uniform = stats.qmc.Halton(3, scramble=False).random(DRAWS_PER_RATE + 1)[1:]
    normal = special.ndtri(uniform[:, :2])
    return np.asarray(normal / np.sqrt(special.chdtri(degrees, 1 - uniform[:, 2:]) / degrees))
