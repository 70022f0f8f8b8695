"""From scores to one decision."""

import numpy as np
from jaxtyping import Float, Int

from transferscope.decision.record import ArmFacts, Call, Decision, Difference, Expected, Reason, Scores
from transferscope.decision.settles import what_settles
from transferscope.decision.standing import Standing, stand
from transferscope.decision.whether import LEAST_SEEDS
from transferscope.decision.which import SETTLED
from transferscope.errors import SettingsError, out_of_range
from transferscope.numerics.intervals import check_level

_SURE = 0.9
"""Coverage of the interval of the expected gain."""


def decide(
    scores: Scores,
    *,
    margin: float = 1.0,
    level: float = 0.95,
    planned: int | None = None,
    worth: float | None = None,
) -> Decision:
    """Decide from the runs whether transfer helps, and which arm to use.

    A transfer arm is significantly better if it beats every baseline (`whether.gains`), has three seeds, is not erratic
    (or its worst run is above the best run of every baseline), and no baseline is unfinished. The
    recommended arm is the cheapest that is not expected to lose more than half a margin (`which.select`). Where
    transfer helps, a significant arm is preferred to another transfer arm, unless it is expected to lose half a margin
    more.
    Where the question is inconclusive, a baseline is preferred to a transfer arm that costs about as much.

    Args:
        margin: Differences up to this do not matter, in points; above 0.
        level: 1 - one-sided error, simultaneous over all intervals and any number of seeds; in (0, 1).
        planned: Number of seeds per arm fixed before the first run; the look at it spends .8 of the error. None if not
            fixed, as in a race.
        worth: Seconds of a run that one point is worth; the arm with the smallest expected loss, cost included, is
            recommended. None for the cheapest arm within the margin.

    Raises:
        SettingsError: The margin or the worth is not above 0, the level is not between 0 and 1, or a worth is given
            where no cost is known.
    """
    check_level(level)
    if not 0 < margin < np.inf:
        raise out_of_range("margin", margin, "a number of points above 0")
    if worth is not None and not 0 < worth < np.inf:
        raise out_of_range("worth", worth, "a number of seconds above 0")
    now = stand(scores, margin=margin, level=level, planned=planned, worth=worth)
    if now is not None and worth is not None and np.isnan(scores.cost).all():
        raise SettingsError("worth is given, but no run has a known time; give a column of seconds, or leave worth out")
    n = (~np.isnan(scores.values)).sum(axis=1)
    names = np.array(scores.arms, dtype=object)
    if now is None:
        empty = tuple(_facts(scores, None, arm) for arm in range(len(names)))
        rising = tuple(names[scores.unfinished])
        return Decision(
            outcome="nothing", recommended=None, chance=0.0, decided=False, best_transfer_arm=None, best_baseline=None,
            difference=None, expected=None, helping=(), harmful=(), arms=empty, unstable=(), unfinished=rising,
            missing=(), more_seeds=None, covers="nothing", why="", margin=margin, level=level, planned=planned,
        )  # fmt: skip
    noise, chosen = now.noise, now.selection
    best_transfer_arm, best_baseline = _best_way(now), None
    if len(now.controls):
        best_baseline = int(now.controls[np.argmax(noise.mean[now.controls])])
    difference = None
    if now.gains is not None and best_transfer_arm is not None:
        difference = _difference(scores, now, int(np.flatnonzero(now.ways == best_transfer_arm)[0]))
    expected = None
    if best_transfer_arm is not None and len(now.controls) and noise.n.max() >= 2 and now.why != "alike":
        expected = _expect(now.draws.means, now.ways, now.controls, best_transfer_arm, margin)
    by_gain = np.argsort(-noise.mean[now.ways], kind="stable")
    chance = float(chosen.chance[chosen.arm])

    def name(arm: int | None) -> str | None:
        return None if arm is None else str(names[now.at[arm]])

    def listed(of_ways: Int[np.ndarray, " _"]) -> tuple[str, ...]:
        return tuple(str(names[now.at[now.ways[way]]]) for way in of_ways)

    return Decision(
        outcome=now.outcome,
        recommended=name(chosen.arm),
        chance=chance,
        decided=bool(chance >= SETTLED and noise.n[chosen.arm] >= 2),
        best_transfer_arm=name(best_transfer_arm),
        best_baseline=name(best_baseline),
        difference=difference,
        expected=expected,
        helping=listed(by_gain[now.better[by_gain]]),
        harmful=listed(by_gain[::-1][now.worse[by_gain[::-1]]]),
        arms=tuple(_facts(scores, now, arm) for arm in range(len(names))),
        unstable=tuple(names[now.at[noise.erratic]]),
        unfinished=tuple(names[scores.unfinished]),
        missing=tuple(names[n < n.max()]),
        more_seeds=what_settles(now, scores),
        covers=now.covers,
        why=now.why,
        margin=margin,
        level=level,
        planned=planned,
    )


