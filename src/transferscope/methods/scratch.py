"""Training from scratch: the baseline of every comparison."""

from dataclasses import dataclass
from typing import ClassVar

from transferscope.methods.target_training import TargetTraining


@dataclass(frozen=True)
class Scratch(TargetTraining):
    """Train a freshly initialised network on the target's labels alone ("target-only")."""

    name: ClassVar[str] = "scratch"
    called: ClassVar[str] = "training from scratch"
    version: ClassVar[int] = 1
    learns_grids: ClassVar[bool] = True
