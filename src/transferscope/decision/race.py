"""Choice of the next runs: one of every arm, then those that answer both questions at the lowest cost."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import special

from transferscope.decision.record import Scores
from transferscope.decision.settles import LEAST_CHANCE, what_settles
from transferscope.decision.standing import Standing, stand
from transferscope.decision.whether import LEAST_SEEDS, pairs
from transferscope.decision.which import SETTLED
from transferscope.errors import out_of_range

Done = Literal["", "decided", "seeds", "not worth it"]
"""Reason why no run is proposed: both questions are decided, the arms that matter have all their seeds, or no run is
worth its seconds; "" where runs are proposed."""

_FIRST_TRANSFER = 0.1
"""Share of the cost of the first transfer arm, which lets it run early: without one nothing is known of transfer."""
_TRIES = 2
"""Failures of first runs after which an arm is skipped."""
_NOISE, _NOISE_DF, _APART = 1.5, 4.0, 5.0
"""For the knowledge gradient, in `Scores.scale`: prior noise of a run, its degrees of freedom, and the least prior
standard deviation of true means."""
_AHEAD = (1, 2, 3, 4)
"""Numbers of runs of one arm that are considered ahead."""
_WORTH = 0.05
"""Least gain in margins from knowing all true means for which runs for *which* are made."""
_SHARE = 2.0
"""Ratio of the seconds for *whether* to those for *which*."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run, by the positions of its number of labels, arm and seed."""

    table: int
    arm: int
    seed: int


@dataclass(frozen=True, slots=True)
class Next:
    """The next runs, most useful first; if there are none, `done` gives the reason.

    Attributes:
        minute: Expected rise of the best mean per further minute, in points: the knowledge gradient of the best run per
            second, at most the value of perfect information. None while an available arm has no run.
    """

    runs: tuple[Run, ...]
    done: Done
    minute: float | None = None


def next_runs(
    tables: Sequence[Scores],
    *,
    margin: float = 1.0,
    planned: int | None = None,
    worth: float | None = None,
    at_once: int = 1,
    under_way: Sequence[Bool[np.ndarray, "arms seeds"]] | None = None,
    closed: Sequence[Bool[np.ndarray, "arms seeds"]] | None = None,
    seconds: Sequence[Float[np.ndarray, " arms"]] | None = None,
) -> Next:
    """Return the runs to make next, over all numbers of labels.

    Every arm is run once, cheapest first; the first transfer arm counts with a tenth of its cost. Then two runs are
    candidates:

    - for *which* arm, the run with the largest expected rise of the best mean per second: the knowledge gradient
      (Frazier, Powell, Dayanik 2008), with means shrunk to their common mean and a common variance;
    - for *whether* transfer helps, while inconclusive, a run of the two arms that prevent a decision, second runs of
      baselines first.

    Of the two, the one whose arm has taken less time, this run included, comes first, so both questions get a share of
    the seconds and cheap baselines get their seeds early.

    Args:
        tables: Scores at each number of labels, as for `decide`; an arm has at most as many runs as `values` has seeds.
        margin: As in `decide`, like `planned` and `worth`, so that a race ends when `decide` says so.
        at_once: Maximum number of runs to return; at least 1.
        under_way: Running runs of each table, shape (A, S); they are not proposed again.
        closed: Unavailable runs of each table, shape (A, S).
        seconds: Time of the next run of each arm, by table, shape (A,); `Scores.cost` by default. Unknown times count
            as the longest known one.

    Raises:
        SettingsError: `at_once` is below 1.
    """
    if at_once < 1:
        raise out_of_range("at_once", at_once, "at least 1")
    none = [np.zeros(scores.values.shape, dtype=bool) for scores in tables]
    looks = [
        _Look(scores, margin, planned, worth, busy.copy(), shut, scores.cost if seconds is None else seconds[at])
        for at, (scores, busy, shut) in enumerate(zip(tables, under_way or none, closed or none, strict=True))
    ]
    rises = [rise for look in looks if (rise := look.of_a_minute) is not None]
    minute = max(rises) if rises and len(rises) == len(looks) else None
    runs: list[Run] = []
    while len(runs) < at_once and (found := _unseen(looks) or _racing(looks)) is not None:
        table, arm = found
        runs.append(Run(table, arm, looks[table].take(arm)))
    if runs:
        return Next(tuple(runs), "", minute)
    if all(look.whether_is_decided and look.which_is_decided for look in looks):
        return Next((), "decided")
    return Next((), "not worth it" if any(look.free.any() for look in looks) else "seeds")


