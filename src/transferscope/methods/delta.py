"""DELTA: fine-tuning regularised towards the feature maps of the pretrained network."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from transferscope.methods.block_outputs import BlockOutput, BlockOutputs
from transferscope.methods.l2_sp import squared_distance
from transferscope.methods.method import Value
from transferscope.methods.probe_head import ridge_probe
from transferscope.methods.target_training import AnchoredFineTuning, Beginning
from transferscope.models.network import Network, evaluated
from transferscope.records import Says
from transferscope.training import Batch, TrainingSettings, batch_loss, frozen_features, task_loss

MOST_EXAMPLES = 128
"""Most training examples, evenly chosen, for the weights of channels."""

_ROUNDING = 1e-6  # of a mean square: a variance below it may be that of float32


@dataclass(frozen=True)
class Delta(AnchoredFineTuning):
    """Minimise L_target + (beta/2) sum over blocks l and channels j of a_lj |FM_j(x; w) - FM_j(x; w0)|^2 / s_l + decay.

    "DELTA: DEep Learning Transfer using Feature Map with Attention for Convolutional Networks" (Li, Xiong, Wang, Rao,
    Liu, Huan 2019, arXiv:1901.09229), equations 4 to 8. FM_j is channel j of a block's output, its square is averaged
    over positions and over the examples of the batch, and the a_lj of a block sum to its number of channels. The
    pretrained network reads the same batch, in evaluation mode. The penalty (alpha/2) ||head||^2 replaces weight decay.
    s_l is the variance of the pretrained block's outputs over examples and positions, summed over channels. In the
    paper it is 1; squared maps differ a hundredfold between blocks and networks, so that a good beta for one diverges
    for another.
    """

    attention: Annotated[
        Literal["removal", "none"],
        Says(
            "How channels are weighed",
            '"removal" weighs a channel by how much the loss on the target\'s training examples grows without it, '
            "under a ridge probe on the pretrained features: softmax over the channels of the block, of the "
            'growth as a share of its standard deviation there. "none" gives all channels the same weight, the '
            'simplified form of the paper\'s ablation ("DELTA without attention").',
        ),
    ] = "removal"

    name: ClassVar[str] = "delta"
    called: ClassVar[str] = "DELTA"
    version: ClassVar[int] = 2

    def loss(self, begun: Beginning) -> Callable[[Batch], Float[Tensor, ""]]:
        """Return the task's loss, the distances and the decay of the head."""
        own, head = begun.own, list(begun.own.head.parameters())
        reference = own.copy().eval().requires_grad_(False)
        weights = channel_weights(begun) if self.attention == "removal" else {}
        units = block_variances(begun)
        held = _held_blocks(own)
        now, then = BlockOutputs(own), BlockOutputs(reference)

        def loss(batch: Batch) -> Float[Tensor, ""]:
            with now.watched(), then.watched():
                outputs = now.of(batch.inputs)
                with torch.no_grad():
                    anchors = then.of(batch.inputs)
            *_, (features,) = outputs.values()
            distance = torch.zeros((), device=features.values.device)
            for name in outputs:
                if name not in held:
                    far = map_distance(outputs[name], anchors[name], weights.get(name))
                    distance = distance + far / units[name]
            decay = squared_distance(head)
            return batch_loss(own.head(features.values), batch) + 0.5 * self.beta * distance + 0.5 * self.alpha * decay

        return loss

    def searched(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """Return a stronger penalty."""
        return {"beta": (self.beta, 10 * self.beta or 0.1)}


def map_distance(
    outputs: Sequence[BlockOutput], anchors: Sequence[BlockOutput], weights: Float[Tensor, " C"] | None
) -> Float[Tensor, ""]:
    """Return the squared distance of two outputs of a block: mean over examples and positions, weighted sum over
    channels.

    Args:
        outputs: Outputs of the current network, averaged over both texts of a pair read separately.
        weights: A weight for each channel; None for 1.
    """
    distances = []
    for output, anchor in zip(outputs, anchors, strict=True):
        squares = output.mean((output.by_position - anchor.by_position).square())  # (n, C)
        distances.append((squares if weights is None else squares * weights).sum(dim=1).mean())
    return torch.stack(distances).mean()


@torch.no_grad()
def block_variances(begun: Beginning) -> dict[str, Float[Tensor, ""]]:
    """Return the variance of the outputs of each block, over examples and positions, summed over its channels.

    Args:
        begun: The network before training; its backbone is read in evaluation mode, over up to `MOST_EXAMPLES`.

    Returns:
        By block. For constant outputs, or a single example, the mean square, or 1 if that is 0.
    """
    blocks = BlockOutputs(begun.own)
    with evaluated(begun.own), blocks.watched():
        outputs = blocks.of(_shown(begun).inputs)
    variances = {}
    for name, runs in outputs.items():
        places = torch.cat([one.places for one in runs])
        variance, square = places.var(dim=0, correction=0).sum(), places.square().mean(dim=0).sum()
        varies = variance > _ROUNDING * square
        variances[name] = torch.where(varies, variance, torch.where(square > 0, square, 1.0))
    return variances


@torch.no_grad()
def channel_weights(begun: Beginning) -> dict[str, Float[Tensor, " _"]]:
    """Return the importance of each channel of each block to the target; a block's weights sum to its number of
    channels.

    Each channel takes a pass through the following blocks. Leading frozen blocks are left out, since their outputs do
    not change.
    """
    target = begun.target.train
    probe = ridge_probe(frozen_features(begun.own, target), target.labels, target.n_outputs)
    batch = _shown(begun)
    blocks = BlockOutputs(begun.own)
    weights = {}
    with evaluated(begun.own), blocks.watched():
        held, whole = _held_blocks(begun.own), blocks.remembered(batch.inputs)
        *_, (features,) = whole.outputs.values()
        for name, (output, *_) in whole.outputs.items():
            if name in held:
                continue
            losses = []
            for channel in range(output.values.shape[output.channel_dimension]):
                less = partial(_without, channel=channel)
                if output is features:  # nothing but the head follows
                    left = less(features)
                else:
                    blocks.change = {name: less}
                    with whole.up_to(name):
                        *_, (last,) = blocks.of(batch.inputs).values()
                    left = last.values
                losses.append(task_loss(probe(left), batch.labels))
            blocks.change = {}
            grown = torch.stack(losses) - task_loss(probe(features.values), batch.labels)
            spread = grown.std(correction=0)
            scaled = grown / spread if spread > 0 else torch.zeros_like(grown)
            weights[name] = len(grown) * scaled.softmax(dim=0)
    return weights


def _shown(begun: Beginning) -> Batch:
    shown = begun.target.train.spread(MOST_EXAMPLES)
    return shown.batch(torch.arange(len(shown), device=shown.device))


def _held_blocks(network: Network) -> set[str]:
    """Return the leading blocks without trained weights."""
    is_held = {
        name: not any(p.requires_grad for p in block.parameters()) for name, block in network.named_blocks().items()
    }
    return set(takewhile(is_held.__getitem__, is_held))


def _without(output: BlockOutput, *, channel: int) -> Tensor:
    changed = output.values.clone()
    changed.select(output.channel_dimension, channel).zero_()
    return changed
