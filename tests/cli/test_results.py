"""`transferscope compare` of results that are there: nothing is run, and the answer is that of a study."""

import html
import io
import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from analyses.results.simulated import CONTROLS, drawn, table
from transferscope.analyses.compare import compare_results
from transferscope.cli import main


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command line in a folder with a table of results; its exit code."""
    monkeypatch.chdir(tmp_path)
    table(drawn(0, gain=1.0, n_seeds=2)).to_csv("runs.csv", index=False)

    def run(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["transferscope", *arguments])
        with pytest.raises(SystemExit) as ended:
            main.main()
        return int(ended.value.code or 0)

    return run


def test_lines_page_and_json(call: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert call("compare", "runs.csv", "--without", *CONTROLS) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) <= 11
    assert "on this test set" in " ".join(printed)
    page = Path("runs/runs.html").read_text(encoding="utf-8")
    (command,) = re.findall(r"with <code>transferscope (.+?)</code>", page)
    assert call(*shlex.split(html.unescape(command))) == 0
    assert capsys.readouterr().out.splitlines() == printed
    assert call("compare", "runs.csv", "--without", *CONTROLS, "--out", "mine.html", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert Path("mine.html").is_file()
    expected = compare_results("runs.csv", without=CONTROLS)
    assert answer["result"]["decisions"] == json.loads(expected.to_json())["decisions"]


def test_the_next_runs_are_rows_of_the_table(call: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    renamed = pd.read_csv("runs.csv").rename(columns={"arm": "who", "accuracy": "f1"}).assign(labels=100, task="a")
    renamed.to_csv("runs.csv", index=False)
    asked = ["compare", "runs.csv", "--columns", "arm=who", "--without", *CONTROLS, "--next", "3"]
    asked += ["--question", "whether"]
    assert call(*asked) == 0
    rows = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert list(rows.columns) == list(renamed.columns)
    assert 0 < len(rows) <= 3
    assert set(rows["seed"]) == {2}
    assert set(rows["labels"]) == {100}
    assert set(rows["task"]) == {"a"}
    assert rows["f1"].isna().all()
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["runs.csv"], "--without"),
        (["runs.csv", "--without", "none", "--columns", "arm"], "NAME=VALUE"),
        (["runs.csv", "--without", "none", "--columns", "amr=arm"], "'amr'"),
        (["runs.csv", "--without", "none", "--wide", "seeds"], "--wide"),
        (["runs.csv", "--without", "none", "--metric", "auc"], "'auc'"),
        (["runs.csv", "--from", "digits", "--without", "none"], "--without was given too"),
        (["runs.csv", "--without", "none", "--where", "arm=bert", "arm=gpt"], "'arm' is given twice"),
        (
            ["runs.csv", "--without", "none", "--metric", "f1", "--columns", "metric=accuracy"],
            "'metric' is given twice",
        ),
        (["rnus.csv"], "no file or folder of results"),
        (["."], "holds no runs that are known"),
    ],
)
def test_what_cannot_be_used_is_said(
    call: Callable[..., int], capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert call("compare", *arguments) == 2
    said = capsys.readouterr().err
    assert words in said
    assert len(said.splitlines()) == 1
