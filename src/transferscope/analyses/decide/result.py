"""What a race has settled: every arm beside training from scratch, and the question's answer, as facts."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from transferscope.estimate import Estimate, Interval
from transferscope.numerics import average_precision, class_measures
from transferscope.numerics.racing import Bounds, RaceRule, Standing, bounds_against, level_of_better, standing
from transferscope.store import Store
from transferscope.study.frames import controls_of
from transferscope.study.metric import METRICS, share_right
from transferscope.study.race import Arm, Race, RaceScores, RaceSettings, rule_of
from transferscope.study.race_looks import Look, looks_at
from transferscope.wording import measure_words

State = Literal["baseline", "best", "as good", "out", "open"]
"""What a race says of an arm beside the leader.

best: no other arm can be better by more than the margin. as good: within the margin of the leader on both sides.
out: it cannot be better than the leader by more than the margin. open: it still may. baseline: training from scratch,
where it is none of these.
"""

Call = Literal["better", "worse", "equivalent", "open", "control"]
"""What a race says of an arm beside training from scratch; "equivalent" is within the margin on both sides. Of a
control nothing is said but its interval."""

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
        over_control: Difference to the control with the highest score, likewise; None for training from scratch and
            controls, and where there is no control with a run.
        beats_controls: Whether it is shown to beat every control; True for transfer where there is none.
        call: Beside training from scratch.
        state: Beside the leader.
        lasting: Whether the call holds for other test examples too, and not on this test set alone.
        seconds: Mean time of a run with its pre-training; NaN where nothing is known.
    """

    arm: Arm
    n: int
    score: float
    gain: Estimate
    over_control: Estimate | None
    beats_controls: bool
    call: Call
    state: State
    lasting: bool
    seconds: float


@dataclass(frozen=True)
class Decision:
    """Where a race stands.

    Attributes:
        arms: The baseline first, then by gain.
        leader: The arm with the best score after what seeds contribute; training from scratch when none is better.
        whether: "helps" when a way of transfer beats training from scratch and all controls, "no" when none can beat
            the best of these by more than the margin, or "open".
        which: Whether the leader is known to be the best, up to the margin.
        settings: Question, risk, margin, budget.
        n_runs: Runs that are done.
        n_failed: Runs that failed.
        budget_spent: Whether the race ended because its budget of runs or time is used up.
        n_grid: Runs of the full comparison with five seeds, or as many as the study has if these are fewer.
        seconds: Time of all cells that are done.
        n_labels: Labelled target examples of every run; None when unknown.
        unit: What a point is: "points of accuracy", "points of average precision" or "points of R²".
        looks: The settings that the results were read with, the first ones first; more than one where they were changed
            after runs were made.
        at_first: `whether` and `which` by the first of these settings.
        near_here: Of the differences to the leader that are said to be within the margin, and would not be on some
            other test sets of this size, how far the largest half width over test examples is, in points; 0 for none.
    """

    arms: tuple[ArmResult, ...]
    leader: ArmResult
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
    looks: tuple[Look, ...] = ()
    at_first: tuple[Literal["helps", "no", "open"], bool] = ("open", False)
    near_here: float = 0.0

    @property
    def baseline(self) -> ArmResult:
        """Training from scratch."""
        return self.arms[0]

    @property
    def control(self) -> ArmResult | None:
        """The control with the highest score; None where none has a run."""
        known = [arm for arm in self.arms if arm.call == "control" and math.isfinite(arm.score)]
        return max(known, key=lambda arm: arm.score, default=None)

    @property
    def transfer(self) -> ArmResult | None:
        """The best way of transfer, one that is shown better than training from scratch before others; None when none
        has a run.
        """
        known = [arm for arm in self.arms[1:] if arm.call != "control" and math.isfinite(arm.gain.value)]
        return max(known, key=lambda arm: (arm.call == "better", arm.gain.value), default=None)

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
    stands = now.standing(race.settings)
    errors = _TestErrors(store, race, now)
    arms = [_arm(i, now, stands, errors, race.settings) for i in range(len(now.arms))]
    baseline, *others = arms
    others.sort(key=lambda arm: -arm.gain.value if math.isfinite(arm.gain.value) else math.inf)
    n_seeds = min(_GRID_SEEDS, len(now.seeds))
    looks = looks_at(store, race)
    first = _standing_at(looks[0], now) if len(looks) > 1 else stands
    return Decision(
        arms=(baseline, *others),
        leader=arms[stands.leader],
        whether=stands.whether,
        which=stands.which,
        settings=race.settings,
        n_runs=now.n_done,
        n_failed=int(now.failed.sum()),
        budget_spent=race.budget_spent(now),
        n_grid=n_seeds * len(now.arms),
        seconds=now.spent,
        n_labels=race.n_target if isinstance(race.n_target, int) else None,
        unit=f"points of {measure_words(now.measure)}",
        looks=looks,
        at_first=(first.whether, first.which),
        near_here=_near_here(stands, errors, race.settings.margin),
    )


