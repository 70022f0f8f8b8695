"""The unchanged source model: a control that uses the target's labels only for their units."""

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
    """Selected outputs of a head, in the given order."""

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

    Outputs of source classes that the target lacks are left out, and target labels are not read ("zero-shot" or
    "source only" in studies of domain shift). Numbers are converted to the target's units: unchanged, with an offset,
    or with an offset and a slope, by the smallest leave-one-out error, see `source_labels.calibrated`. Inputs
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
