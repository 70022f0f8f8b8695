"""L2-SP: fine-tuning that is held back towards the pretrained weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from transferscope.data.task import TransferTask
from transferscope.errors import SettingsError
from transferscope.methods.common import domain, fit_learner, target_head, working_copy
from transferscope.methods.fine_tune import check_scales, either
from transferscope.methods.method import FitOptions, Fitted, Start
from transferscope.models.network import Network
from transferscope.training import Batch, Draw, Learner, ParameterGroup, task_loss


@dataclass(frozen=True)
class L2Sp:
    """Minimise L_target(w) + (beta/2) ||w_backbone - w0||^2 + (alpha/2) ||w_head||^2.

    "Explicit Inductive Bias for Transfer Learning with Convolutional Networks" (Li, Grandvalet, Davoine 2018),
    equation 3; its penalties replace weight decay.

    Attributes:
        beta: Pull of the backbone towards its pretrained weights w0, at least 0.
        alpha: Weight decay of the new head, at least 0.
        lr_scale: Learning rate of the backbone as a share of the training settings' rate.
        head_lr_scale: The same for the head; None for `lr_scale`.
    """

    beta: float = 0.1
    alpha: float = 0.01
    lr_scale: float = 0.1
    head_lr_scale: float | None = None

    name: ClassVar[str] = "l2-sp"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_scales(self.lr_scale, self.head_lr_scale)
        if self.beta < 0 or self.alpha < 0:
            raise SettingsError(f"beta = {self.beta} and alpha = {self.alpha}; expected both to be 0 or more")

    @property
    def start(self) -> Start:
        """The pretrained network."""
        return "pretrained"

    @property
    def uses_source(self) -> bool:
        """No source data: the network is enough."""
        return False

    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`."""
        target = domain(task.target, options)
        own = working_copy(network, task.target.train, options)
        kept_source_head = own.head
        own.head = target_head(own, target.train.n_outputs, options)
        backbone, head = list(own.features.parameters()), list(own.head.parameters())
        anchors = [parameter.detach().clone() for parameter in backbone]

        def objective(batches: Mapping[str, Batch], step: int) -> Float[Tensor, ""]:
            loss = task_loss(own(batches["target"].inputs), batches["target"].labels)
            pull = squared_distance(backbone, anchors)
            decay = squared_distance(head, [torch.zeros(()).to(p) for p in head])
            return loss + 0.5 * self.beta * pull + 0.5 * self.alpha * decay

        groups = [
            ParameterGroup(backbone, self.lr_scale, weight_decay=0.0),
            ParameterGroup(head, either(self.head_lr_scale, self.lr_scale), weight_decay=0.0),
        ]
        learner = Learner(own, groups, {"target": Draw(target.train)}, objective)
        return fit_learner(learner, target, options, as_network=lambda: own, source_head=kept_source_head)


def squared_distance(values: list[Tensor] | list[torch.nn.Parameter], anchors: list[Tensor]) -> Float[Tensor, ""]:
    """Sum over tensors of ||value - anchor||^2, differentiable in the values."""
    return torch.stack([(value - anchor).square().sum() for value, anchor in zip(values, anchors, strict=True)]).sum()
