"""The source model as it is: a control that looks at the target's labels for their units alone."""

import time
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transferscope.data.task import Dataset, TransferTask
from transferscope.methods.common import domain, solved, source_of, working_copy
from transferscope.methods.method import Control, FitOptions, Fitted, Start
from transferscope.methods.source_labels import calibrated, outputs_in_source
from transferscope.models.network import Network
from transferscope.training import outputs_of


class ChosenOutputs(nn.Module):
    """Some outputs of a head, by their indices, in the order in which they are wanted."""

    outputs: Tensor

    def __init__(self, head: nn.Module, outputs: list[int]) -> None:
        super().__init__()
        self.head = head
        self.register_buffer("outputs", torch.tensor(outputs))

    def forward(self, features: Float[Tensor, "n m"]) -> Float[Tensor, "n K"]:
        """Return the outputs that were chosen."""
        outputs: Tensor = self.head(features)
        return outputs[:, self.outputs]


@dataclass(frozen=True)
class DoNothing(Control):
    """Predict with the pretrained network and its source head, where the source has the labels of the target.

    Of a source with more classes the outputs of the others are left out, and target labels are not read ("zero-shot" or
    "source only" in studies of domain shift). Numbers are brought to the target's units: as they are, with an offset,
    or with an offset and a slope, whichever has the least leave-one-out error, see `source_labels.calibrated`. Inputs
    are scaled by the target's training examples.
    """

    name: ClassVar[str] = "do-nothing"
    called: ClassVar[str] = "unchanged source model"
    version: ClassVar[int] = 2
    start: ClassVar[Start] = "pretrained"

    def check_task(self, target: Dataset, source: Dataset | None) -> None:
        """Refuse a task whose labels the source head does not have, with a DataError as `outputs_in_source`."""
        outputs_in_source(self.name, target, source)

    @torch.no_grad()
    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`; a DataError as `check_task`."""
        started = time.perf_counter()
        outputs = outputs_in_source(self.name, task.target, source_of(task, self.name))
        target = domain(task.target, options, network)
        own = working_copy(network, task.target.train, options, start=self.start)
        fitted = own.with_head(ChosenOutputs(own.head, outputs).to(target.train.device))
        if task.target.train.classes is None:
            line = calibrated(outputs_of(fitted, target.train), target.train.labels)
            fitted.head = nn.Sequential(fitted.head, line)
        fitted.is_frozen = True
        return solved(fitted, target, started, trained=0)
