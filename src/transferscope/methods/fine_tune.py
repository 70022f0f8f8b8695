"""Fine-tuning: continue training the pretrained network on the target's labels."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from annotated_types import Ge
from torch import nn

from transferscope.errors import SettingsError
from transferscope.methods.common import Domain
from transferscope.methods.method import FitOptions, Value
from transferscope.methods.target_training import FineTuning, FirstHead, FrozenBlocks, other_head
from transferscope.models.network import Network, TwoLayerHead, device_of, seeded
from transferscope.records import Says, Share
from transferscope.training import ParameterGroup, TrainingSettings, stream_seed


@dataclass(frozen=True)
class FineTune(FineTuning):
    """Start from the pretrained backbone and train it, with a new head, on the target."""

    head: FirstHead = "random"  # in the identity of every cell, as before all of the family had it
    frozen_blocks: FrozenBlocks = 0  # likewise
    layer_decay: Annotated[
        Share,
        Says(
            "Factor on the learning rate from one block to the next towards the input",
            "The block below the head has `layer_decay * lr_scale`, the one below it `layer_decay ** 2 * "
            "lr_scale`, and so on. At 1 all blocks have the same rate; at 0 none is trained, and the head alone "
            "learns. (Discriminative fine-tuning; Howard and Ruder 2018.)",
        ),
    ] = field(default=1.0, kw_only=True)
    hidden_units: Annotated[
        int,
        Ge(0),
        Says(
            "Units of a hidden layer, with batch normalisation and leaky ReLU, between features and outputs",
            "0 for a linear head. 512 with `layer_decay = 0` and `lr_scale = 1` is the *fixed* setting of Liu et "
            "al. (2019, Table 1 and appendix A).",
        ),
    ] = field(default=0, kw_only=True)

    name: ClassVar[str] = "fine-tune"
    called: ClassVar[str] = "fine-tuning"
    version: ClassVar[int] = 2
    recipe = FineTuning.recipe  # whose row may set all of these

    @property
    def learns_grids(self) -> bool:
        """With a random linear head; the others read whole inputs."""
        return self.head == "random" and not self.hidden_units

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hidden_units and self.head == "probe":
            raise SettingsError(
                f'hidden_units = {self.hidden_units} with head = "probe", which is linear; give head = "random", or '
                "hidden_units = 0"
            )

    def first_head(self, own: Network, target: Domain, options: FitOptions) -> nn.Module:
        """Return the initial head of the settings `head` and `hidden_units`."""
        if not self.hidden_units:
            return super().first_head(own, target, options)
        with seeded(stream_seed(options.seed, "target head")):
            head = TwoLayerHead(own.n_features, target.train.n_outputs, hidden=self.hidden_units)
        return head.to(device_of(own))

    def frozen(self, own: Network) -> Sequence[nn.Module]:
        """Return the frozen blocks; all if their rate is 0."""
        frozen = super().frozen(own)
        return own.blocks() if self.layer_decay == 0 else frozen

    def groups(self, own: Network) -> Sequence[ParameterGroup]:
        """Return backbone and head with their learning rates; single blocks if rates decay."""
        if self.layer_decay in (0, 1):
            return super().groups(own)
        *_, head = super().groups(own)
        seen: set[nn.Parameter] = set()  # one that two blocks share has the rate of the upper one
        groups = []
        for depth, block in enumerate(reversed(own.blocks()), start=1):
            new = [p for p in block.parameters() if p.requires_grad and p not in seen]
            seen.update(new)
            groups.append(ParameterGroup(new, self.lr_scale * self.layer_decay**depth))
        return [*groups, head]

    def searched(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """Return both initial heads; for one with hidden units what the family searches."""
        return super().searched(training) if self.hidden_units else other_head(self.head)
