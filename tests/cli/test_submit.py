"""Runners as jobs, where submitit is installed: processes of this machine, and the script that SLURM would get."""

import os
import platform
import re
import sys
import time
from pathlib import Path

import pytest

from transferscope.cli import main
from transferscope.cli.batch import Runner
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


def test_the_number_of_runners_is_given_once(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "run", str(study), "--slurm", "2", "--local", "2") == 2
    assert "give the number of runners once" in capsys.readouterr().err


def test_without_submitit_its_install_line_is_given(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "submitit", None)
    assert call(monkeypatch, "run", str(study), "--slurm", "2") == 2
    assert capsys.readouterr().err == (
        "transferscope: submitting jobs needs the package submitit: pip install 'transferscope[slurm]'\n"
    )


def test_where_there_is_no_slurm_that_is_said(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("submitit")
    monkeypatch.setenv("PATH", "/nowhere")
    assert call(monkeypatch, "run", str(study), "--slurm", "2") == 2
    assert capsys.readouterr().err.startswith(
        "transferscope: there is no SLURM here (no srun on the path); submit from"
    )
    assert not Path("runs").exists()


def stand_in(monkeypatch: pytest.MonkeyPatch, folder: Path, sbatch: str) -> None:
    """Have a line of shell on the path for `sbatch`."""
    pytest.importorskip("submitit")
    if os.name == "nt":
        pytest.skip("the stand-ins for sbatch and srun are shell scripts")
    commands = folder / "bin"
    commands.mkdir()
    for name, line in {"srun": "exit 1", "sbatch": sbatch}.items():
        (commands / name).write_text(f"#!/bin/sh\n{line}\n")
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")


def test_the_batch_script_asks_for_what_was_given_and_nothing_is_submitted_twice_over(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in(monkeypatch, tmp_path, f"cp $1 {tmp_path}/script; echo Submitted batch job 4711")
    asked = ["--job-minutes", "90", "--gpus", "1", "--memory", "8", "--partition", "long", "--account", "me"]
    further = ["--sbatch", "constraint=a100", "--sbatch", "exclusive"]
    options = ["--slurm", "3", *asked, *further, "--workers", "2"]
    assert call(monkeypatch, "run", str(study), *options) == 0
    said = capsys.readouterr()
    assert said.out.startswith(
        "job 4711: 3 runners for 4 cells\n"
        "each:   90 minutes, cpus 2, gpus 1, memory 8.0, partition long, account me, constraint=a100, exclusive\n"
    )
    assert said.err == (  # and nothing of the processors, of which there are as many as are used
        "note: the store runs/digits.sqlite is a file, which jobs on other machines do not find; name a PostgreSQL "
        "database unless all nodes are this machine\n"
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
    # clusters with JobRequeue=0 queue a job again only with the first; sites that export nothing need the second
    assert "\n#SBATCH --requeue\n" in script
    assert "\n#SBATCH --exclusive\n" in script
    assert re.search(r"^srun .* --export=ALL ", script, re.M)
    assert found["signal"] == "USR2@60"
    with Store.open("runs/digits.sqlite", create=False) as store:
        assert store.counts("digits").planned == 4


def test_what_sbatch_refuses_is_said_in_its_words(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = (  # by sbatch of SLURM 22.05
        "sbatch: error: invalid partition specified: nope\n"
        "sbatch: error: Batch job submission failed: Invalid partition name specified\n"
    )
    (tmp_path / "said").write_text(said)
    stand_in(monkeypatch, tmp_path, f"cat {tmp_path}/said >&2; exit 1")
    assert call(monkeypatch, "run", str(study), "--slurm", "2", "--partition", "nope") == 2
    assert capsys.readouterr().err == (
        "transferscope: SLURM refuses the job: invalid partition specified: nope; Batch job submission failed: Invalid "
        "partition name specified; change the options and submit again: the study is planned, and nothing was queued\n"
    )


def test_a_folder_of_logs_that_cannot_be_written_is_named(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in(monkeypatch, tmp_path, "echo Submitted batch job 4711")
    assert call(monkeypatch, "run", str(study), "--slurm", "2", "--logs", "digits.toml/logs") == 2
    assert capsys.readouterr().err == (
        "transferscope: the folder of the logs, digits.toml/logs, cannot be written (Not a directory); give another "
        "one, which the nodes see too, with --logs\n"
    )


def test_jobs_too_short_for_a_cell_are_refused(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in(monkeypatch, tmp_path, "echo Submitted batch job 4711")
    assert call(monkeypatch, "run", str(study), "--slurm", "2", "--job-minutes", "2") == 2
    assert capsys.readouterr().err.startswith("transferscope: jobs of 2 minutes would end before they have done a cell")
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("options", "note"),
    [
        (["--workers", "4", "--cpus", "2"], "computes on 4 processors and asks for 2; all its cells are slower"),
        (["--cpus", "8"], "asks for 8 processors and computes on 1; give --workers, or fewer --cpus"),
    ],
)
def test_processors_that_do_not_fit_the_workers_are_noted(
    study: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    note: str,
) -> None:
    stand_in(monkeypatch, tmp_path, "echo Submitted batch job 4711")
    assert call(monkeypatch, "run", str(study), "--slurm", "2", *options) == 0
    assert capsys.readouterr().err.endswith(f"note: a runner {note}\n")


@pytest.mark.parametrize("option", ["=", "=3", "a b", ""])
def test_what_is_no_option_of_sbatch_is_refused(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    assert call(monkeypatch, "run", str(study), "--slurm", "2", "--sbatch", option) == 2
    assert capsys.readouterr().err.startswith(f"transferscope: --sbatch {option!r} is no option; expected NAME=VALUE")


def test_a_job_is_a_runner_of_the_command_line_and_says_on_which_machine_what_is_wrong(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [])
    with pytest.raises(SystemExit) as ended:
        Runner("/nowhere/digits.toml", {"workers": 0})()
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        f"on {platform.node()}: transferscope run /nowhere/digits.toml --join --workers=0\n"
        "transferscope: there is no study file /nowhere/digits.toml; give the path of a TOML file\n"
    )


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # submitit leaves its pipes to the garbage collector
def test_runners_in_the_background_do_the_study_and_nothing_is_left_for_more(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("submitit")
    assert call(monkeypatch, "run", str(study), "--local", "2", "--workers", "0") == 0
    assert ": 2 runners for 4 cells\n" in capsys.readouterr().out
    until = time.monotonic() + 120
    with Store.open("runs/digits.sqlite", create=False) as store:
        while store.counts("digits").done < 4 and time.monotonic() < until:
            time.sleep(0.1)
        assert store.counts("digits").done == 4
    assert call(monkeypatch, "run", str(study), "--local", "2") == 0
    assert capsys.readouterr().out == "digits: nothing is left to do, and nothing was submitted\n"
