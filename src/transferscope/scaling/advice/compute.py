"""Parameters and tokens: the N and D of a budget of compute."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from transferscope.estimate import Interval
from transferscope.scaling.advice.budget import best_split, spent_on, splits, surface_draws
from transferscope.scaling.advice.costs import Cost
from transferscope.scaling.forecast import LEVEL, Forecast
from transferscope.scaling.surface import Surface

DRAWS = 100
OFF, GROWS = 0.1, 0.03
"""Additional error of the best N, in log N, if no law is true for the table: at the largest measured budget, and for
each unit of the logarithm of a budget beyond it. Chosen on development tables of ten truths, six of them outside of the
laws (docs/results/forecast-defaults.md)."""
PATH = 160
"""Number of splits of a budget in the search for the best one of each draw."""


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
    2022) are off by twice as much on development tables. The interval of N is that of refits to resampled points, wider
    by how far the fits to the larger budgets alone are from those to all, and by what laws are off (OFF, GROWS).

    Args:
        surface: Both sizes vary freely (`fit_surface`).
        budgets: What may be spent, each at least the cost of the smallest measured run.
        largest_size: The largest feasible N; None for any.

    Raises:
        SettingsError: A budget does not pay for the smallest measured run.
    """
    draws, optima = surface_draws(surface, per_law=DRAWS), []
    largest, k = float(spent_on(surface.observations, costs).max()), len(surface.weights)
    shares = np.array([share for _, share, _ in surface.members])
    parts = [np.s_[:k], np.s_[k:]] if surface.later else [np.s_[:k]]
    for budget in budgets:
        options = splits(surface, costs, budget, count=PATH, largest_size=largest_size)
        plan = best_split(surface, costs, budget, largest_size=largest_size)
        refitted = options[draws.predict(options).argmin(axis=1), 0]
        best = np.log([options[fit.predict(options).argmin(), 0] for fit, _, _ in surface.members])
        means = [np.average(best[part], weights=shares[part]) for part in parts]
        off = np.hypot(OFF + GROWS * max(np.log(budget / largest), 0.0), np.ptp(means))
        ends = [np.log(draws.quantile(refitted, level) / plan.n) for level in ((1 - LEVEL) / 2, (1 + LEVEL) / 2)]
        low, high = plan.n * np.exp([-np.hypot(min(ends[0], 0.0), off), np.hypot(max(ends[1], 0.0), off)])
        optima.append(Optimum(budget, plan, Interval(float(low), float(high), LEVEL)))
    return optima