def _expect(
    means: Float[np.ndarray, "draws arms"],
    ways: Int[np.ndarray, " ways"],
    controls: Int[np.ndarray, " controls"],
    best: int,
    margin: float,
) -> Expected:
    """Return the chances that the best transfer arm beats the best baseline, and the expected gain of `best`.

    The largest of several means is biased upwards (winner's curse); the draws are shrunk, so the gain is, too.
    """
    without = means[:, controls].max(axis=1)
    ahead, own = means[:, ways].max(axis=1) - without, means[:, best] - without
    low, middle, high = np.quantile(own, [(1 - _SURE) / 2, 0.5, (1 + _SURE) / 2])
    helps, harms = float((ahead > margin).mean()), float((ahead < -margin).mean())
    return Expected(helps, 1.0 - helps - harms, harms, float(middle), float(low), float(high))


def _best_way(now: Standing) -> int | None:
    """Return the best transfer arm by its mean, preferring significant ones, then those that qualify for a call."""
    if not len(now.ways):
        return None
    able = now.noise.n[now.ways] >= LEAST_SEEDS if now.gains is None else now.gains.callable
    among = next(arms for arms in (now.better, able, np.ones(len(now.ways), dtype=bool)) if arms.any())
    ways = now.ways[among]
    return int(ways[np.argmax(now.noise.mean[ways])])


def _difference(scores: Scores, now: Standing, way: int) -> Difference:
    """Return the gain of a transfer arm; its CI includes 0 if the arm is not tested."""
    assert now.gains is not None
    value, low, high, p = (float(getattr(now.gains, name)[way]) for name in ("value", "low", "high", "p"))
    if not np.isfinite(low):
        return Difference(value, None, None, None)
    span = scores.bounds[1] - scores.bounds[0]
    low, high = max(low, min(-span, value)), min(high, max(span, value))  # missing seeds move the value
    if now.better[way] or now.worse[way]:
        return Difference(value, low, high, p)
    able = bool(now.gains.callable[way] and not now.blocked[way])
    return Difference(value, min(low, 0.0), max(high, 0.0), p if able else None)


def _facts(scores: Scores, now: Standing | None, arm: int) -> ArmFacts:
    n = int((~np.isnan(scores.values[arm])).sum())
    cost = float(scores.cost[arm])
    mean = shortfall = at_most = None
    chance, adjusted, unstable, gain = 0.0, False, False, None
    call: Call = ""
    why: Reason = ""
    if now is not None and n:
        at = int(np.searchsorted(now.at, arm))
        mean, unstable = float(now.noise.mean[at]), bool(now.noise.erratic[at])
        plain = float(np.nanmean(scores.values[arm]))
        adjusted = abs(mean - plain) > 1e-9 * max(abs(mean), abs(plain), scores.scale)
        mean = mean if adjusted else plain
        chosen = now.selection
        chance, shortfall, at_most = (float(of[at]) for of in (chosen.chance, chosen.shortfall, chosen.at_most))
    if scores.with_source[arm]:
        call = "not tested"
        why = "too few seeds"
        if now is not None and n and now.gains is not None:
            way = int(np.flatnonzero(now.ways == at)[0])
            gain = _difference(scores, now, way)
            if now.better[way] or now.worse[way]:
                call, why = "better" if now.better[way] else "worse", ""
            elif now.blocked[way]:
                why = "unfinished"
            elif now.gains.callable[way]:
                inside = bool(now.gains.low[way] > -now.margin and now.gains.high[way] < now.margin)
                call, why = "within the margin" if inside else "inconclusive", ""
            elif unstable:
                why = "unstable"
    return ArmFacts(
        name=scores.arms[arm],
        with_source=bool(scores.with_source[arm]),
        n_seeds=n,
        n_failed=int(scores.failed[arm].sum()),
        mean=mean,
        adjusted=adjusted,
        cost=None if np.isnan(cost) else cost,
        chance=chance,
        shortfall=shortfall,
        at_most=at_most,
        unstable=unstable,
        unfinished=bool(scores.unfinished[arm]),
        gain=gain,
        call=call,
        why=why,
    )
