"""Pretraining on the source, shared by all methods that start from it."""

from collections.abc import Mapping
from dataclasses import replace

from jaxtyping import Float
from torch import Tensor

from transferscope.data.task import Dataset
from transferscope.methods.common import drawn_head, fit_learner, training_domain, working_copy
from transferscope.methods.method import FitOptions, Fitted
from transferscope.models.network import Network
from transferscope.training import Batch, Draw, Learner, ParameterGroup, batch_loss

PRETRAINING_VERSION = 1
"""Part of a pretraining cell's key; raised when the same settings give other results than before."""


def pretrain(source: Dataset, network: Network, options: FitOptions) -> Fitted:
    """Train a network on source labels.

    Args:
        network: A freshly initialised network; a copy is trained.
        options: Recipe, seed, device. Epochs count passes over the source training set.

    Returns:
        The network with its source head; its curve has parts "source_train" and "source_test".
    """
    network = to_pretrain(network, source)
    data = training_domain(source, options, network)
    own = working_copy(network, source.train, options, start="as it is")
    own.head = drawn_head(own, data.train.n_outputs, options, "source head")

    def objective(batches: Mapping[str, Batch], step: int) -> Float[Tensor, ""]:
        return batch_loss(own(batches["source"].inputs), batches["source"])

    learner = Learner(own, [ParameterGroup(list(own.parameters()))], {"source": Draw(data.train)}, objective)
    fitted = fit_learner(learner, data, options, as_network=lambda: own, source_head=None)
    of_source = [replace(record, part=record.part.replace("target", "source")) for record in fitted.history]
    return replace(fitted, history=tuple(of_source))


def to_pretrain(network: Network, source: Dataset) -> Network:
    """Return the network with a mark that binary features of tables are not standardised.

    Few target rows do not determine the frequency of a rare category, and the scaling chosen by leave-one-out error on
    the source's labels was worse for targets (docs/results/tables.md).
    """
    if source.train.inputs.ndim > 2:
        return network
    own = network.under(network.head)
    own.scaled = "numbers"
    return own
