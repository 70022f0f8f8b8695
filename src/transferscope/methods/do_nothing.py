"""The source model as it is: a control that does not even look at the target's labels."""

import time
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transferscope.data.task import Dataset, TransferTask
from transferscope.errors import DataError
from transferscope.methods.common import domain, solved, source_of, working_copy
from transferscope.methods.method import Control, FitOptions, Fitted, Start
from transferscope.models.network import Network


class ChosenOutputs(nn.Module):
    """Some outputs of a head.

    Args:
        head: The head.
        outputs: Indices of the outputs, in the order in which they are wanted.
    """

    outputs: Tensor

    def __init__(self, head: nn.Module, outputs: list[int]) -> None:
        super().__init__()
        self.head = head
        self.register_buffer("outputs", torch.tensor(outputs))

    def forward(self, features: Float[Tensor, "n m"]) -> Float[Tensor, "n K"]:
        """The outputs that were chosen."""
        outputs: Tensor = self.head(features)
        return outputs[:, self.outputs]


@dataclass(frozen=True)
class DoNothing(Control):
    """Predict with the pretrained network and its source head, where the source has all classes of the target.

    Of a source with more classes the outputs of the others are left out. Inputs are scaled by the target's training
    examples; their labels are not read. ("Zero-shot" or "source only" in studies of domain shift.)
    """

    name: ClassVar[str] = "do-nothing"
    version: ClassVar[int] = 1

    @property
    def start(self) -> Start:
        """The pretrained network, with its head."""
        return "pretrained"

    def check_task(self, target: Dataset, source: Dataset | None) -> None:
        """Refuse a task whose classes the source head does not have.

        Raises:
            DataError: There are no source data that name the classes of the head; labels are numbers, which have no
                names; a class of the target is none of the source; or one has classes and the other several labels of
                each input.
        """
        _outputs_of(target, source)

    @torch.no_grad()
    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`.

        Raises:
            DataError: The source does not have the target's classes; see `check_task`.
        """
        started = time.perf_counter()
        source_of(task, self.name)
        outputs = _outputs_of(task.target, task.source)
        target = domain(task.target, options, network)
        own = working_copy(network, task.target.train, options, start=self.start)
        fitted = own.with_head(ChosenOutputs(own.head, outputs).to(target.train.device))
        fitted.is_frozen = True
        return solved(fitted, target, started, trained=0)


def _outputs_of(target: Dataset, source: Dataset | None) -> list[int]:
    """Which output of the source head belongs to each class of the target."""
    wanted = target.train.classes
    if source is None:
        raise DataError(
            "do-nothing reads the target's classes from the source head, and the source is a network without data that "
            "would name its classes; leave do-nothing out"
        )
    known = source.train.classes
    if wanted is None or known is None or target.train.kind != source.train.kind:
        raise DataError(
            f"do-nothing reads the target's classes from the source head, and {target.name} is {target.train.kind} "
            f"with {source.name}, which is {source.train.kind}; expected classes with the same names, or leave "
            "do-nothing out"
        )
    lacking = [name for name in wanted if name not in known]
    if lacking:
        raise DataError(
            f"do-nothing reads the target's classes from the source head, and {source.name} has no class "
            f"{lacking[0]!r} of {target.name}; give a source with the same classes, or leave do-nothing out"
        )
    return [known.index(name) for name in wanted]
