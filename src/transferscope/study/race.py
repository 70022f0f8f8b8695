"""A race over the runs of a study: those that answer its questions at the lowest cost.

The state of the race is a function of the store, so it can be interrupted, resumed and shared, and earlier runs count.
`decision.next_runs` chooses the next runs over all numbers of labels.
"""

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from transferscope.decision import Next, Scores, next_runs
from transferscope.errors import SettingsError
from transferscope.settings.engine import RaceSettings
from transferscope.store import PlannedCell, Store
from transferscope.study.decisions import Arm, Asked, asked_of, scores_of
from transferscope.study.frames import StudyFrames, read_study
from transferscope.study.plan import StudyPlan
from transferscope.study.race_state import NotBegun, RaceState, keep_state
from transferscope.study.run_times import RunTimes

_BATCH_SECONDS = 2.0
"""Seconds of runs that are chosen together, per parallel run."""

_MOST_AT_ONCE = 64

_TO_END, _OF_MINUTES = 5.0, 0.1
"""Seconds of the time limit reserved for stopping runs and writing the page, and their largest share."""


@dataclass(frozen=True)
class _Look:
    """The state of one number of labels.

    Attributes:
        n_target: The number of labels.
        scores: Scores of all arms and seeds of the race.
        under_way: Which runs are planned or running, shape (A, S).
        absent: Which runs the study does not have, shape (A, S).
        own: Seconds of the next run of each arm by which they are ordered, shape (A,).
        needs: By arm, the same of each cell that this run needs and that is not begun, by key.
        whole: What the next run of each arm is expected to take with all that it needs, shape (A,); NaN where nothing
            tells.
        left: What all runs of each arm that are left are expected to take, shape (A,); 0 where none is left.
    """

    n_target: int
    scores: Scores
    under_way: Bool[np.ndarray, "arms seeds"]
    absent: Bool[np.ndarray, "arms seeds"]
    own: Float[np.ndarray, " arms"]
    needs: tuple[Mapping[str, float], ...]
    whole: Float[np.ndarray, " arms"]
    left: Float[np.ndarray, " arms"]


