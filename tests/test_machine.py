import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from transferscope import machine
from transferscope.machine import keep_freed_memory


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("mounted_at", ["at its path", "at the top, as in a container", "a group above has the limit"])
def test_the_limit_of_a_control_group_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int, mounted_at: str
) -> None:
    """As in the kernel's documents, cgroup-v1/memory and cgroup-v2: 1 GB allowed, 300 MB in use, 50 of it of files."""
    controller, limit, used, prefix = (
        ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
        if version == 1
        else ("", "memory.max", "memory.current", "")
    )
    pages = f"{prefix}inactive_file 20000000\n{prefix}active_file 30000000"
    own = {"at its path": "jobs/7", "a group above has the limit": "jobs"}.get(mounted_at, "")
    group = tmp_path / "groups" / controller / own
    group.mkdir(parents=True)
    for name, text in ((limit, "1000000000"), (used, "300000000"), ("memory.stat", f"cache 1\n{pages}")):
        (group / name).write_text(f"{text}\n")
    (tmp_path / "own").write_text(f"9:cpu:/\n4:{controller}:/jobs/7\n")
    monkeypatch.setattr(machine, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(machine, "_OWN", tmp_path / "own")
    assert machine.memory_free() == min(750_000_000, psutil.virtual_memory().available)
    (group / limit).write_text("max\n")
    assert machine.memory_free() > 750_000_000


def test_without_control_groups_it_is_that_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_OWN", tmp_path / "missing")
    assert machine.memory_free() == pytest.approx(psutil.virtual_memory().available, rel=0.2)


PROGRAM = """
import resource
from transferscope.machine import keep_freed_memory

took = {keep} and keep_freed_memory()
bytearray(2**26)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    bytearray(2**26)
print(took, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(*, keep: bool) -> int:
    """Page faults of ten blocks of 64 MB, each freed before the next."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(keep=keep)], capture_output=True, text=True, check=True, timeout=120
    )
    took, count = ran.stdout.split()
    if keep and took == "False":
        pytest.skip("this C library has no mallopt")
    return int(count)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="glibc only")
def test_freed_blocks_are_used_again() -> None:
    assert faults(keep=True) < faults(keep=False) / 5


def test_elsewhere_nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not keep_freed_memory()
