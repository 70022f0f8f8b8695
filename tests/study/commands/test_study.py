"""A study of commands from its file to its answer, on the same engine as every other."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from study.commands.studies import ARMS, SCORES, study_file
from transferscope import open_result
from transferscope.analyses.compare.summary import summarise_frames
from transferscope.cli.main import app
from transferscope.errors import TransferscopeError
from transferscope.methods import METHODS
from transferscope.settings.engine import EngineSettings
from transferscope.store import Store
from transferscope.study.commands.plan import plan_commands
from transferscope.study.commands.settings import read_commands
from transferscope.study.decisions import decisions, scores_of
from transferscope.study.frames import StudyFrames, read_study
from transferscope.study.measure import Measure
from transferscope.study.run import CellFailed, CellSlow, Event, plan_into, run_study, work_on
from transferscope.wording import ALL_LABELS, capitalised


def call(*arguments: object) -> tuple[int, str]:
    try:
        found = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)
    except TransferscopeError as error:
        return 2, str(error)
    return found.exit_code, found.output


def ran(folder: Path) -> int:
    return len(list(folder.glob("ran/*")))


def ran_after(file: Path) -> int:
    """How many runs there have been once a study is done."""
    assert call("run", file, "-q")[0] == 0
    return ran(file.parent)


COUNTED = f"mktemp -p ran; {SCORES}"
TRUE = {("tuned", "near"): 170.0, ("tuned", "far"): 70.0, ("plain", ""): 68.0}
"""Scores without what the seed adds, a quarter of it, which is the same for all arms."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ran").mkdir()
    return tmp_path


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> StudyFrames:
    """A study that was run."""
    file = study_file(tmp_path_factory.mktemp("done"))
    assert call("run", file, "-q")[0] == 0
    with Store.open(file.parent / "runs/shells.sqlite", create=False) as store:
        return read_study(store, "shells")


@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize(
    ("unit", "scale", "shown"),
    [("share", 100, "17.0 %"), ("%", 1, "170.4 %"), ("EUR", 1, "170.4 EUR"), ("", 1, "170.4")],
)
def test_points_are_more_where_better(done: StudyFrames, higher: bool, unit: str, scale: int, shown: str) -> None:
    measure = Measure("a", unit, higher, "a")
    size = 0.001 if unit == "share" else 1.0
    frames = replace(
        done,
        study=replace(done.study, facts={**done.study.facts, "measure": measure.as_json()}),
        records=done.records.assign(value=size * done.records["value"]),
    )
    assert frames.metric == measure
    scores, sign = scores_of(frames, ALL_LABELS), 1 if higher else -1
    expected = {
        f"{method} from {source}" if source else method: [size * (value + seed / 4) for seed in range(4)]
        for (method, source), value in TRUE.items()
    }
    for name, values in zip(scores.arms, scores.values, strict=True):
        np.testing.assert_allclose(values, sign * scale * np.array(expected[name]))
    np.testing.assert_array_equal(scores.with_source, [" from " in name for name in scores.arms])
    summary = summarise_frames(frames)
    assert summary.decided[ALL_LABELS].recommended == ("tuned from near" if higher else "plain")
    lost = "tie" if unit == "share" else "no"  # 70 against 68 thousandths are a fifth of a point
    assert summary.verdict.outcomes == {ALL_LABELS: "helps" if higher else lost}
    means = summary.table.set_index(["method", "source"])["mean"]
    for arm, value in TRUE.items():
        assert means[arm] == pytest.approx(size * (value + 0.375))
    assert measure.level(scale * sign * size * 170.375) == shown
    assert shown in "\n".join(summary.verdict.lines)
    assert list(summary.frames.arms) == sorted(summary.frames.arms, key=lambda arm: -sign * TRUE[arm[1], arm[0]])


def test_what_is_done_is_not_done_again_and_another_measure_takes_no_run(folder: Path) -> None:
    file = study_file(folder, COUNTED)
    assert ran_after(file) == 12
    assert ran_after(file) == 12
    study_file(folder, COUNTED, run='unit = "EUR"\nbetter = "lower"')
    assert ran_after(file) == 12
    assert open_result(file).verdict.outcomes == {0: "no"}
    file.write_text(file.read_text().replace("seeds = 4", "seeds = 5"))
    assert ran_after(file) == 15
    study_file(folder, COUNTED, arms=ARMS.replace("68", "69"))
    assert ran_after(file) == 15 + 4


