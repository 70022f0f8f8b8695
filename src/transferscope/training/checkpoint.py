"""Checkpoints of runs, for resumption after any interruption."""

import copy
import hashlib
import io
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from transferscope.estimate import Estimate
from transferscope.files import written_whole
from transferscope.records import Record
from transferscope.training.tensors import random_states, set_random_states

_CHECKSUM_BYTES = 32


@dataclass
class RunState:
    """The state of a run: steps taken, history and batches.

    Attributes:
        seconds: Time spent so far, earlier sessions included.
        peak_memory: Largest memory seen so far, in bytes.
        best_risk: Smallest risk on held-out examples so far; empty before the first measurement.
        worse: Points of the curve since the best one.
        best: The state of the module at that step.
    """

    step: int = 0
    seconds: float = 0.0
    examples_seen: int = 0
    peak_memory: int = 0
    history: list[Record] = field(default_factory=list)
    best_risk: tuple[float, ...] = ()
    best_step: int = 0
    worse: int = 0
    best: dict[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class CheckpointFile:
    """One run's checkpoint, written atomically and read without unpickling objects.

    Attributes:
        tag: Names the run; a file with another tag belongs to another run and is ignored.
    """

    path: Path
    tag: str

    def save(self, state: RunState, module: nn.Module, optimiser: torch.optim.Optimizer, device: torch.device) -> None:
        """Write everything that the next step depends on, atomically."""
        content = {
            "tag": self.tag,
            "state": asdict(state),
            "module": module.state_dict(),
            "optimiser": optimiser.state_dict(),
            "rng": random_states(device),
        }
        buffer = io.BytesIO()
        torch.save(content, buffer)
        packed = buffer.getbuffer()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(self.path) as unfinished, unfinished.open("wb") as stream:
            stream.write(_checksum(packed))
            stream.write(packed)

    def load(self, module: nn.Module, optimiser: torch.optim.Optimizer, device: torch.device) -> RunState | None:
        """Restore module, optimiser and random state; return the state of the run, None without a usable checkpoint."""
        content = self._read()
        if content is None:
            return None
        before = copy.deepcopy(module.state_dict()), copy.deepcopy(optimiser.state_dict()), random_states(device)
        try:
            module.load_state_dict(content["module"])
            optimiser.load_state_dict(content["optimiser"])
            set_random_states(content["rng"], device)
            plain: dict[str, Any] = content["state"]
            history = [Record(**{**row, "estimate": Estimate(**row["estimate"])}) for row in plain.pop("history")]
            plain["best_risk"] = tuple(plain["best_risk"])
            return RunState(**plain, history=history)
        except Exception:  # whole, and not of this run after all: training starts again, from where it would have
            module.load_state_dict(before[0])
            optimiser.load_state_dict(before[1])
            set_random_states(before[2], device)
            return None

    def _read(self) -> dict[str, Any] | None:
        try:
            packed = self.path.read_bytes()
            if packed[:_CHECKSUM_BYTES] != _checksum(memoryview(packed)[_CHECKSUM_BYTES:]):
                return None
            content: object = torch.load(io.BytesIO(packed[_CHECKSUM_BYTES:]), map_location="cpu", weights_only=True)
        except Exception:  # whatever is wrong with it: it only saves time
            return None
        return content if isinstance(content, dict) and content.get("tag") == self.tag else None


def _checksum(packed: memoryview) -> bytes:
    """Return a digest of the tensors, since torch.load does not notice a changed byte."""
    return hashlib.blake2b(packed, digest_size=_CHECKSUM_BYTES).digest()
