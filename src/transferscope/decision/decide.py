"""From scores to one decision."""

import numpy as np
from jaxtyping import Bool, Int
from scipy import special

from transferscope.decision.noise import Noise
from transferscope.decision.record import ArmFacts, Call, Decision, Difference, Reason, Scores
from transferscope.decision.settles import what_settles
from transferscope.decision.standing import Standing, stand
from transferscope.decision.whether import LEAST_SEEDS
from transferscope.decision.which import SETTLED
from transferscope.errors import SettingsError
from transferscope.numerics.intervals import check_level


def decide(scores: Scores, *, margin: float = 1.0, level: float = 0.95) -> Decision:
    """What the runs say: whether a source helps, and which arm to use.

    An arm with a source is called better where it is better than every arm without (`whether.gains`), has three seeds,
    is not unstable, and no arm without a source could still rise. The recommended arm is the cheapest that is not
    expected to lose more than half a margin (`which.select`), among the arms that are called better or, where a cheaper
    one without a source will do, those without.

    Args:
        margin: Differences up to this do not matter, in points; above 0.
        level: Coverage of all intervals together, at any number of seeds.

    Raises:
        SettingsError: The margin is not above 0, or the level is not between 0 and 1.
    """
    check_level(level)
    if not 0 < margin < np.inf:
        raise SettingsError(f"margin = {margin} was given; expected a number of points above 0")
    now = stand(scores, margin=margin, level=level)
    n = (~np.isnan(scores.values)).sum(axis=1)
    names = np.array(scores.arms, dtype=object)
    if now is None:
        empty = tuple(_facts(scores, None, arm) for arm in range(len(names)))
        rising = tuple(names[scores.unfinished])
        return Decision(
            outcome="nothing", recommended=None, chance=0.0, settled=False, best_with=None, best_without=None,
            difference=None, helping=(), harmful=(), arms=empty, unstable=(), unfinished=rising, missing=(),
            settles=None, covers="nothing", why_open="", margin=margin, level=level,
        )  # fmt: skip
    noise, chosen = now.noise, now.selection
    best_with, best_without = _best(noise, now.ways, now.better), _best(noise, now.controls)
    difference = None
    if now.gains is not None and best_with is not None:
        difference = _difference(scores, now, int(np.flatnonzero(now.ways == best_with)[0]))
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
        settled=chance >= SETTLED,
        best_with=name(best_with),
        best_without=name(best_without),
        difference=difference,
        helping=listed(by_gain[now.better[by_gain]]),
        harmful=listed(by_gain[::-1][now.worse[by_gain[::-1]]]),
        arms=tuple(_facts(scores, now, arm) for arm in range(len(names))),
        unstable=tuple(names[now.at[noise.unstable]]),
        unfinished=tuple(names[scores.unfinished]),
        missing=tuple(names[n < n.max()]),
        settles=what_settles(now, scores),
        covers=now.covers,
        why_open=now.why_open,
        margin=margin,
        level=level,
    )


def _best(noise: Noise, arms: Int[np.ndarray, " _"], first: Bool[np.ndarray, " _"] | None = None) -> int | None:
    """The highest mean among the first, those that could be called, or all."""
    if not len(arms):
        return None
    if first is not None:
        able = (noise.n[arms] >= LEAST_SEEDS) & ~noise.unstable[arms]
        arms = next(arms[chosen] for chosen in (first, able, np.ones(len(arms), dtype=bool)) if chosen.any())
    return int(arms[np.argmax(noise.mean[arms])])


def _difference(scores: Scores, now: Standing, way: int) -> Difference:
    """The gain of an arm with a source; its interval holds 0 where the arm is not called."""
    assert now.gains is not None
    value, low, high, p = (float(getattr(now.gains, name)[way]) for name in ("value", "low", "high", "p"))
    if not np.isfinite(low):
        return Difference(value, None, None, None)
    span = scores.bounds[1] - scores.bounds[0]
    low, high = _possible(low, value, high, -span, span)
    if now.better[way] or now.worse[way]:
        return Difference(value, low, high, p)
    able = bool(now.gains.callable[way] and not now.blocked[way])
    return Difference(value, min(low, 0.0), max(high, 0.0), p if able else None)


def _possible(low: float, value: float, high: float, least: float, most: float) -> tuple[float, float]:
    """The ends of an interval where they can be; it holds its value, which seeds that others lack may move outside."""
    return max(low, min(least, value)), min(high, max(most, value))


def _facts(scores: Scores, now: Standing | None, arm: int) -> ArmFacts:
    n = int((~np.isnan(scores.values[arm])).sum())
    cost = float(scores.cost[arm])
    mean = low = high = stderr = shortfall = None
    chance, unstable, gain = 0.0, False, None
    call: Call = ""
    why: Reason = ""
    if now is not None and n:
        at = int(np.searchsorted(now.at, arm))
        mean, unstable = float(now.noise.mean[at]), bool(now.noise.unstable[at])
        chance, shortfall = float(now.selection.chance[at]), float(now.selection.shortfall[at])
        if now.noise.df[at] > 0:
            stderr = float(np.sqrt(now.noise.variance[at] / now.noise.n[at]))
            half = float(special.stdtrit(now.noise.df[at], (1 + now.level) / 2)) * stderr
            low, high = _possible(mean - half, mean, mean + half, *scores.bounds)
    if scores.with_source[arm]:
        call = "not called"
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
                call, why = "within the margin" if inside else "open", ""
            elif unstable:
                why = "unstable"
    return ArmFacts(
        name=scores.arms[arm],
        with_source=bool(scores.with_source[arm]),
        n_seeds=n,
        n_failed=int(scores.failed[arm].sum()),
        mean=mean,
        low=low,
        high=high,
        stderr=stderr,
        cost=None if np.isnan(cost) else cost,
        chance=chance,
        shortfall=shortfall,
        unstable=unstable,
        unfinished=bool(scores.unfinished[arm]),
        gain=gain,
        call=call,
        why=why,
    )
