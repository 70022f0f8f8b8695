"""What the guard promises: the command and all that it has started end with whoever wanted it, and with itself."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from transferscope.study.commands import guard

CHILDREN = """
import subprocess, sys, time
for own in (False, True):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=own)
# whose parent ends at once
subprocess.run([sys.executable, "-c", "import subprocess, sys; subprocess.Popen([sys.executable, '-c', "
                "'import time; time.sleep(600)'], start_new_session=True)"])
print("ready", flush=True)
"""

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="children are found by /proc")


@contextmanager
def guarded(*words: str) -> Iterator[tuple["subprocess.Popen[bytes]", int, int]]:
    """The guard of a command, our end of its pipe, and where it reports."""
    alive, ours = os.pipe()
    reports, theirs = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, str(alive), str(theirs), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(alive, theirs),
        start_new_session=True,
    ) as started:
        for end in (alive, theirs):
            os.close(end)
        yield started, ours, reports
    for end in (ours, reports):
        with suppress(OSError):  # closed by the test
            os.close(end)


def gone(processes: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=10)
    return not alive


@pytest.mark.parametrize("how", ["our end is closed", "the guard is asked to end", "it ends by itself"])
def test_nothing_that_a_command_has_started_outlives_it(how: str) -> None:
    last = "sys.exit(3)" if how == "it ends by itself" else "time.sleep(600)"
    with guarded(sys.executable, "-c", f"{CHILDREN}\n{last}") as (started, ours, reports):
        assert started.stdout.readline() == b"ready\n"
        below = psutil.Process(started.pid).children(recursive=True)
        if how == "our end is closed":
            os.close(ours)
        elif how == "the guard is asked to end":
            started.send_signal(signal.SIGTERM)
        else:
            assert os.read(reports, 100).split(b"\n")[0].isdigit()
        assert started.wait(20) == 0
        assert gone(below)
        if how == "it ends by itself":
            status, peak = os.read(reports, 100).split()
            assert int(status) == 3
            assert 1_000_000 < int(peak) < 10_000_000_000


def test_the_command_dies_with_a_guard_that_is_killed() -> None:
    with guarded(sys.executable, "-c", "print('ready', flush=True)\nimport time\ntime.sleep(600)") as (started, _, _):
        started.stdout.readline()
        below = psutil.Process(started.pid).children()
        started.kill()
        assert below
        assert gone(below)


def test_a_program_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    with guarded(str(tmp_path / "no-program")) as (started, _, reports):
        out, _ = started.communicate(timeout=20)
        assert "no-program cannot be started" in out.decode()
        assert os.read(reports, 100).split(b"\n")[1].startswith(b"127 ")
