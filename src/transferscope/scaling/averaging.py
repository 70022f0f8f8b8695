"""Which curves the data allow when the law is not known either: weighted draws over several laws."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float

from transferscope.scaling.laws import law_named
from transferscope.scaling.laws.law import Law, product_grid
from transferscope.scaling.observations import Observations
from transferscope.scaling.posterior import (
    CAUTIOUS,
    Noise,
    PowerPosterior,
    WeightedDraws,
    draws_of,
    in_own_unit,
    log_rate_prior,
    recent,
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
    """Return rates up to those of a nearly exponential curve."""
    grid = product_grid(np.geomspace(0.1, 12.0, 28), np.geomspace(x.min() / 30, 30 * x.max(), 24))
    return grid, -0.5 * np.log(grid[:, 0]) ** 2


def _saturating(x: Float[np.ndarray, " m"]) -> Prior:
    grid = product_grid(RATE, np.geomspace(x.min(), 1000 * x.max(), 24))
    return grid, log_rate_prior(grid[:, 0])


def _sigmoid(x: Float[np.ndarray, " m"]) -> Prior:
    grid = product_grid(RATE[::2], np.geomspace(x.min() / 10, 3 * x.max(), 14), np.array([0.2, 0.5, 1.0, 2.0, 5.0]))
    return grid, log_rate_prior(grid[:, 0])


def _broken(x: Float[np.ndarray, " m"]) -> Prior:
    """Return the prior of both rates, so that the curve falls on both sides of the break."""
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
        """Return the error at each size under each draw."""
        return np.concatenate([law_named(name).value(sizes[:, None], theta) for name, theta in self.theta.items()])

    def resampled(self, n: int) -> "AveragedPosterior":
        """Return n draws of equal weight."""
        chosen, start, theta = systematic(np.cumsum(self.weights), n), 0, {}
        for name, drawn in self.theta.items():
            theta[name] = drawn[chosen[(chosen >= start) & (chosen < start + len(drawn))] - start]
            start += len(drawn)
        return replace(self, theta=theta, weights=np.full(n, 1 / n))

    @cached_property
    def C(self) -> Float[np.ndarray, " N"]:
        """Transfer gaps: the error that each draw keeps however large the size."""
        return np.concatenate([_limit(law_named(name), theta) for name, theta in self.theta.items()])

    def size_for(self, error: float) -> Float[np.ndarray, " N"]:
        """Return the size at which each draw reaches `error`; infinite beyond e^FAR times the largest."""
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
    r"""Return the posterior of a falling curve over several laws, each by quadrature over its non-linear parameters.

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
    sizes = (float(data.sizes.min()), float(data.sizes.max()))
    data, unit = in_own_unit(data)
    x = data.sizes[:, 0]
    by_law = [(name, draws_of(law_named(name), data, *grid(x), noise)) for name, grid in PRIORS.items()]
    if chance is not None and chance > data.errors.max():
        by_law.append(("shifted-power", draws_of(law_named("shifted-power"), data, *_from_chance(x), noise, chance)))
    usable = [(name, part) for name, part in by_law if len(part[0])]
    if "power+floor" not in dict(usable):
        return AveragedPosterior({"power+floor": power_floor.theta}, power_floor.weights, power_floor.noise, sizes)
    evidence = np.array([part[2] for _, part in usable])
    share = np.exp(temper * (evidence - evidence.max()))
    share /= share.sum()
    draws: dict[str, list[np.ndarray]] = {}
    weights: dict[str, list[np.ndarray]] = {}
    for (name, (theta, log_weights, _, _)), one in zip(usable, share, strict=True):
        drawn, each = power_floor.theta, power_floor.weights
        if name != "power+floor":
            sums = np.cumsum(np.exp(log_weights - log_weights.max()))
            drawn = law_named(name).in_unit(theta[systematic(sums / sums[-1], DRAWS)], 1 / unit)
            each = np.full(DRAWS, 1 / DRAWS)
        draws.setdefault(name, []).append(drawn)
        weights.setdefault(name, []).append(one * each)
    joined = np.concatenate([np.concatenate(parts) for parts in weights.values()])
    spread = float(share @ [part[3] for _, part in usable])
    return AveragedPosterior(
        {name: np.concatenate(parts) for name, parts in draws.items()}, joined / joined.sum(), spread, sizes
    )


def _limit(law: Law, theta: Float[np.ndarray, "N p"]) -> Float[np.ndarray, " N"]:
    """Return the error of each draw as the size grows without end; every law here falls."""
    names = list(law.names)
    if "C" in names:
        return theta[:, names.index("C")]
    if law.name == "saturating-power":
        alpha, saturates, scale = theta.T
        return np.asarray(scale * saturates**-alpha)
    return np.zeros(len(theta))
