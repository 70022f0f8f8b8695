"""What is said of settings that runs have chosen for themselves."""

from pathlib import Path
from typing import Any

import pytest

from cases_of_methods import classification_task
from transferscope.analyses.compare.settings import SEARCHED, chosen_settings, searches, settings_section
from transferscope.analyses.compare.study_file import Question, study_tables, tuning_in_words
from transferscope.analyses.compare.words import words_of
from transferscope.estimate import Estimate
from transferscope.records import Cost, Record
from transferscope.report.blocks import Table
from transferscope.store import Outcome, PlannedCell, Store, StudyRow
from transferscope.store.rows import Label
from transferscope.study.frames import StudyFrames, read_study

QUICK: dict[str, Any] = {"training": {"steps": 12}, "pretraining": {"steps": 20}, "engine": {"workers": 0}}
RATES = (0.002, 0.01, 0.05)


def trial(risk: float, n: int = 3, **settings: Any) -> dict[str, Any]:
    return {"settings": settings, "risk": {"value": risk, "stderr": None, "n": n, "status": "ok", "interval": None}}


def run_of(risks: tuple[float, ...], **more: Any) -> dict[str, Any]:
    """Notes of a run that tried RATES with these risks and took 2 s of 5 for it."""
    trials = sorted(
        (trial(risk, lr=lr, **more) for lr, risk in zip(RATES, risks, strict=True)),
        key=lambda made: float(made["risk"]["value"]),
    )
    return {"trials": trials, "chosen": trials[0]["settings"], "tuning_cost": {"seconds": 2.0, "steps": 9}}


def study(path: Path, notes: dict[tuple[str, int], list[dict[str, Any]]], *, recipe: str = "field") -> StudyFrames:
    """A study with these notes of the runs of each method and number of labels, one for each seed."""
    cells, found = [], []
    for (method, n), of_seeds in notes.items():
        source = None if method == "scratch" else "a"
        for seed, one in enumerate(of_seeds):
            labels: dict[str, Label] = {"source": source, "method": method, "n_target": n, "n_source": None}
            cells.append(PlannedCell(f"{method}-{n}-{seed}", "method", labels | {"seed": seed}, {}))
            found.append(Outcome((Record("accuracy", Estimate(0.5)),), Cost(seconds=5.0), {}, one))
    row = StudyRow("made", {"methods": {"scratch": {}}, "recipe": recipe}, {}, "2026-11-22T09:00:00+00:00")
    with Store.open(path / "made.sqlite") as store:
        store.plan(row, cells)
        for cell, outcome in zip(cells, found, strict=True):
            store.finish(cell.key, outcome)
        return read_study(store, "made")


def test_what_was_chosen_is_counted_over_seeds(tmp_path: Path) -> None:
    runs = [run_of((0.3, 0.2, 0.4)), run_of((0.3, 0.2, 0.4)), run_of((0.1, 0.2, 0.4))]
    frames = study(tmp_path, {("scratch", 40): runs})
    (arm,) = chosen_settings(frames)
    assert [settings["lr"] for settings in arm.chosen] == [0.01, 0.01, 0.002]
    assert arm.tried == {"lr": RATES}
    assert (arm.n_trials, arm.seconds, arm.own_seconds) == (3, 2.0, 3.0)
    assert arm.at_edge == {}
    (said,) = searches(frames)
    assert (said.kind, said.facts["n_trials"], said.facts["times"]) == ("searched", 3, pytest.approx(2 / 3))
    section = settings_section(frames)
    (table,) = (block for block in section.blocks if isinstance(block, Table))
    assert table.rows[0][4].text == "0.002: 1, 0.01: 2"


