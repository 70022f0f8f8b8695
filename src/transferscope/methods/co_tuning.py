"""Co-Tuning: fine-tuning that also trains the source head, on source classes that correspond to the target's."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from transferscope.data.task import Dataset, TransferTask
from transferscope.errors import DataError, unsupported
from transferscope.methods.method import FitOptions, Fitted, Value
from transferscope.methods.target_training import Beginning, FineTuning
from transferscope.models.network import Network
from transferscope.records import NotNegative, Says
from transferscope.training import Batch, ParameterGroup, TrainingSettings, batch_loss, outputs_of


@dataclass(frozen=True)
class CoTuning(FineTuning):
    """Minimise L_target + trade_off * mean over examples of -sum over s of p(s | y) log q_s(x).

    "Co-Tuning for Transfer Learning" (You, Kou, Long, Wang 2020), equation 1: y is the target class of an example, q
    the softmax of the source head, which stays in training, and p(s | y) the relationship of the classes. It is
    learned by the paper's direct approach (section 3.1): the mean of q over the target's training examples of a class,
    before training, by the pretrained network in evaluation mode. The paper's calibration and its reverse approach
    need held-out source data, and are left out.
    """

    trade_off: Annotated[NotNegative, Says("Weight of the source head's loss")] = 1.0

    name: ClassVar[str] = "co-tuning"
    called: ClassVar[str] = "Co-Tuning"
    version: ClassVar[int] = 1

    def check_task(self, target: Dataset, source: Dataset | None) -> None:
        """Refuse tasks without classes on both sides.

        Raises:
            DataError: Target or source is not a classification, or there are no source data.
        """
        for data in (target, source):
            if data is None:
                raise DataError(
                    "co-tuning needs the source head, but the source is a network without data; give source data, or "
                    "leave it out"
                )
            if data.train.kind != "classification":
                raise unsupported("co-tuning", "classes", f"{data.name} is {data.train.kind}")

    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`; a DataError as `check_task`."""
        self.check_task(task.target, task.source)
        return super().fit(task, network, options)

    def module(self, begun: Beginning) -> nn.Module:
        """Return the network and the source head."""
        return nn.ModuleDict({"network": begun.own, "source_head": _source_head(begun)})

    def all_groups(self, begun: Beginning) -> Sequence[ParameterGroup]:
        """Return the source head at the rate of the backbone, from which it comes."""
        return [*self.groups(begun.own), ParameterGroup(list(_source_head(begun).parameters()), self.lr_scale)]

    def loss(self, begun: Beginning) -> Callable[[Batch], Float[Tensor, ""]]:
        """Return both losses."""
        own, source_head, train = begun.own, _source_head(begun), begun.target.train
        chances = outputs_of(own.under(source_head), train).softmax(dim=1)
        relationship = class_relationship(chances, train.labels, train.n_outputs)

        def loss(batch: Batch) -> Float[Tensor, ""]:
            features = own.features(batch.inputs)
            of_source = F.cross_entropy(source_head(features), relationship[batch.drawn])
            return batch_loss(own.head(features), batch) + self.trade_off * of_source

        return loss

    def searched(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """Return a weaker loss of the source head."""
        return {"trade_off": (self.trade_off, self.trade_off / 10)}


def class_relationship(
    chances: Float[Tensor, "N S"], labels: Int[Tensor, " N"], n_classes: int
) -> Float[Tensor, "K S"]:
    """Return p(source class | target class), the mean prediction of source classes over the examples of each class.

    Args:
        n_classes: K; a class without examples gets the mean over all.
    """
    members = F.one_hot(labels.long(), n_classes).to(chances.dtype)  # (N, K)
    counts = members.sum(dim=0)[:, None]
    means: Tensor = torch.where(counts > 0, members.T @ chances / counts.clamp(min=1), chances.mean(dim=0))
    return means


def _source_head(begun: Beginning) -> nn.Module:
    assert begun.source_head is not None
    return begun.source_head
