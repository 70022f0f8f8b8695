"""Page faults counted in processes of their own, with the setting and without."""

import subprocess
import sys

import pytest

from transferscope.study.backends.worker import keep_freed_memory

PROGRAM = """
import resource
from transferscope.study.backends.worker import keep_freed_memory

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
