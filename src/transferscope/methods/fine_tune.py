"""Fine-tuning: go on training the pretrained network on the target's labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import nn

from transferscope.errors import SettingsError
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
        frozen_blocks: How many of the backbone's blocks, from the input up, keep their pretrained weights.
    """

    head: Literal["random", "probe"] = "random"
    frozen_blocks: int = 0

    name: ClassVar[str] = "fine-tune"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        if self.frozen_blocks < 0:
            raise SettingsError(f"frozen_blocks = {self.frozen_blocks} is out of range; expected 0 or more")

    def first_head(self, own: Network, target: Domain, options: FitOptions) -> nn.Module:
        """As `head` says."""
        if self.head == "random":
            return super().first_head(own, target, options)
        return ridge_probe(outputs_of(own.features, target.train), target.train.labels, target.train.n_outputs).head

    def frozen(self, own: Network) -> Sequence[nn.Module]:
        """The first blocks.

        Raises:
            SettingsError: The backbone has fewer.
        """
        blocks = own.blocks()
        if self.frozen_blocks > len(blocks):
            raise SettingsError(
                f"frozen_blocks = {self.frozen_blocks} and the backbone has {len(blocks)} blocks; freeze at most those"
            )
        return blocks[: self.frozen_blocks]
