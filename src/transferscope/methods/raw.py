"""Ridge regression on the raw inputs: a control that any transfer has to beat."""

import time
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transferscope.data.task import TransferTask
from transferscope.methods.common import domain
from transferscope.methods.method import Control, FitOptions, Fitted, Start
from transferscope.methods.probe_head import probe_of
from transferscope.models.inputs import NetworkInput
from transferscope.models.network import Network
from transferscope.records import Cost
from transferscope.training import outputs_of
from transferscope.training.loop import memory_in_use

ANY_TOKEN = 2**31 - 1
"""A vocabulary that has every id: a token that was not counted is read as none."""


class TokenCounts(nn.Module):
    """How often each token occurs in a text, or in both texts of a pair, as log(1 + count).

    Args:
        tokens: Texts whose tokens are counted, as in a `LabelledSet`; other tokens count for nothing.
    """

    ids: Tensor

    def __init__(self, tokens: Int[Tensor, "N K L"]) -> None:
        super().__init__()
        ids: Tensor = tokens[:, ::2].unique()  # type: ignore[no-untyped-call]
        self.register_buffer("ids", ids[ids >= 0].contiguous())

    def forward(self, tokens: Int[Tensor, "n K L"]) -> Float[Tensor, "n V"]:
        """The counts, in the order of the ids."""
        ids = tokens[:, ::2].flatten(1).contiguous()
        place = torch.searchsorted(self.ids, ids).clamp(max=len(self.ids) - 1)
        known = (self.ids[place] == ids).to(torch.float32)
        counts = torch.zeros(len(ids), len(self.ids), device=ids.device)
        return counts.scatter_add_(1, place, known).log1p()


@dataclass(frozen=True)
class Raw(Control):
    """Fit the ridge probe to the standardised inputs themselves, without any network or source.

    Texts are read as counts of their tokens (a bag of words), those of the training examples alone.

    Classes are regressed as e_c - 1/K and the penalty is chosen by leave-one-out error, see `probe_head.ridge_probe`.
    A linear model on the inputs is the usual control of a linear probe (Alain and Bengio 2016, "Understanding
    intermediate layers using linear classifier probes", whose first probe reads the inputs): what transfer gains over
    it is owed to the features.
    """

    name: ClassVar[str] = "raw"
    version: ClassVar[int] = 1

    @property
    def start(self) -> Start:
        """A fresh network, of which nothing is used."""
        return "random"

    @torch.no_grad()
    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`; the fitted network flattens its inputs and is linear."""
        started = time.perf_counter()
        target = domain(task.target, options)
        tokens = target.train.inputs
        flat = TokenCounts(tokens) if task.target.train.is_tokens else nn.Flatten()
        inputs = outputs_of(flat, target.train)
        probe = probe_of(inputs, target.train, options.training)
        cost = Cost(
            seconds=time.perf_counter() - started,
            peak_memory=memory_in_use(target.train.device),
            trained_parameters=sum(p.numel() for p in probe.head.parameters()),
            examples_seen=len(target.train),
        )
        known = NetworkInput(vocabulary=ANY_TOKEN) if task.target.train.is_tokens else None
        return Fitted(
            Network(flat, probe.head, inputs.shape[1], input=known), target.scale, None, (), cost, "converged"
        )
