"""Nearest neighbours on the source's features: a control without training."""

import time
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from transferscope.data.task import TransferTask
from transferscope.methods.common import domain, solved, working_copy
from transferscope.methods.method import Control, FitOptions, Fitted, Start
from transferscope.models.neighbours import NeighbourHead
from transferscope.models.network import Network
from transferscope.training import encode, frozen_features

NEIGHBOURS = (1, 3, 5, 10, 20)
"""Candidate numbers of neighbours."""


@dataclass(frozen=True)
class Knn(Control):
    """Vote among the nearest training examples by the cosine of the pretrained features, which stay as they are.

    The number of neighbours is chosen from NEIGHBOURS by leave-one-out error on the target training examples (error
    rate or squared error); ties go to the smallest. Regression predicts the mean of the neighbours; for several labels,
    a label is predicted if more than half of the neighbours have it.

    Fix and Hodges (1951); as a check of features without training, Wu, Xiong, Yu and Lin (2018, arXiv:1805.01978,
    "Unsupervised feature learning via non-parametric instance discrimination"), there with weighted votes.
    """

    name: ClassVar[str] = "knn"
    called: ClassVar[str] = "nearest neighbours"
    version: ClassVar[int] = 1
    start: ClassVar[Start] = "pretrained"
    keeps_network: ClassVar[bool] = True
    is_diagnosed: ClassVar[bool] = False

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
        k = _least_error(head, features, values)
        head.k.fill_(k)
        fitted = own.with_head(head)
        fitted.is_frozen = True
        return solved(fitted, target, started, trained=0, notes={"neighbours": float(k)})


def _least_error(head: NeighbourHead, features: Float[Tensor, "N m"], values: Float[Tensor, "N K"]) -> int:
    tried = [k for k in NEIGHBOURS if k < len(features)]
    if not tried:
        return 1
    others = head.nearest_others(max(tried))
    errors, votes = [], bool(head.votes)
    for k in tried:
        read = head.read(others, k)
        wrong = (read.argmax(dim=1) != values.argmax(dim=1)) if votes else (read - values).square().mean(dim=1)
        errors.append(float(wrong.cpu().double().mean()))
    return tried[errors.index(min(errors))]
