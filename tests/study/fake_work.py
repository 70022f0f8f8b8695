"""Deterministic stand-ins for the real work: records derived from the cell, nothing trained."""

import hashlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file
from threadpoolctl import threadpool_info

from transferscope.errors import DataError, MissingDataError
from transferscope.estimate import Estimate
from transferscope.records import Cost, Record
from transferscope.store import Outcome, PlannedCell
from transferscope.study.context import WorkContext


def count(cell: PlannedCell, context: WorkContext) -> Outcome:
    """An outcome that is a function of the cell; a cell with needs reads what the needed cells left in their files."""
    needed = sum(float(load_file(context.network(key))["value"]) for key in cell.needs)
    draw = int(hashlib.sha256(cell.key.encode()).hexdigest()[:8], 16) / 2**32
    if cell.role == "pretrain":
        partial = context.checkpoint(cell.key)
        save_file({"value": np.array(draw)}, partial)
        partial.replace(context.network(cell.key))
    records = tuple(Record("accuracy", Estimate(draw + needed), step=step) for step in (None, 0, 10))
    predictions = np.random.default_rng(int(draw * 2**32)).integers(0, 10, size=20, dtype=np.int32)
    return Outcome(records, Cost(seconds=0.001, steps=10), {"predictions": predictions}, {"status": "max_steps"})


def slow_count(cell: PlannedCell, context: WorkContext) -> Outcome:
    """The same, in 50 ms, with progress."""
    for step in range(5):
        time.sleep(0.01)
        context.progress(step, 5)
    return count(cell, context)


def log_count(cell: PlannedCell, context: WorkContext) -> Outcome:
    """The same, leaving a line in a log for every time a cell is done."""
    with (context.files / "log.txt").open("a") as log:
        log.write(f"{cell.key}\n")
    return slow_count(cell, context)


def endless(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Never ends by itself."""
    while True:
        time.sleep(0.01)
        context.progress(1, 2)


def troubled(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Fails in the way that its seed says."""
    match cell.labels["seed"]:
        case 1:
            raise DataError("class 'b' has one example; two are needed")
        case 2:
            raise RuntimeError("the number is odd")
        case 3:
            raise MemoryError
        case 4:
            raise FloatingPointError("overflow in the loss")
        case 5:
            return not_finite(cell, context)
        case 6:
            os.kill(os.getpid(), signal.SIGKILL)
        case 7:
            _die_once(context.files / "died")
        case 8:
            return Outcome((), Cost(), notes={"unsendable": lambda: None})
    return count(cell, context)


def strange(cell: PlannedCell, context: WorkContext) -> Any:
    """What the code of a stranger may give, one kind for each seed; see STRANGE."""
    seed = cell.labels["seed"]
    assert isinstance(seed, int)
    return list(STRANGE.values())[seed]()


class _Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class _Unreadable:
    def __reduce__(self) -> Any:
        return (_explode, ())


def _explode() -> None:
    raise RuntimeError("read elsewhere")


def _raised(error: BaseException) -> Outcome:
    raise error


def _estimate(**changes: Any) -> Outcome:
    estimate, record = Estimate(0.5), Record("accuracy", Estimate(0.5))
    for name, value in changes.items():
        object.__setattr__(estimate if hasattr(estimate, name) else record, name, value)
    object.__setattr__(record, "estimate", estimate)
    return Outcome((record,), Cost())


def _outcome(**changes: Any) -> Outcome:
    outcome = Outcome((), Cost())
    for name, value in changes.items():
        object.__setattr__(outcome, name, value)
    return outcome


STRANGE: dict[str, Callable[[], Any]] = {
    "a lone surrogate as a name": lambda: _estimate(name="\ud800"),
    "a null character as a part": lambda: _estimate(part="a\0b"),
    "bytes as a name": lambda: _estimate(name=b"accuracy"),
    "text as a value": lambda: _estimate(value="0.5"),
    "a complex value": lambda: _estimate(value=1j),
    "an array as a value": lambda: _estimate(value=np.arange(3)),
    "a huge value": lambda: _estimate(value=10**400),
    "a sample count above 64 bits": lambda: _estimate(n=2**63),
    "a step that is not a whole number": lambda: _estimate(step=0.5),
    "an unknown status": lambda: _estimate(status="splendid"),
    "records that are none": lambda: _outcome(records=(1, 2)),
    "records that are a number": lambda: _outcome(records=5),
    "no cost": lambda: _outcome(cost=None),
    "costs above 64 bits": lambda: _outcome(cost=Cost(steps=2**70)),
    "seconds that are no number": lambda: _outcome(cost=Cost(seconds=float("nan"))),
    "sets in notes": lambda: _outcome(notes={"chosen": {1, 2}}),
    "notes that are a list": lambda: _outcome(notes=[1]),
    "notes that hold themselves": lambda: _outcome(notes=_endless_notes()),
    "no notes": lambda: _outcome(notes=None),
    "an array of objects": lambda: _outcome(arrays={"predictions": np.array([object()])}),
    "a list as an array": lambda: _outcome(arrays={"predictions": [1, 2]}),
    "a number as the name of an array": lambda: _outcome(arrays={1: np.arange(3)}),
    "a null character as the name of an array": lambda: _outcome(arrays={"a\0": np.arange(3)}),
    "an array in notes": lambda: _outcome(notes={"x": np.arange(3)}),
    "nothing": lambda: None,
    "text": lambda: "done",
    "a class": lambda: Outcome,
    "what cannot be sent": lambda: _outcome(notes={"unsendable": lambda: None}),
    "what cannot be read elsewhere": lambda: _outcome(notes={"unreadable": _Unreadable()}),
    "an exception without words": lambda: _raised(_Unspeakable()),
    "an exception with a null character": lambda: _raised(ValueError("a\0b")),
    "an exception with a lone surrogate": lambda: _raised(ValueError("\udcff")),
    "an exception of a megabyte": lambda: _raised(ValueError("x" * 2**20)),
    "a group of exceptions": lambda: _raised(ExceptionGroup("several", [ValueError("a"), KeyError("b")])),
    "a recursion without end": lambda: _raised(RecursionError("too deep")),
    "the end of the process": lambda: _raised(SystemExit(3)),
    "the end of a generator": lambda: _raised(GeneratorExit()),
}


def _endless_notes() -> dict[str, Any]:
    notes: dict[str, Any] = {}
    notes["notes"] = notes
    return notes


def full(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Writes to a disk that is full."""
    with Path("/dev/full").open("wb", buffering=0) as stream:
        stream.write(b"x")
    return count(cell, context)


def stops_once(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Is stopped by a signal, the first time."""
    mark = context.files / f"{cell.key}.stopped"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGSTOP)
    return count(cell, context)


def _die_once(mark: Path) -> None:
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def without_data(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Asks for a file that this machine lacks."""
    raise MissingDataError("there is no file flowers.npz; give another path")


def not_finite(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Training that overflowed."""
    return Outcome((), Cost(), notes={"status": "non_finite"})


def threads(cell: PlannedCell, context: WorkContext) -> Outcome:
    """How many threads the process may use: by its environment, torch, and each library below NumPy and SciPy."""
    import torch  # here alone: it takes a process seconds to load

    environment = float(os.environ.get("OMP_NUM_THREADS", "nan"))
    pools = {f"pool {i}": float(pool["num_threads"]) for i, pool in enumerate(threadpool_info())}
    found = {"threads": environment, "torch": float(torch.get_num_threads()), **pools}
    return Outcome(tuple(Record(name, Estimate(value)) for name, value in found.items()), Cost())
