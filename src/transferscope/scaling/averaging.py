"""Posterior of curves with an unknown law: weighted draws over several laws."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float

from transferscope.scaling.forecast import crossings
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
from transferscope.scaling.solve import TINY

DRAWS = 1000
"""Number of draws of each law."""

TEMPER = 0.35
"""Power of the evidence in the weight of a law: 1 would be Bayesian averaging, which trusts a few points too much, and
0 equal weights. Set beforehand, and kept on simulated development truths (benchmarks/scaling_advice.py)."""

LEVELS = 110
FAR = 45.0
"""Log of the largest searched size, relative to the largest measured one."""


Axis = Float[np.ndarray, " _"] | Callable[[float, float], Float[np.ndarray, " _"]]
"""Values of a non-linear parameter, or what returns them from the smallest and the largest measured size."""

RATES = np.geomspace(0.02, 4.0, 160)
RATE, LATE = np.geomspace(0.03, 4.0, 28), np.geomspace(0.03, 3.0, 14)


def _from_sizes(below: float, above: float, count: int) -> Axis:
    return lambda smallest, largest: np.geomspace(smallest / below, above * largest, count)


PRIORS: Mapping[str, tuple[Axis, ...]] = {
    "power": (RATES,),
    "power+floor": (RATES,),
    "shifted-power": (RATE, _from_sizes(10, 3, 24)),
    "saturating-power": (RATE, _from_sizes(1, 1000, 24)),
    "sigmoid": (RATE[::2], _from_sizes(10, 3, 14), np.array([0.2, 0.5, 1.0, 2.0, 5.0])),
    "broken-power": (LATE, LATE, _from_sizes(1, 3, 10), np.array([0.1, 0.5, 1.5])),
}
"""The grid of each law over its non-linear parameters; of the broken one, rates on both sides of the break, so that it
falls on both."""

FROM_CHANCE = (np.geomspace(0.1, 12.0, 28), _from_sizes(30, 30, 24))
"""That of a shifted power law that starts at chance, with rates up to those of a nearly exponential curve."""


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
        sizes = np.exp(np.linspace(np.log(self.sizes[0]) - 7, np.log(self.sizes[1]) + FAR, LEVELS))
        wanted = error - self.C
        above = np.log(np.maximum(self.predict(sizes) - self.C[:, None], TINY))
        above -= np.log(np.maximum(wanted, TINY))[:, None]
        place = (above > 0).sum(axis=1)  # the first size that is large enough
        size = crossings(sizes, above, place)
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
    ends, by_law = (data.sizes.min(), data.sizes.max()), []
    for name, axes in PRIORS.items():
        grid = _grid(axes, ends)
        prior = log_rate_prior(grid[:, 0])
        if name == "broken-power":  # whose second parameter is the change of the rate
            prior, grid[:, 1] = prior + log_rate_prior(grid[:, 1]), grid[:, 1] - grid[:, 0]
        by_law.append((name, draws_of(law_named(name), data, grid, prior, noise)))
    if chance is not None and chance > data.errors.max():
        grid = _grid(FROM_CHANCE, ends)
        prior = -0.5 * np.log(grid[:, 0]) ** 2
        by_law.append(("shifted-power", draws_of(law_named("shifted-power"), data, grid, prior, noise, chance)))
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


def _grid(axes: tuple[Axis, ...], ends: tuple[float, float]) -> Float[np.ndarray, "G q"]:
    return product_grid(*(axis(*ends) if callable(axis) else axis for axis in axes))


def _limit(law: Law, theta: Float[np.ndarray, "N p"]) -> Float[np.ndarray, " N"]:
    """Return the error of each draw as the size grows without end; every law here falls."""
    names = list(law.names)
    if "C" in names:
        return theta[:, names.index("C")]
    if law.name == "saturating-power":
        alpha, saturates, scale = theta.T
        return np.asarray(scale * saturates**-alpha)
    return np.zeros(len(theta))
