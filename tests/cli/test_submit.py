"""Runners as jobs, where submitit is installed: processes of this machine, and the script that SLURM would get."""

import os
import platform
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.called import STUDY, Call
from transferscope.cli.batch import Runner
from transferscope.store import Store


@pytest.fixture(autouse=True)
def _study(call: Call) -> None:
    Path("digits.toml").write_text(STUDY.replace("seeds = 1", "seeds = 4"))


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Has a line of shell on the path for `sbatch`."""
    pytest.importorskip("submitit")
    if os.name == "nt":
        pytest.skip("the stand-ins for sbatch and srun are shell scripts")

    def put(sbatch: str) -> None:
        commands = Path("bin").absolute()
        commands.mkdir()
        for name, line in {"srun": "exit 1", "sbatch": sbatch}.items():
            (commands / name).write_text(f"#!/bin/sh\n{line}\n")
            (commands / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")

    return put


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--local", "2"], "--slurm and --local are both given"),
        (["--set", 'job.sbatch."a b"=1'], "sbatch has 'a b', which is not an option"),
        (["--set", "job.minutes=0"], "--set job.minutes = 0 is out of range; expected at least 1"),
        (["--set", "job.logs=digits.toml/logs"], "the folder of logs digits.toml/logs cannot be written"),
        (["--set", "job.minutes=2"], "minutes = 2 is out of range"),
        (["--store", "other.sqlite"], "--store was given too"),
    ],
)
def test_what_cannot_be_submitted_is_refused(
    call: Call, stand_in: Callable[[str], None], options: list[str], words: str
) -> None:
    stand_in("echo Submitted batch job 4711")
    assert words in call("run", "digits.toml", "--slurm", 2, *options).mistake


def test_without_submitit_or_slurm_that_is_said(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "submitit", None)
        assert "pip install 'transferscope[slurm]'" in call("run", "digits.toml", "--slurm", 2).mistake
    pytest.importorskip("submitit")
    monkeypatch.setenv("PATH", "/nowhere")
    assert "SLURM is not installed here (no srun on PATH)" in call("run", "digits.toml", "--slurm", 2).mistake
    assert not Path("runs").exists()


def test_the_batch_script_asks_for_what_was_given(call: Call, stand_in: Callable[[str], None]) -> None:
    stand_in(f"cp $1 {Path.cwd()}/script; echo Submitted batch job 4711")
    asked = "--workers 2 --set job.minutes=90 job.gpus=1 job.memory=8 job.sbatch.partition=long job.sbatch.account=me"
    further = ["job.sbatch.constraint=a100", "job.sbatch.exclusive=true"]
    said = call("run", "digits.toml", "--slurm", 3, *asked.split(), *further)
    assert said.out.startswith("job 4711: 3 runners for 4 runs\n")
    assert "runs/digits.sqlite is a file, which jobs on other machines do not find" in said.err
    script = Path("script").read_text()
    found = dict(re.findall(r"^#SBATCH --([a-z-]+)=(.*)$", script, re.M))
    expected = {"partition": "long", "account": "me", "time": "90", "mem": "8GB", "cpus-per-task": "2"}
    expected |= {"constraint": "a100", "gpus-per-node": "1", "job-name": "digits", "signal": "USR2@60"}
    assert expected.items() <= found.items()
    assert found["array"].split("%")[0] == "0-2"
    # clusters with JobRequeue=0 queue a job again only with the first; sites that export nothing need the last
    assert "\n#SBATCH --requeue\n" in script
    assert "\n#SBATCH --exclusive\n" in script
    assert re.search(r"^srun .* --export=ALL ", script, re.M)
    with Store.open("runs/digits.sqlite", create=False) as store:
        assert store.counts("digits").planned == 4
    assert call("run", "digits.toml", "--slurm", 1).out.startswith("job 4711: 1 runner for 4 runs\n")


def test_what_sbatch_refuses_is_said_in_its_words(call: Call, stand_in: Callable[[str], None]) -> None:
    said = "sbatch: error: invalid partition specified: nope"  # by sbatch of SLURM 22.05
    stand_in(f"echo '{said}' >&2; exit 1")
    found = call("run", "digits.toml", "--slurm", 2, "--set", "job.sbatch.partition=nope").mistake
    assert found.startswith("SLURM refused the job: invalid partition specified: nope; ")


def test_a_job_is_a_runner_of_the_command_line_and_says_on_which_machine_what_is_wrong(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [])
    with pytest.raises(SystemExit) as ended:
        Runner("/nowhere/digits.toml", {"workers": 0})()
    assert ended.value.code == 2
    where, what = capsys.readouterr().err.splitlines()
    assert where == f"on {platform.node()}: transferscope run /nowhere/digits.toml --join --set engine.workers=0"
    assert "there is no study file /nowhere/digits.toml" in what


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # submitit leaves its pipes to the garbage collector
def test_runners_in_the_background_do_the_study_and_nothing_is_left_for_more(call: Call) -> None:
    pytest.importorskip("submitit")
    assert ": 2 runners for 4 runs\n" in call("run", "digits.toml", "--local", 2, "--workers", 0).out
    until = time.monotonic() + 120
    with Store.open("runs/digits.sqlite", create=False) as store:
        while store.counts("digits").done < 4 and time.monotonic() < until:
            time.sleep(0.1)
        assert store.counts("digits").done == 4
    assert "nothing was submitted" in call("run", "digits.toml", "--local", 2).out
