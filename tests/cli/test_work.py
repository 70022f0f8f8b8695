import json
import sys
from pathlib import Path

import pytest

from transferscope.cli import main
from transferscope.store import Store, StudyCounts
from transferscope.study.plan import plan_study
from transferscope.study.spec import read_spec

STUDY = """
name = "digits"
seeds = 3
[target]
data = "digits"
labels = [20]
[network]
name = "linear"
[training]
steps = 2
[methods.scratch]
"""


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["transferscope", *arguments])
    with pytest.raises(SystemExit) as ended:
        main.main()
    return int(ended.value.code or 0)


def test_a_runner_does_its_share_of_a_study_that_is_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("digits.toml").write_text(STUDY)
    Path("runs").mkdir()
    with Store.open("runs/digits.sqlite") as store:
        assert call(monkeypatch, "run", "digits.toml", "--join") == 2
        assert capsys.readouterr().err == (
            "transferscope: the study digits is not planned in runs/digits.sqlite; start it with `transferscope run "
            "STUDY.toml`, with or without --slurm N, which plans it\n"
        )
        plan = plan_study(read_spec(Path("digits.toml")))
        store.plan(plan.study, plan.cells)
        assert call(monkeypatch, "run", "digits.toml", "--join", "--backend", "inline", "--runs", "1", "--quiet") == 0
        assert capsys.readouterr().out == ("this runner: 1 cell done\ndigits: 1 of 3 cells done, 2 to do\n")
        assert call(monkeypatch, "run", "runs/digits.sqlite", "--join", "--workers", "0", "--quiet") == 0
        assert capsys.readouterr().out == "this runner: 2 cells done\ndigits: 3 of 3 cells done\n"
        assert store.counts("digits") == StudyCounts(done=3)
        assert call(monkeypatch, "run", "digits.toml", "--join", "--json") == 0
        result = json.loads(capsys.readouterr().out)["result"]
        assert (result["done_here"], result["failed_here"], result["cells"]["done"]) == (0, 0, 3)
