import multiprocessing
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from study.fake_work import STRANGE
from study.plans import small_plan
from transferscope.errors import SettingsError
from transferscope.store import PlannedCell
from transferscope.study.backends import Advanced, Failed, Finished, InlineBackend, LocalBackend, Message, local
from transferscope.study.backends.devices import WORKERS_PER_GPU
from transferscope.study.backends.local import BYTES_PER_WORKER, default_workers
from transferscope.study.context import WorkContext

PRETRAINING = [cell for cell in small_plan(10).cells if cell.role == "pretrain"]


def do_all(backend: InlineBackend | LocalBackend, cells: Sequence[PlannedCell]) -> list[Message]:
    waiting, results, heard = list(cells), 0, []
    while results < len(cells):
        while waiting and backend.free:
            backend.start(waiting.pop(0))
        for message in backend.messages(5.0):
            heard.append(message)
            results += not isinstance(message, Advanced)
    return heard


def values(messages: Sequence[Message]) -> dict[str, list[float]]:
    return {m.key: [r.estimate.value for r in m.outcome.records] for m in messages if isinstance(m, Finished)}


def test_cells_come_out_the_same_in_processes_and_in_line(tmp_path: Path) -> None:
    context = WorkContext(tmp_path)
    with InlineBackend("study.fake_work:slow_count", context) as inline:
        expected = values(do_all(inline, PRETRAINING))
    with LocalBackend("study.fake_work:slow_count", context, workers=2) as local:
        heard = do_all(local, PRETRAINING)
        assert local.free == 2
    assert values(heard) == expected
    shares = [message.share for message in heard if isinstance(message, Advanced)]
    assert set(shares) <= {0.0, 0.2, 0.4, 0.6, 0.8}
    assert shares


def test_a_killed_worker_is_replaced_and_fails_its_own_cell_alone(tmp_path: Path) -> None:
    cells = [PRETRAINING[seed] for seed in (0, 6, 9)]  # seed 6 kills its process, every time
    with LocalBackend("study.fake_work:troubled", WorkContext(tmp_path), workers=1) as backend:
        messages = do_all(backend, cells)
    assert Counter(type(message) for message in messages) == {Finished: 2, Failed: 1}
    failed = next(message for message in messages if isinstance(message, Failed))
    assert (failed.key, failed.failure.kind) == (cells[1].key, "lost")
    assert failed.failure.message == (
        "the process of this run ended twice before its time (signal 9, as the system does when memory runs out); "
        "use fewer workers, and run again"
    )


@pytest.mark.long
def test_an_idle_worker_that_was_killed_is_replaced(tmp_path: Path) -> None:
    with LocalBackend("study.fake_work:count", WorkContext(tmp_path), workers=1) as backend:
        do_all(backend, PRETRAINING[:1])
        (child,) = multiprocessing.active_children()
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        assert len(values(do_all(backend, PRETRAINING[1:2]))) == 1


@pytest.mark.long
def test_a_worker_that_dies_once_in_every_cell_loses_none(tmp_path: Path) -> None:
    cells = [replace(cell, labels={**cell.labels, "seed": 7}) for cell in PRETRAINING[:2]]
    with LocalBackend("study.fake_work:troubled", WorkContext(tmp_path), workers=1) as backend:
        messages = do_all(backend, cells[:1])
        (tmp_path / "died").unlink()
        messages += do_all(backend, cells[1:])
    assert [type(message) for message in messages] == [Finished, Finished]


@pytest.mark.long
def test_a_stopped_worker_is_given_up_and_its_cell_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_SECONDS_STOPPED", 0.1)
    monkeypatch.setattr(local, "_SECONDS_BETWEEN_CHECKS", 0.1)
    with LocalBackend("study.fake_work:stops_once", WorkContext(tmp_path), workers=1) as backend:
        messages = do_all(backend, PRETRAINING[:2])
    assert [type(message) for message in messages] == [Finished, Finished]


