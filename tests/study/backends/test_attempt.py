from pathlib import Path

import pytest

from study.plans import small_plan
from transferscope.errors import DataError, SettingsError
from transferscope.records import Failure
from transferscope.store import PlannedCell
from transferscope.study.backends.attempt import attempt, failure_of, find_work
from transferscope.study.backends.backend import Failed, Finished
from transferscope.study.context import WorkContext

CELL = small_plan(1).cells[1]


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (DataError("one class only"), Failure("bad_input", "one class only")),
        (FloatingPointError("overflow"), Failure("non_finite", "overflow")),
        (ValueError("odd\n  number"), Failure("exception", "ValueError: odd number")),
        (KeyError(), Failure("exception", "KeyError: KeyError")),
        (
            MemoryError(),
            Failure("out_of_memory", "the memory ran out (MemoryError); use fewer workers or smaller batches"),
        ),
        (
            RuntimeError("CUDA out of memory. Tried"),
            Failure(
                "out_of_memory", "the memory ran out (CUDA out of memory. Tried); use fewer workers or smaller batches"
            ),
        ),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory: 9 bytes"),
            Failure(
                "out_of_memory",
                "the memory ran out (DefaultCPUAllocator: can't allocate memory: 9 bytes); "
                "use fewer workers or smaller batches",
            ),
        ),
    ],
)
def test_an_exception_becomes_a_failure_of_its_kind(error: Exception, failure: Failure) -> None:
    found = failure_of(error)
    assert (found.kind, found.message) == (failure.kind, failure.message)
    assert type(error).__name__ in found.details


def test_interruptions_are_no_failures(tmp_path: Path) -> None:
    def interrupted(cell: PlannedCell, context: WorkContext) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt(interrupted, CELL, WorkContext(tmp_path))  # type: ignore[arg-type]


def test_work_is_found_by_its_dotted_name(tmp_path: Path) -> None:
    result = attempt(find_work("study.fake_work:count"), CELL, WorkContext(tmp_path))
    assert isinstance(result, Finished)
    result = attempt(find_work("study.fake_work:not_finite"), CELL, WorkContext(tmp_path))
    assert isinstance(result, Failed)
    assert result.failure.kind == "non_finite"


@pytest.mark.parametrize("name", ["study.fake_work:nothing", "no.such.module:f", "study.fake_work", ""])
def test_work_that_does_not_exist_is_named(name: str) -> None:
    with pytest.raises(SettingsError, match=f"^'{name}' names no work; expected package.module:function"):
        find_work(name)
