"""Surgical fine-tuning: training one block and the head."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

import torch
from torch import nn

from transferscope.data.task import TransferTask
from transferscope.errors import unknown_name
from transferscope.methods.method import FitOptions, Fitted
from transferscope.methods.target_training import Beginning, FineTuning, FirstHead
from transferscope.models.network import Network, evaluated, recurrent_backward
from transferscope.records import Says
from transferscope.training import task_loss

EXAMPLES = 512
"""Most training examples, evenly chosen, for the comparison of blocks, and batch size."""
AT_ONCE = 64


@dataclass(frozen=True)
class Surgical(FineTuning):
    """Train one block of the backbone with the head; the others stay as they are, in evaluation mode.

    "Surgical Fine-Tuning Improves Adaptation to Distribution Shifts" (Lee, Chen, Tajwar and others 2023,
    arXiv:2210.11466): the first blocks for shifts of the inputs, the middle ones for shifts of features, the last for
    shifts of the labels. "auto" takes the block with the largest relative gradient norm (section 5.2), |g| / |w| over
    all parameters of the block, for the loss on the target's training examples before training; the paper's Auto-RGN
    has a learning rate for every block instead. With a random head, gradients are uninformative.
    """

    head: FirstHead = "probe"
    frozen_blocks: int = field(default=0, init=False)  # all but `block` are
    block: Annotated[str, Says('Name of a block, as `transferscope show` lists them; "auto" to choose it')] = field(
        default="auto", kw_only=True
    )

    name: ClassVar[str] = "surgical"
    called: ClassVar[str] = "surgical fine-tuning"
    version: ClassVar[int] = 1

    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`; notes the place of the trained "block", from 1 at the input."""
        begun = self.begin(task, network, options)
        self.check_network(begun.own)
        chosen: str | None = self.block
        if chosen == "auto":
            norms = relative_gradient_norms(begun)
            chosen = max(norms, key=lambda name: norms[name]) if norms else None
        if chosen is None:  # a network without blocks, whose head alone is trained
            return self.fit_from(begun, options)
        fitted = replace(self, block=chosen).fit_from(begun, options)
        return replace(fitted, notes={**fitted.notes, "block": 1.0 + list(begun.own.named_blocks()).index(chosen)})

    def adapt(self, own: Network, options: FitOptions) -> Sequence[nn.Module]:
        """Freeze the other blocks."""
        blocks = own.named_blocks()
        held = [block for name, block in blocks.items() if name != self.block]
        trained = set(blocks[self.block].parameters()) if self.block in blocks else set()
        for block in held:
            for parameter in block.parameters():
                if parameter not in trained:  # one that both share is trained
                    parameter.requires_grad_(False)
        return held

    def check_network(self, network: Network) -> None:
        """Refuse a network that has no block of the name, with a SettingsError."""
        names = list(network.named_blocks())
        if self.block != "auto" and self.block not in names:
            raise unknown_name("block of the backbone", self.block, names)


def relative_gradient_norms(begun: Beginning) -> dict[str, float]:
    """Return |g| / |w| of each block, for the loss of the network in evaluation mode; 0 if a norm is not finite."""
    own, shown = begun.own, begun.target.train.spread(EXAMPLES)
    with evaluated(own), recurrent_backward(own):
        for start in range(0, len(shown), AT_ONCE):
            batch = shown.batch(torch.arange(start, min(start + AT_ONCE, len(shown)), device=shown.device))
            share = len(batch.labels) / len(shown)
            torch.autograd.backward(share * task_loss(own(batch.inputs), batch.labels))
    norms = {}
    for name, block in own.named_blocks().items():
        weights = [parameter for parameter in block.parameters() if parameter.grad is not None]
        gradient = sum(float(p.grad.cpu().double().square().sum()) for p in weights if p.grad is not None)
        size = sum(float(p.detach().cpu().double().square().sum()) for p in weights)
        norms[name] = math.sqrt(gradient / size) if size > 0 and math.isfinite(gradient) else 0.0
    for parameter in own.parameters():
        parameter.grad = None
    return norms
