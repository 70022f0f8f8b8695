import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from e2e.small_study import main as run_here
from study.plans import small_plan
from transferscope.store import Store, StudyCounts

SCRIPT = Path(__file__).with_name("small_study.py")


def start(store: Path, *options: str, until: str = "") -> subprocess.Popen[str]:
    """A runner, once it has said something."""
    command = [sys.executable, str(SCRIPT), str(store), *options]
    runner = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while until and until not in runner.stdout.readline():
        pass
    return runner


def counts(store: Path) -> StudyCounts:
    with Store.open(store, create=False) as opened:
        return opened.counts("small")


@pytest.mark.long
def test_two_runners_share_a_study_and_do_no_cell_twice(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    runners = [start(store, "15", "log_count", "1") for _ in range(2)]
    for runner in runners:
        _, errors = runner.communicate(timeout=120)
        assert (runner.returncode, errors) == (0, "")
    done = (tmp_path / "s.files" / "log.txt").read_text().split()
    assert sorted(done) == sorted(cell.key for cell in small_plan(15).cells)


@pytest.mark.long
@pytest.mark.parametrize(("workers", "asked"), [("0", signal.SIGINT), ("1", signal.SIGTERM)])
def test_ctrl_c_or_being_asked_to_end_stops_cleanly_and_leaves_nothing_claimed(
    tmp_path: Path, workers: str, asked: signal.Signals
) -> None:
    store = tmp_path / "s.sqlite"
    runner = start(store, "200", "slow_count", workers, until="done=2")  # so much that it cannot be over by then
    children = psutil.Process(runner.pid).children(recursive=True)
    runner.send_signal(asked)
    output, errors = runner.communicate(timeout=120)
    found = counts(store)
    assert (runner.returncode, errors) == (130, "")
    assert output.splitlines()[-1] == (
        f"stopped with {found.done} of 800 runs done and stored; the same command resumes there"
    )
    assert (found.running, found.failed, found.done + found.planned) == (0, 0, 800)
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []


@pytest.mark.long
def test_a_second_ctrl_c_is_not_needed_for_a_cell_without_end(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    runner = start(store, "2", "endless", "2", until="running=2")
    began = time.monotonic()
    runner.send_signal(signal.SIGINT)
    _, errors = runner.communicate(timeout=120)
    assert (runner.returncode, errors) == (130, "")
    assert time.monotonic() - began < 60
    assert counts(store) == StudyCounts(planned=8)


@pytest.mark.long
def test_workers_end_when_their_runner_is_killed(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    runner = start(store, "2", "endless", "2", until="running=2")
    children = psutil.Process(runner.pid).children(recursive=True)
    runner.kill()
    runner.communicate(timeout=120)
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
    assert counts(store).running == 2
    assert (run_here(str(store), "2", "count", "0"), counts(store)) == (0, StudyCounts(done=8))


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a stopped process with its parent")
def test_a_stopped_worker_ends_when_its_runner_is_killed(tmp_path: Path) -> None:
    runner = start(tmp_path / "s.sqlite", "2", "stops_once", "1")
    while not list(tmp_path.glob("s.files/*.stopped")):
        time.sleep(0.01)
    below = psutil.Process(runner.pid).children(recursive=True)
    (worker,) = [child for child in below if child.ppid() != runner.pid]  # forked from what has imported everything
    while worker.status() != psutil.STATUS_STOPPED:
        time.sleep(0.01)
    runner.kill()
    runner.communicate(timeout=120)
    _, alive = psutil.wait_procs([worker], timeout=10)
    assert alive == []