@dataclass
class _Look:
    """One number of labels, including the runs chosen so far."""

    scores: Scores
    margin: float
    planned: int | None
    worth: float | None
    busy: Bool[np.ndarray, "arms seeds"]
    closed: Bool[np.ndarray, "arms seeds"]
    given: Float[np.ndarray, " arms"]
    seconds: Float[np.ndarray, " arms"] = field(init=False)

    def __post_init__(self) -> None:
        longest = np.max(self.given, where=~np.isnan(self.given), initial=0.0)
        known = np.where(np.isnan(self.given), longest, self.given)
        self.seconds = np.where(known > 0, known, 1e-3 * longest if longest > 0 else 1.0)
        self.have = (~np.isnan(self.scores.values)).sum(axis=1)

    @property
    def free(self) -> Bool[np.ndarray, "arms seeds"]:
        return np.asarray(np.isnan(self.scores.values) & ~self.scores.failed & ~self.busy & ~self.closed)

    @property
    def n(self) -> Int[np.ndarray, " arms"]:
        """Runs that are made or will be."""
        return np.asarray(self.have + (self.busy & np.isnan(self.scores.values)).sum(axis=1))

    def take(self, arm: int) -> int:
        seed = int(np.argmax(self.free[arm]))
        self.busy[arm, seed] = True
        return seed

    @cached_property
    def now(self) -> Standing | None:
        return stand(self.scores, margin=self.margin, planned=self.planned, worth=self.worth)

    @cached_property
    def which_is_decided(self) -> bool:
        if self.now is None:
            return False
        chosen, n = self.now.selection, self.now.noise.n
        return bool(chosen.chance[chosen.arm] >= SETTLED and (n[chosen.arm] >= 2 or len(n) == 1))

    @cached_property
    def whether_is_decided(self) -> bool:
        return self.now is not None and self.now.outcome != "inconclusive"

    @cached_property
    def has_hope(self) -> bool:
        """Whether further seeds may well decide whether transfer helps; where noise is not known yet, they may."""
        if self.now is None or not (self.now.noise.df > 0).all():
            return True
        settles = what_settles(self.now, self.scores)
        return settles is not None and settles.chance >= LEAST_CHANCE

    @cached_property
    def at_stake(self) -> float:
        """Expected loss of the arm with the best mean beside the best arm: what perfect knowledge would gain."""
        if self.now is None:
            return 0.0
        means = self.now.draws.means
        return float(means.max(axis=1).mean() - means.mean(axis=0).max())

    @property
    def of_a_minute(self) -> float | None:
        """Expected rise of the best mean by a minute of the best runs, in points; None while an arm has no run."""
        can_run = np.asarray(self.free.any(axis=1))
        if self.now is None or len(self.now.at) < 2 or (can_run & (self.have == 0)).any():
            return None
        rate = np.where(can_run, self.gains(), 0.0) / self.seconds
        return float(min(60.0 * rate.max(), self.at_stake))

    def gains(self) -> Float[np.ndarray, " arms"]:
        """Return the expected rise of the best posterior mean by a further run of each arm; 0 for arms without runs."""
        found = np.zeros(len(self.scores.arms))
        if self.now is None or len(self.now.at) < 2:
            return found
        at, noise, scale = self.now.at, self.now.noise, self.scores.scale
        df = np.maximum(noise.n - 1, 0)
        variance = (df @ noise.raw + _NOISE_DF * (_NOISE * scale) ** 2) / (df.sum() + _NOISE_DF)
        prior = max(float(noise.mean.std()), _APART * scale) ** 2
        before = 1 / (1 / prior + self.have[at] / variance)
        mean = before * (noise.mean.mean() / prior + self.have[at] * noise.mean / variance)
        planned = self.n[at]
        posterior = 1 / (1 / prior + planned / variance)
        best, second = np.sort(mean)[[-1, -2]]
        distance = np.abs(mean - np.where(mean == best, second, best))
        rises = []
        for ahead in _AHEAD:
            sd = np.sqrt(posterior - 1 / (1 / posterior + ahead / variance))
            z = -distance / sd
            rises.append(sd * (np.exp(-z * z / 2) / np.sqrt(2 * np.pi) + z * special.ndtr(z)) / ahead)
        found[at] = np.max(rises, axis=0)
        return found

    def in_the_way(self) -> list[int]:
        """Return the arms whose next run is needed to decide whether transfer helps; empty if it is decided."""
        now = self.now
        if now is None or now.outcome != "inconclusive" or now.why == "unfinished":
            return []
        n = self.n[now.at]
        wanted = [*(int(arm) for arm in now.controls if n[arm] < 2), min(_pair(now), key=lambda arm: int(n[arm]))]
        return [int(now.at[arm]) for arm in dict.fromkeys(wanted)]


