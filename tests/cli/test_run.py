import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from transferscope.cli import main
from transferscope.store import Store

Call = Callable[..., int]

STUDY = """
name = "digits"
seeds = 1
[target]
data = "digits"
sizes = [20]
[network]
name = "linear"
[training]
steps = 2
[methods.scratch]
"""


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """The command line in an empty folder with a study file; its exit code."""
    monkeypatch.chdir(tmp_path)
    Path("digits.toml").write_text(STUDY)

    def run(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["transferscope", *arguments])
        with pytest.raises(SystemExit) as ended:
            main.main()
        return int(ended.value.code or 0)

    return run


def test_a_study_is_run_and_its_status_shown(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", "digits.toml", "--workers", "0", "--quiet") == 0
    assert capsys.readouterr().out == (
        "digits: 1 of 1 cells done\nresults: runs/digits.sqlite\nreport:  transferscope report digits.toml\n"
    )
    for place in ("digits.toml", "runs/digits.sqlite"):
        assert call("status", place) == 0
        assert capsys.readouterr().out == "digits: 1 of 1 cells done\n"


def test_what_the_labels_were_taken_for_is_said_before_anything_runs(
    call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("own.csv").write_text("a,b,y\n" + "".join(f"{i},1,{'xyz'[i % 3]}\n" for i in range(60)))
    Path("digits.toml").write_text(STUDY.replace('"digits"\nsizes', '"csv:own.csv?label=y"\nsizes'))
    assert call("run", "digits.toml", "--workers", "0") == 0
    assert capsys.readouterr().err.splitlines()[0] == (
        "target: csv:own.csv?label=y: classification, 3 classes: x, y, z; 1 of 2 features never change"
    )


def test_status_says_when_merlins_inner_head_predicts_no_better_than_the_mean(
    call: Call, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("transferscope.report.cautions.WEAK_INNER_RISK", 0.5)
    noise = np.random.default_rng(0).normal(size=(120, 3))
    rows = [",".join(f"{value:.4f}" for value in row) + f",{'ab'[i % 2]}\n" for i, row in enumerate(noise)]
    Path("noise.csv").write_text("a,b,c,y\n" + "".join(rows))
    study = STUDY.replace('"digits"\nsizes', '"csv:noise.csv?label=y"\nsizes').replace("sizes = [20]", "sizes = [64]")
    study = study.replace('"linear"', '"mlp"\nwidths = [8]') + "[methods.merlin]\nsource_term = false\n"
    Path("digits.toml").write_text(study)
    assert call("run", "digits.toml", "--workers", "0", "--quiet") == 0
    capsys.readouterr()
    assert call("status", "digits.toml") == 0
    sentence = (
        r"\n  In 1 of 1 run of merlin with 64 labels the inner head predicted no better than the mean \(leave-one-out "
    )
    assert re.search(sentence + r"risk up to [01]\.\d\d of the mean's\)", capsys.readouterr().out)


def test_the_store_can_be_chosen(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", "digits.toml", "--workers", "0", "--store", "other/place.sqlite") == 0
    assert "report:  transferscope report other/place.sqlite" in capsys.readouterr().out
    with Store.open("other/place.sqlite", create=False) as store:
        assert store.study("digits").spec["store"] == "other/place.sqlite"


def test_failed_cells_are_exit_code_1_and_said_why(
    call: Call, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def odd(*_: object) -> None:
        raise ValueError("the number is odd")

    monkeypatch.setattr("transferscope.study.work.work", odd)
    assert call("run", "digits.toml", "--workers", "0", "--quiet") == 1
    output = capsys.readouterr()
    assert output.err == "scratch, 20 labels, seed 0 failed: ValueError: the number is odd\n"
    assert "why cells failed: transferscope status digits.toml" in output.out
    assert call("status", "digits.toml") == 0
    assert capsys.readouterr().out == (
        "digits: 0 of 1 cells done, 1 failed\n  scratch, 20 labels, seed 0: ValueError: the number is odd\n"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("steps", "stpes"), "digits.toml: [training] unknown key 'stpes': did you mean 'steps'?"),
        (("[20]", "[5000]"), "[target] sizes asks for 5000 examples and digits has 1438 training examples"),
        (('data = "digits"', 'data = "digit"'), "unknown data set 'digit': did you mean 'digits'?"),
        (('"linear"', '"lenet"'), "lenet"),
    ],
)
def test_bad_input_is_exit_code_2_and_nothing_is_begun(
    call: Call, change: tuple[str, str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("digits.toml").write_text(STUDY.replace(*change))
    assert call("run", "digits.toml") == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"transferscope: {message}") or message in said.err
    assert said.err.count("\n") == 1


def test_an_interruption_before_the_first_cell_is_exit_code_130(
    call: Call, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("transferscope.cli.execute.run_study", interrupt)
    assert call("run", "digits.toml") == 130
    assert capsys.readouterr().err == "transferscope: stopped before anything was done\n"


def test_a_missing_study_is_exit_code_2(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("run", "status"):
        assert call(command, "no.toml") == 2
        assert capsys.readouterr().err == (
            "transferscope: there is no study file no.toml; give the path of a TOML file\n"
        )
