"""Races whose right answer is known, run through the real engine and store."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from studies import write_npz
from study.raced import N_TEST
from transferscope.analyses.compare.summary import summarise
from transferscope.decision import Decision
from transferscope.errors import SettingsError, StoreError
from transferscope.methods import FineTune, LoRA
from transferscope.models.network import Network, seeded
from transferscope.store import Store
from transferscope.study.backends import local
from transferscope.study.decisions import decisions
from transferscope.study.frames import read_study
from transferscope.study.passes import Passes
from transferscope.study.plan import plan_study
from transferscope.study.race import Race
from transferscope.study.race_state import RaceState, race_state
from transferscope.study.run import CellsStopped, Event, StudyProgress, plan_into, run_study
from transferscope.study.run_times import RunTimes
from transferscope.study.spec import StudySpec, parse_spec


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data of the right sizes; the work looks at none of it."""
    folder = tmp_path_factory.mktemp("data")
    for seed, name in enumerate(("target", "good", "bad")):
        write_npz(folder / f"{name}.npz", rows=(60, N_TEST), features=3, classes=2, seed=seed)
    return folder


def race_of(
    data: Path,
    folder: Path,
    *,
    labels: Sequence[int] = (20,),
    sources: Sequence[str] = ("good", "bad"),
    methods: Sequence[str] = ("scratch", "linear-probe", "fine-tune", "l2-sp"),
    **changes: Any,
) -> StudySpec:
    tables: dict[str, Any] = {
        "name": "raced",
        "seeds": 12,
        "store": str(folder / "raced.sqlite"),
        "target": {"data": f"npz:{data / 'target.npz'}", "labels": list(labels)},
        "sources": {name: {"data": f"npz:{data / f'{name}.npz'}"} for name in sources},
        "network": {"name": "mlp", "widths": [4]},
        "pretraining": {"steps": 5},
        "training": {"steps": 5},
        "methods": {name: {} for name in methods},
        "engine": {"workers": 0, "device": "cpu"},
        "race": {},
    }
    return parse_spec(tables | changes)


Asked = Callable[..., StudySpec]


@pytest.fixture
def asked(data: Path, tmp_path: Path) -> Asked:
    """The race with changes, in one store for each test."""
    return partial(race_of, data, tmp_path)


def run(spec: StudySpec, *, work: str = "work", **options: Any) -> tuple[dict[int, Decision], RaceState]:
    with Store.open(spec.store) as store:
        run_study(spec, store, work=f"study.raced:{work}", **options)
        frames = read_study(store, spec.name)
    state = race_state(frames.documents)
    assert state is not None
    return decisions(frames), state


def n_runs(found: Decision) -> int:
    return sum(arm.n_seeds for arm in found.arms)


def done(spec: StudySpec) -> set[str]:
    with Store.open(spec.store, create=False) as store:
        return {standing.key for standing in store.standings(spec.name) if standing.state == "done"}


