"""Fine-tuning: go on training the pretrained network on the target's labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from jaxtyping import Float
from torch import Tensor, nn

from transferscope.data.task import TransferTask
from transferscope.errors import SettingsError
from transferscope.methods.common import Domain, domain, fit_learner, target_head, working_copy
from transferscope.methods.method import FitOptions, Fitted, Start
from transferscope.methods.probe_head import ridge_probe
from transferscope.models.network import Network
from transferscope.training import Batch, Draw, Learner, ParameterGroup, outputs_of, task_loss


@dataclass(frozen=True)
class FineTune:
    """Start from the pretrained backbone and train it, with a new head, on the target.

    Attributes:
        head: "random" draws the new head from the seed; "probe" starts from the ridge probe on the pretrained features
            (LP-FT; Kumar et al. 2022).
        frozen_blocks: How many of the backbone's blocks, from the input up, keep their pretrained weights.
        lr_scale: Learning rate of the backbone as a share of the training settings' rate; the default 0.1 is the
            "standard practice" of section 6.1.2 of Liu et al. (2020, MeRLin).
        head_lr_scale: The same for the head; None for `lr_scale`.
    """

    head: Literal["random", "probe"] = "random"
    frozen_blocks: int = 0
    lr_scale: float = 0.1
    head_lr_scale: float | None = None

    name: ClassVar[str] = "fine-tune"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_scales(self.lr_scale, self.head_lr_scale)
        if self.frozen_blocks < 0:
            raise SettingsError(f"frozen_blocks = {self.frozen_blocks} is out of range; expected 0 or more")

    @property
    def start(self) -> Start:
        """The pretrained network."""
        return "pretrained"

    @property
    def uses_source(self) -> bool:
        """No source data: the network is enough."""
        return False

    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`.

        Raises:
            SettingsError: More blocks are to be frozen than the backbone has.
        """
        target = domain(task.target, options)
        own = working_copy(network, task.target.train, options)
        kept_source_head = own.head
        own.head = self._first_head(own, target, options)
        frozen = frozen_blocks(own, self.frozen_blocks)

        def objective(batches: Mapping[str, Batch], step: int) -> Float[Tensor, ""]:
            return task_loss(own(batches["target"].inputs), batches["target"].labels)

        groups = [
            ParameterGroup([p for p in own.features.parameters() if p.requires_grad], self.lr_scale),
            ParameterGroup(list(own.head.parameters()), either(self.head_lr_scale, self.lr_scale)),
        ]
        learner = Learner(own, groups, {"target": Draw(target.train)}, objective, frozen)
        return fit_learner(learner, target, options, as_network=lambda: own, source_head=kept_source_head)

    def _first_head(self, own: Network, target: Domain, options: FitOptions) -> nn.Linear:
        if self.head == "random":
            return target_head(own, target.train.n_outputs, options)
        return ridge_probe(outputs_of(own.features, target.train), target.train.labels, target.train.n_outputs).head


def either(value: float | None, default: float) -> float:
    """The value, or the default when there is none."""
    return default if value is None else value


def check_scales(*scales: float | None) -> None:
    """Refuse a factor on the learning rate that is not positive.

    Raises:
        SettingsError: A factor is 0 or negative.
    """
    for scale in scales:
        if scale is not None and scale <= 0:
            raise SettingsError(f"a learning-rate scale of {scale} is out of range; expected a number above 0")


def frozen_blocks(network: Network, count: int) -> list[nn.Module]:
    """Freeze the first blocks of a backbone, in place.

    Args:
        network: Its first `count` blocks stop requiring gradients.
        count: How many; 0 for none.

    Returns:
        The frozen blocks, which must stay in evaluation mode.

    Raises:
        SettingsError: There are fewer blocks.
    """
    blocks = network.blocks()
    if count > len(blocks):
        raise SettingsError(f"frozen_blocks = {count} and the backbone has {len(blocks)} blocks; freeze at most those")
    for block in blocks[:count]:
        block.requires_grad_(False)
    return blocks[:count]
