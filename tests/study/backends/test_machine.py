import os
from types import SimpleNamespace

import psutil
import pytest

from transferscope.study.backends import machine
from transferscope.study.backends.machine import BYTES_PER_WORKER, WORKERS_PER_GPU, default_workers


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
    monkeypatch.setattr(machine, "_has_accelerator", lambda: gpu)
    assert default_workers("auto") == expected
    assert default_workers("cpu") == (expected if not gpu else cores)
