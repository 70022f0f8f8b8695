"""Numbers of labels: where training from scratch catches up with transfer, for a target score, and to measure next."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from transferscope.errors import DataError
from transferscope.estimate import Interval
from transferscope.scaling.advice.costs import Costs
from transferscope.scaling.advice.next_run import NextRun, information, next_run
from transferscope.scaling.averaging import averaged_posterior
from transferscope.scaling.fit import usable
from transferscope.scaling.forecast import Basis, Forecast, SizeNeeded, crossings, middle_and_interval
from transferscope.scaling.laws.curves import POWER_FLOOR
from transferscope.scaling.observations import Observations
from transferscope.scaling.posterior import Noise, power_posterior
from transferscope.scaling.solve import TINY
from transferscope.scaling.take_off import late_falls, may_take_off

REACH = 8.0
"""Largest extrapolation of curves, in multiples of the largest measured number of labels."""

DRAWS, PAIRINGS = 2000, 4
GRID = 160
"""Number of label counts at which draws are evaluated, evenly spaced in logarithm."""

UNKNOWN_NOISE = Noise(scale=0.03, degrees=2.0)
KNOWN_NOISE = Noise(degrees=6.0)
"""Assumed noise without and with standard errors. A score from few labels moves by several percent
from seed to seed, which is more than the curves over pretraining for which `CAUTIOUS` was chosen."""

ZERO = 1e-12
"""Least error of a draw, so that it has a logarithm."""

FALL_SPREAD = {2: 1.0, 3: 0.8, 4: 0.4, 5: 0.3}
"""By the fewest sizes it holds for: standard deviation of the logarithm of the factor by which the decrease beyond the
largest measured size differs from that of the laws. Chosen on development truths (benchmarks/plan.py)."""

LEVEL_SPREAD, UNEVEN = 0.02, 1.5
"""Scatter of the log error beyond the largest measured size, whatever the laws say: for each doubling, and times the
`unevenness` of the curve and the root of the doublings. Chosen on all development curves of classical learners
(benchmarks/plan_curves.py), so that .90 are held in nineteen of twenty draws of their data sets."""

MOST_CORRELATION = 0.95
SHRINKING = 4.0
"""Degrees of freedom with which a correlation of paired seeds is shrunk to 0."""

MOST_RUNS = 3
"""Most numbers of labels to measure in an answer."""


@dataclass(frozen=True)
class CurveDraws:
    """Error curves of one arm over the number of labels that its measurements allow.

    Attributes:
        observations: Mean errors above 0 that were measured, standard errors where seeds or the table give them.
        sizes: Numbers of labels, increasing, shape (G,).
        errors: Error of each draw there, shape (N, G); all draws weigh the same.
        fitted: Error of each draw at the measured sizes, shape (N, m).
        noise: Relative noise of one measurement (a mean over seeds where there are seeds) around the curve.
        largest: The largest measured number of labels, where the error may be 0.
        may_take_off: Whether it may still be at chance (`may_take_off`), so that its interval is wide.
    """

    observations: Observations
    sizes: Float[np.ndarray, " G"]
    errors: Float[np.ndarray, "N G"]
    fitted: Float[np.ndarray, "N m"]
    noise: float
    largest: float
    may_take_off: bool = False

    def at(self, size: float) -> Float[np.ndarray, " N"]:
        """Return the error of each draw at one number of labels within `sizes`, interpolated in logarithms."""
        place = float(np.interp(np.log(size), np.log(self.sizes), np.arange(len(self.sizes))))
        low = min(int(place), len(self.sizes) - 2)
        share = place - low
        log_errors = np.log(self.errors[:, low : low + 2])
        return np.asarray(np.exp((1 - share) * log_errors[:, 0] + share * log_errors[:, 1]))

    def error_at(self, size: float) -> Forecast:
        """Return the error at one number of labels within `sizes`."""
        errors = self.at(size)
        middle, interval = middle_and_interval(np.where(errors < 2 * ZERO, 0.0, errors))
        basis: Basis = "at zero" if middle == 0 else "beyond" if size > self.largest else "within"
        return Forecast((size,), middle, interval, (size / self.largest,), basis)

    def fall(self, more: float) -> tuple[float, Interval]:
        """Return the decrease of the error with `more` labels beyond the largest measured number."""
        return middle_and_interval(self.at(self.largest) - self.at(min(self.largest + more, self.sizes[-1])))


def label_grid(curves: Sequence[Observations]) -> Float[np.ndarray, " G"]:
    """Return numbers of labels from the smallest measured one to REACH times the largest, for all arms of a table.

    Where an arm comes to an error of 0 is one of them.
    """
    sizes = np.concatenate([data.sizes[data.sizes[:, 0] > 0, 0] for data in curves])
    to_zero = [data.zero_from for data in curves if data.zero_from is not None]
    return np.union1d(np.geomspace(sizes.min(), REACH * sizes.max(), GRID), to_zero)


def draw_curve(
    data: Observations, grid: Float[np.ndarray, " G"], *, chance: float | None = None, share: bool = True
) -> CurveDraws:
    """Return draws of the error curve of one arm, averaged over several laws (`averaged_posterior`).

    Args:
        data: Errors at numbers of labels above 0, with standard errors where they are known.
        grid: From `label_grid`.
        chance: The error of guessing, such as 1 - 1/K of K classes; None when unknown.
        share: Whether errors are fractions or percentages: then a curve may still be at chance (`may_take_off`).

    Returns:
        DRAWS curves. A curve that does not fall is taken as level, with its uncertainty. From the size on from which
        every error is 0 (`Observations.zero_from`), every draw is ZERO.

    Raises:
        DataError: Fewer than two different numbers of labels with an error above 0 are left, and the largest is not 0.
    """
    used, zero_from = usable(data, POWER_FLOOR, "log"), data.zero_from
    if used.n_distinct < 2 and zero_from is None:
        raise DataError(
            f"a learning curve needs at least 2 numbers of labels, but there are {used.n_distinct}; add runs with more"
        )
    x, still, spread = np.concatenate([grid, used.sizes[:, 0]]), False, UNKNOWN_NOISE.scale
    if used.n_distinct < 2:  # as measured up to there
        errors = np.full((DRAWS, len(x)), used.errors.mean() if len(used) else ZERO)
    else:
        noise = UNKNOWN_NOISE if used.stderr is None else KNOWN_NOISE
        posterior = averaged_posterior(used, power_floor=power_posterior(used, noise=noise), noise=noise, chance=chance)
        still, spread = share and may_take_off(used, chance), max(posterior.noise, 1e-6)
        errors = _with_uncertain_fall(np.maximum(posterior.resampled(DRAWS).predict(x), ZERO), x, used, still=still)
    if zero_from is not None:
        errors[:, x >= zero_from] = ZERO
    at_grid, fitted = np.split(errors, [len(grid)], axis=1)
    return CurveDraws(used, grid, at_grid, fitted, spread, float(data.sizes.max()), still)


def _with_uncertain_fall(
    errors: Float[np.ndarray, "N X"], x: Float[np.ndarray, " X"], data: Observations, *, still: bool
) -> Float[np.ndarray, "N X"]:
    """Return each draw with its extrapolated fall times a random factor, and with the error that all laws share."""
    spread = FALL_SPREAD[max(least for least in FALL_SPREAD if least <= data.n_distinct)]
    z, level = np.random.default_rng(1).standard_normal((2, len(errors), 1))
    factor = np.exp(spread * z)
    last = np.log(errors[:, [len(x) - 1]])  # x ends with the measured sizes, the largest last
    ahead = np.log(np.maximum(x / data.sizes[-1, 0], 1.0))
    doublings, log_errors = ahead / np.log(2), np.log(errors)
    missed = np.hypot(LEVEL_SPREAD * doublings, UNEVEN * unevenness(data) * np.sqrt(doublings))
    beyond = last + factor * (log_errors - last) + missed * level
    if still:
        beyond = beyond - late_falls(ahead, len(errors))
    return np.asarray(np.exp(np.where(ahead > 0, beyond, log_errors)))


def unevenness(data: Observations) -> float:
    """Return the mean change of the fall in log error from one step to the next, beyond what noise explains."""
    sizes = np.unique(data.sizes[:, 0])
    steps = np.diff(np.log(sizes))
    logs = np.log([data.errors[data.sizes[:, 0] == size].mean() for size in sizes])
    changes = np.abs(np.diff(np.diff(logs) / steps))
    noise = UNKNOWN_NOISE.scale if data.stderr is None else float(np.median(data.stderr / data.errors))
    # the second difference of noise has six times its variance, and a mean absolute value of sqrt(2/pi) of its spread
    squared = (changes.mean() * steps.mean()) ** 2 - 12 / np.pi * noise**2 if len(changes) else 0.0
    return float(np.sqrt(max(squared, 0.0)))


@dataclass(frozen=True)
class Pairs:
    """Joint draws of training from scratch and one transfer arm, with weights that sum to 1."""

    scratch: Int[np.ndarray, " P"]
    transfer: Int[np.ndarray, " P"]
    weights: Float[np.ndarray, " P"]


def seed_correlation(scratch: Sequence[Float[np.ndarray, " _"]], transfer: Sequence[Float[np.ndarray, " _"]]) -> float:
    r"""Return the correlation of the relative errors of two arms over the seeds they share, pooled over sizes.

        r = \sum_j \sum_s u_{js} v_{js} / \sqrt{\sum u^2 \sum v^2} \cdot d / (d + 4)

    with u, v the relative deviations from the mean of size j, and d = \sum_j (S_j - 1) degrees of freedom.

    Args:
        scratch: Errors by size, each over the shared seeds.
        transfer: The same seeds of the other arm.

    Returns:
        Between -MOST_CORRELATION and MOST_CORRELATION; 0 without pairs or without any spread.
    """
    pairs = [(a, b) for a, b in zip(scratch, transfer, strict=True) if len(a) > 1 and a.mean() > 0 and b.mean() > 0]
    degrees = sum(len(a) - 1 for a, _ in pairs)
    if degrees < 2:
        return 0.0
    u = np.concatenate([a / a.mean() - 1 for a, _ in pairs])
    v = np.concatenate([b / b.mean() - 1 for _, b in pairs])
    scale = float(np.sqrt((u @ u) * (v @ v)))
    if scale == 0:
        return 0.0
    shrunk = float(u @ v) / scale * degrees / (degrees + SHRINKING)
    return float(np.clip(shrunk, -MOST_CORRELATION, MOST_CORRELATION))


def paired(scratch: CurveDraws, transfer: CurveDraws, correlation: float) -> Pairs:
    r"""Return joint draws of two arms whose measurements share seeds.

    Every pair of draws has the weight of the joint likelihood over the product of the separate ones,

        \prod_j N_2(z_j, w_j; r) / (N(z_j) N(w_j)),

    z and w the residuals of the two curves at the sizes that both were measured at, in units of their noise. Seeds
    that make both arms lucky then move both curves together, and their difference is known better than either.

    Args:
        correlation: From `seed_correlation`; 0 takes the arms as independent.

    Returns:
        PAIRINGS random pairings of all draws.
    """
    n = len(scratch.errors)
    generator = np.random.default_rng(0)
    left = np.tile(np.arange(n), PAIRINGS)
    right = np.concatenate([generator.permutation(n) for _ in range(PAIRINGS)])
    shared, a, b = np.intersect1d(
        scratch.observations.sizes[:, 0], transfer.observations.sizes[:, 0], return_indices=True
    )
    if correlation == 0 or len(shared) == 0:
        return Pairs(left, right, np.full(len(left), 1 / len(left)))
    z, w = _residuals(scratch)[left][:, a], _residuals(transfer)[right][:, b]
    r = correlation
    log_weight = -((r * z) ** 2 - 2 * r * z * w + (r * w) ** 2).sum(axis=1) / (2 * (1 - r**2))
    weights = np.exp(log_weight - log_weight.max())
    return Pairs(left, right, weights / weights.sum())


def _residuals(curve: CurveDraws) -> Float[np.ndarray, "N m"]:
    """Return measured minus drawn errors in units of their noise, bounded so that no poor draw decides a pair."""
    data = curve.observations
    pattern = np.ones(len(data)) if data.stderr is None else data.stderr / data.errors
    sigma = curve.noise * data.errors * pattern / np.median(pattern)
    return np.asarray(np.clip((data.errors - curve.fitted) / sigma, -4, 4))


def catch_up(scratch: CurveDraws, transfer: CurveDraws, pairs: Pairs, *, margin: float = 0.0) -> SizeNeeded:
    """Return the number of labels from which on training from scratch is at least as good as transfer.

    It is 0 where transfer is never better within the sizes that are followed, infinite where it is at their end.

    Args:
        transfer: Curves of one transfer arm, on the same sizes.
        margin: Smallest advantage of transfer that counts, in units of the error, at least 0.
    """
    return _needed(catch_up_draws(scratch, transfer, pairs, margin=margin), pairs.weights, scratch)


def catch_up_draws(
    scratch: CurveDraws, transfer: CurveDraws, pairs: Pairs, *, margin: float = 0.0
) -> Float[np.ndarray, " P"]:
    """Return `catch_up` of each pair of draws."""
    gain = scratch.errors[pairs.scratch] - transfer.errors[pairs.transfer] - margin  # (P, G)
    better = gain > 0
    ever = better.any(axis=1)
    last = gain.shape[1] - 1 - better[:, ::-1].argmax(axis=1)  # the last size at which transfer is better
    crossing = crossings(scratch.sizes, gain, last + 1)
    result = np.where(ever, np.where(last == gain.shape[1] - 1, np.inf, crossing), 0.0)
    return np.asarray(result, dtype=np.float64)


def labels_for(curve: CurveDraws, error: float) -> SizeNeeded:
    """Return the number of labels at which an arm reaches an error above 0."""
    return _needed(label_draws(curve, error), np.full(len(curve.errors), 1 / len(curve.errors)), curve)


def label_draws(curve: CurveDraws, error: float) -> Float[np.ndarray, " N"]:
    """Return `labels_for` of each draw."""
    reached = curve.errors <= error
    first = np.where(reached.any(axis=1), reached.argmax(axis=1), len(curve.sizes))
    size = crossings(curve.sizes, np.log(curve.errors) - np.log(max(error, TINY)), first)
    inside = np.clip(first, 1, len(curve.sizes) - 1)  # an error of 0 is not interpolated to
    size = np.where(curve.errors[np.arange(len(first)), inside] < 2 * ZERO, curve.sizes[inside], size)
    result = np.where(first == 0, 0.0, np.where(first == len(curve.sizes), np.inf, size))
    return np.asarray(result, dtype=np.float64)


def next_sizes(
    predicted: Float[np.ndarray, "N R"],
    decision: Float[np.ndarray, " N"],
    candidates: Float[np.ndarray, " R"],
    *,
    noise: float,
    costs: Costs | None,
    labelled: float,
) -> list[NextRun]:
    """Return the numbers of labels whose measurement reduces the uncertainty of a decision most, best first.

    Args:
        predicted: What each draw predicts for a measurement at each candidate, above 0.
        decision: What the decision turns on, for each draw.
        noise: Standard deviation of the logarithm of a measurement.
        costs: Cost of a further label and of a run; None to compare information only.
        labelled: Number of existing labels.

    Returns:
        The best, then others with at least half of its information and a factor of 1.4 away from earlier ones; empty if
        no measurement is informative.
    """
    gains = information(predicted, decision, np.full(len(decision), 1 / len(decision)), noise=noise)
    spent = None
    if costs is not None:
        spent = np.array([costs.per_label * max(size - labelled, 0.0) + costs.per_run for size in candidates])
        spent = None if (spent <= 0).any() else spent
    chosen: list[NextRun] = []
    left = gains > 0.02
    while left.any() and len(chosen) < MOST_RUNS:
        rows = np.flatnonzero(left)
        best = next_run(candidates[rows, None], gains[rows], None if spent is None else spent[rows])
        if chosen and best.information < chosen[0].information / 2:
            break
        chosen.append(best)
        left &= np.abs(np.log(candidates / best.sizes[0])) > np.log(1.4)
    return chosen


def candidate_sizes(measured: Float[np.ndarray, " m"]) -> Float[np.ndarray, " R"]:
    """Return candidate numbers of labels in two digits: between measured ones, and 1.5, 2 and 4 times the largest."""
    between = np.sqrt(measured[1:] * measured[:-1])
    between = between[measured[1:] / measured[:-1] >= 1.5]
    sizes = np.concatenate([between, measured[-1] * np.array([1.5, 2.0, 4.0])])
    return np.unique([float(f"{size:.2g}") for size in sizes if size >= 2])


def _needed(values: Float[np.ndarray, " P"], weights: Float[np.ndarray, " P"], curve: CurveDraws) -> SizeNeeded:
    codes = (values == 0, np.isinf(values))
    already, beyond = (min(float(weights[which].sum()), 1.0) for which in codes)
    ends = (float(curve.sizes[0]), float(curve.sizes[-1]))
    return SizeNeeded(*middle_and_interval(values, weights), already, beyond, *ends, curve.largest)
