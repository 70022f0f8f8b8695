"""Parameters and tokens: the N and D of a budget of compute."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from transferscope.estimate import Interval
from transferscope.scaling.advice.budget import best_split, splits, surface_draws
from transferscope.scaling.advice.costs import Cost
from transferscope.scaling.forecast import LEVEL, Forecast
from transferscope.scaling.surface import Surface

DRAWS = 100
WIDER = 1.2
"""Of the interval of N from refits. On development tables it holds .93 with it by budgets and .90 with free sizes, .92
and .87 without (docs/results/scaling-compute.md)."""
OFF = 0.15
"""What the best N is off besides, in log N, where no law is that of the table: with it .90 hold in development tables
of seven truths, two of them outside of the laws, and .81 and .84 without."""
PATH = 160
"""Splits of a budget among which the best one of each draw is looked for."""


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best use of a budget of compute.

    Attributes:
        plan: N and D, and the loss that is expected there.
        parameters: Where the best N lies (90 %).
    """

    budget: float
    plan: Forecast
    parameters: Interval


def compute_optimal(
    surface: Surface, costs: Cost, budgets: Sequence[float], *, largest_size: float | None = None
) -> list[Optimum]:
    """Return the N and D with the smallest expected loss for each budget, by the weighted mean of the laws.

    Parabolas through the runs of each measured budget with a line through their minima (approach 2 of Hoffmann et al.
    2022) are off by twice as much on development tables. The interval of N is WIDER times that of refits to resampled
    points, holds the best N of each law, and is wider by OFF.

    Args:
        surface: Both sizes vary freely (`fit_surface`).
        budgets: What may be spent, each at least the cost of the smallest measured run.
        largest_size: The largest feasible N; None for any.

    Raises:
        SettingsError: A budget does not pay for the smallest measured run.
    """
    draws, optima = surface_draws(surface, per_law=DRAWS), []
    for budget in budgets:
        options = splits(surface, costs, budget, count=PATH, largest_size=largest_size)
        plan = best_split(surface, costs, budget, largest_size=largest_size)
        best = options[draws.predict(options).argmin(axis=1), 0]
        ends = [plan.n * (draws.quantile(best, at) / plan.n) ** WIDER for at in ((1 - LEVEL) / 2, (1 + LEVEL) / 2)]
        each = [options[surface.fits[name].predict(options).argmin(), 0] for name in surface.weights]
        held = np.log([plan.n, *ends, *each]) - np.log(plan.n)
        low, high = plan.n * np.exp([-np.hypot(held.min(), OFF), np.hypot(held.max(), OFF)])
        optima.append(Optimum(budget, plan, Interval(float(low), float(high), LEVEL)))
    return optima
