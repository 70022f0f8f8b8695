"""A candidate source: a pretrained network, its features of labelled target examples, and its source head."""

from dataclasses import dataclass, field

import numpy as np
import torch

from transferscope.analyses.rank.ranking import RANDOM
from transferscope.data.task import Kind, LabelledSet
from transferscope.diagnostics import Examples, features_of
from transferscope.errors import NetworkError
from transferscope.models import Network, NetworkInput, NetworkSettings, OpenedNetwork, build_network
from transferscope.scores.score import TargetView
from transferscope.study.facts import examples_as_read
from transferscope.study.fitting import spread_examples
from transferscope.training import scale_of

LEAST_PER_CLASS = 2
"""Least labels per class, for a spread within classes."""

LEAST_NUMBERS = 10
"""Least number of examples for regression labels."""


@dataclass(frozen=True)
class CandidateNetwork:
    """A network to rank; `n_source_classes` is the number of outputs of its head, None if it is not a classifier."""

    name: str
    network: Network
    n_source_classes: int | None


@dataclass(frozen=True)
class LabelledTarget:
    """Labelled target examples, as read by networks and by scores.

    Attributes:
        labels: Class indices (int64, shape (n,)), numbers (float64, shape (n, K)), or indicators of several labels
            (bool, shape (n, K)).
    """

    subset: LabelledSet
    labels: np.ndarray
    device: torch.device
    _read: dict[NetworkInput | None, Examples] = field(default_factory=dict, compare=False, repr=False)

    def read_by(self, network: Network) -> Examples:
        """Return the examples as a network reads them; standardised by themselves if its scaling is unknown."""
        key = network.input
        if key not in self._read:
            seen = examples_as_read(self.subset, network.input, "the target")
            scale = scale_of(network, seen)
            self._read[key] = spread_examples(seen, scale=scale, at_most=len(seen), device=self.device)
        return self._read[key]

    def view_of(self, candidate: CandidateNetwork) -> TargetView:
        """Return a candidate's features of the examples, and the probabilities of its source head in float64.

        Raises:
            NetworkError: The features are not finite.
        """
        features = features_of(candidate.network, self.read_by(candidate.network))
        if not torch.isfinite(features).all():
            raise NetworkError(
                f"the features of {candidate.name} contain NaN or infinity (diverged training?); leave it out"
            )
        if len(features) > 1 and bool((features == features[0]).all()):
            raise NetworkError(
                f"the features of {candidate.name} are equal for all {len(features)} target examples, so no score can "
                "rank it; check its weights and input scaling, or leave it out"
            )
        if candidate.n_source_classes is None:
            return TargetView(features.numpy(), self.labels, None)
        head = candidate.network.head
        weight, bias = head.get_parameter("weight"), dict(head.named_parameters()).get("bias")
        logits = features @ weight.detach().double().cpu().T
        if bias is not None:
            logits = logits + bias.detach().double().cpu()
        return TargetView(features.numpy(), self.labels, torch.softmax(logits, dim=1).numpy())


def labelled_target(subset: LabelledSet, device: torch.device) -> LabelledTarget:
    """Return a few-shot subset as networks and scores read it."""
    types: dict[Kind, type[np.generic]] = {
        "classification": np.int64,
        "regression": np.float64,
        "multi-label": np.bool_,
    }
    labels = subset.labels.astype(types[subset.kind])
    return LabelledTarget(subset, labels if labels.ndim < 2 else labels.reshape(len(labels), -1), device)


def least_labels(examples: LabelledSet) -> int:
    """Return the minimum number of labels of a ranking."""
    if examples.kind != "classification":
        return LEAST_NUMBERS
    return LEAST_PER_CLASS * int((examples.class_counts() > 0).sum())


def candidate_of(name: str, opened: OpenedNetwork, *, of_classes: bool, device: torch.device) -> CandidateNetwork:
    """Return an opened network with its head as a candidate; `of_classes` if that is a head of classes."""
    n_outputs = opened.report.n_outputs
    return CandidateNetwork(name, opened.network.to(device), n_outputs if of_classes and n_outputs > 1 else None)


def random_candidate(
    settings: NetworkSettings,
    input_shape: tuple[int, ...],
    *,
    n_classes: int | None,
    seed: int,
    device: torch.device,
) -> CandidateNetwork:
    """Return random features: the network at initialisation, with outputs for source classes unless None."""
    network = build_network(settings, input_shape, n_classes or 1, seed=seed).to(device)
    return CandidateNetwork(RANDOM, network, n_classes)