class Race:
    """The choice of the next cells of a study.

    Args:
        at_once: Number of runs that can be made at the same time.
        since: Start of its time limit, by `time.monotonic`.

    Attributes:
        n_cells: Maximum number of cells.
        stops_at: Time at which running cells are stopped, by `time.monotonic`.

    Raises:
        SettingsError: The study cannot be raced: it has several pretraining sizes or steps.
    """

    def __init__(
        self, plan: StudyPlan, *, seeds: Sequence[int], settings: RaceSettings, at_once: int, since: float
    ) -> None:
        runs = [cell for cell in plan.cells if cell.role in ("method", "command")]
        _check(runs)
        self._plan, self._name = plan, plan.study.name
        self._settings, self._at_once = settings, at_once
        self._seeds = tuple(seeds)
        self._cells = {cell.key: cell for cell in plan.cells}
        self._runs = {(arm_of(cell), cell.labels["n_target"], cell.labels["seed"]): cell for cell in runs}
        self._sizes = sorted({int(str(cell.labels["n_target"])) for cell in runs})
        self._arms = list(dict.fromkeys(arm_of(cell) for cell in runs))
        self.n_cells = len(plan.cells)
        minutes = settings.minutes
        seconds = math.inf if minutes is None else 60.0 * minutes
        self.stops_at = since + seconds - min(_TO_END, _OF_MINUTES * seconds)
        self._most_left: float | None = None
        self._looked = time.monotonic()

    def begin(self, store: Store) -> StudyPlan:
        """Return the study with the cells that are done, failed, or claimed by another runner."""
        known = any(row.name == self._name for row in store.studies())
        states = {one.key: one.state for one in store.standings(self._name)} if known else {}
        kept = store.done(self._cells) | {key for key, state in states.items() if state != "planned"}
        return self._with(kept)

    def more(self, store: Store) -> StudyPlan | None:
        """Return the study with further cells, or None if none can start now. A `RaceState` keeps skipped arms."""
        frames = read_study(store, self._name)
        states = dict(zip(frames.cells["key"], frames.cells["state"], strict=True))
        taken = {str(key): float(seconds) for key, seconds in frames.cells.set_index("key")["seconds"].dropna().items()}
        times = RunTimes(self._plan.cells, self._plan.study.facts, taken)
        looks = [self._look(frames, n, states, times) for n in self._sizes]
        is_busy = any(state in ("planned", "running") for state in states.values())
        chosen, state = self._choose(looks, states, asked_of(frames))
        if not is_busy or chosen:
            keep_state(store, self._name, state)
        self._most_left, self._looked = self._most(looks), time.monotonic()
        return self._with({*states, *chosen}) if chosen else None

    @property
    def seconds_left(self) -> float | None:
        """The maximum remaining seconds of the race, by its last look and the time since then; None if unknown."""
        return None if self._most_left is None else max(self._most_left - (time.monotonic() - self._looked), 0.0)

    def _with(self, keys: set[str]) -> StudyPlan:
        """Return the study with some cells, their needs and their diagnostics, in the order of the plan."""
        keys &= self._cells.keys()
        kept = keys | {need for key in keys for need in self._cells[key].needs}
        kept |= {key for key, cell in self._cells.items() if cell.role == "diagnose" and kept.issuperset(cell.needs)}
        return replace(self._plan, cells=tuple(cell for key, cell in self._cells.items() if key in kept))

    def _look(self, frames: StudyFrames, n_target: int, states: Mapping[str, str], times: RunTimes) -> _Look:
        scores = scores_of(frames, n_target, arms=self._arms, seeds=self._seeds)
        cells = [[self._runs.get((arm, n_target, seed)) for seed in self._seeds] for arm in self._arms]
        state = np.array([["absent" if one is None else states.get(one.key, "") for one in row] for row in cells])
        own, whole = np.zeros(len(cells)), np.full(len(cells), np.nan)
        needs: list[Mapping[str, float]] = []
        for arm, row in enumerate(cells):
            cell = next((one for one in row if one is not None and one.key not in states), None)
            needed = [] if cell is None else [self._cells[key] for key in cell.needs if key not in states]
            needs.append({one.key: times.usual(one) for one in needed})
            if cell is not None:
                own[arm] = times.usual(cell)
                expected = [times.expected(one) for one in (cell, *needed)]
                whole[arm] = sum(math.nan if seconds is None else seconds for seconds in expected)
        n_left = (~np.isin(state, ("absent", "done", "failed"))).sum(axis=1)
        left = np.where(n_left > 0, n_left * np.where(np.isnan(scores.cost), whole, scores.cost), 0.0)
        under_way = np.isin(state, ("planned", "running"))
        return _Look(n_target, scores, under_way, state == "absent", own, tuple(needs), whole, left)

    def _choose(self, looks: Sequence[_Look], states: Mapping[str, str], asked: Asked) -> tuple[list[str], RaceState]:
        """Return keys of the next runs, the reason if there are none, and the arms skipped for their expected time."""
        settings = self._settings
        left = self.stops_at - time.monotonic()
        longest = math.inf if settings.run_minutes is None else 60.0 * settings.run_minutes
        # what has failed gave nothing
        n_made = sum(states.get(cell.key) in ("done", "planned", "running") for cell in self._runs.values())
        room = len(self._runs) if settings.runs is None else max(settings.runs - n_made, 0)
        late = [(look.whole > left) | (left <= 0) for look in looks]
        shut = [over | (look.whole > longest) for over, look in zip(late, looks, strict=True)]
        taken = _shared(looks, shut)
        found = self._next(looks, shut, taken, asked)
        chosen, seconds = list[str](), 0.0
        for run in found.runs[:room]:
            cost = float(taken[run.table][run.arm])
            if len(chosen) >= self._at_once and seconds + cost > _BATCH_SECONDS * self._at_once:
                break
            chosen.append(self._runs[self._arms[run.arm], looks[run.table].n_target, self._seeds[run.seed]].key)
            seconds += cost
        left_out = tuple(
            self._arm_of(look, row)
            for look, out in zip(looks, shut, strict=True)
            for row in range(len(self._arms))
            if out[row] and not (~np.isnan(look.scores.values) | look.scores.failed | look.under_way)[row].any()
        )
        if chosen or found.runs:
            return chosen, RaceState("" if chosen else "runs", left_out)
        wanted = self._next(looks, [np.zeros_like(out) for out in shut], taken, asked)
        if not wanted.runs:
            return [], RaceState(wanted.done or "seeds", left_out)
        if any(late[run.table][run.arm] for run in wanted.runs):
            following = wanted.runs[0]
            return [], RaceState("time", left_out, wanted.minute, self._arm_of(looks[following.table], following.arm))
        return [], RaceState("long runs", left_out)

    def _arm_of(self, look: _Look, row: int) -> NotBegun:
        arm = self._arms[row]
        return NotBegun(arm.method, arm.source, look.n_target, _known(float(look.whole[row])))

    def _next(
        self,
        looks: Sequence[_Look],
        shut: Sequence[Bool[np.ndarray, " arms"]],
        seconds: Sequence[Float[np.ndarray, " arms"]],
        asked: Asked,
    ) -> Next:
        return next_runs(
            [look.scores for look in looks],
            **asked,
            at_once=_MOST_AT_ONCE,
            under_way=[look.under_way for look in looks],
            closed=[look.absent | out[:, None] for look, out in zip(looks, shut, strict=True)],
            seconds=seconds,
        )

    def _most(self, looks: Sequence[_Look]) -> float | None:
        """Return the seconds of all runs that the race may still make within its limits; None if unknown."""
        longest = self._settings.run_minutes
        shut = [(look.whole > 60 * longest) if longest is not None else np.zeros(len(look.own), bool) for look in looks]
        most = sum(float(look.left[~out].sum()) for look, out in zip(looks, shut, strict=True)) / self._at_once
        within = max(self.stops_at - time.monotonic(), 0.0)
        return _known(float(np.fmin(most, within)) if math.isfinite(within) else most)