def _unseen(looks: Sequence[_Look]) -> tuple[int, int] | None:
    """Return the cheapest arm without a run; while a baseline runs, the first transfer arm counts as cheaper."""
    found = []
    for table, look in enumerate(looks):
        tried = look.have + look.scores.failed.sum(axis=1)
        unseen = (look.have == 0) & (tried < _TRIES) & ~look.busy.any(axis=1) & look.free.any(axis=1)
        cost = np.nan_to_num(look.given, nan=np.inf)
        transfer, begun = look.scores.with_source, (look.have > 0) | look.busy.any(axis=1)
        if (begun & ~transfer).any() and not (begun & transfer).any():
            cost = np.where(transfer, _FIRST_TRANSFER * cost, cost)
        found += [(cost[arm], table, int(arm)) for arm in np.flatnonzero(unseen)]
    return min(found)[1:] if found else None


def _racing(looks: Sequence[_Look]) -> tuple[int, int] | None:
    """Return the better of the best run for *which* and the best run for *whether*."""
    which, whether = [], []
    for table, look in enumerate(looks):
        free = np.asarray(look.free.any(axis=1))
        rise = np.where(free, look.gains(), 0.0)
        worth = look.at_stake > _WORTH * look.margin and not (look.which_is_decided and look.whether_is_decided)
        if worth and rise.any():
            arm = int(np.argmax(rise / look.seconds))
            which.append((-rise[arm] / look.seconds[arm], table, arm))
        wanted = [arm for arm in look.in_the_way() if free[arm]]
        if wanted and (worth or look.has_hope):
            whether += [(look.n[arm] * look.seconds[arm], table, arm) for arm in wanted]
    if not which or not whether:
        return min(which or whether)[1:] if which or whether else None
    _, table, arm = min(which)
    taken = looks[table].n[arm] * looks[table].seconds[arm]
    return min(whether)[1:] if min(whether)[0] <= _SHARE * taken else (table, arm)


def _pair(now: Standing) -> tuple[int, int]:
    """Return the best transfer arm and its closest competitor; unless it leads by half a margin, what prevents "no"."""
    noise, controls, stable = now.noise, now.controls, ~now.noise.erratic[now.ways]
    ways = now.ways[stable] if stable.any() else now.ways
    beside = pairs(noise, ways, controls, now.examples)
    way, control = int(noise.mean[ways].argmax()), int(noise.mean[controls].argmax())
    if beside.value[way, control] > now.margin / 2 or noise.n[ways[way]] < LEAST_SEEDS:
        control = int(np.lexsort((noise.mean[controls], beside.below(0.0)[way]))[-1])
    else:
        way = int(np.lexsort((noise.mean[ways], beside.above(now.margin)[:, control]))[-1])
    return int(ways[way]), int(controls[control])
