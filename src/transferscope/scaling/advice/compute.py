"""Parameters and tokens: the N and D of a budget of compute."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import special

from transferscope.estimate import Interval
from transferscope.scaling.advice.budget import LEVEL, Split, best_split, forecast_at, rest_of, splits, surface_draws
from transferscope.scaling.advice.costs import Cost
from transferscope.scaling.surface import Surface

DRAWS = 100
PATH = 160
"""Splits of a budget among which the best one of each draw is looked for."""


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best use of a budget of compute.

    Attributes:
        plan: N and D, and the loss that is expected there.
        parameters: Where the best N lies (90 %).
        from_minima: Whether N comes from parabolas through the points of each measured budget; else from the laws.
    """

    budget: float
    plan: Split
    parameters: Interval
    from_minima: bool


def compute_optimal(
    surface: Surface, costs: Cost, budgets: Sequence[float], *, largest_size: float | None = None
) -> list[Optimum]:
    """The N and D with the least expected loss for each budget.

    Where the table has the same budgets for several N each, N comes from the minima of parabolas through them
    (approach 2 of Hoffmann et al. 2022), by a power law of the budget; else from the laws. Its interval is that of the
    power law, or of refits to resampled points, and holds the best N of each law.

    Args:
        surface: Both sizes vary freely (`fit_surface`).
        budgets: What may be spent, each at least the cost of the smallest measured run.
        largest_size: The largest feasible N; None for any.

    Raises:
        SettingsError: A budget does not pay for the smallest measured run.
    """
    minima = isoflop_minima(surface, costs)
    draws = None if len(minima) >= LEAST_MINIMA else surface_draws(surface, per_law=DRAWS)
    optima = []
    for budget in budgets:
        options = splits(surface, costs, budget, count=PATH, largest_size=largest_size)
        if draws is None:
            n, inside = _by_minima(minima, budget)
            n = float(np.clip(n, options[0, 0], options[-1, 0]))
            low, high = inside.low, inside.high
        else:
            n = best_split(surface, costs, budget, largest_size=largest_size).pretrain_size
            best = options[draws.predict(options).argmin(axis=1), 0]
            order = np.argsort(best)
            below = np.cumsum(draws.weights[order])
            low, high = np.interp([(1 - LEVEL) / 2, (1 + LEVEL) / 2], below, best[order])
        each = [options[surface.fits[name].predict(options).argmin(), 0] for name in surface.weights]
        inside = Interval(float(min(low, n, *each)), float(max(high, n, *each)), LEVEL)
        tokens = float(rest_of(surface, costs, budget, np.array([n]))[0, 1])
        optima.append(Optimum(budget, forecast_at(surface, costs, n, tokens), inside, draws is None))
    return optima


LEAST_MINIMA = 3
SAME_BUDGET = 0.05
"""Budgets within this share of each other are one."""
LEAST_SIZES = 4
"""Different N that a parabola takes."""


def isoflop_minima(surface: Surface, costs: Cost) -> Float[np.ndarray, "k 2"]:
    """Budgets of the table at which several N were tried, each with the N where a parabola through the points is least.

    The parabola is one of the log loss over log N; it counts where it opens upwards with its minimum among the points.
    """
    data = surface.observations
    n, cost = data.sizes[:, 0], np.asarray(costs.of(*data.sizes.T))
    order = np.argsort(cost)
    groups = np.split(order, np.flatnonzero(np.diff(np.log(cost[order])) > SAME_BUDGET) + 1)
    minima = []
    for rows in groups:
        if len(np.unique(n[rows])) < LEAST_SIZES:
            continue
        centre = np.log(n[rows]).mean()
        a, b, _ = np.polyfit(np.log(n[rows]) - centre, np.log(data.errors[rows]), 2)
        least = np.exp(centre - b / (2 * a)) if a > 0 else 0.0
        if n[rows].min() <= least <= n[rows].max():
            minima.append((np.exp(np.log(cost[rows]).mean()), least))
    return np.array(minima).reshape(-1, 2)


def _by_minima(minima: Float[np.ndarray, "k 2"], budget: float) -> tuple[float, Interval]:
    """N at a budget by a straight line through the logarithms, with its prediction interval."""
    x, y = np.log(minima).T
    slope, intercept = np.polyfit(x, y, 1)
    degrees = len(x) - 2
    spread = np.sqrt(((y - intercept - slope * x) ** 2).sum() / degrees)
    at = np.log(budget)
    half = special.stdtrit(degrees, (1 + LEVEL) / 2) * spread
    half *= np.sqrt(1 / len(x) + (at - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum())
    middle = intercept + slope * at
    return float(np.exp(middle)), Interval(float(np.exp(middle - half)), float(np.exp(middle + half)), LEVEL)
