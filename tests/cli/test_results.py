"""`transferscope report` of runs of another tool: nothing is run, and the answer is that of a study."""

import html
import io
import json
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

from analyses.results.made_by_tools import unpack
from analyses.results.simulated import CONTROLS, drawn, table
from cli.called import Call
from transferscope.analyses.compare import compare_results


@pytest.fixture(autouse=True)
def _table(call: Call) -> None:
    table(drawn(0, gain=1.0, n_seeds=2)).to_csv("runs.csv", index=False)


def test_lines_page_and_json(call: Call) -> None:
    asked = ("report", "runs.csv", "--without", *CONTROLS)
    printed = call(*asked).out
    assert len(printed.splitlines()) <= 11
    assert "CI over seeds" in " ".join(printed.split())
    page = Path("runs.html").read_text(encoding="utf-8")
    (command,) = re.findall(r"with <code>transferscope (.+?)</code>", page)
    assert call(*shlex.split(html.unescape(command))).out == printed
    answer = json.loads(call(*asked, "--out", "mine.html", "--json", "--width", "text").out)
    (command,) = re.findall(r"<code>transferscope (.+? --next .+?)</code>", Path("mine.html").read_text("utf-8"))
    assert pd.read_csv(io.StringIO(call(*shlex.split(html.unescape(command))).out))["accuracy"].isna().all()
    expected = compare_results("runs.csv", without=CONTROLS)
    assert answer["result"]["decisions"] == json.loads(expected.to_json())["decisions"]


def test_runs_of_another_tool_and_columns_of_seeds(call: Call) -> None:
    """A diverged and a failed run stand beside the answer, and what was left out on the way in notes."""
    place = unpack("mlflow, mlflow.db", Path("store"))
    printed = call("report", place, "--without", "scratch", "--metric", "test/accuracy")
    assert "Use pre" in printed.out
    assert all(words in printed.err for words in ("deleted", "all of pre"))
    answer = json.loads(call("report", place, "--without", "scratch", "--metric", "test/accuracy", "--json").out)
    arms = {arm["name"]: arm["n_failed"] for arm in answer["result"]["decisions"]["0"]["arms"]}
    assert arms == {"scratch": 0, "pre": 2}
    Path("wide.csv").write_text("method,seed0,seed1,seed2\nscratch,.7,.71,.72\npre,.8,.81,.82\n")
    asked = ("report", "wide.csv", "--without", "scratch", "--metric", "accuracy")
    assert call(*asked).out == call(*asked, "--wide", "seeds").out


def test_the_next_runs_are_rows_of_the_table(call: Call) -> None:
    renamed = pd.read_csv("runs.csv").rename(columns={"arm": "who", "accuracy": "f1"}).assign(labels=100, task="a")
    renamed.to_csv("runs.csv", index=False)
    asked = ("--columns", "arm=who", "--without", *CONTROLS, "--next", 3)
    rows = pd.read_csv(io.StringIO(call("report", "runs.csv", *asked).out))
    assert list(rows.columns) == list(renamed.columns)
    assert 0 < len(rows) <= 3
    assert [set(rows[name]) for name in ("labels", "task")] == [{100}, {"a"}]
    assert not pd.concat([renamed, rows]).duplicated(["who", "seed"]).any()
    assert rows["f1"].isna().all()
    assert not Path("runs.html").exists()


def test_the_table_of_runs_is_that_of_python(call: Call) -> None:
    asked = ("report", "runs.csv", "--without", *CONTROLS, "--table", "csv")
    found = pd.read_csv(io.StringIO(call(*asked).out))
    expected = compare_results("runs.csv", without=CONTROLS).table()
    assert list(found.columns) == list(expected.columns)
    assert found["mean"].tolist() == pytest.approx(expected["mean"].tolist())


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("runs.csv", "--without"),
        ("runs.csv --without none --columns arm", "NAME=VALUE"),
        ("runs.csv --without none --set unti=share", "--set unti: unknown key 'unti': did you mean 'unit'"),
        ("runs.csv --without none --set decision.margin=0", "margin = 0 is out of range; expected above 0"),
        ("runs.csv --without none --columns amr=arm", "'amr'"),
        ("runs.csv --without none --wide tasks", "--wide"),
        ("runs.csv --without none --metric auc", "'auc'"),
        ("runs.csv --from digits --without none", "No such option: --from"),
        ("runs.csv --without none --where arm=bert arm=gpt", "'arm' is given twice"),
        ("runs.csv --without none --metric f1 --columns metric=accuracy", "'metric' is given twice"),
        ("rnus.csv", "rnus.csv"),
        (".", "has no readable runs"),
    ],
)
def test_what_cannot_be_used_is_said(call: Call, typed: str, words: str) -> None:
    assert words in call("report", *typed.split()).mistake