@pytest.mark.parametrize("kind", [InlineBackend, partial(LocalBackend, workers=1)])
def test_a_cell_that_takes_too_long_is_stopped_and_the_next_one_is_done(
    kind: type[InlineBackend], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_SECONDS_BETWEEN_CHECKS", 0.1)
    with kind("study.fake_work:endless", WorkContext(tmp_path), seconds=0.3) as backend:
        messages = [message for message in do_all(backend, PRETRAINING[:2]) if not isinstance(message, Advanced)]
    assert [message.key for message in messages] == [cell.key for cell in PRETRAINING[:2]]
    for message in messages:
        assert isinstance(message, Failed)
        assert (message.failure.kind, message.failure.message) == (
            "timeout",
            "the run was stopped after 0.005 minutes; raise timeout in the study file and run again with "
            "--retry-failed, which resumes at its last checkpoint and starts a command again",
        )


def test_what_strangers_give_is_a_failure_of_its_cell_and_the_others_are_done(tmp_path: Path) -> None:
    cells = [replace(cell, labels={**cell.labels, "seed": i}) for i, cell in enumerate(many_cells(len(STRANGE)))]
    with LocalBackend("study.fake_work:strange", WorkContext(tmp_path), workers=1) as backend:
        messages = do_all(backend, cells)
    assert [(m.key, m.failure.kind) for m in messages if isinstance(m, Failed)] == [(c.key, "exception") for c in cells]


def many_cells(n: int) -> list[PlannedCell]:
    return [cell for cell in small_plan(n).cells if cell.role == "pretrain"]


def test_leaving_ends_all_processes_at_once(tmp_path: Path) -> None:
    with LocalBackend("study.fake_work:endless", WorkContext(tmp_path), workers=2) as backend:
        backend.start(PRETRAINING[0])
        backend.start(PRETRAINING[1])
        next(backend.messages(20.0))
        children = multiprocessing.active_children()
        began = time.monotonic()
    assert time.monotonic() - began < 30
    assert len(children) == 2
    assert not any(psutil.pid_exists(child.pid) for child in children if child.pid)


def test_workers_ignore_ctrl_c(tmp_path: Path) -> None:
    with LocalBackend("study.fake_work:slow_count", WorkContext(tmp_path), workers=1) as backend:
        backend.start(PRETRAINING[0])
        (child,) = multiprocessing.active_children()
        assert child.pid is not None
        for _ in range(20):  # from its first moment on
            os.kill(child.pid, signal.SIGINT)
            time.sleep(0.02)
        messages: list[Message] = []
        while not values(messages):
            messages += backend.messages(1.0)
        assert child.is_alive()


@pytest.mark.long
def test_the_environment_and_the_main_module_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    main = sys.modules["__main__"]
    with LocalBackend("study.fake_work:threads", WorkContext(tmp_path, threads=3), workers=1) as backend:
        (found,) = values(do_all(backend, PRETRAINING[:1])).values()
    assert found[0] == 3.0
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert sys.modules["__main__"] is main


def test_work_that_does_not_exist_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        LocalBackend("study.fake_work:nothing", WorkContext(tmp_path), workers=1)


@pytest.mark.parametrize(
    ("cores", "usable", "memory", "gpu", "expected"),
    [
        (8, 16, 100, False, 8),
        (8, 4, 100, False, 4),  # a container that may use four
        (None, 4, 100, False, 4),
        (8, 16, 3, False, 3),
        (8, 16, 0, False, 1),
        (16, 16, 100, True, WORKERS_PER_GPU),
        (2, 2, 100, True, 2),
    ],
)
def test_workers_fit_cores_memory_and_gpu(
    monkeypatch: pytest.MonkeyPatch, cores: int | None, usable: int, memory: int, gpu: bool, expected: int
) -> None:
    free = SimpleNamespace(available=memory * BYTES_PER_WORKER)
    monkeypatch.setattr(psutil, "cpu_count", lambda logical: cores)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(usable), raising=False)
    monkeypatch.setattr(local, "_has_accelerator", lambda: gpu)
    assert default_workers("auto") == expected
    assert default_workers("cpu") == (expected if not gpu else cores)
