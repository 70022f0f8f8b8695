"""Ridge or logistic regression on the inputs: a control that any transfer has to beat."""

import math
import time
from bisect import bisect_left
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from transferscope.data.task import LabelledSet, TransferTask
from transferscope.methods.common import domain, solved
from transferscope.methods.method import Control, FitOptions, Fitted, Start
from transferscope.methods.probe_head import best_probe
from transferscope.methods.ridge_fit import ridge_work
from transferscope.models.inputs import NetworkInput
from transferscope.models.network import Network, n_weights
from transferscope.numerics.leave_one_out import RIDGE_GRID
from transferscope.training import outputs_of, stream_seed

ANY_TOKEN = 2**31 - 1
"""A vocabulary that has every id: a token that was not counted is read as none."""


MOST_WORK = 2e12
"""Multiplications that the control may take, about a minute of one core."""

MOST_NUMBERS = 2e8
"""Numbers that it may read of all training examples together, 0.8 GB."""


class TfIdf(nn.Module):
    """How often each token occurs in a text, or in both texts of a pair, weighted by how few texts have it.

        (1 + log count) * (1 + log((1 + N) / (1 + number of the N texts with the token))), divided by the length

    (Salton and Buckley 1988, "Term-weighting approaches in automatic text retrieval"; with scikit-learn's smoothing).

    Args:
        tokens: Texts whose tokens are counted, as in a `LabelledSet`; other tokens count for nothing.
        at_most: Tokens to count, the most frequent ones; None for all.
    """

    ids: Tensor
    rarity: Tensor

    def __init__(self, tokens: Int[Tensor, "N K L"], at_most: int | None = None) -> None:
        super().__init__()
        ids, counts = tokens[:, ::2].unique(return_counts=True)  # type: ignore[no-untyped-call]
        ids, counts = ids[ids >= 0].contiguous(), counts[ids >= 0]
        if at_most is not None and at_most < len(ids):
            ids = ids[counts.argsort(descending=True, stable=True)[:at_most]].sort().values
        self.register_buffer("ids", ids)
        with_token = (self.counts(tokens) > 0).sum(dim=0)
        self.register_buffer("rarity", 1 + ((1 + len(tokens)) / (1 + with_token)).log())

    def counts(self, tokens: Int[Tensor, "n K L"]) -> Float[Tensor, "n V"]:
        """How often each token occurs, in the order of the ids."""
        ids = tokens[:, ::2].flatten(1).contiguous()
        place = torch.searchsorted(self.ids, ids).clamp(max=len(self.ids) - 1)
        known = (self.ids[place] == ids).to(torch.float32)
        return torch.zeros(len(ids), len(self.ids), device=ids.device).scatter_add_(1, place, known)

    def forward(self, tokens: Int[Tensor, "n K L"]) -> Float[Tensor, "n V"]:
        """The weights, of length 1 where a text has any of the tokens."""
        counts = self.counts(tokens)
        weights = torch.where(counts > 0, 1 + counts.clamp(min=1).log(), 0.0) * self.rarity
        return F.normalize(weights, dim=1)


class Shrunk(nn.Module):
    """Images as vectors, averaged over equal parts to `side` x `side` pixels at most; others as they are.

    Args:
        side: Pixels, at least 1; None for images as they are.
    """

    def __init__(self, side: int | None = None) -> None:
        super().__init__()
        self.side = side

    def forward(self, inputs: Float[Tensor, "n ..."]) -> Float[Tensor, "n m"]:
        """The vectors."""
        if self.side is not None and inputs.ndim == 4:
            height, width = (min(self.side, length) for length in inputs.shape[2:])
            inputs = F.adaptive_avg_pool2d(inputs, (height, width))
        return inputs.flatten(1)


@dataclass(frozen=True)
class Raw(Control):
    """Fit a linear model to the inputs themselves, without any network or source.

    Ridge regression with the penalty of least leave-one-out error, of classes on e_c - 1/K, or logistic regression,
    whichever makes fewer errors over folds, see `probe_head.best_probe`. Features of tables are scaled as leave-one-out
    error prefers, see `training.pixel_scale`, and texts are read by the weights of their tokens, see `TfIdf`, those of
    the training examples alone. Where that is more than MOST_NUMBERS in all, or more than MOST_WORK, images are shrunk
    first, to a half, a third and so on of their size, and of the tokens the most frequent are counted.

    A linear model on the inputs is the usual control of a linear probe (Alain and Bengio 2016, arXiv:1610.01644,
    "Understanding intermediate layers using linear classifier probes", whose first probe reads the inputs): what
    transfer gains over it is owed to the features.
    """

    name: ClassVar[str] = "raw"
    called: ClassVar[tuple[str, ...]] = ("ridge or logistic regression on the raw inputs", "linear on raw inputs")
    version: ClassVar[int] = 4
    start: ClassVar[Start] = "random"
    uses_network: ClassVar[bool] = False

    @torch.no_grad()
    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`; the fitted network flattens its inputs and is linear.

        Notes "logistic" of logistic regression, "read_side" of images that are shrunk, or the number of "read_tokens"
        where not all are counted.
        """
        started = time.perf_counter()
        target = domain(task.target, options)
        flat, notes = reader_of(task.target.train, len(task.target.train))
        inputs = outputs_of(flat.to(target.train.device), target.train)
        seed = stream_seed(options.seed, "solver")
        head, solver, converged = best_probe(inputs, target.train, task.target.train, options.training, seed=seed)
        known = NetworkInput(vocabulary=ANY_TOKEN) if task.target.train.is_tokens else None
        fitted = Network(flat, head, inputs.shape[1], input=known)
        notes |= {"logistic": 1.0} if solver == "logistic" else {}
        return solved(fitted, target, started, trained=n_weights(head), converged=converged, notes=notes)


def reader_of(train: LabelledSet, n: int) -> tuple[nn.Module, dict[str, float]]:
    """How the control reads `n` training examples like these, with notes on what it leaves out."""
    n_outputs = train.n_outputs
    if train.is_tokens:
        tokens = torch.from_numpy(np.ascontiguousarray(train.inputs))
        whole = TfIdf(tokens)
        n_tokens = len(whole.ids)
        if _is_light(n, n_tokens, n_outputs):
            return whole, {}
        at_most = bisect_left(range(1, n_tokens), True, key=lambda width: not _is_light(n, width, n_outputs))
        return TfIdf(tokens, max(1, at_most)), {"read_tokens": float(max(1, at_most))}
    n_channels, *sides = train.input_shape
    longest = max(sides, default=1)
    for parts in range(1, longest + 1):
        side = -(-longest // parts)
        width = n_channels * math.prod(min(side, length) for length in sides)
        if not train.is_image or side == 1 or _is_light(n, width, n_outputs):
            return (Shrunk(side), {"read_side": float(side)}) if parts > 1 else (Shrunk(), {})
    raise AssertionError("a side of one pixel is always taken")


def _is_light(n: int, width: int, n_outputs: int) -> bool:
    return n * width <= MOST_NUMBERS and ridge_work(n, width, n_outputs, len(RIDGE_GRID)) <= MOST_WORK
