"""Nearest neighbours on the source's features: a control that learns nothing."""

import time
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from transferscope.data.task import TransferTask
from transferscope.methods.common import domain, solved, working_copy
from transferscope.methods.method import Control, FitOptions, Fitted, Start
from transferscope.models.network import Network
from transferscope.training import encode, frozen_features

NEIGHBOURS = (1, 3, 5, 10, 20)
"""Numbers of neighbours that are tried."""

_ROWS = 512  # examples whose similarities are held at once
_TIE = 1e-3  # of a vote: among classes with as many votes, the nearer neighbours decide


@dataclass(frozen=True)
class Knn(Control):
    """Vote among the nearest training examples by the cosine of the pretrained features, which stay as they are.

    The number of neighbours is that of NEIGHBOURS with the least leave-one-out error on the target training examples
    (misclassified, or squared error), the least number of equals. Regression takes the mean of the neighbours, and so
    does each of several labels, with y - 1/2 for y: a label is predicted where more than half of them have it.

    Fix and Hodges (1951); as a check of features without training, Wu, Xiong, Yu and Lin (2018, arXiv:1805.01978,
    "Unsupervised feature learning via non-parametric instance discrimination"), there with weighted votes.
    """

    name: ClassVar[str] = "knn"
    called: ClassVar[tuple[str, ...]] = ("nearest neighbours on the source's features", "nearest neighbours")
    version: ClassVar[int] = 1
    start: ClassVar[Start] = "pretrained"

    @torch.no_grad()
    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`; the fitted network's outputs are votes, or means of neighbours."""
        started = time.perf_counter()
        target = domain(task.target, options, network)
        own = working_copy(network, task.target.train, options, start=self.start)
        features, labels = frozen_features(own, target.train), target.train.labels
        votes = labels.dtype == torch.int64
        values = F.one_hot(labels, target.train.n_outputs) if votes else encode(labels, target.train.n_outputs)
        values = values.to(features.dtype)
        head = NeighbourHead(features, values, k=1, votes=votes)
        head.k = _least_error(head, features, values)
        fitted = own.with_head(head)
        fitted.is_frozen = True
        return solved(fitted, target, started, trained=0, notes={"neighbours": float(head.k)})


class NeighbourHead(nn.Module):
    """Reads features by their nearest neighbours among kept ones.

    Args:
        features: Those that are kept.
        values: What they stand for: one-hot classes or regression targets.
        k: Number of neighbours, at least 1; all that there are, if fewer.
        votes: Whether values are counted as votes, rather than averaged.
    """

    def __init__(self, features: Float[Tensor, "N m"], values: Float[Tensor, "N K"], *, k: int, votes: bool) -> None:
        super().__init__()
        self.directions = nn.Parameter(F.normalize(features, dim=1), requires_grad=False)
        self.values = nn.Parameter(values.clone(), requires_grad=False)
        self.k = k
        self.votes = votes

    def forward(self, features: Float[Tensor, "n m"]) -> Float[Tensor, "n K"]:
        """Votes or means of the k nearest."""
        similarity = F.normalize(features, dim=1) @ self.directions.T
        return self.read(self._nearest(similarity, self.k), self.k)

    def nearest_others(self, k: int) -> Tensor:
        """For every kept feature the indices of the k others of the largest cosine, nearest first, shape (N, k)."""
        nearest = []
        for start in range(0, len(self.directions), _ROWS):
            similarity = self.directions[start : start + _ROWS] @ self.directions.T
            rows = torch.arange(len(similarity), device=similarity.device)
            similarity[rows, start + rows] = -torch.inf
            nearest.append(self._nearest(similarity, k))
        return torch.cat(nearest)

    def read(self, neighbours: Tensor, k: int) -> Float[Tensor, "n K"]:
        """What the k first of neighbours, shape (n, at least k), say."""
        values = self.values[neighbours[:, :k]]
        if not self.votes:
            return values.mean(dim=1)
        nearness = torch.linspace(1.0, 0.0, values.shape[1], device=values.device)
        return (values * (1.0 + _TIE * nearness)[:, None]).sum(dim=1)

    def _nearest(self, similarity: Float[Tensor, "n N"], k: int) -> Tensor:
        return similarity.topk(min(k, similarity.shape[1]), dim=1).indices


def _least_error(head: NeighbourHead, features: Float[Tensor, "N m"], values: Float[Tensor, "N K"]) -> int:
    tried = [k for k in NEIGHBOURS if k < len(features)]
    if not tried:
        return 1
    others = head.nearest_others(max(tried))
    errors = []
    for k in tried:
        read = head.read(others, k)
        wrong = (read.argmax(dim=1) != values.argmax(dim=1)) if head.votes else (read - values).square().mean(dim=1)
        errors.append(float(wrong.cpu().double().mean()))
    return tried[errors.index(min(errors))]
