"""The context of a cell's execution, and the interface of work."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from transferscope.consent import Consent, current
from transferscope.files import inside
from transferscope.records import FailureKind
from transferscope.store import Outcome, PlannedCell

CELL_NOTE = "transferscope.cell"
"""Metadata key of the cell key in the networks of a run."""

STEP_NOTE = "transferscope.step"
"""Metadata key of the step chosen by early stopping in the last network of a run."""

KEEP = "keep"
"""Payload key of the study name, for cells whose network is kept; not part of the cell key."""


CHOSEN = "chosen"
"""Payload key for cells whose settings are chosen by another cell (`fitting.with_chosen`); not part of the cell key."""


def no_progress(done: int, total: int) -> None:
    """Report no progress."""


class CellTimeout(Exception):
    """A cell exceeds its timeout."""


class CellStopped(KeyboardInterrupt):
    """The time of the race is over while a cell runs."""


class RunFailed(Exception):
    """A command gave no score.

    Attributes:
        kind: Kind of failure; None to infer it from the message.
        output: The end of what the command printed.
    """

    def __init__(self, message: str, *, kind: FailureKind | None = None, output: str = "") -> None:
        super().__init__(message)
        self.kind, self.output = kind, output


@dataclass(frozen=True)
class WorkContext:
    """The places and limits of a cell's execution.

    Attributes:
        files: Folder of the trained networks, the store's.
        device: "auto", "cpu", "cuda" or "mps".
        threads: Number of threads, at least 1, set before the work starts.
        progress: Callback for (steps done, total steps).
        seconds: Timeout of a cell, for work that enforces it itself with a better message; None for no limit.
        consent: User code that the person who runs the study has allowed.
    """

    files: Path
    device: str = "auto"
    threads: int = 1
    progress: Callable[[int, int], None] = no_progress
    seconds: float | None = None
    consent: Consent = field(default_factory=current)

    @property
    def thread_variables(self) -> dict[str, str]:
        """Environment variables that give another process the same number of threads."""
        return dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(self.threads))

    def network(self, key: str) -> Path:
        """Return the file of a cell's trained network; its folder exists."""
        return inside(self.files, f"{key}.safetensors")

    def snapshot(self, key: str, step: int) -> Path:
        """Return the file of a cell's target network after a training step; its folder exists."""
        return inside(self.files, f"{key}.step{step}.safetensors")

    def snapshots(self, key: str) -> dict[int, Path]:
        """Return the existing snapshots of a cell, by step in ascending order."""
        steps = [path.stem.rpartition(".step")[2] for path in self.files.glob(f"{key}.step*.safetensors")]
        return {step: self.snapshot(key, step) for step in sorted(int(step) for step in steps if step.isdecimal())}

    def checkpoint(self, key: str) -> Path:
        """Return the checkpoint file of a cell's training, for resumption; its folder exists."""
        return inside(self.files, f"{key}.partial")

    def run_folder(self, key: str) -> Path:
        """Return the folder kept from a command; its parent exists."""
        return inside(self.files, f"{key}.run")

    def output(self, key: str) -> Path:
        """Return the output file of a command; its folder exists."""
        return inside(self.files, f"{key}.output.txt")


Work = Callable[[PlannedCell, WorkContext], Outcome]
"""Execution of a cell, whose payload is its recipe (`study/cell.py`): a function that a worker process can import by a
dotted name, as in "package.module:function".

It is a function of the cell alone: the same cell gives the same outcome in every process, however often it was
interrupted. An exception becomes the cell's failure, as does a status note "non_finite"; the study continues.
"""
