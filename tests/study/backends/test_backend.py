import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from threadpoolctl import threadpool_info

from study.plans import small_plan
from transferscope.errors import DataError, MissingDataError, MissingExtraError, SettingsError, UntrustedCodeError
from transferscope.store import PlannedCell
from transferscope.study.backends.backend import Finished, attempt, failure_of, find_work
from transferscope.study.context import WorkContext

CELL = small_plan(1).cells[1]


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (DataError("one class only"), "bad_input", "one class only"),
        (MissingDataError("no such file"), "missing", "no such file"),
        (MissingExtraError("needs timm"), "missing", "needs timm"),
        (UntrustedCodeError("not yours"), "untrusted", "not yours"),
        (FloatingPointError("overflow"), "non_finite", "overflow"),
        (ValueError("odd\n  number"), "exception", "ValueError: odd number"),
        (KeyError(), "exception", "KeyError: KeyError"),
        (MemoryError(), "out_of_memory", "the memory ran out (MemoryError); "),
        (
            RuntimeError("CUDA out of memory. Tried"),
            "out_of_memory",
            "the memory ran out (CUDA out of memory. Tried); ",
        ),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: 9 bytes"), "out_of_memory", "the memory ran out ("),
        *(
            (OSError(code, os.strerror(code), "weights.safetensors"), "disk_full", f"the disk is full ([Errno {code}] ")
            for code in (errno.ENOSPC, errno.EDQUOT)
        ),
        # as torch and safetensors say it
        (
            RuntimeError("PytorchStreamWriter failed writing file data/0: file write failed"),
            "disk_full",
            "the disk is full",
        ),
        (RuntimeError("I/O error: No space left on device (os error 28)"), "disk_full", "the disk is full"),
    ],
)
def test_an_exception_becomes_a_failure_of_its_kind(error: Exception, kind: str, message: str) -> None:
    found = failure_of(error)
    assert found.kind == kind
    assert found.message.startswith(message)
    assert type(error).__name__ in found.details


def test_a_cell_computes_with_the_threads_that_it_was_planned_for_and_leaves_the_others_as_they_were(
    tmp_path: Path,
) -> None:
    before = torch.get_num_threads(), threadpool_info()
    for payload, threads in (({}, 1), ({"threads": 2}, 2)):
        result = attempt(find_work("study.fake_work:threads"), replace(CELL, payload=payload), WorkContext(tmp_path))
        assert isinstance(result, Finished)
        found = {record.name: record.estimate.value for record in result.outcome.records}
        assert found["torch"] == threads
        assert all(value <= threads for name, value in found.items() if name.startswith("pool"))  # by cores, too
        assert (torch.get_num_threads(), threadpool_info()) == before


def test_interruptions_are_no_failures(tmp_path: Path) -> None:
    def interrupted(cell: PlannedCell, context: WorkContext) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt(interrupted, CELL, WorkContext(tmp_path))


@pytest.mark.parametrize("name", ["study.fake_work:nothing", "no.such.module:f", "study.fake_work", ""])
def test_work_that_does_not_exist_is_named(name: str) -> None:
    with pytest.raises(SettingsError, match=f"^'{name}' cannot be imported .*; expected package.module:function"):
        find_work(name)
