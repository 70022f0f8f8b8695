"""Ridge regression on the raw inputs: a control that any transfer has to beat."""

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
from transferscope.methods.common import domain, n_weights, solved
from transferscope.methods.large_ridge import ridge_work
from transferscope.methods.method import Control, FitOptions, Fitted, Start
from transferscope.methods.probe_head import RIDGE_GRID, probe_of
from transferscope.models.inputs import NetworkInput
from transferscope.models.network import Network
from transferscope.training import outputs_of

ANY_TOKEN = 2**31 - 1
"""A vocabulary that has every id: a token that was not counted is read as none."""


MOST_WORK = 2e12
"""Multiplications that the control may take, about a minute of one core."""

MOST_NUMBERS = 2e8
"""Numbers that it may read of all training examples together, 0.8 GB."""


class TokenCounts(nn.Module):
    """How often each token occurs in a text, or in both texts of a pair, as log(1 + count).

    Args:
        tokens: Texts whose tokens are counted, as in a `LabelledSet`; other tokens count for nothing.
        at_most: Tokens to count, the most frequent ones; None for all.
    """

    ids: Tensor

    def __init__(self, tokens: Int[Tensor, "N K L"], at_most: int | None = None) -> None:
        super().__init__()
        ids, counts = tokens[:, ::2].unique(return_counts=True)  # type: ignore[no-untyped-call]
        ids, counts = ids[ids >= 0].contiguous(), counts[ids >= 0]
        if at_most is not None and at_most < len(ids):
            ids = ids[counts.argsort(descending=True, stable=True)[:at_most]].sort().values
        self.register_buffer("ids", ids)

    def forward(self, tokens: Int[Tensor, "n K L"]) -> Float[Tensor, "n V"]:
        """The counts, in the order of the ids."""
        ids = tokens[:, ::2].flatten(1).contiguous()
        place = torch.searchsorted(self.ids, ids).clamp(max=len(self.ids) - 1)
        known = (self.ids[place] == ids).to(torch.float32)
        counts = torch.zeros(len(ids), len(self.ids), device=ids.device)
        return counts.scatter_add_(1, place, known).log1p()


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
    """Fit the ridge probe to the standardised inputs themselves, without any network or source.

    Texts are read as counts of their tokens (a bag of words), those of the training examples alone. Where that is more
    than MOST_NUMBERS in all, or more than MOST_WORK, images are shrunk first, to a half, a third and so on of their
    size, and of the tokens the most frequent are counted.

    Classes are regressed as e_c - 1/K and the penalty is chosen by leave-one-out error, see `probe_head.ridge_probe`.
    A linear model on the inputs is the usual control of a linear probe (Alain and Bengio 2016, "Understanding
    intermediate layers using linear classifier probes", whose first probe reads the inputs): what transfer gains over
    it is owed to the features.
    """

    name: ClassVar[str] = "raw"
    version: ClassVar[int] = 3

    @property
    def start(self) -> Start:
        """A fresh network, of which nothing is used."""
        return "random"

    def solved_width(self, train: LabelledSet, n: int) -> int:
        """Number of features that ridge regression reads of `n` training examples."""
        flat, _ = reader_of(train, n)
        one = torch.from_numpy(np.ascontiguousarray(train.inputs[:1]))
        return int(flat(one if train.is_tokens else one.float()).shape[1])

    @torch.no_grad()
    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`; the fitted network flattens its inputs and is linear.

        Notes "read_side" of images that are shrunk, or the number of "read_tokens" where not all are counted.
        """
        started = time.perf_counter()
        target = domain(task.target, options)
        flat, notes = reader_of(task.target.train, len(task.target.train))
        inputs = outputs_of(flat.to(target.train.device), target.train)
        probe = probe_of(inputs, target.train, options.training)
        known = NetworkInput(vocabulary=ANY_TOKEN) if task.target.train.is_tokens else None
        fitted = Network(flat, probe.head, inputs.shape[1], input=known)
        return solved(fitted, target, started, trained=n_weights(probe.head), notes=notes)


def reader_of(train: LabelledSet, n: int) -> tuple[nn.Module, dict[str, float]]:
    """How the control reads `n` training examples like these, with notes on what it leaves out."""
    n_outputs = train.n_outputs
    if train.is_tokens:
        tokens = torch.from_numpy(np.ascontiguousarray(train.inputs))
        counts = TokenCounts(tokens)
        n_tokens = len(counts.ids)
        if _is_light(n, n_tokens, n_outputs):
            return counts, {}
        at_most = bisect_left(range(1, n_tokens), True, key=lambda width: not _is_light(n, width, n_outputs))
        return TokenCounts(tokens, max(1, at_most)), {"read_tokens": float(max(1, at_most))}
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
