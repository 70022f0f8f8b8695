"""Runners as jobs, where submitit is installed: processes of this machine, and the script that SLURM would get."""

import os
import re
import sys
import time
from pathlib import Path

import pytest

from transferscope.cli import main
from transferscope.store import Store

STUDY = """
name = "digits"
seeds = 4
[target]
data = "digits"
labels = [20]
[network]
name = "linear"
[training]
steps = 2
[methods.scratch]
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("digits.toml").write_text(STUDY)
    return Path("digits.toml")


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["transferscope", *arguments])
    with pytest.raises(SystemExit) as ended:
        main.main()
    return int(ended.value.code or 0)


def test_the_number_of_runners_is_asked_for(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "submit", str(study)) == 2
    assert capsys.readouterr().err == (
        "transferscope: give the number of runners: --slurm N for an array job, or --local N to try it here\n"
    )


def test_without_submitit_its_install_line_is_given(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "submitit", None)
    assert call(monkeypatch, "submit", str(study), "--slurm", "2") == 2
    assert capsys.readouterr().err == (
        "transferscope: submitting jobs needs the package submitit: pip install 'transferscope[slurm]'\n"
    )


def test_where_there_is_no_slurm_that_is_said(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("submitit")
    monkeypatch.setenv("PATH", "/nowhere")
    assert call(monkeypatch, "submit", str(study), "--slurm", "2") == 2
    assert capsys.readouterr().err.startswith(
        "transferscope: there is no SLURM here (no srun on the path); submit from"
    )
    assert not Path("runs").exists()


@pytest.mark.skipif(os.name == "nt", reason="the stand-ins for sbatch and srun are shell scripts")
def test_the_batch_script_asks_for_what_was_given_and_nothing_is_submitted_twice_over(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("submitit")
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, line in {"srun": "exit 1", "sbatch": f"cp $1 {tmp_path}/script; echo Submitted batch job 4711"}.items():
        (commands / name).write_text(f"#!/bin/sh\n{line}\n")
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    asked = ["--time", "90", "--gpus", "1", "--memory", "8", "--partition", "long", "--account", "me"]
    options = ["--slurm", "3", *asked, "--sbatch", "constraint=a100", "--workers", "2"]
    assert call(monkeypatch, "submit", str(study), *options) == 0
    said = capsys.readouterr().out
    assert said.startswith(
        "job 4711: 3 runners for 4 cells\neach:   90 minutes, cpus 2, gpus 1, memory 8.0, partition long"
    )
    script = (tmp_path / "script").read_text()
    found = dict(re.findall(r"^#SBATCH --([a-z-]+)=(.*)$", script, re.M))
    assert {name: found[name] for name in ("partition", "account", "time", "mem", "cpus-per-task", "constraint")} == {
        "partition": "long",
        "account": "me",
        "time": "90",
        "mem": "8GB",
        "cpus-per-task": "2",
        "constraint": "a100",
    }
    assert (found["gpus-per-node"], found["array"].split("%")[0], found["job-name"]) == ("1", "0-2", "digits")
    with Store.open("runs/digits.sqlite", create=False) as store:
        assert store.counts("digits").planned == 4


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # submitit leaves its pipes to the garbage collector
def test_runners_in_the_background_do_the_study_and_nothing_is_left_for_more(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("submitit")
    assert call(monkeypatch, "submit", str(study), "--local", "2", "--workers", "0") == 0
    assert ": 2 runners for 4 cells\n" in capsys.readouterr().out
    until = time.monotonic() + 120
    with Store.open("runs/digits.sqlite", create=False) as store:
        while store.counts("digits").done < 4 and time.monotonic() < until:
            time.sleep(0.1)
        assert store.counts("digits").done == 4
    assert call(monkeypatch, "submit", str(study), "--local", "2") == 0
    assert capsys.readouterr().out == "digits: nothing is left to do, and nothing was submitted\n"
