"""What a race has settled: every arm beside training from scratch, and the question's answer, as facts."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from transferscope.estimate import Estimate, Interval
from transferscope.numerics.average_precision import example_contributions
from transferscope.numerics.racing import Standing
from transferscope.store import Store
from transferscope.study.race import Arm, Race, RaceScores, RaceSettings
from transferscope.wording import measure_words

State = Literal["baseline", "best", "as good", "out", "open"]
"""What a race says of an arm beside the leader.

best: no other arm can be better by more than the margin. as good: within the margin of the leader on both sides.
out: it cannot be better than the leader by more than the margin. open: it still may. baseline: training from scratch,
where it is none of these.
"""

Call = Literal["better", "worse", "equivalent", "open"]
"""What a race says of an arm beside training from scratch; "equivalent" is within the margin on both sides."""

_GRID_SEEDS = 5
_TEST_SET_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class ArmResult:
    """What is known of one arm.

    Attributes:
        arm: Method and source.
        n: Runs that are done.
        score: Mean score in points; NaN without a run.
        gain: Difference to training from scratch over shared seeds, in points, with an interval that holds at every
            look of the race, for other seeds and other test examples; 0 for the baseline.
        call: Beside training from scratch.
        state: Beside the leader.
        lasting: Whether the call holds for other test examples too, and not on this test set alone.
        seconds: Mean time of a run with its pre-training; NaN where nothing is known.
    """

    arm: Arm
    n: int
    score: float
    gain: Estimate
    call: Call
    state: State
    lasting: bool
    seconds: float


@dataclass(frozen=True)
class Decision:
    """Where a race stands.

    Attributes:
        arms: The baseline first, then by gain.
        whether: "helps", "no" (none gains more than the margin) or "open".
        which: Whether the leader is known to be the best, up to the margin.
        settings: Question, risk, margin, budget.
        n_runs: Runs that are done.
        n_failed: Runs that failed.
        budget_spent: Whether the race ended because its budget of runs or time is used up.
        n_grid: Runs of the full comparison with five seeds, or as many as the study has if these are fewer.
        seconds: Time of all cells that are done.
        n_labels: Labelled target examples of every run; None when unknown.
        unit: What a point is: "points of accuracy", "points of average precision" or "points of R²".
    """

    arms: tuple[ArmResult, ...]
    whether: Literal["helps", "no", "open"]
    which: bool
    settings: RaceSettings
    n_runs: int
    n_failed: int
    budget_spent: bool
    n_grid: int
    seconds: float
    n_labels: int | None
    unit: str

    @property
    def leader(self) -> ArmResult:
        """The arm with the best mean gain; training from scratch when none gains."""
        known = [arm for arm in self.arms if math.isfinite(arm.gain.value)]
        return max(known, key=lambda arm: arm.gain.value)

    @property
    def baseline(self) -> ArmResult:
        """Training from scratch."""
        return self.arms[0]

    @property
    def settled(self) -> bool:
        """Whether the question is answered."""
        return self.whether != "open" and (self.which or self.settings.question == "whether")


def decision(store: Store, study: str) -> Decision | None:
    """Where the race of a study stands by what is stored; None when the study is no race.

    Raises:
        UnknownNameError: There is no such study.
        StoreError: The store cannot be read.
    """
    race = _stored_race(store, study)
    if race is None:
        return None
    now = race.scores(store)
    standing = now.standing(race.settings)
    examples = _test_errors(store, race, now)
    arms = [_arm(i, now, standing, examples[i], race.settings) for i in range(len(now.arms))]
    baseline, *others = arms
    others.sort(key=lambda arm: -arm.gain.value if math.isfinite(arm.gain.value) else math.inf)
    n_seeds = min(_GRID_SEEDS, len(now.seeds))
    return Decision(
        arms=(baseline, *others),
        whether=standing.whether,
        which=standing.which,
        settings=race.settings,
        n_runs=now.n_done,
        n_failed=int(now.failed.sum()),
        budget_spent=race.budget_spent(now),
        n_grid=n_seeds * len(now.arms),
        seconds=now.spent,
        n_labels=race.n_target if isinstance(race.n_target, int) else None,
        unit=f"points of {measure_words(now.measure)}",
    )


def _stored_race(store: Store, study: str) -> Race | None:
    spec = store.study(study).spec
    table, methods = spec.get("race"), spec.get("methods", {})
    cells = [cell.cell for cell in store.cells(study)]
    if not isinstance(table, Mapping) or not any(cell.role == "method" for cell in cells):
        return None
    baseline = next((name for name, method in methods.items() if method.get("name") == "scratch"), "scratch")
    return Race(study, cells, seeds=spec["seeds"], settings=RaceSettings(**table), baseline=baseline)


def _arm(i: int, now: RaceScores, standing: Standing, test_error: float, settings: RaceSettings) -> ArmResult:
    runs = np.isfinite(now.scores[i])
    n = int(runs.sum())
    score = float(now.scores[i, runs].mean()) if n else math.nan
    width = float(standing.control.half_width(settings.risk)[i])
    mean, shared = float(standing.control.mean[i]), int(standing.control.n[i])
    if i == 0:
        gain, lasting = Estimate(0.0, 0.0, n), True
    else:
        whole = math.hypot(width, _TEST_SET_Z * test_error) if math.isfinite(test_error) else width
        interval = Interval(mean - whole, mean + whole, 1.0 - settings.risk) if math.isfinite(whole) else None
        stderr = float(standing.control.sd[i]) / math.sqrt(shared) if shared else None
        gain = Estimate(mean, stderr, shared, "ok" if shared else "too_few", interval)
        strict = float(standing.control.half_width(min(4 * settings.risk, 1.0) / (len(now.arms) - 1))[i])
        lasting = abs(mean) > math.hypot(strict, _TEST_SET_Z * test_error) if math.isfinite(test_error) else False
    call: Call = "open"
    if standing.better[i]:
        call = "better"
    elif standing.worse[i]:
        call = "worse"
    elif i and abs(mean) + float(standing.control.half_width(2 * settings.risk)[i]) < settings.margin:
        call = "equivalent"
    return ArmResult(now.arms[i], n, score, gain, call, _state(i, standing), lasting, float(now.seconds[i]))


def _state(i: int, standing: Standing) -> State:
    if i == standing.leader and standing.which:
        return "best"
    if i != standing.leader and standing.equivalent[i]:
        return "as good"
    if not standing.alive[i]:
        return "out"
    return "baseline" if i == 0 else "open"


def _test_errors(store: Store, race: Race, now: RaceScores) -> Float[np.ndarray, " n_arms"]:
    """Standard error of every arm's gain over test examples, in points; NaN where no predictions are stored.

    The gain of an example is averaged over the seeds that the arm shares with the baseline.
    """
    name = race.study
    labels, found = store.study_array(name, "target_test_labels"), store.arrays(name, "predictions")
    errors = np.full(len(now.arms), np.nan)
    if labels is None:
        return errors
    scale = 100.0
    if now.measure == "r2":
        scale = 100.0 / float(np.mean((labels - labels.mean(axis=0)) ** 2))
    rows = [[None if key is None else found.get(key) for key in keys] for keys in race.keys]
    for i in range(1, len(now.arms)):
        gains = [
            _example_scores(own, labels, now.measure) - _example_scores(base, labels, now.measure)
            for own, base in zip(rows[i], rows[0], strict=True)
            if own is not None and base is not None and len(own) == len(base) == len(labels)
        ]
        if gains:
            mean = np.mean(gains, axis=0)
            errors[i] = scale * float(mean.std(ddof=1)) / math.sqrt(len(mean)) if len(mean) > 1 else math.nan
    return errors


def _example_scores(predictions: np.ndarray, labels: np.ndarray, measure: str) -> np.ndarray:
    """1 for a correct class and 0 for a wrong one, the share in the average precision, or minus the squared error."""
    if measure == "average_precision":
        return example_contributions(predictions, labels)
    if measure == "accuracy":
        return np.asarray(predictions == labels, dtype=np.float64)
    squares = (predictions.reshape(len(labels), -1) - labels.reshape(len(labels), -1)) ** 2
    return -np.asarray(squares.mean(axis=1), dtype=np.float64)
