"""Which curves the data allow when the law is not known either: weighted draws over several laws."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy import special

from transferscope.scaling.laws import law_named
from transferscope.scaling.laws.law import Law, product_grid
from transferscope.scaling.observations import Observations
from transferscope.scaling.posterior import (
    CAUTIOUS,
    Noise,
    PowerPosterior,
    WeightedDraws,
    conditional,
    log_rate_prior,
    recent,
    relative_noise,
    separable,
    systematic,
)

DRAWS = 1000
"""Draws of each law."""

TEMPER = 0.35
"""Power of the evidence in the weight of a law: 1 would be Bayesian averaging, which trusts a few points too much, and
0 equal weights. Set beforehand, and kept on simulated development truths (benchmarks/scaling_advice.py)."""

LEVELS = 110
FAR = 45.0
"""Sizes are looked for up to e^FAR times the largest measured one."""


Prior = tuple[Float[np.ndarray, "G q"], Float[np.ndarray, " G"]]
"""Values of the non-linear parameters of a law, with the log prior of each."""

RATE = np.geomspace(0.03, 4.0, 28)


def _power(_: Float[np.ndarray, " m"]) -> Prior:
    rates = np.geomspace(0.02, 4.0, 160)
    return rates[:, None], log_rate_prior(rates)


def _shifted(x: Float[np.ndarray, " m"]) -> Prior:
    grid = product_grid(RATE, np.geomspace(x.min() / 10, 3 * x.max(), 24))
    return grid, log_rate_prior(grid[:, 0])


def _from_chance(x: Float[np.ndarray, " m"]) -> Prior:
    """Rates up to those of a curve that falls steeply and then stays, which is nearly an exponential one."""
    grid = product_grid(np.geomspace(0.1, 12.0, 28), np.geomspace(x.min() / 30, 30 * x.max(), 24))
    return grid, -0.5 * np.log(grid[:, 0]) ** 2


def _saturating(x: Float[np.ndarray, " m"]) -> Prior:
    grid = product_grid(RATE, np.geomspace(x.min(), 1000 * x.max(), 24))
    return grid, log_rate_prior(grid[:, 0])


def _sigmoid(x: Float[np.ndarray, " m"]) -> Prior:
    grid = product_grid(RATE[::2], np.geomspace(x.min() / 10, 3 * x.max(), 14), np.array([0.2, 0.5, 1.0, 2.0, 5.0]))
    return grid, log_rate_prior(grid[:, 0])


def _broken(x: Float[np.ndarray, " m"]) -> Prior:
    """Both rates have the prior of a rate, so that the curve falls on both sides of the break."""
    late = np.geomspace(0.03, 3.0, 14)
    grid = product_grid(late, late, np.geomspace(x.min(), 3 * x.max(), 10), np.array([0.1, 0.5, 1.5]))
    prior = log_rate_prior(grid[:, 0]) + log_rate_prior(grid[:, 1])
    return np.stack([grid[:, 0], grid[:, 1] - grid[:, 0], grid[:, 2], grid[:, 3]], axis=1), prior


PRIORS: Mapping[str, Callable[..., Prior]] = {
    "power": _power,
    "power+floor": _power,
    "shifted-power": _shifted,
    "saturating-power": _saturating,
    "sigmoid": _sigmoid,
    "broken-power": _broken,
}
"""The prior of each law, from the sizes that were measured."""


@dataclass(frozen=True)
class AveragedPosterior(WeightedDraws):
    """Weighted draws of falling curves over several laws.

    Attributes:
        theta: Draws of each law by its name, shape (N_l, p_l).
        weights: Weights of all draws in the order of `theta`, shape (N,), summing to 1.
        noise: Relative noise at its mean over the laws.
        sizes: Smallest and largest measured size.
    """

    theta: Mapping[str, Float[np.ndarray, "_ _"]]
    weights: Float[np.ndarray, " N"]
    noise: float
    sizes: tuple[float, float]

    @property
    def shares(self) -> dict[str, float]:
        """The weight of each law."""
        ends = np.cumsum([len(theta) for theta in self.theta.values()])[:-1]
        return {name: float(part.sum()) for name, part in zip(self.theta, np.split(self.weights, ends), strict=True)}

    def predict(self, sizes: Float[np.ndarray, " T"]) -> Float[np.ndarray, "N T"]:
        """The error at each size under each draw."""
        return np.concatenate([law_named(name).value(sizes[:, None], theta) for name, theta in self.theta.items()])

    @cached_property
    def C(self) -> Float[np.ndarray, " N"]:
        """Transfer gaps: the error that each draw keeps however large the size."""
        return np.concatenate([_limit(law_named(name), theta) for name, theta in self.theta.items()])

    def size_for(self, error: float) -> Float[np.ndarray, " N"]:
        """The size at which each draw reaches `error`; infinite where that is not within e^FAR times the largest."""
        log_x = np.linspace(np.log(self.sizes[0]) - 7, np.log(self.sizes[1]) + FAR, LEVELS)
        above = np.maximum(self.predict(np.exp(log_x)) - self.C[:, None], 1e-300)
        wanted = error - self.C
        place = (above > np.maximum(wanted, 1e-300)[:, None]).sum(axis=1)  # the first size that is large enough
        last = np.clip(place, 1, LEVELS - 1)
        rows = np.arange(len(place))
        before, after = np.log(above[rows, last - 1]), np.log(above[rows, last])
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (before - np.log(np.maximum(wanted, 1e-300))) / (before - after)
        share = np.clip(np.nan_to_num(share, nan=1.0, posinf=1.0, neginf=0.0), 0, 1)
        size = np.exp(log_x[last - 1] + share * (log_x[last] - log_x[last - 1]))
        return np.where((wanted > 0) & (place < LEVELS), size, np.inf)


def averaged_posterior(
    data: Observations,
    *,
    power_floor: PowerPosterior,
    noise: Noise = CAUTIOUS,
    temper: float = TEMPER,
    chance: float | None = None,
) -> AveragedPosterior:
    r"""Posterior of a falling curve over several laws, each by quadrature over its non-linear parameters.

    Each law has the model of `power_posterior` (relative noise, amplitude with density 1/D, floor flat on [0, min y])
    with the priors of `PRIORS`. A law has the weight p(y | law)^TEMPER. With a known error of guessing, the law that
    starts there joins them: C + (chance - C) (1 + x / x_0)^-alpha, whose draws are those of a shifted power law.

    Args:
        data: Positive errors in one size x > 0, at least 2 different sizes.
        power_floor: The posterior of the power law with a floor, possibly with a prior from other curves.
        temper: Power of the evidence.
        chance: The error without any data, such as 1 - 1/K of K classes; None when unknown, and unused where it is not
            above every error.

    Returns:
        Weighted draws; of a curve that does not fall, those of `power_floor` alone.
    """
    data = recent(data)
    x = data.sizes[:, 0]
    by_law = [(name, _of_law(law_named(name), data, *grid(x), noise)) for name, grid in PRIORS.items()]
    if chance is not None and chance > data.errors.max():
        by_law.append(("shifted-power", _of_law(law_named("shifted-power"), data, *_from_chance(x), noise, chance)))
    usable = [(name, part) for name, part in by_law if part is not None]
    sizes = (float(x.min()), float(x.max()))
    if "power+floor" not in dict(usable) or len(power_floor.weights) == 1:
        return AveragedPosterior({"power+floor": power_floor.theta}, power_floor.weights, power_floor.noise, sizes)
    evidence = np.array([part[1] for _, part in usable])
    share = np.exp(temper * (evidence - evidence.max()))
    share /= share.sum()
    draws: dict[str, list[np.ndarray]] = {}
    weights: dict[str, list[np.ndarray]] = {}
    for (name, part), one in zip(usable, share, strict=True):
        own = name == "power+floor"
        draws.setdefault(name, []).append(power_floor.theta if own else part[0])
        each = power_floor.weights if own else np.full(len(part[0]), 1 / len(part[0]))
        weights.setdefault(name, []).append(one * each)
    joined = np.concatenate([np.concatenate(parts) for parts in weights.values()])
    theta = {name: np.concatenate(parts) for name, parts in draws.items()}
    spread = float(share @ [part[2] for _, part in usable])
    return AveragedPosterior(theta, joined / joined.sum(), spread, sizes)


def _of_law(
    law: Law,
    data: Observations,
    grid: Float[np.ndarray, "G q"],
    log_prior: Float[np.ndarray, " G"],
    assumed: Noise,
    chance: float | None = None,
) -> tuple[Float[np.ndarray, "N p"], float, float] | None:
    """Draws, log evidence and relative noise of one law; None when no falling curve with a floor of at least 0 fits.

    Of a curve that starts at `chance`, chance - y = (chance - C) (1 - (1 + x / x_0)^-alpha) has one coefficient.
    """
    x, y = data.sizes[:, 0], data.errors
    k = len(law.linear) if chance is None else 1
    unit = np.array([np.exp(np.log(x).mean())])
    factor = np.array([1.0 if parameter.size is None else 1 / unit[0] for parameter in law.nonlinear])
    eta = grid * factor
    basis = law.basis(x[:, None] / unit, eta)  # (G, m, k)
    seen = y
    if chance is not None:
        basis, seen = 1 - basis[..., :1] * (eta[:, 1:] ** eta[:, :1])[..., None], chance - y
    usable = separable(basis, data)
    eta, basis, log_prior = eta[usable], basis[usable], log_prior[usable]
    if len(eta) == 0:
        return None
    drawn, variance, log_volume, degrees = conditional(basis, seen, data, assumed)
    n_each = drawn.shape[1]
    amplitude, floor = drawn[..., 0], drawn[..., 1] if k == 2 else np.zeros(drawn.shape[:2])
    if chance is not None:
        floor = chance - amplitude
        drawn = np.stack([amplitude * (eta[:, 1:] ** eta[:, :1]), floor], axis=2)
    allowed = (amplitude > 0) & (floor >= 0) & (floor < y.min())
    # the integral over coefficients and noise, up to what all laws share
    constant = 0.5 * k * np.log(np.pi) + special.gammaln(degrees / 2) - (np.log(y.min()) if k == 2 else 0.0)
    log_cell = log_prior - 0.5 * degrees * np.log(variance * degrees) + log_volume + constant
    log_cell -= special.logsumexp(log_prior)
    log_weight = np.where(allowed, log_cell[:, None] - np.log(np.where(allowed, amplitude, 1.0)), -np.inf).ravel()
    if not np.isfinite(log_weight).any():
        return None
    evidence = float(special.logsumexp(log_weight) - np.log(n_each))
    weights = np.exp(log_weight - log_weight.max())
    chosen = systematic(np.cumsum(weights) / weights.sum(), DRAWS)
    theta = np.concatenate([np.repeat(eta, n_each, axis=0), drawn.reshape(-1, drawn.shape[2])], axis=1)[chosen]
    return law.in_unit(theta, 1 / unit), evidence, relative_noise(variance, log_cell, data)


def _limit(law: Law, theta: Float[np.ndarray, "N p"]) -> Float[np.ndarray, " N"]:
    """The error of each draw as the size grows without end; every law here falls."""
    names = list(law.names)
    if "C" in names:
        return theta[:, names.index("C")]
    if law.name == "saturating-power":
        alpha, saturates, scale = theta.T
        return np.asarray(scale * saturates**-alpha)
    return np.zeros(len(theta))