def _near_here(standing: Standing, errors: "_TestErrors", margin: float) -> float:
    """The largest half width over test examples of what is within the margin of the leader on this test set alone.

    Where no predictions are stored, that of kinds of examples that the test set lacks.
    """
    states = [_state(i, standing) for i in range(len(standing.levels))]
    kept = [i for i, state in enumerate(states) if i != standing.leader and state in ("as good", "out")]
    widths = {i: max(errors.of_kinds_unseen, _TEST_SET_Z * errors.of(i, standing.leader)) for i in kept}  # NaN is less
    upper = {i: float(standing.rivals.mean[i]) + width for i, width in widths.items()}
    return max((widths[i] for i in kept if upper[i] >= margin), default=0.0)


def _standing_at(look: Look, now: RaceScores) -> Standing:
    """Where the race stands by earlier settings, of which the level of each way was that of as many as there were."""
    n_ways = len(now.arms) - 1 - len(now.controls)
    risk = look.risk * min(n_ways / max(len(look.ways), 1), 1.0)
    return standing(now.scores, RaceRule(risk, look.margin), controls=now.controls)


def _stored_race(store: Store, study: str) -> Race | None:
    spec = store.study(study).spec
    table, methods = spec.get("race"), spec.get("methods", {})
    if not isinstance(table, Mapping):
        return None
    cells = [cell.cell for cell in store.cells(study)]
    if not any(cell.role == "method" for cell in cells):
        return None
    baseline = next((name for name, method in methods.items() if method.get("name") == "scratch"), "scratch")
    settings = RaceSettings(**{**table, "first": tuple(table.get("first", ()))})
    controls = controls_of(store.study(study))
    return Race(study, cells, seeds=spec["seeds"], settings=settings, baseline=baseline, controls=controls)


def _arm(i: int, now: RaceScores, standing: Standing, errors: "_TestErrors", settings: RaceSettings) -> ArmResult:
    runs = np.isfinite(now.scores[i])
    n = int(runs.sum())
    score = float(now.scores[i, runs].mean()) if n else math.nan
    baseline = standing.baseline
    is_control, n_transfer = i in now.controls, len(now.arms) - 1 - len(now.controls)
    gain, over_control, lasting = Estimate(0.0, 0.0, n), None, True
    if i:
        error = errors.of(i, 0)
        gain = _difference(baseline, i, error, settings.risk)
        level = level_of_better(rule_of(settings), n_transfer)
        strict = float(baseline.half_width(level)[i])
        lasting = math.isfinite(error) and abs(gain.value) > math.hypot(strict, _TEST_SET_Z * error)
        best = max(now.controls, key=lambda row: np.nan_to_num(standing.levels[row], nan=-math.inf), default=None)
        if best is not None and not is_control and math.isfinite(standing.levels[best]):
            bounds = bounds_against(now.scores, best, rule_of(settings), controls=now.controls)
            over_control = _difference(bounds, i, errors.of(i, best), settings.risk)
    call: Call = "control" if is_control else "open"
    if standing.better[i]:
        call = "better"
    elif standing.worse[i]:
        call = "worse"
    elif i and not is_control and abs(gain.value) + baseline.half_width(2 * settings.risk)[i] < settings.margin:
        call = "equivalent"
    return ArmResult(
        arm=now.arms[i],
        n=n,
        score=score,
        gain=gain,
        over_control=over_control,
        beats_controls=bool(standing.beats_controls[i]),
        call=call,
        state=_state(i, standing),
        lasting=lasting,
        seconds=float(now.seconds[i]),
    )


