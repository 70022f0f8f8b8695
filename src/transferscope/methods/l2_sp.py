"""L2-SP: fine-tuning regularised towards the pretrained weights."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transferscope.methods.method import Value
from transferscope.methods.target_training import AnchoredFineTuning, Regulariser
from transferscope.models.network import Network
from transferscope.records import NotNegative, Says
from transferscope.training import TrainingSettings

USUAL_PULL = 0.01
"""Default of `beta`."""


@dataclass(frozen=True)
class L2Sp(AnchoredFineTuning):
    """Minimise L_target(w) + (beta/2) ||w_backbone - w0||^2 + (alpha/2) ||w_head||^2.

    "Explicit Inductive Bias for Transfer Learning with Convolutional Networks" (Li, Grandvalet, Davoine 2018,
    arXiv:1802.01483), equation 3; its penalties replace weight decay.
    """

    beta: Annotated[
        NotNegative,
        Says(
            "Penalty on the distance of the backbone from its pretrained weights w0",
            "On images held out from training data 0.01 had a better mean than 0.1 for each of three small "
            "networks (docs/results/methods.md).",
        ),
    ] = USUAL_PULL

    name: ClassVar[str] = "l2-sp"
    called: ClassVar[str] = "L2-SP"
    version: ClassVar[int] = 1
    recipe: ClassVar[str] = "l2-sp"

    @property
    def learns_grids(self) -> bool:
        """With a random head; a ridge probe reads whole inputs."""
        return self.head == "random"

    def regulariser(self, own: Network) -> Regulariser:
        """Return the two penalties."""
        backbone, head = list(own.features.parameters()), list(own.head.parameters())
        anchors = [parameter.detach().clone() for parameter in backbone]

        def regularised(loss: Float[Tensor, ""], features: Float[Tensor, "n m ..."]) -> Float[Tensor, ""]:
            pull = squared_distance(backbone, anchors)
            decay = squared_distance(head)
            return loss + 0.5 * self.beta * pull + 0.5 * self.alpha * decay

        return regularised

    def searched(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """Return ten times the penalty, or a tenth of it if it is stronger than usual."""
        other = self.beta / 10 if self.beta > USUAL_PULL else 10 * (self.beta or USUAL_PULL)
        return {"beta": (self.beta, other)}


def squared_distance(values: list[nn.Parameter], anchors: list[Tensor] | None = None) -> Float[Tensor, ""]:
    """Return the sum over tensors of ||value - anchor||^2, with 0 as default anchor; 0 without tensors, as in a linear
    network."""
    if not values:
        return torch.zeros(())
    anchors = [value.new_zeros(()) for value in values] if anchors is None else anchors
    return torch.stack([(value - anchor).square().sum() for value, anchor in zip(values, anchors, strict=True)]).sum()