@pytest.mark.parametrize(
    ("risks", "word"),
    [((0.3, 0.2, 0.1), "largest"), ((0.1, 0.2, 0.3), "smallest"), ((0.3, 0.1, 0.2), None), ((0.3, 0.1, 0.1), None)],
)
def test_an_end_of_what_was_tried_is_said_where_it_beats_what_lies_within(
    tmp_path: Path, risks: tuple[float, ...], word: str | None
) -> None:
    runs = [run_of(one, weight_decay=0.1) for one in (risks, risks, (0.3, 0.1, 0.2))]
    frames = study(tmp_path, {("scratch", 40): runs})
    (arm,) = chosen_settings(frames)
    assert arm.at_edge == ({} if word is None else {"lr": word})
    edges = [one.facts["settings"] for one in searches(frames) if one.kind == "edge of the search"]
    value = {"largest": 0.05, "smallest": 0.002}.get(word or "")
    assert edges == ([] if word is None else [[(("scratch", ""), 40, word, "lr", value)]])


def test_too_few_labels_are_said(tmp_path: Path) -> None:
    few = {"trials": [], "chosen": {}, "tuning_cost": {"seconds": 0.0}, "labels_needed": 30}
    frames = study(tmp_path, {("scratch", 10): [few], ("scratch", 40): [run_of((0.3, 0.1, 0.2))]})
    *_, last = searches(frames)
    assert (last.kind, dict(last.facts)) == ("not searched", {"sizes": [10], "needed": 30, "search": ()})
    (tmp_path / "alone").mkdir()
    alone = study(tmp_path / "alone", {("scratch", 10): [few]})
    assert [one.kind for one in searches(alone)] == ["not searched"]
    assert settings_section(alone) is None


@pytest.mark.parametrize(("recipe", "search"), [("field", SEARCHED), ("equal", ())])
def test_a_study_without_a_search_says_so_and_by_which_rule(
    tmp_path: Path, recipe: str, search: tuple[float, ...]
) -> None:
    frames = study(tmp_path, {("scratch", 40): [{}]}, recipe=recipe)
    (said,) = searches(frames)
    assert (said.kind, said.facts["search"]) == ("not searched", search)
    assert ("recipe" in words_of(frames).say(said)) == (recipe == "field")
    assert settings_section(frames) is None


@pytest.mark.parametrize(
    ("options", "lr", "grid"),
    [
        ({"tuning": False}, 0.01, None),
        ({"tuning": False, "training": {"steps": 12, "lr": 0.05}}, 0.05, None),
        (
            {"training": {"steps": 12, "lr": 0.05}},
            0.05,
            {"scratch": {"weight_decay": [5e-4, 0.01]}, "fine-tune": {"head": ["random", "probe"]}},
        ),
    ],
)
def test_rates_and_all_settings_can_be_fixed(
    tmp_path: Path, options: dict[str, Any], lr: float, grid: dict[str, Any] | None
) -> None:
    task = classification_task(n_target=30)
    assert task.source is not None
    methods = ["linear-probe", "fine-tune"]
    arguments: dict[str, Any] = {"methods": methods, **QUICK, "folder": tmp_path, "recipe": "equal"}
    tables, spec = study_tables(Question(task.target, [task.source], labels=[24], seeds=2, **arguments | options))
    assert tables["training"]["lr"] == lr
    assert tables["pretraining"]["lr"] == 0.01
    assert tables.get("tuning", {}).get("grid") == grid
    assert bool(tuning_in_words(spec)) == (grid is not None)


@pytest.mark.parametrize(
    ("methods", "tuning", "said"),
    [
        (["linear-probe", "fine-tune"], None, f"took {SEARCHED[4]} times"),
        (["linear-probe", "fine-tune"], True, "fine-tune tries 6 settings"),
        (["linear-probe", "raw"], None, ""),
    ],
)
def test_a_comparison_by_recipes_says_before_its_runs_whether_it_searches(
    tmp_path: Path, methods: list[str], tuning: bool | None, said: str
) -> None:
    task = classification_task(n_target=30)
    assert task.source is not None
    arguments: dict[str, Any] = {"methods": methods, **QUICK, "folder": tmp_path, "tuning": tuning}
    _, spec = study_tables(Question(task.target, [task.source], labels=[24], seeds=2, **arguments))
    assert said in tuning_in_words(spec)
    assert bool(tuning_in_words(spec)) == bool(said)
