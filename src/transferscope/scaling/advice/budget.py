"""The best split of a budget between pre-training and labelled examples."""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from transferscope.errors import SettingsError
from transferscope.scaling.surface import Surface

SHARES = 400
BUDGETS = 120
"""Budgets that are tried; the least error falls with the budget, since every law falls with both sizes."""
LARGEST_FACTOR = 1000.0
"""A target is looked for up to this multiple of the cost of the largest measured run."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What data cost, in one currency.

    Attributes:
        per_pretrain: Per pre-training example, at least 0.
        per_label: Per labelled target example, at least 0.
        per_run: Per run of pre-training and fine-tuning, at least 0.

    Raises:
        SettingsError: A cost is negative or not finite, or all are 0.
    """

    per_pretrain: float = 0.0
    per_label: float = 0.0
    per_run: float = 0.0

    def __post_init__(self) -> None:
        """Check the range."""
        costs = (self.per_pretrain, self.per_label, self.per_run)
        if not all(np.isfinite(cost) and cost >= 0 for cost in costs) or not any(costs):
            raise SettingsError(f"the costs are {costs}; expected numbers of at least 0, not all 0")

    def of(self, pretrain_size: float, finetune_size: float = 0.0) -> float:
        """Cost of one run with its data."""
        return self.per_pretrain * pretrain_size + self.per_label * finetune_size + self.per_run


@dataclass(frozen=True, slots=True)
class Split:
    """A plan for a budget.

    Attributes:
        pretrain_size: n.
        finetune_size: s.
        cost: What it costs.
        error: The predicted error.
        low: Lowest prediction of a law.
        high: Highest prediction of a law.
        beyond: Whether n or s lies beyond the sizes that were measured.
    """

    pretrain_size: float
    finetune_size: float
    cost: float
    error: float
    low: float
    high: float
    beyond: bool


def best_split(surface: Surface, costs: Costs, budget: float) -> Split:
    """The (n, s) with the least predicted error within a budget.

    Args:
        surface: The fitted surface; its weighted mean over laws is minimised.
        costs: Costs with both `per_pretrain` and `per_label` above 0.
        budget: What may be spent.

    Returns:
        The plan, over SHARES splits of the budget, from the smallest measured sizes up.

    Raises:
        SettingsError: A cost is 0, or the budget does not pay for the smallest measured run.
    """
    return _plan(surface, costs, splits(surface, costs, budget, count=SHARES))


def splits(surface: Surface, costs: Costs, budget: float, *, count: int) -> Float[np.ndarray, "count 2"]:
    """Ways to spend a budget: (n, s) from the smallest measured sizes up, from all on labels to all on pre-training.

    Raises:
        SettingsError: As `best_split`.
    """
    if costs.per_pretrain <= 0 or costs.per_label <= 0:
        raise SettingsError(
            "a budget was to be split, which takes a cost above 0 per pre-training example and per label"
        )
    smallest_n, smallest_s = _smallest(surface)
    spare = budget - costs.of(smallest_n, smallest_s)
    if spare < 0:
        raise SettingsError(
            f"the budget {budget:g} does not pay for the smallest measured run, which costs "
            f"{costs.of(smallest_n, smallest_s):g}; give a larger one"
        )
    share = np.linspace(0, 1, count)
    n, s = smallest_n + share * spare / costs.per_pretrain, smallest_s + (1 - share) * spare / costs.per_label
    return np.stack([n, s], axis=1)


def cheapest_split(surface: Surface, costs: Costs, target_error: float) -> Split | None:
    """The cheapest (n, s) whose predicted error is at most the target; None if none up to LARGEST_FACTOR is.

    Raises:
        SettingsError: As `best_split`.
    """
    data = next(iter(surface.fits.values())).observations
    floor = costs.of(*_smallest(surface))
    ceiling = LARGEST_FACTOR * costs.of(*(float(top) for top in data.sizes.max(axis=0)))
    budgets = np.geomspace(floor * 1.0001, ceiling, BUDGETS)
    place = bisect_left(budgets, True, key=lambda budget: best_split(surface, costs, budget).error <= target_error)
    return None if place == len(budgets) else best_split(surface, costs, float(budgets[place]))


def _smallest(surface: Surface) -> tuple[float, float]:
    sizes = next(iter(surface.fits.values())).observations.sizes
    n = sizes[:, 0]
    return float(n[n > 0].min()), float(sizes[:, 1].min())


def _plan(surface: Surface, costs: Costs, sizes: Float[np.ndarray, "t 2"]) -> Split:
    predicted = surface.predict(sizes)
    best = int(predicted.argmin())
    n, s = (float(size) for size in sizes[best])
    each = [float(surface.fits[name].predict(sizes[best : best + 1])[0]) for name in surface.weights]
    measured = next(iter(surface.fits.values())).observations.sizes.max(axis=0)
    beyond = bool(n > measured[0] or s > measured[1])
    return Split(n, s, costs.of(n, s), float(predicted[best]), min(each), max(each), beyond)
