"""Fine-tuning: go on training the pretrained network on the target's labels."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import nn

from transferscope.methods.common import Domain
from transferscope.methods.method import FitOptions
from transferscope.methods.probe_head import ridge_probe
from transferscope.methods.target_training import FineTuning
from transferscope.models.network import Network
from transferscope.training import outputs_of


@dataclass(frozen=True)
class FineTune(FineTuning):
    """Start from the pretrained backbone and train it, with a new head, on the target.

    Attributes:
        head: "random" draws the new head from the seed; "probe" starts from the ridge probe on the pretrained features
            (LP-FT; Kumar et al. 2022).
    """

    head: Literal["random", "probe"] = "random"
    frozen_blocks: int = 0  # in the identity of every cell, as before all of the family had it

    name: ClassVar[str] = "fine-tune"
    version: ClassVar[int] = 1

    def first_head(self, own: Network, target: Domain, options: FitOptions) -> nn.Module:
        """As `head` says."""
        if self.head == "random":
            return super().first_head(own, target, options)
        return ridge_probe(outputs_of(own.features, target.train), target.train.labels, target.train.n_outputs).head
