"""Which runs to make next: cheapest first, then those that can change the answer."""

from collections.abc import Iterator
from itertools import takewhile
from typing import Literal

import numpy as np
from jaxtyping import Bool

from transferscope.decision.record import Scores
from transferscope.decision.standing import Standing, stand
from transferscope.decision.whether import LEAST_SEEDS, pairs
from transferscope.decision.which import SETTLED
from transferscope.errors import SettingsError

Question = Literal["which", "whether"]

DEAR = 10.0
"""An arm without a run waits while runs of others that cost so many times less can change the answer."""
_TRIES = 2
"""An arm whose first runs failed so many times is left."""
_DRAWS = 500
"""Are enough to choose a run; that an arm is settled takes all of them."""


def next_runs(
    scores: Scores,
    *,
    margin: float = 1.0,
    question: Question = "which",
    at_once: int = 1,
    under_way: Bool[np.ndarray, "arms seeds"] | None = None,
) -> list[tuple[int, int]]:
    """The runs to make next, the most useful first, as (arm, seed).

    One run of every arm, the cheapest first; but a dear arm waits as long as runs of others, of a tenth of its cost,
    can still change the answer. Then always a run of the recommended arm or of the arm most likely to beat it by more
    than the margin, whichever has fewer, until the recommended arm is settled. For the question "whether", of the arm
    with a source and the arm without that stand in the way of an answer, until there is one.

    Args:
        scores: As for `decide`; a race may make as many runs of an arm as `values` has seeds.
        at_once: Most runs that are wanted; at least 1.
        under_way: Runs that are being made, shape (A, S); they are not proposed again.

    Returns:
        At most `at_once` runs; none where none can change the answer.

    Raises:
        SettingsError: `at_once` is below 1.
    """
    if at_once < 1:
        raise SettingsError(f"at_once = {at_once} was given; expected at least 1")
    busy = np.zeros(scores.values.shape, dtype=bool) if under_way is None else under_way
    free = np.isnan(scores.values) & ~scores.failed & ~busy
    chosen: list[tuple[int, int]] = []
    for arm in _wanted(scores, free, busy, margin, question):
        if free[arm].any():
            seed = int(np.argmax(free[arm]))
            free[arm, seed] = False
            chosen.append((arm, seed))
        if len(chosen) == at_once:
            break
    return chosen


def _wanted(
    scores: Scores,
    free: Bool[np.ndarray, "arms seeds"],
    busy: Bool[np.ndarray, "arms seeds"],
    margin: float,
    question: Question,
) -> Iterator[int]:
    have = (~np.isnan(scores.values)).sum(axis=1)
    tried = have + scores.failed.sum(axis=1)
    cost = np.nan_to_num(scores.cost, nan=np.inf)
    unseen = np.flatnonzero((have == 0) & (tried < _TRIES) & ~busy.any(axis=1) & free.any(axis=1))
    unseen = unseen[np.argsort(cost[unseen], kind="stable")]
    least = cost[unseen[0]] if len(unseen) else -1.0
    early = len(unseen) > 0 and bool((have > 0).any()) and cost[have > 0].min() * DEAR <= least
    racing = _racing(scores, free, margin, question) if early else []
    yield from takewhile(lambda arm: cost[arm] * DEAR <= least, racing)
    yield from (int(arm) for arm in unseen)
    if not len(unseen):
        yield from _racing(scores, free, margin, question)


def _racing(scores: Scores, free: Bool[np.ndarray, "arms seeds"], margin: float, question: Question) -> list[int]:
    now = stand(scores, margin=margin, draws=_DRAWS)
    if now is not None and now.selection.chance[now.selection.arm] > SETTLED - 0.05:
        now = stand(scores, margin=margin)
    if now is None:
        return []
    chosen = now.selection
    n = (~np.isnan(scores.values[now.at])).sum(axis=1)
    wanted: list[int] = []
    if question == "whether" and len(now.ways) and len(now.controls):
        if now.outcome == "open" and now.why_open != "unfinished":
            wanted += [int(arm) for arm in now.controls if n[arm] < 2]
            wanted += sorted(_in_the_way(now), key=lambda arm: int(n[arm]))
    elif chosen.chance[chosen.arm] < SETTLED or (n[chosen.arm] < 2 and len(n) > 1):
        rivals = np.flatnonzero((chosen.better > 0) & (np.arange(len(n)) != chosen.arm))
        for rival in rivals[np.argsort(-chosen.better[rivals], kind="stable")][:4]:
            wanted += sorted((chosen.arm, int(rival)), key=lambda arm: int(n[arm]))
        wanted.append(chosen.arm)
    return [int(now.at[arm]) for arm in dict.fromkeys(wanted) if free[now.at[arm]].any()]


def _in_the_way(now: Standing) -> tuple[int, int]:
    """The best arm with a source and what it is least sure to beat; not ahead by half a margin, what forbids "no"."""
    noise, controls, stable = now.noise, now.controls, ~now.noise.unstable[now.ways]
    ways = now.ways[stable] if stable.any() else now.ways
    beside = pairs(noise, ways, controls, now.examples)
    way, control = int(noise.mean[ways].argmax()), int(noise.mean[controls].argmax())
    if beside.value[way, control] > now.margin / 2 or noise.n[ways[way]] < LEAST_SEEDS:
        control = int(np.lexsort((noise.mean[controls], beside.below(0.0)[way]))[-1])
    else:
        way = int(np.lexsort((noise.mean[ways], beside.above(now.margin)[:, control]))[-1])
    return int(ways[way]), int(controls[control])
