"""`transferscope compare`: its study file, what it says on the way, and what it refuses."""

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from transferscope.cli import main
from transferscope.cli.answer_so_far import AnswerSoFar
from transferscope.store import Store
from transferscope.study.race_state import race_state
from transferscope.study.run import Event, StudyProgress

QUICK = ["--labels", "24", "--methods", "fine-tune", "--steps", "3", "--pretraining-steps", "3", "--workers", "0"]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command line in a folder with two small data sets; its exit code."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in ("source", "target"):
        x, y = rng.normal(size=(90, 3)).astype(np.float32), np.arange(90) % 3
        np.savez(f"{name}.npz", x_train=x[:60], y_train=y[:60], x_test=x[60:], y_test=y[60:])

    def run(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["transferscope", *arguments])
        with pytest.raises(SystemExit) as ended:
            main.main()
        return int(ended.value.code or 0)

    return run


@pytest.mark.parametrize(
    ("options", "trials", "lr"),
    [
        pytest.param((), "6 settings", 0.01, marks=pytest.mark.long),
        pytest.param(("--lr", "0.05"), "2 settings", 0.05, marks=pytest.mark.long),
        (("--no-tuning", "--lr", "0.05"), None, 0.05),
    ],
)
def test_a_comparison_says_what_it_searches(
    call: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    trials: str | None,
    lr: float,
) -> None:
    assert call("compare", "npz:target.npz", "--from", "npz:source.npz", *QUICK, "--seeds", "1", *options) == 0
    printed = capsys.readouterr().out
    study = tomllib.loads(Path("runs/source-to-target.toml").read_text(encoding="utf-8"))
    assert study["training"]["lr"] == lr
    assert "race" not in study
    assert ("tuning" in study) == (trials is not None)
    if trials is not None:
        assert f"tuning:  the first seed of scratch and fine-tune tries {trials} by cross-validation" in printed
    else:
        assert "tuning:" not in printed


@pytest.mark.parametrize(
    ("options", "race", "seeds"),
    [
        ((), {}, 12),
        (("--until-settled", "--seeds", "4"), {}, 4),
        (
            ("--runs", "5", "--question", "whether", "--margin", "2"),
            {"runs": 5, "question": "whether", "margin": 2.0},
            12,
        ),
        (("--minutes", "3", "--seeds", "3"), {"minutes": 3.0}, 3),
    ],
)
def test_without_seeds_it_is_run_until_it_is_settled(
    call: Callable[..., int], options: tuple[str, ...], race: dict[str, object], seeds: int
) -> None:
    assert call("compare", "npz:target.npz", "--from", "npz:source.npz", *QUICK, "--no-tuning", *options) == 0
    study = tomllib.loads(Path("runs/source-to-target.toml").read_text(encoding="utf-8"))
    assert study["race"] == {"question": "which", "margin": 1.0, **race}
    assert study["seeds"] == seeds
    with Store.open("runs/source-to-target.sqlite", create=False) as store:
        counts = store.counts("source-to-target")
        state = race_state(store.study_documents("source-to-target"))
    assert counts.done == counts.total
    assert state is not None
    assert state.end
    assert not state.not_begun


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["npz:source.npz", "npz:target.npz"], "transferscope compare npz:target.npz --from npz:source.npz\n"),
        (["npz:target.npz"], "compare was given 'npz:target.npz' and no source; the target comes first"),
        (["a", "b", "--from", "c"], "compare was given 'a b' and more than one target"),
        (["net.py:Net", "--from", "npz:source.npz"], "net.py:Net"),
        (["npz:target.npz", "--from", "npz:source.npz", "--lr", "0"], "Invalid value for '--lr'"),
        (["npz:target.npz", "--from", "npz:source.npz", "--margin", "0"], "[race] margin = 0.0 is out of range"),
        (["npz:target.npz", "--from", "a", "b", "--head", "fc"], "--from names 2 sources; give one"),
        (["npz:target.npz", "--from", "npz:source.npz", "--seeds", "1", "--until-settled"], "takes at least 2"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(
    call: Callable[..., int], capsys: pytest.CaptureFixture[str], given: list[str], said: str
) -> None:
    Path("net.py").write_text("from torch import nn\n\n\nclass Net(nn.Linear):\n    pass\n")
    assert call("compare", *given) == 2
    told = capsys.readouterr().err
    assert told.startswith("transferscope: ")
    assert len(told.splitlines()) == 1
    assert said in told
    assert not Path("runs").exists()


def test_most_runs_end_it_and_its_status_says_so(call: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert call("compare", "npz:target.npz", "--from", "npz:source.npz", *QUICK, "--no-tuning", "--runs", "2") == 0
    assert Path("runs/source-to-target.html").exists()
    assert call("status", "runs/source-to-target.toml") == 0
    assert "  race: as many runs as it may make\n" in capsys.readouterr().out


def test_ctrl_c_says_the_answer_so_far_and_how_to_go_on(
    call: Callable[..., int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transferscope.cli.answer_so_far.LEAST_SECONDS", 0.0)
    given = ["npz:target.npz", "--from", "npz:source.npz", *QUICK, "--no-tuning"]
    shown = AnswerSoFar.__call__

    def stop(self: AnswerSoFar, event: Event) -> None:
        shown(self, event)
        if isinstance(event, StudyProgress) and event.done >= 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(AnswerSoFar, "__call__", stop)
    assert call("compare", *given) == 130
    lines = capsys.readouterr().err.splitlines()
    assert any("the same command goes on from there" in line for line in lines)
    assert lines[-1].startswith("so far, 24 labels: ")
    monkeypatch.setattr(AnswerSoFar, "__call__", shown)
    assert call("compare", *given, "--watch") == 0
    assert "so far, 24 labels: " in capsys.readouterr().err


@pytest.mark.long
def test_steps_are_found_by_training_from_scratch_after_what_takes_none(
    call: Callable[..., int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels without a pattern cannot be learnt in 16 steps, the most that are allowed here; a budget leaves 4."""
    monkeypatch.setattr("transferscope.analyses.compare.study_file.FIRST_STEPS", 4)
    monkeypatch.setattr("transferscope.analyses.compare.study_file.MOST_STEPS", 16)
    given = ["npz:target.npz", "--from", "npz:source.npz", "--labels", "24", "--methods", "scratch", "linear-probe"]
    given += ["--pretraining-steps", "3", "--no-tuning", "--seeds", "2", "--workers", "0"]
    for limit, steps in (([], 16), (["--minutes", "1"], 4)):
        assert call("compare", *given, *limit) == 0
        study = tomllib.loads(Path("runs/source-to-target.toml").read_text(encoding="utf-8"))
        assert study["training"]["steps"] == steps
        assert ("16 steps: training from scratch is still not finished" in capsys.readouterr().out) == (steps == 16)
