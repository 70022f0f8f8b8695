"""Races whose right answer is known, run through the real engine and store."""

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from analyses.decide.raced import N_TEST
from transferscope.analyses.compare.study_file import Budget
from transferscope.analyses.decide.page import decision_verdict
from transferscope.analyses.decide.question import DecisionResult, decide, write_race
from transferscope.analyses.decide.result import Decision, _near_here, _TestErrors, decision
from transferscope.analyses.study_page import build_report
from transferscope.cli.decide import minutes_of
from transferscope.data.task import TransferTask
from transferscope.errors import SettingsError, StoreError
from transferscope.methods import Control, FitOptions, Fitted, Start
from transferscope.models.network import Network
from transferscope.numerics.racing import RaceRule, standing
from transferscope.store import Store
from transferscope.study.race import RaceSettings
from transferscope.study.run import Event, StudyProgress, run_study
from transferscope.study.spec import StudySpec, parse_spec, read_spec

WORK = "analyses.decide.raced:work"


@dataclass(frozen=True)
class Mean(Control):
    """A control that is not transferscope's own; nothing here calls it."""

    name: ClassVar[str] = "mean"
    version: ClassVar[int] = 1
    start: ClassVar[Start] = "pretrained"

    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`."""
        raise NotImplementedError


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data of the right sizes; the work looks at none of it."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    for name in ("target", "good", "bad"):
        x, y = rng.normal(size=(60 + N_TEST, 3)).astype(np.float32), np.arange(60 + N_TEST) % 2
        np.savez(folder / f"{name}.npz", x_train=x[:60], y_train=y[:60], x_test=x[60:], y_test=y[60:])
    return folder


def race_of(data: Path, store: Path, **changes: Any) -> StudySpec:
    tables: dict[str, Any] = {
        "name": "raced",
        "seeds": 12,
        "store": str(store),
        "target": {"data": f"npz:{data / 'target.npz'}", "labels": [20]},
        "sources": {name: {"data": f"npz:{data / f'{name}.npz'}"} for name in ("good", "bad")},
        "network": {"name": "mlp", "widths": [4]},
        "pretraining": {"steps": 5},
        "training": {"steps": 5},
        "methods": {name: {} for name in ("scratch", "linear-probe", "fine-tune", "l2-sp")},
        "engine": {"workers": 0, "device": "cpu"},
        "race": {},
    }
    return parse_spec(tables | changes)


def run(spec: StudySpec, *, work: str = WORK, **options: Any) -> Decision:
    with Store.open(spec.store) as store:
        run_study(spec, store, work=work, **options)
        found = decision(store, spec.name)
    assert found is not None
    return found


def done(spec: StudySpec) -> set[str]:
    with Store.open(spec.store, create=False) as store:
        return {standing.key for standing in store.standings(spec.name) if standing.state == "done"}


@pytest.fixture(scope="module")
def finished(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[StudySpec, Decision]:
    spec = race_of(data, tmp_path_factory.mktemp("race") / "raced.sqlite")
    return spec, run(spec)


def test_the_right_way_wins_with_fewer_runs_than_the_full_comparison(finished: tuple[StudySpec, Decision]) -> None:
    _, found = finished
    assert (found.whether, found.which, found.settled) == ("helps", True, True)
    assert (found.leader.arm.source, found.leader.arm.method) == ("good", "fine-tune")
    assert found.leader.gain.low < 12.0 < found.leader.gain.high
    assert found.n_runs < 0.8 * found.n_grid
    states = {(arm.arm.source, arm.arm.method): (arm.call, arm.state) for arm in found.arms}
    assert states["good", "linear-probe"][0] == "better"
    assert states["good", "linear-probe"][1] in ("as good", "out")  # half a point behind, within the margin
    assert states["bad", "fine-tune"][1] == "out"
    assert states[None, "scratch"][1] == "out"


def test_what_is_said_names_the_winner_the_cheaper_way_and_the_cost(finished: tuple[StudySpec, Decision]) -> None:
    found = finished[1]
    arms = [replace(arm, state="as good") if arm.arm.method == "linear-probe" else arm for arm in found.arms]
    cheap = [replace(arm, state="out", seconds=arm.seconds / 10) if arm.arm.source == "bad" else arm for arm in arms]
    verdict = decision_verdict(replace(found, arms=tuple(cheap)))
    assert verdict.headline.startswith("Use fine-tuning from good with 20 labels: +1")
    said = " ".join(verdict.sentences)
    assert "Linear probe from good is as good within 1 point" in said
    assert f"{found.n_runs} runs, {round(100 * found.n_runs / found.n_grid)} %" in said


@pytest.mark.parametrize(
    ("error", "unseen", "expected"), [(0.05, 0.075, 0.0), (1.0, 0.075, 1.96), (0.0, 6.0, 6.0), (np.nan, 6.0, 6.0)]
)
def test_what_is_within_the_margin_on_this_test_set_alone_is_known(
    error: float, unseen: float, expected: float
) -> None:
    """Three ways that are a tenth of a point apart, and one that is far behind."""

    class Errors(_TestErrors):
        of_kinds_unseen = unseen

        def __init__(self) -> None:
            pass

        def of(self, arm: int, other: int) -> float:
            return error

    noise = 0.05 * np.random.default_rng(0).normal(size=(4, 8))
    stands = standing(np.array([70.0, 70.1, 70.2, 50.0])[:, None] + noise, RaceRule())
    assert stands.equivalent[:3].all()
    assert _near_here(stands, Errors(), 1.0) == pytest.approx(expected, abs=0.01)


def test_a_test_set_that_is_too_small_for_the_margin_is_said(finished: tuple[StudySpec, Decision]) -> None:
    assert finished[1].near_here == 0
    assert "this test set" not in " ".join(decision_verdict(finished[1]).sentences)
    said = " ".join(decision_verdict(replace(finished[1], near_here=2.34)).sentences)
    assert "“Within 1 point” is said of this test set: on others of its size such differences can come out 2.3" in said


def test_controls_are_raced_and_never_called_a_way_of_transfer(data: Path, tmp_path: Path) -> None:
    methods: dict[str, Any] = {"scratch": {}, "raw": {}, "knn": {}, "fine-tune": {}, "l2-sp": {}}
    found = run(race_of(data, tmp_path / "raced.sqlite", methods=methods))
    assert (found.whether, found.which, str(found.leader.arm)) == ("helps", True, "fine-tune from good")
    calls = {str(arm.arm): arm.call for arm in found.arms}
    assert {name for name, call in calls.items() if call == "control"} == {"raw", "knn from good", "knn from bad"}
    control, leader = found.control, found.leader
    assert control is not None
    assert leader.over_control is not None
    assert str(control.arm) == "knn from good"
    assert leader.over_control.low < 8.0 < leader.over_control.high
    said = " ".join(decision_verdict(found).sentences)
    assert "Fine-tuning from good beats the best control, nearest neighbours on the source's features from good" in said


@pytest.mark.long
def test_a_control_that_is_as_good_ends_the_race_without_transfer(data: Path, tmp_path: Path) -> None:
    """A linear model on the inputs gives what fine-tuning gives: transfer beats scratch and is not needed."""
    methods: dict[str, Any] = {"scratch": {}, "strong": {"method": "raw"}, "fine-tune": {}, "l2-sp": {}}
    spec = race_of(data, tmp_path / "raced.sqlite", methods=methods)
    found = run(spec)
    assert found.whether == "no"
    tuned = next(arm for arm in found.arms if str(arm.arm) == "fine-tune from good")
    assert not tuned.beats_controls
    assert tuned.gain.value > 10
    verdict = decision_verdict(found)
    assert verdict.headline.startswith("Use strong with 20 labels, without transfer: +1")
    assert "The best way of transfer, fine-tuning from good, gives" in " ".join(verdict.sentences)
    shown = replace(found, arms=tuple(replace(arm, call="better") if arm is tuned else arm for arm in found.arms))
    said = " ".join(decision_verdict(shown).sentences)
    assert "Fine-tuning from good is better than training from scratch, by +1" in said
    assert "but not than strong by more than 1 point" in said
    with Store.open(spec.store, create=False) as store:
        page = build_report(store, spec.name, tmp_path / "race.html").html.read_text(encoding="utf-8")
    assert "Transfer helps" not in page


def test_a_control_of_another_package_is_known_by_what_was_planned(data: Path, tmp_path: Path) -> None:
    methods: dict[str, Any] = {"scratch": {}, "mean": {"method": f"{__name__}:Mean"}, "fine-tune": {}}
    spec = race_of(data, tmp_path / "raced.sqlite", methods=methods, race={"cells": 6})
    assert {str(arm.arm) for arm in run(spec).arms if arm.call == "control"} == {"mean from good", "mean from bad"}


def test_first_arms_are_run_before_others(data: Path, tmp_path: Path) -> None:
    race = {"first": ["l2-sp from bad", "linear-probe from good"], "cells": 3}
    found = run(race_of(data, tmp_path / "raced.sqlite", race=race))
    assert {str(arm.arm) for arm in found.arms if arm.n} == {"scratch", "l2-sp from bad", "linear-probe from good"}


def test_a_second_run_does_nothing_and_says_the_same(finished: tuple[StudySpec, Decision]) -> None:
    spec, before = finished
    kept = done(spec)
    assert run(spec) == before
    assert done(spec) == kept


@pytest.mark.parametrize("after", [3, 5, 9, 10, 11, 12])
def test_a_race_interrupted_anywhere_goes_on_to_the_same_answer(
    data: Path, tmp_path: Path, finished: tuple[StudySpec, Decision], after: int
) -> None:
    spec = race_of(data, tmp_path / "raced.sqlite")

    def stop(event: Event) -> None:
        if isinstance(event, StudyProgress) and event.done >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(spec, on_event=stop)
    kept = done(spec)
    found, same = run(spec), finished[1]
    assert kept <= done(spec)
    assert (found.whether, found.which, found.settled) == (same.whether, same.which, same.settled)
    assert found.leader.arm == same.leader.arm
    assert abs(found.n_runs - same.n_runs) <= 3  # a round cut in half may show enough, or point at another arm


def test_whether_alone_takes_fewer_runs(data: Path, tmp_path: Path, finished: tuple[StudySpec, Decision]) -> None:
    found = run(race_of(data, tmp_path / "raced.sqlite", race={"question": "whether"}))
    assert (found.whether, found.settled) == ("helps", True)
    assert found.n_runs <= finished[1].n_runs


def test_a_budget_of_runs_is_kept_and_a_larger_one_goes_on(data: Path, tmp_path: Path) -> None:
    store = tmp_path / "raced.sqlite"
    first = run(race_of(data, store, race={"cells": 8}))
    assert (first.n_runs, first.budget_spent, first.whether) == (8, True, "open")
    assert decision_verdict(first).headline.startswith("Undecided with 20 labels after 8 runs")
    assert run(race_of(data, store)).settled


@pytest.mark.long
def test_nothing_is_recommended_where_training_from_scratch_was_cut_off(data: Path, tmp_path: Path) -> None:
    """The same accuracies as those of the finished race, with a loss that still falls."""
    spec = race_of(data, tmp_path / "raced.sqlite")
    found = run(spec, work="analyses.decide.raced:cut_off_work")
    assert (found.whether, found.which) == ("helps", True)
    with Store.open(spec.store, create=False) as store:
        written = build_report(store, spec.name, tmp_path / "race.html")
    said, page = written.verdict, written.html.read_text(encoding="utf-8")
    assert said.headline.startswith(
        "Training from scratch is not finished after 10 steps (60 % of its own training labels are right), so whether "
        "transfer helps cannot be said"
    )
    assert said.sentences[0].startswith("Ahead so far is fine-tuning from good, by +1")
    assert "Use fine-tuning" not in page
    assert "is best:" not in page
    assert re.search(r">\s*(better|worse|equivalent)\s*<", page) is None  # in the table of all ways


@pytest.mark.long
def test_test_examples_that_were_trained_on_are_said(data: Path, tmp_path: Path) -> None:
    with np.load(data / "target.npz") as target:
        arrays = dict(target)
    arrays["x_train"][:7] = arrays["x_test"][:7]
    np.savez(tmp_path / "leaky.npz", **arrays)
    target_table = {"data": f"npz:{tmp_path / 'leaky.npz'}", "labels": [20]}
    spec = race_of(data, tmp_path / "raced.sqlite", target=target_table, race={"cells": 7})
    run(spec)
    with Store.open(spec.store, create=False) as store:
        said = str(build_report(store, spec.name, tmp_path / "race.html").verdict)
    assert "also in a training set, value by value: 7 of 4,000 in the target's own" in said


def test_a_race_resumed_with_another_risk_says_so_and_what_the_first_one_says(data: Path, tmp_path: Path) -> None:
    """The answer by the first risk is that of a race that goes back to it with the same runs."""
    store = tmp_path / "raced.sqlite"
    ways: dict[str, Any] = {"scratch": {}, "l2-sp": {}, "joint": {}}
    first = run(race_of(data, store, methods=ways, race={"cells": 9}))
    assert first.looks[0].runs == 0
    assert "with results in sight" not in str(decision_verdict(first))
    raised = run(race_of(data, store, methods=ways, race={"risk": 0.5, "margin": 20.0}))
    back = run(race_of(data, store, methods=ways, race={"cells": raised.n_runs}))
    assert (first.n_runs, first.whether, back.whether, back.n_runs) == (9, "open", "open", raised.n_runs)
    assert raised.whether == "no"  # nothing is better by more than 20 points
    assert raised.at_first == (back.whether, back.which)
    said = str(decision_verdict(raised))
    assert "This rests on settings that were changed with results in sight." in decision_verdict(raised).headline
    assert "risk 5 % and margin 1 point at first; risk 50 % and margin 20 points after 9 runs." in said
    best = "settled" if back.which else "not settled"
    assert f"By the first settings whether transfer helps is open, and which way is best is {best}." in said
    assert f"risk 5 % and margin 1 point after {raised.n_runs} runs." in str(decision_verdict(back))
    assert "This rests" not in str(decision_verdict(back))


def test_ways_that_are_left_out_after_looking_do_not_make_the_rest_cheaper(data: Path, tmp_path: Path) -> None:
    """Six ways at a risk of 5 % have the level of two at a third of it; the sentence names those that left."""
    store = tmp_path / "raced.sqlite"
    run(race_of(data, store, race={"cells": 10}))
    less = run(race_of(data, store, methods={"scratch": {}, "l2-sp": {}}, race={"cells": 10}))
    third = run(race_of(data, store, methods={"scratch": {}, "l2-sp": {}}, race={"cells": 10, "risk": 0.05 / 3}))
    assert [len(look.ways) for look in less.looks] == [6, 2]
    assert less.at_first == (third.whether, third.which)
    said = str(decision_verdict(less))
    assert "without fine-tune from bad, fine-tune from good, linear-probe from bad and linear-probe from good" in said


def test_more_runs_seeds_or_another_order_are_no_change_of_the_rule(data: Path, tmp_path: Path) -> None:
    store = tmp_path / "raced.sqlite"
    run(race_of(data, store, race={"cells": 8}, seeds=6))
    found = run(race_of(data, store, race={"first": ["l2-sp from bad"], "cells": 9, "question": "whether"}))
    assert len(found.looks) == 1


def test_a_race_that_began_before_its_settings_were_kept_is_known_by_its_study(data: Path, tmp_path: Path) -> None:
    store = tmp_path / "raced.sqlite"
    run(race_of(data, store, race={"cells": 8}))
    with closing(sqlite3.connect(store)) as database, database:
        assert database.execute("delete from study_arrays where name like '%race'").rowcount == 1
    found = run(race_of(data, store, race={"risk": 0.2, "cells": 8}))
    assert [(look.risk, look.runs) for look in found.looks] == [(0.05, 0), (0.2, 8)]


@pytest.mark.long
def test_runs_on_another_test_set_do_not_count(data: Path, tmp_path: Path) -> None:
    """One test example is changed: every run is made again, and none is compared with those before."""
    with np.load(data / "target.npz") as target:
        arrays = dict(target)
    keys: list[set[str]] = []
    for shift in (0.0, 1.0):
        arrays["x_test"][0] += shift
        np.savez(tmp_path / "changing.npz", **arrays)
        table = {"data": f"npz:{tmp_path / 'changing.npz'}", "labels": [20]}
        spec = race_of(data, tmp_path / "raced.sqlite", target=table, race={"cells": 8})
        found = run(spec)
        assert (found.n_runs, len(found.looks)) == (8, 1)
        with Store.open(spec.store, create=False) as store:
            keys.append({cell.cell.key for cell in store.cells(spec.name) if cell.cell.role == "method"})
    assert not keys[0] & keys[1]


def test_damaged_settings_of_a_race_are_said(data: Path, tmp_path: Path) -> None:
    spec = race_of(data, tmp_path / "raced.sqlite", race={"cells": 8})
    run(spec)
    for document, said in (({"format": 1, "looks": [{}]}, "damaged"), ({"format": 2, "looks": []}, "format 2")):
        with Store.open(spec.store) as store:
            store.put_study_document(spec.name, "race", document)
        with pytest.raises(StoreError, match=said):
            run(spec)


def test_ways_that_all_hurt_end_with_training_from_scratch(data: Path, tmp_path: Path) -> None:
    sources = {"bad": {"data": f"npz:{data / 'bad.npz'}"}}
    methods: dict[str, Any] = {"scratch": {}, "fine-tune": {}}
    found = run(race_of(data, tmp_path / "raced.sqlite", sources=sources, methods=methods))
    assert (found.whether, found.leader.arm.method, found.arms[1].call) == ("no", "scratch", "worse")
    assert decision_verdict(found).headline.startswith("Train from scratch with 20 labels")


@pytest.mark.long
def test_the_page_shows_the_race_and_no_call_of_a_comparison(
    finished: tuple[StudySpec, Decision], tmp_path: Path
) -> None:
    spec, found = finished
    with Store.open(spec.store, create=False) as store:
        written = build_report(store, spec.name, tmp_path / "race.html")
    page = written.html.read_text(encoding="utf-8")
    assert written.verdict.headline == decision_verdict(found).headline
    assert 'id="race"' in page
    assert "Holm" not in page


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"target": {"data": "npz:target.npz", "labels": [10, 20]}}, "2 numbers of labels"),
        ({"pretraining": {"steps": 5, "sizes": [20, 40]}}, "several pre-training sizes"),
        ({"methods": {"fine-tune": {}}}, r"add \[methods.scratch\]"),
        ({"methods": {"scratch": {}}}, "nothing to race"),
        ({"methods": {"scratch": {}, "raw": {}}}, "nothing to race"),
        ({"race": {"first": ["fine-tune from god"]}}, "fine-tune from god"),
        ({"seeds": 1}, "has one seed; a race needs at least 2"),
        ({"race": {"risk": 0.7}}, "risk = 0.7"),
        ({"race": {"margin": 0.0}}, "margin = 0.0"),
        ({"race": {"cells": 1}}, "cells = 1"),
        ({"race": {"minutes": -1.0}}, "minutes = -1.0"),
    ],
)
def test_a_study_that_is_no_race_is_refused(data: Path, tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    if "target" in changes:
        changes = {"target": {**changes["target"], "data": f"npz:{data / 'target.npz'}"}}
    with pytest.raises(SettingsError, match=said):
        run(race_of(data, tmp_path / "raced.sqlite", **changes))


@pytest.mark.long
def test_in_python_with_real_training(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name, noise in (("near", 0.3), ("target", 0.3)):
        y = np.arange(260) % 3
        x = (np.eye(3)[y] * 2 + noise * rng.normal(size=(260, 3))).astype(np.float32)
        np.savez(tmp_path / f"{name}.npz", x_train=x[:100], y_train=y[:100], x_test=x[100:], y_test=y[100:])
    result = decide(
        f"npz:{tmp_path / 'target.npz'}",
        f"npz:{tmp_path / 'near.npz'}",
        methods=["fine-tune", "linear-probe"],
        labels=9,
        seeds=3,
        budget=Budget(steps=10, pretraining_steps=20, workers=0),
        folder=tmp_path / "runs",
    )
    assert isinstance(result, DecisionResult)
    assert set(result.table()["method"]) == {"scratch", "fine-tune", "linear-probe"}
    assert json.loads(result.to_json())["analysis"] == "decide"
    assert result.report(tmp_path / "own.html").html.exists()


@pytest.mark.long
def test_steps_are_doubled_until_training_from_scratch_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From four steps, which cannot fit the labels; a number that is given, or a limit of time, is kept."""
    monkeypatch.setattr("transferscope.analyses.compare.study_file.FIRST_STEPS", 4)
    rng = np.random.default_rng(0)
    for name in ("near", "target"):
        y = np.arange(90) % 3
        x = (np.eye(3)[y] + 0.3 * rng.normal(size=(90, 3))).astype(np.float32)
        np.savez(tmp_path / f"{name}.npz", x_train=x[:60], y_train=y[:60], x_test=x[60:], y_test=y[60:])
    limits: list[tuple[int | None, float | None]] = [(None, None), (4, None), (None, 1.0)]
    steps = []
    for number, (given, minutes) in enumerate(limits):
        result = decide(
            f"npz:{tmp_path / 'target.npz'}",
            f"npz:{tmp_path / 'near.npz'}",
            methods=["linear-probe"],
            labels=12,
            seeds=2,
            cells=3,
            minutes=minutes,
            tuning=False,
            budget=Budget(steps=given, pretraining_steps=4, workers=0),
            folder=tmp_path / str(number),
        )
        steps.append(read_spec(result.study).training.steps)
        assert ("is not finished" in result.verdict.headline) == (number > 0)
    assert steps[0] is not None
    assert steps[0] > 4
    assert steps[1:] == [4, 4]


@pytest.mark.long
def test_what_did_best_elsewhere_runs_first_and_can_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSFERSCOPE_HISTORY", str(tmp_path / "history.csv"))
    found: dict[bool, RaceSettings] = {}
    for history in (True, False):
        written = write_race(
            "digits",
            ["glyphs"],
            methods=None,
            labels=50,
            race=RaceSettings(),
            seeds=3,
            budget=Budget(steps=5),
            folder=tmp_path / str(history),
            history=history,
        )
        found[history] = read_spec(written.path).race or RaceSettings()
    first = found[True].first
    assert "linear-probe from glyphs" in first  # which did well on digits
    assert not any(name.startswith(("raw", "knn", "scratch")) for name in first)
    assert found[False] == RaceSettings()


def test_one_seed_is_no_race(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="at least 2"):
        decide("digits", ["glyphs"], seeds=1, folder=tmp_path)


def test_times_are_read_with_their_unit() -> None:
    assert [minutes_of(text) for text in ("90s", "20m", "2h", " 1.5 min ")] == [1.5, 20.0, 120.0, 1.5]
    with pytest.raises(SettingsError, match="90s, 20m or 2h"):
        minutes_of("soon")
