"""A runner that is killed leaves none of its commands running, and its study ends as one that was never touched."""

import os
import random
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from transferscope.analyses.stored import open_result

KILLS = int(os.environ.get("TRANSFERSCOPE_KILLS", "2"))
"""Of one study; more to try it for longer."""

SCRIPT = """
import json, os, random, subprocess, sys, time
arm, seed, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", out], start_new_session=True)
time.sleep({"without": 0.1, "one": 0.2, "two": 0.3}[arm])
with open(os.path.join(out, "result.json"), "w") as file:
    json.dump({"score": {"without": 70, "one": 74, "two": 71}[arm] + random.Random(arm + str(seed)).gauss(0, 1)}, file)
"""

ARMS = {"one": 'source = "one"', "two": 'source = "two"', "without": "without_source = true"}
STUDY = """
name = "killed"
seeds = 3
[run]
command = "{python} script.py {{arm}} {{seed}} {{out}}"
score = "result.json:score"
unit = "%"
[engine]
workers = 2
"""


def study_in(folder: Path) -> Path:
    folder.mkdir()
    (folder / "script.py").write_text(SCRIPT)
    arms = "".join(f'[arms.{arm}]\narm = "{arm}"\n{kind}\n' for arm, kind in ARMS.items())
    (folder / "study.toml").write_text(STUDY.format(python=sys.executable) + arms)
    return folder / "study.toml"


def start(study: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-m", "transferscope", "run", "-q", str(study)], stdout=subprocess.DEVNULL)


def of_study(folder: Path) -> list[int]:
    """Processes of commands of a study, and what they have started."""
    return [
        one.pid for one in psutil.process_iter(["cmdline"]) if f"{folder}/runs" in " ".join(one.info["cmdline"] or ())
    ]


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="what has left its process group is found by /proc")
def test_a_killed_runner_leaves_no_command_and_its_study_ends_as_the_undisturbed(tmp_path: Path) -> None:
    whole, broken = study_in(tmp_path / "whole"), study_in(tmp_path / "broken")
    assert start(whole).wait(120) == 0
    draw = random.Random(KILLS)
    for _ in range(KILLS):
        runner = start(broken)
        until = time.monotonic() + 60
        while not of_study(broken.parent) and runner.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(draw.uniform(0, 0.5))
        runner.kill()
        runner.wait()
        until = time.monotonic() + 5
        while (left := of_study(broken.parent)) and time.monotonic() < until:
            time.sleep(0.05)
        assert not left
    assert start(broken).wait(120) == 0
    ends = [open_result(study).table().drop(columns=["seconds", "peak_memory"]) for study in (whole, broken)]
    shared = ["source", "method", "n_seeds", "mean", "gain", "call"]
    assert ends[0][shared].equals(ends[1][shared]), textwrap.indent(f"{ends[0]}\n{ends[1]}", "  ")
    assert not list(broken.parent.glob("runs/*.files/.*"))
