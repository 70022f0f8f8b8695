"""Joint training: one backbone and two heads, trained on both losses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from annotated_types import Gt, Lt
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from transferscope.data.task import TransferTask
from transferscope.methods.common import domain, drawn_head, fit_learner, source_of, training_domain, working_copy
from transferscope.methods.method import FitOptions, Fitted, Method, Start, Value
from transferscope.models.network import Network
from transferscope.records import Says
from transferscope.training import Batch, Draw, Learner, ParameterGroup, TrainingSettings, batch_loss


@dataclass(frozen=True)
class Joint(Method):
    """Minimise (1 - alpha) L_source + alpha L_target from a fresh network.

    Section 6.1.2 of "Meta-learning Transferable Representations with a Single Target Domain" (Liu et al. 2020,
    arXiv:2011.01418).
    """

    alpha: Annotated[float, Gt(0), Lt(1), Says("Weight of the target loss")] = 0.5

    name: ClassVar[str] = "joint"
    called: ClassVar[str] = "joint training"
    version: ClassVar[int] = 1
    recipe: ClassVar[str] = "joint"
    start: ClassVar[Start] = "random"
    uses_source: ClassVar[bool] = True

    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`."""
        target = training_domain(task.target, options, network)
        own = working_copy(network, task.target.train, options, start=self.start)
        source = domain(source_of(task, self.name), options, own)
        own.head = drawn_head(own, target.train.n_outputs, options, "target head")
        head_s = drawn_head(own, source.train.n_outputs, options, "source head")

        def objective(batches: Mapping[str, Batch], step: int) -> Float[Tensor, ""]:
            features = shared_features(own, batches)
            loss_s = batch_loss(head_s(features["source"]), batches["source"])
            loss_t = batch_loss(own.head(features["target"]), batches["target"])
            return (1 - self.alpha) * loss_s + self.alpha * loss_t

        module = nn.ModuleDict({"network": own, "source_head": head_s})
        draws = {"source": Draw(source.train), "target": Draw(target.train)}
        learner = Learner(module, [ParameterGroup(list(module.parameters()))], draws, objective)
        return fit_learner(learner, target, options, as_network=lambda: own, source_head=head_s)

    def searched(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """Return a larger weight of the target."""
        return {"alpha": (self.alpha, (1 + self.alpha) / 2)}


def shared_features(network: Network, batches: Mapping[str, Batch]) -> dict[str, Float[Tensor, "_ m"]]:
    """Return the features of batches of one input shape in one pass, with shared batch normalisation."""
    inputs = [batch.inputs for batch in batches.values()]
    if inputs[0].dtype == torch.int32:  # tokens, which end with the longest text of each batch
        longest = max(batch.shape[-1] for batch in inputs)
        inputs = [F.pad(batch, (0, longest - batch.shape[-1]), value=-1) for batch in inputs]
    together = network.features(inputs[0] if len(inputs) == 1 else torch.cat(inputs))
    parts = together.split([len(batch.inputs) for batch in batches.values()])
    return dict(zip(batches, parts, strict=True))
