"""A race over the runs of a study: only those that can still change the answer, the cheapest first.

Where the race stands is a function of what the store holds, so it can be interrupted, resumed and shared, and runs of
an earlier study count. `decision.next_runs` says which runs come next; here for several numbers of labels.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from transferscope.decision import Question, Scores, decide, next_runs
from transferscope.decision.race import DEAR
from transferscope.decision.whether import LEAST_SEEDS
from transferscope.errors import SettingsError
from transferscope.settings.engine import RaceSettings
from transferscope.store import PlannedCell, Store
from transferscope.study.decisions import Arm, scores_of
from transferscope.study.frames import StudyFrames, read_study
from transferscope.study.plan import StudyPlan
from transferscope.study.race_state import End, NotBegun, RaceState, keep_state
from transferscope.study.run_times import RunTimes

_BATCH_SECONDS = 2.0
"""Runs are chosen together as long as they take less than this, for each that can be made at a time."""

_MOST_AT_ONCE = 64

_GRACE, _LEAST_GRACE = 0.1, 5.0
"""What is under way when the time is over is stopped after this share of it more, and so many seconds at least."""


@dataclass(frozen=True)
class _Look:
    """One number of labels as it stands.

    Attributes:
        scores: Of all arms and seeds of the race, with costs that order the arms.
        seconds: What another run of each arm is expected to take, shape (A,); NaN where nothing tells.
        left: What all runs of each arm that are left are expected to take, likewise; 0 where none is left.
    """

    scores: Scores
    seconds: Float[np.ndarray, " arms"]
    left: Float[np.ndarray, " arms"]


class Race:
    """Which cells of a study are done next.

    Args:
        at_once: How many runs can be made at the same time.

    Attributes:
        n_cells: How many cells there may be.

    Raises:
        SettingsError: The study is no race: several pre-training sizes or steps.
    """

    def __init__(self, plan: StudyPlan, *, seeds: Sequence[int], settings: RaceSettings, at_once: int) -> None:
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
        self._began = time.monotonic()
        self._before: float | None = None
        self._most_left: float | None = None
        self._looked = self._began

    def begin(self, store: Store) -> StudyPlan:
        """The study with the cells that are done, or have failed, or that another runner has in work."""
        known = any(row.name == self._name for row in store.studies())
        states = {one.key: one.state for one in store.standings(self._name)} if known else {}
        kept = store.done(self._cells) | {key for key, state in states.items() if state != "planned"}
        return self._with(kept)

    def more(self, store: Store) -> StudyPlan | None:
        """The study with further cells; None with nothing to begin now. A `RaceState` keeps what is left out."""
        frames = read_study(store, self._name)
        states = dict(zip(frames.cells["key"], frames.cells["state"], strict=True))
        taken = {str(key): float(seconds) for key, seconds in frames.cells.set_index("key")["seconds"].dropna().items()}
        spent = self._spent(sum(taken.values()))
        times = RunTimes(self._plan.cells, self._plan.study.facts, taken)
        looks = {n: self._look(frames, n, states, times) for n in self._sizes}
        is_busy = any(state in ("planned", "running") for state in states.values())
        chosen, end, left_out = self._choose(looks, states, spent)
        if not is_busy or chosen:
            keep_state(store, self._name, RaceState("" if chosen else end, left_out))
        self._most_left, self._looked = self._most(looks, spent), time.monotonic()
        return self._with({*states, *chosen}) if chosen else None

    @property
    def stops_at(self) -> float:
        """When what is under way is stopped, by `time.monotonic`."""
        if self._settings.minutes is None:
            return math.inf
        seconds = 60.0 * self._settings.minutes
        return self._began + seconds + max(_GRACE * seconds, _LEAST_GRACE) - (self._before or 0.0)

    @property
    def seconds_left(self) -> float | None:
        """What the race may still take at most, by its last look and the clock since then; None where nothing tells."""
        return None if self._most_left is None else max(self._most_left - (time.monotonic() - self._looked), 0.0)

    def _spent(self, of_cells: float) -> float:
        """Seconds that the race has taken: of the clock now, and of the cells as far as they were done before."""
        together = of_cells / self._at_once
        if self._before is None:
            self._before = together
        return max(together, self._before + time.monotonic() - self._began)

    def _with(self, keys: set[str]) -> StudyPlan:
        """The study with some cells, with what they need and what is measured of them, in the order of the plan."""
        keys &= self._cells.keys()
        kept = keys | {need for key in keys for need in self._cells[key].needs}
        kept |= {key for key, cell in self._cells.items() if cell.role == "diagnose" and kept.issuperset(cell.needs)}
        return replace(self._plan, cells=tuple(cell for key, cell in self._cells.items() if key in kept))

    def _look(self, frames: StudyFrames, n_target: int, states: Mapping[str, str], times: RunTimes) -> _Look:
        scores = scores_of(frames, n_target, arms=self._arms, seeds=self._seeds)
        cells = [[self._runs.get((arm, n_target, seed)) for seed in self._seeds] for arm in self._arms]
        first = [next((cell for cell in row if cell is not None and cell.key not in states), None) for row in cells]
        needs = [[] if cell is None else [self._cells[key] for key in cell.needs] for cell in first]
        seconds, whole = np.full((2, len(cells)), np.nan)
        for arm, (cell, needed) in enumerate(zip(first, needs, strict=True)):
            if cell is None:
                continue
            together = (cell, *needed)
            expected = [times.expected(one) for one in together]
            seconds[arm] = sum(
                math.nan if taken is None else taken
                for taken, one in zip(expected, together, strict=True)
                if one.key not in states
            )
            whole[arm] = sum(
                times.work(one).guess if taken is None else taken for taken, one in zip(expected, together, strict=True)
            )
        n_left = [
            sum(cell is not None and states.get(cell.key) not in ("done", "failed") for cell in row) for row in cells
        ]
        known = np.where(np.isnan(scores.cost), seconds, scores.cost)
        left = np.where(np.array(n_left) > 0, n_left * known, 0.0)
        return _Look(replace(scores, cost=np.where(np.isnan(scores.cost), whole, scores.cost)), seconds, left)

    def _choose(
        self, looks: Mapping[int, _Look], states: Mapping[str, str], spent: float
    ) -> tuple[list[str], End, tuple[NotBegun, ...]]:
        """Keys of runs to begin; why there are none; and arms that are left out for what they would take."""
        settings = self._settings
        left = math.inf if settings.minutes is None else 60.0 * settings.minutes - spent
        longest = math.inf if settings.run_minutes is None else 60.0 * settings.run_minutes
        # what has failed gave nothing
        n_made = sum(states.get(cell.key) in ("done", "planned", "running") for cell in self._runs.values())
        room = None if settings.runs is None else max(settings.runs - n_made, 0)
        queues: list[list[tuple[float, str]]] = []
        wanted, over = False, {"time": False, "long runs": False}
        left_out: list[NotBegun] = []
        for n_target, look in looks.items():
            dear = {"time": look.seconds > left, "long runs": look.seconds > longest}
            if left <= 0:
                dear["time"] = np.ones(len(self._arms), dtype=bool)
            shut = dear["time"] | dear["long runs"]
            free = self._next(look.scores, n_target, states)
            wanted |= bool(free)
            queue = self._next(look.scores, n_target, states, shut=shut)
            queues.append([(float(look.scores.cost[arm]), self._key(arm, n_target, seed)) for arm, seed in queue])
            for why, which in dear.items():
                over[why] |= any(which[arm] for arm, _ in free)
            begun = (~np.isnan(look.scores.values) | look.scores.failed).any(axis=1)
            left_out += [
                NotBegun(arm.method, arm.source, n_target, _known(look.seconds[row]))
                for row, arm in enumerate(self._arms)
                if shut[row]
                and not begun[row]
                and not any(self._is_busy(row, n_target, seed, states) for seed in self._seeds)
            ]
        chosen = self._merged(queues, len(self._runs) if room is None else room)
        if chosen:
            return chosen, "", tuple(left_out)
        if room == 0 and wanted:
            return [], "runs", tuple(left_out)
        if wanted:
            return [], "time" if over["time"] else "long runs", tuple(left_out)
        margin = settings.margin
        decided = [decide(look.scores, margin=margin) for look in looks.values()]
        settled = all(one.settled if settings.question == "which" else one.outcome != "open" for one in decided)
        return [], "settled" if settled else "seeds", tuple(left_out)

    def _next(
        self, scores: Scores, n_target: int, states: Mapping[str, str], *, shut: np.ndarray | None = None
    ) -> list[tuple[int, int]]:
        under_way = np.array(
            [[self._is_busy(row, n_target, seed, states) for seed in self._seeds] for row in range(len(self._arms))]
        )
        if shut is not None:
            under_way |= shut[:, None]

        def runs(question: Question) -> list[tuple[int, int]]:
            margin = self._settings.margin
            return next_runs(scores, margin=margin, question=question, at_once=_MOST_AT_ONCE, under_way=under_way)

        wanted, cost, made = runs(self._settings.question), scores.cost, ~np.isnan(scores.values)
        least = DEAR * np.min(cost, where=made.any(axis=1), initial=np.inf)
        if not made.any() or (wanted and cost[wanted[0][0]] < least):
            return wanted
        best = np.array(scores.arms) == decide(scores, margin=self._settings.margin).best_with
        few = (made.sum(axis=1) < LEAST_SEEDS) & (best | ~scores.with_source)
        calls = [run for run in runs("whether") if few[run[0]]]  # so that the gain of what is recommended can be called
        if wanted and calls and DEAR * cost[calls[0][0]] > cost[wanted[0][0]]:
            return wanted
        return [*calls, *(run for run in wanted if run not in calls)]

    def _merged(self, queues: list[list[tuple[float, str]]], room: int) -> list[str]:
        """The heads of the queues, the cheapest first, until there is enough to do before the next look."""
        chosen: list[str] = []
        seconds = 0.0
        while any(queues) and len(chosen) < room:
            cost, key = min(queue[0] for queue in queues if queue)
            if len(chosen) >= self._at_once and seconds + cost > _BATCH_SECONDS * self._at_once:
                break
            for queue in queues:
                if queue and queue[0][1] == key:
                    queue.pop(0)
            chosen.append(key)
            seconds += cost
        return chosen

    def _key(self, arm: int, n_target: int, seed: int) -> str:
        return self._runs[self._arms[arm], n_target, self._seeds[seed]].key

    def _is_busy(self, arm: int, n_target: int, seed: int, states: Mapping[str, str]) -> bool:
        """Whether a run cannot be begun: it is under way, or the study has none."""
        cell = self._runs.get((self._arms[arm], n_target, seed))
        return cell is None or states.get(cell.key) in ("planned", "running")

    def _most(self, looks: Mapping[int, _Look], spent: float) -> float | None:
        """Seconds that all runs which the race may still make take, within its limits; None where nothing tells."""
        minutes, longest = self._settings.minutes, self._settings.run_minutes
        shut = [
            np.zeros(len(self._arms), dtype=bool) if longest is None else look.seconds > 60 * longest
            for look in looks.values()
        ]
        most = sum(float(look.left[~out].sum()) for look, out in zip(looks.values(), shut, strict=True)) / self._at_once
        if minutes is not None:
            most = float(np.fmin(most, max(60.0 * minutes - spent, 0.0)))
        return _known(most)


def _known(seconds: float) -> float | None:
    return None if math.isnan(seconds) else float(seconds)


def _check(runs: Sequence[PlannedCell]) -> None:
    """Refuse what is about more than numbers of labels."""
    sizes: dict[object, set[object]] = {}
    for cell in runs:
        if cell.labels.get("n_source") is not None:
            sizes.setdefault(cell.labels["source"], set()).add(cell.labels["n_source"])
    for what, several in (
        ("pre-training sizes", any(len(of_one) > 1 for of_one in sizes.values())),
        ("pre-training steps", len({cell.labels.get("pretrain_step") for cell in runs}) > 1),
    ):
        if several:
            raise SettingsError(
                f"a race asks which arm to use, and the study has several {what}; give one, or drop [race]"
            )


def arm_of(cell: PlannedCell) -> Arm:
    """The arm that a cell of a method is a run of."""
    source = cell.labels["source"]
    return Arm(str(cell.labels["method"]), "" if source is None else str(source))
