"""Advice on pretraining data: whether more of it reaches a target error.

Can it alone reach a target error, with how much, and what would other data gain?
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from transferscope.errors import DataError, out_of_range
from transferscope.estimate import Estimate
from transferscope.scaling.advice.costs import Costs
from transferscope.scaling.advice.next_run import FEASIBLE_FACTOR, STEPS_AHEAD, NextRun, information, next_run_by_cost
from transferscope.scaling.averaging import AveragedPosterior, averaged_posterior
from transferscope.scaling.extrapolation import Extrapolation, extrapolate
from transferscope.scaling.fit import usable
from transferscope.scaling.forecast import middle_and_interval
from transferscope.scaling.forecasts import broken
from transferscope.scaling.laws.curves import POWER_FLOOR
from transferscope.scaling.observations import observe
from transferscope.scaling.posterior import PowerPosterior, power_posterior
from transferscope.settings.questions import Loss

Scenario = Literal["reached", "a", "b", "c", "d"]
"""The scenarios of Figure 3 of Mikami et al. 2021, and "reached".

reached: a measured error is at or below the target (that without pretraining counts). b: more data reach it within the
largest feasible size. c: the transfer gap is above it, so that no amount of this data does. d: more data reach it only
beyond the feasible size. a: the data do not decide between b, c and d.
"""

DECIDED = 0.8
"""Posterior probability from which a scenario is named, which requires laws that agree. Of 480 simulated questions on
six laws, .91 of the 213 named scenarios were right; from 0.6, .82 of 358 (benchmarks/scaling_advice.py)."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Probabilities and sizes for a target error.

    Attributes:
        largest_size: The largest size that counts as feasible.
        reachable: Probability that the transfer gap is below the target.
        feasible: Probability that the target is reached at or below `largest_size`.
        size_needed: The size that reaches it; infinite if the transfer gap is above it.
        falls: Whether a falling law fits the curve; otherwise the gap is unknown.
    """

    target_error: float
    largest_size: float
    scenario: Scenario
    reachable: float
    feasible: float
    size_needed: Estimate
    falls: bool


def median_of(values: Float[np.ndarray, " N"], weights: Float[np.ndarray, " N"] | None = None) -> Estimate:
    """Return the median and the 90 % interval of draws; any of the three may be infinite."""
    middle, interval = middle_and_interval(values, weights)
    return Estimate(middle, None, len(values), "ok" if np.isfinite(middle) else "unbounded", interval)


PAIRS = 4000


@dataclass(frozen=True, slots=True)
class VariantGain:
    """A variant of the pretraining data compared with a baseline.

    Attributes:
        gap: Transfer gap of the variant minus that of the baseline; negative is good.
        lower_gap: Probability that the variant has the smaller transfer gap.
    """

    baseline: str
    variant: str
    gap: Estimate
    lower_gap: float


def variant_gain(
    baseline: PowerPosterior, variant: PowerPosterior, *, names: tuple[str, str] = ("baseline", "variant")
) -> VariantGain:
    """Compare two posteriors, taken as independent.

    Returns:
        Differences with 90 % intervals, over PAIRS pairs of draws.
    """
    drawn = [
        np.random.default_rng(seed).choice(one.C, PAIRS, p=one.weights) for seed, one in enumerate((baseline, variant))
    ]
    gap = drawn[1] - drawn[0]
    return VariantGain(*names, gap=median_of(gap), lower_gap=float((gap < 0).mean()))


@dataclass(frozen=True)
class Advice:
    """What to do next, in numbers; `transferscope.analyses.scaling.statements` says them.

    Attributes:
        decision: Probabilities and intervals for the target; None without a target.
        forecast: Errors predicted at 2, 4, 8 and 16 times the largest measured size.
        next_run: The pretraining size whose measurement would be most informative for the decision; None without a
            target.
        averaged: Posterior curves of several laws, on which the decision is based.
    """

    decision: Decision | None
    forecast: Extrapolation
    next_run: NextRun | None
    averaged: AveragedPosterior
    notes: tuple[str, ...]


def advise(
    sizes: ArrayLike,
    errors: ArrayLike,
    *,
    target_error: float | None = None,
    costs: Costs | None = None,
    largest_size: float | None = None,
    stderr: ArrayLike | None = None,
    posterior: PowerPosterior | None = None,
    rows: ArrayLike | None = None,
    loss: Loss = "log",
    share: bool = False,
) -> Advice:
    """Advise on one curve over pretraining sizes.

    Args:
        sizes: Pretraining sizes n, shape (m,).
        errors: Target errors, shape (m,).
        target_error: The target error, above 0; None for a forecast only.
        costs: Costs of data and runs, by which the next run is chosen; None to choose it by time, taken as
            proportional to n.
        largest_size: The largest feasible n; None for FEASIBLE_FACTOR times the largest measured.
        stderr: Standard errors of `errors`; None when unknown.
        posterior: A posterior to use instead of one from this curve alone, as from `fit_hierarchical`.
        rows, loss, share: As for `extrapolate`.

    Raises:
        DataError: Fewer than two different sizes above 0 with an error above 0 are left.
        SettingsError: The target or the limit is out of range.
    """
    if target_error is not None and not (np.isfinite(target_error) and target_error > 0):
        raise out_of_range("target_error", target_error, "a number above 0, such as 0.1")
    if largest_size is not None and not (np.isfinite(largest_size) and largest_size > 0):
        raise out_of_range("largest_size", largest_size, "a number of examples above 0")
    measured = observe(sizes, errors, stderr=stderr, rows=rows)
    shown = measured.take(measured.sizes[:, 0] > 0)
    data = usable(measured, POWER_FLOOR, "log")
    if data.n_distinct < 2 and shown.zero_from is not None:
        raise DataError(f"every error from n = {shown.zero_from:,.0f} on is 0; there is nothing left to predict")
    if data.n_distinct < 2:
        raise DataError(
            f"there are {data.n_distinct} different pretraining sizes above 0; expected at least 2, better 5, such as "
            "1000, 2000, 4000, 8000 and 16000"
        )
    data = data.take(~broken(data.sizes[:, 0], data.errors))
    allowed = power_posterior(data) if posterior is None else posterior
    averaged = averaged_posterior(data, power_floor=allowed)
    largest = float(shown.sizes.max())
    ahead = largest * np.array(STEPS_AHEAD)
    forecast = extrapolate(sizes, errors, at=ahead, rows=rows, loss=loss, share=share)
    notes = tuple(dict.fromkeys((*data.notes, *forecast.notes)))
    if target_error is None:
        return Advice(None, forecast, None, averaged, notes)
    limit = largest_size if largest_size is not None else FEASIBLE_FACTOR * largest
    size = averaged.size_for(target_error)
    reachable, feasible = (averaged.probability(event) for event in (target_error > averaged.C, size <= limit))
    by_chance: dict[Scenario, float] = {"b": feasible, "c": 1 - reachable, "d": reachable - feasible}
    likeliest = max(by_chance, key=lambda name: by_chance[name])
    scenario = likeliest if by_chance[likeliest] >= DECIDED else "a"
    if measured.errors.min() <= target_error:
        scenario = "reached"
    needed = median_of(size, averaged.weights)
    decision = Decision(target_error, limit, scenario, reachable, feasible, needed, allowed.falls)
    within = ahead[ahead <= limit]
    ahead = within if len(within) else np.array([max(limit, largest)])
    turns_on = averaged.C  # once it is certain whether the target is feasible
    if 0.02 < feasible < 0.98:
        turns_on = (size <= limit).astype(np.float64)
    gains = information(averaged.predict(ahead), turns_on, averaged.weights, noise=max(averaged.noise, 1e-6))
    return Advice(decision, forecast, next_run_by_cost(ahead[:, None], gains, costs), averaged, notes)
