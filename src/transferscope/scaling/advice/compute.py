"""Parameters and tokens: the N and D of a budget of compute."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import special

from transferscope.estimate import Interval
from transferscope.scaling.advice.budget import best_split, forecast_at, rest_of, spent_on, splits, surface_draws
from transferscope.scaling.advice.costs import Cost
from transferscope.scaling.forecast import LEVEL, Forecast
from transferscope.scaling.surface import Surface
from transferscope.scaling.surface import budgets as budgets_of

DRAWS = 100
WIDER = 1.5
"""Of the interval of N from refits: draws of the noise alone hold .75 of the development tables
(benchmarks/scaling_compute.py)."""
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
    plan: Forecast
    parameters: Interval
    from_minima: bool


def compute_optimal(
    surface: Surface, costs: Cost, budgets: Sequence[float], *, largest_size: float | None = None
) -> list[Optimum]:
    """The N and D with the least expected loss for each budget.

    Where the table has the same budgets for several N each, N comes from the minima of parabolas through them
    (approach 2 of Hoffmann et al. 2022), by a power law of the budget; else from the laws. Its interval is that of the
    power law, or WIDER times that of refits to resampled points, and holds the best N of each law.

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
            n = best_split(surface, costs, budget, largest_size=largest_size).n
            best = options[draws.predict(options).argmin(axis=1), 0]
            order = np.argsort(best)
            below = np.cumsum(draws.weights[order])
            ends = np.interp([(1 - LEVEL) / 2, (1 + LEVEL) / 2], below, np.log(best[order]))
            low, high = np.exp(np.log(n) + WIDER * (ends - np.log(n)))
        each = [options[surface.fits[name].predict(options).argmin(), 0] for name in surface.weights]
        inside = Interval(float(min(low, n, *each)), float(max(high, n, *each)), LEVEL)
        tokens = float(rest_of(surface, costs, budget, np.array([n]))[0, 1])
        optima.append(Optimum(budget, forecast_at(surface, costs, n, tokens), inside, draws is None))
    return optima


LEAST_MINIMA = 3
LEAST_SIZES = 4
"""Different N that a parabola takes."""
MOST_RUNS = 0.8
"""Share of the runs that are of such budgets, from which on a table is one by budgets: others can be near by chance."""


def isoflop_minima(surface: Surface, costs: Cost) -> Float[np.ndarray, "k 2"]:
    """Budgets of the table at which several N were tried, each with the N where a parabola through the points is least.

    The parabola is one of the log loss over log N; it counts where it opens upwards with its minimum among the points.
    Budgets are what runs were said to cost, or else what `costs` says, where runs of one budget need not cost the same
    (`surface.budgets`): each loss is moved to the budget by the laws, along the tokens. Outliers are left out.
    """
    data = surface.observations.take(surface.observations.errors > 0)
    if surface.outliers is not None:
        far = (data.sizes[:, None, :] == surface.outliers.sizes).all(axis=2) & (
            data.errors[:, None] == surface.outliers.errors
        )
        data = data.take(~far.any(axis=1))
    n, tokens = data.sizes.T
    spent = spent_on(data, costs)
    minima: list[tuple[float, float]] = []
    groups = [rows for rows in budgets_of(spent) if len(np.unique(n[rows])) >= LEAST_SIZES]
    if sum(map(len, groups)) < MOST_RUNS * len(n):
        groups = []
    for rows in groups:
        budget = float(np.median(spent[rows]))
        moved = np.stack([n[rows], tokens[rows] * budget / spent[rows]], axis=1)
        losses = np.log(data.errors[rows] * surface.predict(moved) / surface.predict(data.sizes[rows]))
        centre = np.log(n[rows]).mean()
        a, b, _ = np.polyfit(np.log(n[rows]) - centre, losses, 2)
        least = np.exp(centre - b / (2 * a)) if a > 0 else 0.0
        if n[rows].min() <= least <= n[rows].max():
            minima.append((budget, least))
    return np.array(minima).reshape(-1, 2)


MINIMUM_SPREAD, SPREAD_DEGREES = 0.1, 3.0
"""What the minima of parabolas scatter by around their line in log N, and with how many degrees of freedom that counts
beside what is seen: three minima can lie on a line by luck. Chosen on development tables
(benchmarks/scaling_compute.py)."""


def _by_minima(minima: Float[np.ndarray, "k 2"], budget: float) -> tuple[float, Interval]:
    """N at a budget by a straight line through the logarithms, with the interval of the line."""
    x, y = np.log(minima).T
    slope, intercept = np.polyfit(x, y, 1)
    degrees = len(x) - 2 + SPREAD_DEGREES
    squares = ((y - intercept - slope * x) ** 2).sum() + SPREAD_DEGREES * MINIMUM_SPREAD**2
    at = np.log(budget)
    half = special.stdtrit(degrees, (1 + LEVEL) / 2) * np.sqrt(squares / degrees)
    half *= np.sqrt(1 / len(x) + (at - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum())
    middle = intercept + slope * at
    return float(np.exp(middle)), Interval(float(np.exp(middle - half)), float(np.exp(middle + half)), LEVEL)