def _shared(looks: Sequence[_Look], shut: Sequence[Bool[np.ndarray, " arms"]]) -> list[Float[np.ndarray, " arms"]]:
    """Return the time of the next run of each arm; runs that need the same pretraining share its time.

    The first run of an arm has the time of all of it: whichever comes first makes the others wait for the whole.
    """
    count = Counter(
        key for look, out in zip(looks, shut, strict=True) for arm in np.flatnonzero(~out) for key in look.needs[arm]
    )

    def of_needs(look: _Look, arm: int) -> float:
        is_first = bool(np.isnan(look.scores.values[arm]).all())
        return sum(taken / (1 if is_first else max(count[key], 1)) for key, taken in look.needs[arm].items())

    return [look.own + [of_needs(look, arm) for arm in range(len(look.own))] for look in looks]


def _known(seconds: float) -> float | None:
    return None if math.isnan(seconds) else float(seconds)


def _check(runs: Sequence[PlannedCell]) -> None:
    """Refuse studies that vary pretraining sizes or steps."""
    sizes: dict[object, set[object]] = {}
    for cell in runs:
        if cell.labels.get("n_source") is not None:
            sizes.setdefault(cell.labels["source"], set()).add(cell.labels["n_source"])
    for what, several in (
        ("pretraining sizes", any(len(of_one) > 1 for of_one in sizes.values())),
        ("pretraining steps", len({cell.labels.get("pretrain_step") for cell in runs}) > 1),
    ):
        if several:
            raise SettingsError(
                f"a race asks which arm to use, and the study has several {what}; give one, or drop [race]"
            )


def arm_of(cell: PlannedCell) -> Arm:
    """Return the arm of a method cell."""
    source = cell.labels["source"]
    return Arm(str(cell.labels["method"]), "" if source is None else str(source))
