"""Deterministic stand-ins for the real work: records derived from the cell, nothing trained."""

import hashlib
import os
import signal
import time
from pathlib import Path

import numpy as np

from transferscope.errors import DataError
from transferscope.records import Cost, Estimate, Record
from transferscope.store import Outcome, PlannedCell
from transferscope.study.context import WorkContext


def count(cell: PlannedCell, context: WorkContext) -> Outcome:
    """An outcome that is a function of the cell; a cell with needs reads what the needed cells left in their files."""
    needed = sum(float(context.network(key).read_text()) for key in cell.needs)
    draw = int(hashlib.sha256(cell.key.encode()).hexdigest()[:8], 16) / 2**32
    if cell.role == "pretrain":
        partial = context.checkpoint(cell.key)
        partial.write_text(str(draw))
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


def _die_once(mark: Path) -> None:
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def not_finite(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Training that overflowed."""
    return Outcome((), Cost(), notes={"status": "non_finite"})


def threads(cell: PlannedCell, context: WorkContext) -> Outcome:
    """How many threads the process may use."""
    return Outcome((Record("threads", Estimate(float(os.environ["OMP_NUM_THREADS"]))),), Cost())
