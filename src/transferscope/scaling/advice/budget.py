"""Both sizes can be chosen: the best split of a budget between them, and the next run to make."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import optimize, special

from transferscope.errors import SettingsError, out_of_range
from transferscope.estimate import Interval
from transferscope.scaling.advice.costs import Cost, Costs
from transferscope.scaling.advice.next_run import (
    FEASIBLE_FACTOR,
    STEPS_AHEAD,
    NextRun,
    information,
    next_run_by_cost,
)
from transferscope.scaling.bootstrap import Bootstrap, bootstrap
from transferscope.scaling.fit import LawFit
from transferscope.scaling.forecast import LEVEL, Forecast
from transferscope.scaling.laws.law import product_grid
from transferscope.scaling.observations import Observations
from transferscope.scaling.posterior import WeightedDraws
from transferscope.scaling.surface import Surface, log_distance

SHARES = 400
LARGEST_FACTOR = 1000.0
"""Largest cost in the search for a target, in units of the largest measured run."""


WIDTH = 1.5
"""Half width of an interval beyond the measured sizes over its scale, where both sizes vary freely: .96 of what is
asked of development tables is held, and .90 or more in nineteen of twenty draws of their ten truths
(docs/results/forecast-defaults.md)."""


def forecast_at(surface: Surface, costs: Cost | None, n: float, s: float) -> Forecast:
    r"""Return the error at one (n, s), with a note if it is extrapolated.

    The interval is \exp(\log f \pm z \sqrt{u^2 + e^2}) with f, u the weighted mean and standard deviation of the log
    error over the laws, and e the weighted root mean square of what each law misses where it was not fitted: within the
    measured sizes at points left out, beyond them on larger sizes (`HeldOutScore.extrapolation`). Where both sizes vary
    freely, e grows with the `log_distance` in proportion from that of the last budget on, and z is WIDTH.

    Args:
        costs: What a run costs; None when unknown.
        n: Pretraining size, or parameters.
        s: Fine-tuning size, or tokens.
    """
    at, sizes = np.array([[n, s]]), surface.pretrained
    distance = float(log_distance(at, sizes)[0])
    distance = distance if (beyond := distance > 1e-9) else 0.0
    fits, weights, scores = zip(*surface.members, strict=True)
    logs = np.log([fit.predict(at)[0] for fit in fits])
    middle = float(np.average(logs, weights=weights))
    squares, z = np.average((logs - middle) ** 2, weights=weights), float(special.ndtri((1 + LEVEL) / 2))
    squares += np.average(np.square([score.missed(distance) for score in scores]), weights=weights)
    half = (WIDTH if beyond and surface.free else z) * float(np.sqrt(squares))
    return Forecast(
        sizes=(n, s),
        error=float(np.exp(middle)),
        interval=Interval(float(np.exp(middle - half)), float(np.exp(middle + half)), LEVEL),
        ahead=(n / float(sizes[:, 0].max()), s / float(sizes[:, 1].max())),
        basis="beyond" if beyond else "within",
        cost=None if costs is None else float(costs.of(n, s)),
    )


def spent_on(data: Observations, costs: Cost) -> Float[np.ndarray, " m"]:
    """Return what each run was said to cost, or what `costs` says."""
    return np.asarray(costs.of(*data.sizes.T)) if data.spent is None else data.spent


def best_split(surface: Surface, costs: Cost, budget: float, *, largest_size: float | None = None) -> Forecast:
    """Return the (n, s) with the smallest predicted error within a budget.

    Args:
        surface: The fitted surface; its weighted mean over laws is minimised.
        costs: What a run costs, rising with both sizes.
        largest_size: Largest feasible n; None for any.

    Returns:
        The plan, from the smallest measured sizes up: the best of SHARES splits of the budget, or a better one between
        its neighbours.

    Raises:
        SettingsError: One of the sizes costs nothing, or the budget does not pay for the smallest measured run.
    """
    options = splits(surface, costs, budget, count=SHARES, largest_size=largest_size)
    best = int(surface.predict(options).argmin())
    first, last = np.log(options[[max(best - 1, 0), min(best + 1, SHARES - 1)], 0])

    def between(log_n: float) -> Float[np.ndarray, "1 2"]:
        return rest_of(surface, costs, budget, np.exp([log_n]))

    between_neighbours = optimize.minimize_scalar(
        lambda log_n: float(surface.predict(between(log_n))[0]),
        bounds=(first, last),
        method="bounded",
        options={"xatol": 1e-10},
    )
    options = np.concatenate([options[best : best + 1], between(float(between_neighbours.x))])
    sizes = options[[int(surface.predict(options).argmin())]]
    return forecast_at(surface, costs, *(float(size) for size in sizes[0]))


def splits(
    surface: Surface, costs: Cost, budget: float, *, count: int, largest_size: float | None = None
) -> Float[np.ndarray, "count 2"]:
    """Return ways to spend a budget: (n, s) from the smallest measured sizes up, from the smallest n to the smallest s.

    With a largest feasible n, up to that. Raises as `best_split`.
    """
    n, s = surface.smallest
    least = float(costs.of(n, s))
    if not (costs.of(2 * n, s) > least and costs.of(n, 2 * s) > least):
        raise SettingsError(
            "one of the two sizes costs nothing, so a budget cannot be divided; give both a cost above 0"
        )
    if budget < least:
        raise out_of_range("budget", f"{budget:g}", f"at least {least:g}, the cost of the smallest measured run")
    most = float(affordable(lambda size: costs.of(size, s), budget, np.array([n]))[0])
    most = most if largest_size is None else min(most, max(largest_size, n))
    return rest_of(surface, costs, budget, np.geomspace(n, most, count))


def rest_of(surface: Surface, costs: Cost, budget: float, n: Float[np.ndarray, " k"]) -> Float[np.ndarray, "k 2"]:
    """Return n with the s that the rest of the budget pays for."""
    least = np.full(len(n), surface.smallest[1])
    return np.stack([n, affordable(lambda s: costs.of(n, s), budget, least)], axis=1)


def affordable(
    cost: Callable[[Float[np.ndarray, " k"]], Float[np.ndarray, " k"]], budget: float, least: Float[np.ndarray, " k"]
) -> Float[np.ndarray, " k"]:
    """Return the largest sizes at or above `least` within a budget; `least` if there are none.

    Costs rise with sizes, and `least` is above 0.
    """
    low, high = np.log(least), np.log(least) + 1.0
    for _ in range(90):
        within = cost(np.exp(high)) <= budget
        if not within.any():
            break
        low, high = np.where(within, high, low), np.where(within, high + (high - np.log(least)), high)
    for _ in range(60):
        middle = (low + high) / 2
        within = cost(np.exp(middle)) <= budget
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    return np.asarray(np.exp(low))


def cheapest_split(
    surface: Surface, costs: Cost, target_error: float, *, largest_size: float | None = None
) -> Forecast | None:
    """Return the cheapest (n, s) whose predicted error is at most the target; None if none up to LARGEST_FACTOR is.

    Where the smallest measured run does not reach the target, its predicted error is it. Raises as `best_split`.
    """
    floor, ceiling = float(costs.of(*surface.smallest)), LARGEST_FACTOR * float(costs.of(*surface.largest))

    def missed(log_budget: float) -> float:  # which falls with the budget, since every law falls with both sizes
        budget = np.clip(np.exp(log_budget), floor, ceiling)
        return best_split(surface, costs, budget, largest_size=largest_size).error - target_error

    low, high, step = np.log(floor), np.log(ceiling), 1e-12
    if missed(high) > 0:
        return None
    least = low if missed(low) <= 0 else float(optimize.brentq(missed, low, high, xtol=1e-12, rtol=1e-12))
    while missed(least) > 0:  # the root may lie a rounding below the first budget that reaches the target
        least, step = least + step, 2 * step
    return best_split(surface, costs, float(np.clip(np.exp(least), floor, ceiling)), largest_size=largest_size)


DRAWS_PER_LAW = 400
LEAST_NOISE = 1e-6


@dataclass(frozen=True)
class SurfaceDraws(WeightedDraws):
    """Weighted draws of the error surface.

    Attributes:
        weights: Weight of each draw over all laws, shape (N,), summing to 1.
        noise: Standard deviation of the log error of a new run around each draw, shape (N,).
    """

    refits: tuple[Bootstrap, ...]
    weights: Float[np.ndarray, " N"]
    noise: Float[np.ndarray, " N"]

    def predict(self, sizes: Float[np.ndarray, "t 2"]) -> Float[np.ndarray, "N t"]:
        """Return the error at each (n, s) under each draw."""
        return np.asarray(np.maximum(np.concatenate([one.predict(sizes) for one in self.refits]), 1e-12))


def surface_draws(surface: Surface, *, per_law: int = DRAWS_PER_LAW) -> SurfaceDraws:
    """Return draws of every law by bootstrap, each law with its weight beyond the measured sizes.

    A draw stands for the noise of the points; the different laws stand for not knowing the form.

    Returns:
        The draws. The noise of a new run around a law is the residual of its own fit with its degrees of freedom, so
        that a law that misses the points is not expected to hit the next one; at least the median standard error.
    """
    fits, shares, _ = zip(*surface.members, strict=True)
    refits = tuple(bootstrap(fit, draws=per_law) for fit in fits)
    weights = np.repeat(shares, per_law) / per_law
    noise = np.repeat([_noise(fit) for fit in fits], per_law)
    return SurfaceDraws(refits, weights / weights.sum(), noise)


def _noise(fit: LawFit) -> float:
    data = fit.observations
    degrees = max(len(fit.residuals) - len(fit.law.parameters), 1)
    measured = 0.0 if data.stderr is None else float(np.median(data.stderr / data.errors))
    return max(float(np.sqrt((fit.residuals**2).sum() / degrees)), measured, LEAST_NOISE)


MOST_MEASURED = 12
"""Most measured sizes per axis for candidates."""

UNCERTAIN = (0.02, 0.98)
ROUNDING = 1e-6
"""Relative tolerance of the error of a solved plan, for points without noise."""


@dataclass(frozen=True, slots=True)
class SurfaceRun:
    """The next run over (n, s), and the decision it is meant for.

    The decision is whether a plan reaches the target error: the cheapest plan when costs of both kinds of data are
    given, otherwise more pretraining alone, at the largest measured s. With a budget it is how to split it.

    Attributes:
        plan: (n, s) of the plan.
        reached: Probability that the plan reaches the target; None for the split of a budget.
    """

    run: NextRun
    plan: tuple[float, ...]
    reached: float | None


def next_surface_run(
    surface: Surface,
    *,
    target_error: float | None = None,
    costs: Costs | None = None,
    budget: float | None = None,
    largest_size: float | None = None,
) -> SurfaceRun | None:
    """Search (n, s) for the run whose measurement would sharpen the decision most.

    Candidates are the pairs of measured sizes that were not measured together, and 2, 4, 8 and 16 times the largest
    size on each axis; n up to the largest feasible one, s beyond the measured ones only where the plan asks for it,
    and nothing dearer than the budget.

    Args:
        target_error: The error that is wanted, above 0.
        costs: Costs of data and runs, by which candidates are compared; None to compare them by time, taken as
            proportional to n + s.
        budget: What may be spent; needs costs of both kinds of data.
        largest_size: Largest feasible n; None for FEASIBLE_FACTOR times the largest measured.

    Returns:
        The run with its decision; None without a target and without a budget that can be split, when a measured error
        reaches the target already, and when the budget pays for no run that was not made yet.

    Raises:
        SettingsError: The budget does not pay for the smallest measured run.
    """
    of_both = costs if costs is not None and costs.of_both else None
    to_split = None if budget is None else of_both
    if to_split is None and (target_error is None or surface.least_error <= target_error):
        return None
    draws = surface_draws(surface)
    if to_split is not None and budget is not None:
        found, reached = best_split(surface, to_split, budget, largest_size=largest_size), None
        plan = found.sizes
        actions = splits(surface, to_split, budget, count=SHARES, largest_size=largest_size)
        candidates = candidate_runs(surface, most_n=actions[:, 0].max(), most_s=actions[:, 1].max())
        candidates = candidates[to_split.of(*candidates.T) <= budget]
        if len(candidates) == 0:
            return None
        turns_on = np.log(actions[draws.predict(actions).argmin(axis=1), 0])
    elif target_error is not None:
        n, s = surface.largest
        plan = (limit := FEASIBLE_FACTOR * n if largest_size is None else largest_size, s)
        if of_both is not None:
            cheapest = cheapest_split(surface, of_both, target_error, largest_size=largest_size)
            plan = plan if cheapest is None else cheapest.sizes
        candidates = candidate_runs(surface, most_n=max(limit, plan[0]), most_s=plan[1])
        error = draws.predict(np.array([plan]))[:, 0]
        hit = error <= target_error * (1 + ROUNDING)
        reached = draws.probability(hit)
        turns_on = hit.astype(np.float64) if UNCERTAIN[0] < reached < UNCERTAIN[1] else np.log(error)
    gains = information(draws.predict(candidates), turns_on, draws.weights, noise=draws.noise)
    return SurfaceRun(next_run_by_cost(candidates, gains, costs), plan, reached)


def candidate_runs(surface: Surface, *, most_n: float, most_s: float) -> Float[np.ndarray, "R 2"]:
    """Return pairs (n, s) that were not measured yet, within the limits."""
    measured = surface.pretrained
    n, s = (_axis(column, most) for column, most in zip(measured.T, (most_n, most_s), strict=True))
    pairs = product_grid(n, s)
    new = ~(pairs[:, None, :] == measured).all(axis=2).any(axis=1)
    return pairs[new] if new.any() else pairs[-1:]


def _axis(sizes: Float[np.ndarray, " m"], most: float) -> Float[np.ndarray, " k"]:
    distinct = np.unique(sizes[sizes > 0])
    kept = distinct[np.unique(np.linspace(0, len(distinct) - 1, MOST_MEASURED).round().astype(int))]
    ahead = distinct[-1] * np.array(STEPS_AHEAD)
    return np.concatenate([kept, ahead[ahead <= most * (1 + 1e-9)]])