def test_runs_that_have_not_left_what_the_study_is_judged_by_now_are_refused(folder: Path) -> None:
    file = study_file(folder, f"{SCORES}; case {{source}} in far) sed -i 's/}}}}/,\"b\":1}}}}/' {{out}}/r.json;; esac")
    assert call("run", file, "-q")[0] == 0
    text = file.read_text()
    for before, after, words in (
        ("r.json:a", "r.json:accuracy", ["12 of 12", "no 'accuracy'", "all have a:"]),
        ("r.json:a", "r.json:b", ["8 of 12", "no 'b'", "all have a:"]),
        ("shell = true", 'shell = true\nunit = "share"', ["12 of 12", "'a'", "0 to 1", "unit"]),
    ):
        file.write_text(text.replace(before, after))
        assert call("run", file, "-q")[0] == 0
        code, said = call("report", file, "--out", folder / "page.html")
        assert code != 0
        assert [word for word in words if word not in said] == []


@pytest.mark.long
def test_a_file_that_asks_for_another_score_than_the_study_is_judged_by_is_noted(folder: Path) -> None:
    file = study_file(folder)
    assert call("run", file, "-q")[0] == 0
    text = file.read_text()
    for before, after, noted in (
        ("r.json:a", "r.json:b", True),
        ("shell = true", 'shell = true\nbetter = "lower"', True),
        ("seeds = 4", "seeds=4", False),
    ):
        file.write_text(text.replace(before, after))
        for asked in (["status", file], ["report", file, "--out", folder / "page.html"]):
            assert ("asks for another metric" in call(*asked)[1]) is noted


def test_all_outlets_show_such_a_study(folder: Path) -> None:
    file = study_file(folder, run='unit = "%"\nname = "exact match"')
    code, said = call("run", file)
    assert code == 0
    assert "tuned from near" in said
    page = folder / "page.html"
    assert call("report", file, "--out", page)[0] == 0
    assert "exact match" in page.read_text()
    assert "12 of 12 runs done" in call("status", file)[1]
    facts = json.loads(call("report", file, "--json")[1])
    assert facts["result"]["decisions"]["0"]["outcome"] == "helps"
    assert "170.4" in call("report", file, "--table", "markdown")[1]
    answers = {("rank",): "commands", ("export", "--out", "x"): "commands", ("scaling",): "commands"}
    answers |= {("plan",): "several numbers", ("run", "--labels", "30"): "in [run]"}
    for (command, *options), part in answers.items():
        code, said = call(command, file, *options)
        assert code != 0
        assert part in said, command
    assert "[100, 200, 400] under [run]" in call("plan", file)[1]


def test_failures_are_rows_and_the_study_goes_on(folder: Path) -> None:
    command = ": {seed} {out}; echo {base} 0; exit 3"
    arms = f'{ARMS}[arms.broken]\nbase = 0\nwithout_source = true\ncommand = "{command}"'
    file = study_file(folder, arms=arms)
    code, said = call("run", file, "-q")
    assert code == 1
    assert "12 of 16 runs done, 4 failed" in said
    assert call("status", file)[1].count("status 3; its last line: 0 0") == 1  # all four are one reason
    assert open_result(file).verdict.outcomes == {0: "helps"}


def test_a_race_begins_with_what_is_cheap_and_leaves_out_what_is_dear(folder: Path) -> None:
    """The slow arm takes longer than a run may, which is known after its first one."""
    arms = f"{ARMS}[arms.slow]\nbase = 60\nsource = \"near\"\ncommand = '''sleep 0.7; {SCORES}'''\n"
    file = study_file(folder, arms=arms, engine="[race]\nrun_minutes = 0.01")
    assert call("run", file, "-q")[0] == 0
    table = open_result(file).table()
    n_seeds = dict(zip(zip(table["method"], table["source"], strict=True), table["n_seeds"], strict=True))
    assert n_seeds["slow", "near"] == 1
    assert n_seeds["tuned", "near"] >= 3
    assert open_result(file).verdict.outcomes == {0: "helps"}
    assert json.loads(call("status", file, "--json")[1])["result"]["file"] is None  # nothing was edited
    file.write_text(file.read_text().replace("seeds = 4", "seeds = 5"))
    assert json.loads(call("status", file, "--json")[1])["result"]["file"]["dropped"] == 0


def test_runs_whose_file_has_changed_are_made_again(folder: Path) -> None:
    (folder / "train.sh").touch()
    file = study_file(folder, f"{COUNTED}; sh train.sh")
    assert ran_after(file) == 12
    (folder / "train.sh").write_text("# better\n")
    assert "asks for 12 more runs and drops 12" in call("status", file)[1]
    assert ran_after(file) == 24


def test_a_new_store_makes_its_runs_anew(folder: Path) -> None:
    """What an earlier one has left in its folder was made with data that nobody has looked at."""
    file = study_file(folder, COUNTED, engine='keep = "all"')
    assert ran_after(file) == len(list(folder.glob("runs/*/*.run"))) == 12
    for old in folder.glob("runs/shells.sqlite*"):
        old.unlink()
    assert ran_after(file) == 24
    assert len(list(folder.glob("runs/*/*.run"))) == 12


