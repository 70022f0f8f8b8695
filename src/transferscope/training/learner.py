"""The interface of the training loop: modules, their batches and their loss."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from transferscope.models.network import Network
from transferscope.training.tensors import Batch, TensorSet


@dataclass(frozen=True)
class ParameterGroup:
    """Parameters that share a learning rate.

    Attributes:
        lr_scale: Factor on the learning rate of the settings, at least 0.
        weight_decay: Replaces the weight decay of the settings; None keeps it.
    """

    parameters: Sequence[nn.Parameter]
    lr_scale: float = 1.0
    weight_decay: float | None = None


@dataclass(frozen=True)
class Draw:
    """A data set from which batches are drawn.

    Attributes:
        batch_size: Examples per step; None for the batch size of the settings.
    """

    data: TensorSet
    batch_size: int | None = None


Objective = Callable[[Mapping[str, Batch], int], Float[Tensor, ""]]
"""Returns the loss of one step for a batch of each set; its graph reaches every trained parameter."""


@dataclass(frozen=True)
class Learner:
    """A module to train, with its objective and data.

    Attributes:
        module: All modules whose state changes in training; the content of a checkpoint.
        draws: The sets to draw batches from, by name ("source", "target").
        frozen: Modules that stay in evaluation mode (frozen batch normalisation).
        network: The network that the objective applies to batches, part of `module`; outputs of its frozen first blocks
            are computed once. None to run all of it in every step.
    """

    module: nn.Module
    groups: Sequence[ParameterGroup]
    draws: Mapping[str, Draw]
    objective: Objective
    frozen: Sequence[nn.Module] = ()
    network: Network | None = None

    def train_mode(self) -> None:
        """Set training mode for all but the frozen modules."""
        self.module.train()
        for module in self.frozen:
            module.eval()

    def trained_parameters(self) -> list[nn.Parameter]:
        """Return every parameter that the optimiser may change, each once."""
        return list({id(p): p for group in self.groups for p in group.parameters}.values())
