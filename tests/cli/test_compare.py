"""`transferscope compare` and `decide`: what they say of the search for settings, and how it is left out."""

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from transferscope.cli import main

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
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    trials: str | None,
    lr: float,
) -> None:
    Path("history.csv").write_text("nothing,of,this\n1,2\n", encoding="utf-8")
    monkeypatch.setenv("TRANSFERSCOPE_HISTORY", str(Path("history.csv").absolute()))
    assert call("compare", "npz:source.npz", "npz:target.npz", *QUICK, "--seeds", "1", *options) == 0
    printed = capsys.readouterr().out
    assert "history: none is shown, as " in printed  # a damaged one stops nothing
    study = tomllib.loads(Path("runs/source-to-target.toml").read_text(encoding="utf-8"))
    assert study["training"]["lr"] == lr
    assert ("tuning" in study) == ("Each run chose its settings" in printed) == (trials is not None)
    if trials is not None:
        assert f"tuning:  each run of scratch and fine-tune first tries {trials} by cross-validation" in printed
    else:
        assert "tuning:" not in printed


@pytest.mark.long
def test_a_race_says_what_it_searches(call: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    race = ["decide", "npz:target.npz", "--from", "npz:source.npz", *QUICK, "--seeds", "2", "--cells", "2"]
    assert call(*race) == 0
    printed = capsys.readouterr().out
    assert "tuning:  each run of scratch and fine-tune first tries 6 settings" in printed
    assert "Each run chose its settings" in printed
    assert "Settings chosen" in Path("runs/source-to-target-race.html").read_text(encoding="utf-8")
    assert call(*race, "--no-tuning") == 0
    assert "settings" not in capsys.readouterr().out


def test_a_rate_that_is_none_is_one_sentence(call: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert call("compare", "npz:source.npz", "npz:target.npz", "--lr", "0") == 2
    assert (
        capsys.readouterr().err
        == "transferscope: the comparison: [training] lr = 0.0 is out of range; expected at least 1e-12\n"
    )
    assert not Path("runs").exists()


@pytest.mark.long
def test_a_race_trains_scratch_longer_by_itself_and_says_what_was_changed(
    call: Callable[..., int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels without a pattern cannot be learnt in 16 steps, the most that are allowed here."""
    monkeypatch.setattr("transferscope.analyses.compare.study_file.FIRST_STEPS", 4)
    monkeypatch.setattr("transferscope.analyses.compare.study_file.MOST_STEPS", 16)
    race = ["decide", "npz:target.npz", "--from", "npz:source.npz", "--labels", "24", "--methods", "linear-probe"]
    race += ["--pretraining-steps", "3", "--no-tuning", "--seeds", "2", "--cells", "4", "--workers", "0", "--yes"]
    assert call(*race) == 0
    printed = capsys.readouterr().out
    assert "history: on " in printed
    assert "16 steps: training from scratch is still not finished" in printed
    assert "Training from scratch is not finished after 16 steps" in printed
    study = tomllib.loads(Path("runs/source-to-target-race.toml").read_text(encoding="utf-8"))
    assert study["training"]["steps"] == 16
    assert call(*race, "--risk", "0.2", "--no-history") == 0
    printed = capsys.readouterr().out
    assert "risk 5 % and margin 1 point at first; risk 20 % and margin 1 point after 4 runs" in printed
    assert "history:" not in printed