def _difference(bounds: Bounds, i: int, test_error: float, risk: float) -> Estimate:
    """The difference of an arm to another with an interval for other seeds, and for other test examples if known."""
    mean, shared, width = float(bounds.mean[i]), int(bounds.n[i]), float(bounds.half_width(risk)[i])
    whole = math.hypot(width, _TEST_SET_Z * test_error) if math.isfinite(test_error) else width
    interval = Interval(mean - whole, mean + whole, 1.0 - risk) if math.isfinite(whole) else None
    stderr = float(bounds.sd[i]) / math.sqrt(shared) if shared else None
    return Estimate(mean, stderr, shared, "ok" if shared else "too_few", interval)


def _state(i: int, standing: Standing) -> State:
    if i == standing.leader and standing.which:
        return "best"
    if i != standing.leader and standing.equivalent[i]:
        return "as good"
    if not standing.alive[i]:
        return "out"
    return "baseline" if i == 0 else "open"


class _TestErrors:
    """Standard errors of differences over test examples, in points; NaN where no predictions are stored."""

    def __init__(self, store: Store, race: Race, now: RaceScores) -> None:
        self._measure, self._scale = now.measure, 100.0
        self._labels, found = (
            store.study_array(race.study, "target_test_labels"),
            store.arrays(race.study, "predictions"),
        )
        self._rows = [[None if key is None else found.get(key) for key in keys] for keys in race.keys]
        if self._labels is not None and now.measure == "r2":
            self._scale = 100.0 / float(np.mean((self._labels - self._labels.mean(axis=0)) ** 2))

    @property
    def of_kinds_unseen(self) -> float:
        """What examples of a kind that the test set lacks can make up of another, at 5 %: the rule of three."""
        metric = next((metric for metric in METRICS if metric.record == self._measure), None)
        if metric is None or self._labels is None:
            return 0.0
        return 3 * self._scale * metric.share_of_one_example(self._labels)

    def of(self, arm: int, other: int) -> float:
        """Of the gain of an arm over another; that of an example is averaged over the seeds that both have."""
        labels = self._labels
        if labels is None:
            return math.nan
        gains = [
            _example_scores(own, labels, self._measure) - _example_scores(base, labels, self._measure)
            for own, base in zip(self._rows[arm], self._rows[other], strict=True)
            if own is not None and base is not None and len(own) == len(base) == len(labels)
        ]
        if not gains or len(labels) < 2:
            return math.nan
        return self._scale * float(np.mean(gains, axis=0).std(ddof=1)) / math.sqrt(len(labels))


def _example_scores(predictions: np.ndarray, labels: np.ndarray, measure: str) -> np.ndarray:
    """What each example has in the measure, more is better; in a squared error minus its own."""
    if measure == "average_precision":
        return average_precision.example_contributions(predictions, labels)
    if class_measures.is_class_measure(measure):
        return class_measures.example_contributions(measure, predictions, labels)
    if measure == "accuracy":
        return share_right(predictions, labels)
    squares = (predictions.reshape(len(labels), -1) - labels.reshape(len(labels), -1)) ** 2
    return -np.asarray(squares.mean(axis=1), dtype=np.float64)