def test_a_file_that_has_changed_since_the_plan_is_refused(folder: Path) -> None:
    """Whether the command names it, a Python file imports it, or the study file names it."""
    read = {"train.sh": "", "train.py": "import part", "part.py": "", "data.csv": ""}
    for name, text in read.items():
        (folder / name).write_text(text)
    file = study_file(folder, f"{COUNTED}; : train.sh train.py", run='files = ["*.csv"]')
    with Store.open(folder / "shells.sqlite") as store:
        plan_into(plan_commands(read_commands(file)), store)
        for name, text in read.items():
            (folder / name).write_text(f"{text}\n# changed")
            share = work_on("shells", store, engine=EngineSettings(workers=0), most_cells=1)
            assert (share.done, share.failed) == (0, 1), name
            (folder / name).write_text(text)
        assert ran(folder) == 0
        assert work_on("shells", store, engine=EngineSettings(workers=0)).done == 12 - len(read)


def test_a_command_of_a_store_is_not_run_but_by_the_name_of_its_file(folder: Path) -> None:
    file = study_file(folder, COUNTED)
    (folder / "runs").mkdir()
    with Store.open(folder / "runs/shells.sqlite") as store:
        plan_into(plan_commands(read_commands(file)), store)
    code, said = call("run", folder / "runs/shells.sqlite", "--join", "--runs", 1)
    assert code != 0
    assert "--trust-code" in said
    other = study_file(folder, COUNTED.replace("mktemp", "mktemp -q"), name="other.toml")
    code, said = call("run", other, "--join", "--runs", 1)
    assert code != 0
    assert "--trust-code" in said
    assert ran(folder) == 0
    assert call("run", file, "--join", "--runs", 1)[0] == 0
    assert ran(folder) == 1
    assert call("--trust-code", "run", folder / "runs/shells.sqlite", "--join", "--runs", 2)[0] == 0
    assert ran(folder) == 3


@pytest.mark.parametrize(
    ("lengths", "mean", "covers"),
    [
        ((40, 40), None, "seeds and test examples"),
        ((40, 41), None, "seeds"),
        ((), None, "seeds"),
        ((40, 40), 0.5, "seeds"),  # of the score that the study was judged by before
    ],
)
def test_what_each_example_adds_lets_claims_cover_other_examples(
    done: StudyFrames, lengths: tuple[int, ...], mean: float | None, covers: str
) -> None:
    rng = np.random.default_rng(0)
    sizes = [lengths[i % len(lengths)] for i in range(len(done.method_cells))] if lengths else []
    scores = done.final("a").set_index("key")["value"]
    drawn = {key: rng.normal(size=n) for key, n in zip(done.method_cells["key"], sizes, strict=False)}
    added = {key: one - one.mean() + (scores[key] if mean is None else mean) for key, one in drawn.items()}
    decided = decisions(replace(done, predictions=added))
    assert decided[ALL_LABELS].covers == covers


def test_arms_of_others_go_by_their_own_names_whatever_ours_are_called(folder: Path) -> None:
    arms = ARMS.replace("tuned", "l2-sp").replace("plain", "scratch")
    arms += "[arms.raw]\nbase = 60\nwithout_source = true\n[arms.fine-tune]\nbase = 72\nsource = 'near'\n"
    file = study_file(folder, arms=arms)
    file.write_text(file.read_text().replace("seeds = 4", "seeds = 2"))
    assert call("run", file, "-q")[0] == 0
    assert call("report", file, "--out", folder / "page.html")[0] == 0
    shown = call("run", file)[1] + (folder / "page.html").read_text()
    for name in ("fine-tune", "scratch", "raw", "l2-sp"):
        assert name in shown  # as the user wrote it
        words = METHODS[name].called
        assert not [one for one in {words, capitalised(words)} - {name} if one in shown]


@pytest.mark.long
def test_a_run_that_hangs_is_told_and_ended_by_its_timeout(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last of four runs of an arm waits for a minute; the others take a moment."""
    monkeypatch.setattr("transferscope.study.run._SLOW_SECONDS", 0.5)
    file = study_file(folder, f"if [ {{seed}} = 3 ]; then sleep 60; fi; {SCORES}", run="timeout = 0.06")
    events: list[Event] = []
    with Store.open(folder / "s.sqlite") as store:
        spec = replace(read_commands(file), engine=replace(read_commands(file).engine, workers=1))
        assert spec.engine.timeout == 0.06
        status = run_study(spec, store, on_event=events.append)
    slow = [event for event in events if isinstance(event, CellSlow)]
    assert {event.cell.labels["seed"] for event in slow} == {3}
    assert all(event.times >= 10 for event in slow)
    assert status.counts.failed == 3
    assert 1 <= len({event.cell.key for event in slow}) <= 3  # the first runs may have nothing beside them
    failures = [event.failure for event in events if isinstance(event, CellFailed)]
    assert {failure.kind for failure in failures} == {"timeout"}