@pytest.fixture(scope="module")
def finished(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[StudySpec, Decision]:
    """Fine-tuning from the good source gains 12 points, and the probe on it half a point less."""
    spec = race_of(data, tmp_path_factory.mktemp("race"), methods=("scratch", "fine-tune", "l2-sp"))
    found, state = run(spec)
    assert state == RaceState("decided")
    return spec, found[20]


def test_the_right_arm_wins_with_fewer_runs_than_all_of_five_seeds(finished: tuple[StudySpec, Decision]) -> None:
    _, found = finished
    assert (found.outcome, found.recommended, found.decided) == ("helps", "fine-tune from good", True)
    assert found.difference.low is not None
    assert found.difference.high is not None
    assert 0 < found.difference.low < 12.0 < found.difference.high
    assert n_runs(found) <= 0.6 * 25
    assert min(arm.n_seeds for arm in found.arms) >= 1  # nothing is left out unseen


def test_a_second_run_does_nothing_and_says_the_same(finished: tuple[StudySpec, Decision]) -> None:
    spec, before = finished
    kept = done(spec)
    assert run(spec)[0][20] == before
    assert done(spec) == kept


@pytest.mark.long
@pytest.mark.parametrize("after", [1, 4, 7])
def test_a_race_interrupted_anywhere_goes_on_to_the_same_answer(
    asked: Asked, finished: tuple[StudySpec, Decision], after: int
) -> None:
    spec = asked(methods=("scratch", "fine-tune", "l2-sp"))

    def stop(event: Event) -> None:
        if isinstance(event, StudyProgress) and event.done >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(spec, on_event=stop)
    kept = done(spec)
    found = run(spec)[0][20]
    assert kept <= done(spec)
    assert (found.outcome, found.recommended, found.decided) == ("helps", "fine-tune from good", True)


def test_runs_that_a_full_study_has_made_count(asked: Asked) -> None:
    """All of two seeds: the race begins where these end, and leaves planned what the full study had not begun."""
    few = partial(asked, methods=("scratch", "fine-tune"), sources=("good",))
    full = replace(few(seeds=2), race=None)
    with Store.open(full.store) as store:
        run_study(full, store, work="study.raced:work")
    kept = done(full)
    found, _ = run(few())
    assert kept <= done(full)
    assert found[20].outcome == "helps"
    assert n_runs(found[20]) <= 6


@pytest.mark.long
def test_every_number_of_labels_is_settled(asked: Asked) -> None:
    """Nothing is gained with 40 labels, where more runs are made for the arms that are alike."""
    spec = asked(labels=(20, 40), sources=("good",), methods=("scratch", "fine-tune"))
    found, state = run(spec, work="work_by_labels")
    assert found[20].outcome == "helps"
    assert found[40].outcome in ("no", "inconclusive")
    assert n_runs(found[20]) < n_runs(found[40])
    assert state.end in ("decided", "not worth it")


def test_the_cheapest_arms_run_first_and_those_of_one_pre_training_share_it(asked: Asked) -> None:
    """A control on the inputs trains nothing; a probe with pretraining of 3 seconds comes before a second baseline."""
    found, state = run(asked(methods=("scratch", "fine-tune", "raw", "linear-probe"), race={"runs": 2}))
    assert state.end == "runs"
    assert {arm.name: arm.n_seeds for arm in found[20].arms if arm.n_seeds} == {"raw": 1, "linear-probe from good": 1}


def test_no_pre_training_comes_before_a_baseline_of_a_second(asked: Asked) -> None:
    """However many arms and numbers of labels share it: the first of them waits for the whole."""
    methods = ("raw", "boosting", "linear-probe", "fine-tune", "l2-sp", "surgical")
    found, _ = run(asked(labels=(10, 20, 30), methods=methods, race={"runs": 6}))
    for of_labels in found.values():
        assert {arm.name: arm.n_seeds for arm in of_labels.arms if arm.n_seeds} == {"raw": 1, "boosting": 1}


def test_an_arm_too_dear_for_the_minutes_shuts_out_nothing_else(asked: Asked) -> None:
    """Fine-tuning takes 2 minutes of the 1 that there is; the others are raced to both answers without it."""
    few = partial(asked, methods=("raw", "linear-probe", "fine-tune"), sources=("good",))
    run(few(race={"minutes": 10.0, "runs": 3}), work="work_dear")
    found, state = run(few(race={"minutes": 1.0}), work="work_dear")
    seeds = {arm.name: arm.n_seeds for arm in found[20].arms}
    assert found[20].outcome == "helps"
    assert seeds["raw"] >= 2
    assert seeds["linear-probe from good"] >= 3
    assert seeds["fine-tune from good"] == 1
    assert state.end == "time"
    assert state.minute is not None
    assert state.next_run is not None
    assert (state.next_run.method, state.next_run.source, state.next_run.n_target) == ("fine-tune", "good", 20)
    assert state.next_run.seconds is not None
    assert 100 < state.next_run.seconds < 200


@pytest.mark.parametrize(("minutes", "ago"), [(1e-6, 0.0), (10.0, 601.0)])
def test_a_race_without_a_finished_run_says_that_its_minutes_were_too_few(
    asked: Asked, minutes: float, ago: float
) -> None:
    """Its minutes count from when the command began, which may be long before its data are read."""
    spec = asked(race={"minutes": minutes})
    assert run(spec, since=time.monotonic() - ago)[1].end == "time"
    with Store.open(spec.store) as store, pytest.raises(StoreError, match=r"finished in the minutes given.*minutes=N"):
        summarise(store, "raced")


@pytest.mark.parametrize(
    ("race", "end"),
    [({"minutes": 1.0}, "time"), pytest.param({"run_minutes": 1.0}, "long runs", marks=pytest.mark.long)],
)
def test_runs_that_do_not_fit_are_not_begun_and_named(asked: Asked, race: dict[str, float], end: str) -> None:
    """A run is said to take 20 seconds, and 60 more of pretraining the first of its source and seed."""
    found, state = run(asked(race=race), work="work_slow")
    assert state.end == end
    made = {arm.name for arm in found[20].arms if arm.n_seeds}
    left = {f"{arm.method} from {arm.source}" for arm in state.not_begun}
    assert left
    assert not left & made
    assert all(arm.seconds is None or arm.seconds >= 60 * race.get("run_minutes", 1 / 3) for arm in state.not_begun)
    if "run_minutes" in race:
        longer, state = run(asked(race={"minutes": 200.0}), work="work_slow")
        assert (state.end, longer[20].decided, state.not_begun) == ("decided", True, ())


@pytest.mark.long
@pytest.mark.parametrize("workers", [0, 1])
def test_what_is_under_way_when_the_time_is_over_is_stopped_and_goes_on_from_its_checkpoint(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr(local, "_SECONDS_BETWEEN_CHECKS", 0.02)
    heard: list[Event] = []

    def spec(minutes: float) -> StudySpec:
        engine = {"workers": workers, "device": "cpu"}
        few: dict[str, Any] = {"sources": ("bad",), "methods": ("raw", "linear-probe"), "seeds": 2}
        return asked(race={"minutes": minutes}, engine=engine, **few)

    found, state = run(spec(0.2 if workers else 0.1), work="work_with_an_endless_source", on_event=heard.append)
    (stopped,) = [event.cells for event in heard if isinstance(event, CellsStopped)]
    assert [(cell.role, cell.labels["source"]) for cell in stopped] == [("pretrain", "bad")]
    assert state.end == "time"
    assert "bad" in {arm.source for arm in state.not_begun}
    assert any(arm.n_seeds for arm in found[20].arms)
    with Store.open(spec(1).store, create=False) as store:
        assert store.counts("raced").planned == 0
        n_checks = store.files.joinpath(f"{stopped[0].key}.partial").read_text()
        (store.files / "go").touch()
    run(spec(10.0), work="work_with_an_endless_source")
    assert stopped[0].key in done(spec(1))
    assert store.files.joinpath(f"{stopped[0].key}.checks").read_text() == n_checks


def test_without_an_arm_without_a_source_the_best_way_is_found(asked: Asked) -> None:
    found, _ = run(asked(methods=("fine-tune", "l2-sp")))
    assert (found[20].outcome, found[20].recommended, found[20].decided) == ("no control", "fine-tune from good", True)


@pytest.mark.long
def test_what_fails_is_left_and_the_rest_is_answered(asked: Asked) -> None:
    found, state = run(asked(methods=("scratch", "fine-tune", "l2-sp")), work="work_without_bad")
    assert (found[20].outcome, found[20].recommended, state.end) == ("helps", "fine-tune from good", "decided")
    arms = {arm.name: (arm.n_seeds, arm.n_failed) for arm in found[20].arms}
    assert arms["fine-tune from bad"][0] == arms["l2-sp from bad"][0] == 0
    assert arms["l2-sp from good"][0] >= 1
    assert arms["l2-sp from good"][1] == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"pretraining": {"steps": 5, "sizes": [20, 40]}}, "several pretraining sizes"),
        ({"pretraining": {"steps": 5, "checkpoints": [2]}}, "several pretraining steps"),
        ({"seeds": 1}, "has one seed; a race needs at least 2"),
        ({"race": {"risk": 0.05}}, "risk"),
        ({"decision": {"margin": 0.0}}, "margin = 0.0"),
        ({"race": {"runs": 1}}, "runs = 1"),
        ({"race": {"minutes": -1.0}}, "minutes = -1.0"),
        ({"race": {"run_minutes": 0.0}}, "run_minutes = 0.0"),
    ],
)
def test_a_study_that_is_no_race_is_refused(asked: Asked, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        run(asked(**changes))


def test_what_runs_take_is_told_by_those_that_are_done(asked: Asked) -> None:
    """Passes by hand: 5 steps of 20 labels, 4 each where nothing is fixed, and 5 points of a curve of 20 and 30.

    With .75 of a pass in fixed blocks, these are passed once by each label. A step of joint training takes
    3 passes for each example. Pretraining takes 5 steps of 60.
    """
    methods = ("scratch", "small-scratch", "linear-probe", "fine-tune", "joint", "raw")
    spec = asked(methods=methods, network={"name": "mlp", "widths": [4, 4]})
    cells = plan_study(replace(spec, methods={**spec.methods, "last": FineTune(frozen_blocks=-1)})).cells
    tests, passes = {"n_test": 30}, {"step": 4.0, "steps": {"joint": 3.0}, "fixed": {"last": 0.75}}
    facts = {"target": tests, "sources": {"good": tests}, "passes": {"mlp": passes}}

    def first(method: str, source: str | None = None, role: str = "method", seed: int = 0) -> Any:
        return next(
            cell
            for cell in cells
            if (cell.role, cell.labels["source"], cell.labels["seed"]) == (role, source, seed)
            and (role == "pretrain" or cell.labels["method"] == method)
        )

    scratch, again = first("scratch"), first("scratch", seed=1)
    assert RunTimes(cells, facts, {}).expected(scratch) is None
    taken = {scratch.key: 6.0, first("raw").key: 0.5, first("linear-probe", "good").key: 0.1}
    times, curve = RunTimes(cells, facts, taken), 5 * (20 + 30)
    assert times.work(scratch).passes == 4 * 5 * 20 + curve == 650
    assert times.expected(again) == 6.0
    assert times.expected(first("raw", seed=1)) == 0.5
    assert times.expected(first("linear-probe", "bad")) == 0.1  # the same method with the same network
    assert times.expected(first("fine-tune", "bad")) == pytest.approx(6.0)
    assert times.expected(first("last", "bad")) == pytest.approx(6.0 / 650 * (0.25 * 400 + 0.75 * 20 + curve))
    assert times.expected(first("joint", "bad")) == pytest.approx(6.0 / 650 * (2 * 300 + curve))
    assert times.expected(first("small-scratch")) is None  # it trains another network than those that are timed
    assert times.expected(first("", "good", "pretrain")) == pytest.approx(6.0 / 650 * (4 * 5 * 60 + 5 * (60 + 30)))
    facts["passes"]["mlp"]["seconds"] = 0.01  # type: ignore[index]
    assert RunTimes(cells, facts, {}).expected(scratch) == pytest.approx(6.5)  # a timed pass tells
    assert RunTimes(cells, facts, taken).expected(scratch) == 6.0  # and a run tells better
    facts["passes"]["mlp"]["reading"] = 0.5  # type: ignore[index]
    assert RunTimes(cells, facts, {}).expected(scratch) == pytest.approx(6.5 - 0.01 * 0.5 * curve)


def test_what_a_pass_takes_beside_others_is_measured() -> None:
    """More of a pass lies before the third of three layers than before the second; the network stays as it was."""
    with seeded(0):
        layers = (nn.Sequential(nn.Linear(400, 400), nn.Linear(400, 400)) for _ in range(3))
        network = Network(nn.Sequential(*layers), nn.Linear(400, 2), 400)
    methods = {"all": FineTune(), "two": FineTune(frozen_blocks=1), "last": FineTune(frozen_blocks=-1), "few": LoRA()}
    measured = Passes.of(network, torch.ones(64, 400), methods)
    assert measured.fixed.keys() == {"two", "last"}
    assert 0 < measured.fixed["two"] < measured.fixed["last"] < 1
    assert measured.step > 0
    assert measured.steps.keys() == {"few"}
    assert measured.steps["few"] > 0
    assert measured.seconds > 0
    assert measured.weights == 6 * 400 * 401
    assert all(parameter.grad is None for parameter in network.parameters())
    assert not any(module._forward_hooks for module in network.modules())


def test_the_time_left_runs_down_while_a_run_is_under_way(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = asked(race={"minutes": 1})
    assert spec.race is not None
    with Store.open(spec.store) as store:
        since = time.monotonic() - 20
        race = Race(plan_study(spec), seeds=spec.seeds, settings=spec.race, at_once=1, since=since)
        plan_into(race.begin(store), store)
        race.more(store)
    clock = time.monotonic()
    left = []
    for seconds in (0, 30, 90):
        monkeypatch.setattr(time, "monotonic", lambda: clock + seconds)  # noqa: B023
        left.append(race.seconds_left)
    assert left == pytest.approx([35, 5, 0], abs=4)


def test_the_small_network_of_an_arm_is_timed_while_a_race_is_planned(asked: Asked) -> None:
    """So an arm that reads no pretrained network has an estimate before its first run, as all that train have."""
    plan = plan_study(asked(methods=("small-scratch", "fine-tune", "raw")))
    assert plan.study.facts["passes"].keys() == {"mlp", "small-scratch"}
    times = RunTimes(plan.cells, plan.study.facts, {})
    expected = {str(cell.labels["method"]): times.expected(cell) for cell in plan.cells}
    assert expected["raw"] is None  # nothing is trained
    assert all(0 < seconds < 10 for method, seconds in expected.items() if method != "raw")
