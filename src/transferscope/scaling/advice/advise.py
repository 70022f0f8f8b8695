"""One answer to one question: should I make more pre-training data?"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from transferscope.errors import DataError, SettingsError
from transferscope.scaling.advice.budget import Costs
from transferscope.scaling.advice.decision import Decision, decide
from transferscope.scaling.advice.next_run import FEASIBLE_FACTOR, STEPS_AHEAD, NextRun, information, next_run
from transferscope.scaling.averaging import AveragedPosterior, averaged_posterior
from transferscope.scaling.extrapolation import Extrapolation, extrapolate
from transferscope.scaling.extrapolation.curve import broken
from transferscope.scaling.fit import usable
from transferscope.scaling.laws.power_floor import POWER_FLOOR
from transferscope.scaling.observations import observe
from transferscope.scaling.posterior import PowerPosterior, power_posterior


@dataclass(frozen=True)
class Advice:
    """What to do next, in numbers; `transferscope.analyses.scaling.curve_words` says them.

    Attributes:
        decision: Probabilities and intervals for the target; None without a target.
        forecast: Errors predicted at 2, 4, 8 and 16 times the largest measured size.
        next_run: The pre-training size whose measurement would sharpen the decision most; None without a target.
        posterior: The power laws with a floor that the data allow: what rates and variants are compared by.
        averaged: The curves of several laws that the data allow: what the decision rests on.
        notes: Sentences on the data.
    """

    decision: Decision | None
    forecast: Extrapolation
    next_run: NextRun | None
    posterior: PowerPosterior
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
) -> Advice:
    """Advise on one curve over pre-training sizes.

    Args:
        sizes: Pre-training sizes n, shape (m,).
        errors: Target errors, shape (m,).
        target_error: The error that is wanted, above 0; None for a forecast only.
        costs: Costs of data and runs, by which the next run is chosen; None to choose it by time, taken as
            proportional to n.
        largest_size: The largest feasible n; None for FEASIBLE_FACTOR times the largest measured.
        stderr: Standard errors of `errors`.
        posterior: A posterior to use instead of one from this curve alone, as from `fit_hierarchical`.
        rows: Rows of the table, counted from 1, by which broken ones are named; None when unknown.

    Returns:
        The advice.

    Raises:
        DataError: Fewer than two different sizes above 0 are left, or every error is 0.
        SettingsError: The target or the limit is out of range.
    """
    _check(target_error, largest_size)
    measured = observe(sizes, errors, stderr=stderr, rows=rows)
    shown = measured.take(measured.sizes[:, 0] > 0)
    data = usable(measured, POWER_FLOOR, "log")
    if len(shown) and not (shown.errors > 0).any():
        raise DataError("every measured error is 0, so there is nothing left to predict")
    if data.n_distinct < 2:
        raise DataError(
            f"advice was asked with {data.n_distinct} different pre-training size(s) above 0; measure at least 2, "
            "better 5, such as 1000, 2000, 4000, 8000 and 16000"
        )
    data = data.take(~broken(data.sizes[:, 0], data.errors))
    allowed = power_posterior(data) if posterior is None else posterior
    averaged = averaged_posterior(data, power_floor=allowed)
    largest = float(shown.sizes.max())
    forecast = extrapolate(sizes, errors, at=largest * np.array(STEPS_AHEAD), rows=rows)
    notes = tuple(dict.fromkeys((*data.notes, *forecast.notes)))
    if target_error is None:
        return Advice(None, forecast, None, allowed, averaged, notes)
    limit = largest_size if largest_size is not None else FEASIBLE_FACTOR * largest
    decision = decide(
        averaged,
        rates=allowed,
        target_error=target_error,
        least_error=float(measured.errors.min()),
        largest_size=limit,
    )
    return Advice(decision, forecast, _next(averaged, decision, largest, costs), allowed, averaged, notes)


def _check(target_error: float | None, largest_size: float | None) -> None:
    if target_error is not None and not (np.isfinite(target_error) and target_error > 0):
        raise SettingsError(f"target_error = {target_error} is out of range; expected a number above 0, such as 0.1")
    if largest_size is not None and not (np.isfinite(largest_size) and largest_size > 0):
        raise SettingsError(f"largest_size = {largest_size} is out of range; expected a number of examples above 0")


def _next(posterior: AveragedPosterior, decision: Decision, largest: float, costs: Costs | None) -> NextRun:
    sizes = largest * np.array(STEPS_AHEAD)
    feasible = sizes[sizes <= decision.largest_size]
    sizes = feasible if len(feasible) else np.array([max(decision.largest_size, largest)])
    turns_on = _turns_on(posterior, decision)
    gains = information(posterior.predict(sizes), turns_on, posterior.weights, noise=max(posterior.noise, 1e-6))
    spent = sizes if costs is None else np.array([costs.of(size) for size in sizes])
    if costs is None or not (spent > 0).all():  # the time of a run, up to a factor that does not matter
        return replace(next_run(sizes[:, None], gains, sizes), cost=None)
    return next_run(sizes[:, None], gains, spent)


def _turns_on(posterior: AveragedPosterior, decision: Decision) -> Float[np.ndarray, " N"]:
    """What the decision turns on: whether the target is feasible; once that is certain, the transfer gap."""
    if 0.02 < decision.feasible < 0.98:
        return (posterior.size_for(decision.target_error) <= decision.largest_size).astype(np.float64)
    return posterior.C
