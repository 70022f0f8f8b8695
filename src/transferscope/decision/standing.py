"""The computed parts of a decision, as arrays over arms."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from transferscope.decision.noise import Noise, noise
from transferscope.decision.record import Covers, Outcome, Reason, Scores
from transferscope.decision.whether import Gains, gains
from transferscope.decision.which import DRAWS, Draws, Selection, draw_means, select, shown_worse


@dataclass(frozen=True, slots=True)
class Standing:
    """The computed parts of a decision: arrays over the arms that have a run.

    Attributes:
        at: Positions of arms that have a run, shape (A,).
        examples: Variance that the draw of the test examples adds, by pair of arms; None if unknown.
        ways: Positions of transfer arms in `at`.
        controls: Positions of baselines in `at`.
        gains: Gains of `ways`; None without a transfer arm or without a baseline.
        better: Which of `ways` are significantly better.
        planned: Whether this is the planned look; None if none was planned.
        blocked: Which of `ways` would be significantly better if no baseline were unfinished.
    """

    at: Int[np.ndarray, " arms"]
    noise: Noise
    examples: Float[np.ndarray, "arms arms"] | None
    covers: Covers
    ways: Int[np.ndarray, " ways"]
    controls: Int[np.ndarray, " controls"]
    gains: Gains | None
    better: Bool[np.ndarray, " ways"]
    worse: Bool[np.ndarray, " ways"]
    blocked: Bool[np.ndarray, " ways"]
    outcome: Outcome
    why: Reason
    selection: Selection
    draws: Draws
    margin: float
    level: float
    planned: bool | None


def stand(
    scores: Scores,
    *,
    margin: float,
    level: float = 0.95,
    draws: int = DRAWS,
    planned: int | None = None,
    worth: float | None = None,
) -> Standing | None:
    """Compute the parts of a decision; None without a run. Arguments as in `decide`."""
    made = (~np.isnan(scores.values) | scores.failed).sum(axis=1)
    at_plan = None if planned is None else bool((made == planned).all())
    at = np.flatnonzero((~np.isnan(scores.values)).any(axis=1))
    if not len(at):
        return None
    estimated = noise(scores.values[at], scores.clusters[at], resolution=scores.resolution)
    estimated = replace(estimated, mean=np.clip(estimated.mean, *scores.bounds))  # what is adjusted can be outside
    examples = None if scores.example_variance is None else scores.example_variance[np.ix_(at, at)]
    all_known = examples is not None and not np.isnan(examples).any()
    covers: Covers = "seeds and test examples" if all_known else "seeds"
    if not (estimated.df > 0).any():
        covers = "test examples" if all_known and len(at) > 1 else "nothing"
    with_source = scores.with_source[at]
    ways, controls = np.flatnonzero(with_source), np.flatnonzero(~with_source)
    better, worse, blocked = np.zeros((3, len(ways)), dtype=bool)
    beside: Gains | None = None
    outcome: Outcome = "no control" if len(ways) else "no source"
    why: Reason = ""
    if len(ways) and len(controls):
        read = estimated
        if covers == "test examples":
            read = replace(estimated, variance=np.zeros(len(at)), df=np.full(len(at), 1e6))

        def compared(ways: Int[np.ndarray, " ways"], controls: Int[np.ndarray, " controls"], of: Noise) -> Gains:
            return gains(of, ways, controls, examples=examples, units=scores.test_units, level=level, planned=at_plan)

        beside = compared(ways, controls, read)
        rising = scores.unfinished[at][controls].any()
        would = beside.callable & (beside.low > 0)
        blocked, better, worse = would & rising, would & ~rising, beside.callable & (beside.high < 0)
        outcome = _outcome(beside, would, better, margin)
        if outcome == "inconclusive":
            why = "unfinished" if blocked.any() else _why(estimated, ways, controls, beside, margin, compared)
    kinds = (ways, controls) if beside is not None else ()
    drawn = draw_means(estimated, examples, margin, draws, kinds=kinds, scale=scores.scale, bounds=scores.bounds)
    allowed = ~shown_worse(estimated, examples, margin, (1 - level) / max(len(ways), 1), scores.test_units)
    allowed[ways[worse]] = False
    if worth is not None:
        allowed[:] = True  # what an arm loses is in its price
    if not allowed.any():
        allowed = estimated.mean == estimated.mean.max()
    ties = ~with_source if outcome in ("inconclusive", "tie") else None
    chosen = select(drawn.means, scores.cost[at], margin, allowed, ties, worth)
    if better.any():
        helping = np.isin(np.arange(len(at)), ways[better])
        is_dear = with_source[chosen.arm] or chosen.shortfall[chosen.arm] > margin
        if worth is None and not helping[chosen.arm] and is_dear:
            among = helping & allowed & (chosen.shortfall <= chosen.shortfall[chosen.arm] + margin / 2)
            chosen = select(drawn.means, scores.cost[at], margin, among) if among.any() else chosen
        if not with_source[chosen.arm]:
            outcome = "helps, within the margin"
    arms = (at, estimated, examples, covers, ways, controls)
    return Standing(*arms, beside, better, worse, blocked, outcome, why, chosen, drawn, margin, level, at_plan)


def _outcome(
    beside: Gains, would: Bool[np.ndarray, " ways"], better: Bool[np.ndarray, " ways"], margin: float
) -> Outcome:
    """Return the outcome; `would` are the arms that are significantly better but for unfinished baselines."""
    if better.any():
        return "helps"
    if beside.callable.any() and beside.most < margin and not would.any():
        able = np.flatnonzero(beside.callable)
        best = able[np.argmax(beside.value[able])]
        return "tie" if beside.low[best] > -margin else "no"
    return "inconclusive"


def _why(
    estimated: Noise,
    ways: Int[np.ndarray, " ways"],
    controls: Int[np.ndarray, " controls"],
    beside: Gains,
    margin: float,
    compared: Callable[[Int[np.ndarray, " ways"], Int[np.ndarray, " controls"], Noise], Gains],
) -> Reason:
    """Return what prevents an outcome, except unfinished arms."""
    if estimated.n.max() < 2:
        return "one seed"
    if estimated.worst.min() == estimated.best.max():
        return "alike"
    unstable = estimated.erratic[ways]
    stable = ways[~unstable], controls[~estimated.erratic[controls]]
    if not len(stable[0]) or not len(stable[1]):
        return "unstable"
    if not beside.callable.any():
        return "too few seeds"
    without = compared(*stable, estimated)
    settled = without.most < margin or (without.callable & (without.low > 0)).any()
    if estimated.erratic.any() and (settled or (unstable & (beside.low > 0)).any()):
        return "unstable"
    return "noise"
