"""Training from scratch: the baseline of every comparison."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from transferscope.data.task import TransferTask
from transferscope.methods.common import domain, fit_learner, target_head, working_copy
from transferscope.methods.method import FitOptions, Fitted, Start
from transferscope.models.network import Network
from transferscope.training import Batch, Draw, Learner, ParameterGroup, task_loss


@dataclass(frozen=True)
class Scratch:
    """Train a freshly initialised network on the target's labels alone ("target-only")."""

    name: ClassVar[str] = "scratch"
    version: ClassVar[int] = 1

    @property
    def start(self) -> Start:
        """A freshly initialised network."""
        return "random"

    @property
    def uses_source(self) -> bool:
        """No source data."""
        return False

    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`."""
        target = domain(task.target, options)
        own = working_copy(network, task.target.train, options)
        own.head = target_head(own, target.train.n_outputs, options)

        def objective(batches: Mapping[str, Batch], step: int) -> Float[Tensor, ""]:
            return task_loss(own(batches["target"].inputs), batches["target"].labels)

        groups = [ParameterGroup(list(own.parameters()))]
        learner = Learner(own, groups, {"target": Draw(target.train)}, objective)
        return fit_learner(learner, target, options, as_network=lambda: own, source_head=None)
