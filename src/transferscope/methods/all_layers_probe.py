"""Head2Toe: a probe on selected features of all blocks."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from transferscope.data.task import TransferTask
from transferscope.methods.block_outputs import BlockOutput, BlockOutputs
from transferscope.methods.common import Domain, domain, solved, working_copy
from transferscope.methods.held_out import harm, labels_needed, stratified_folds
from transferscope.methods.method import FitOptions, Fitted, Method, Start
from transferscope.methods.probe_head import probe_of, ridge_probe
from transferscope.models.network import Network, evaluated, n_weights
from transferscope.training import TensorSet, example_weights, frozen_features, outputs_of, stream_seed, weights_in

FRACTIONS = (0.0, 0.02, 0.1, 0.3, 1.0)
"""Shares of the features that are tried; 0 is the last block only, preferred in ties."""

POOL = 2
"""Feature maps are averaged over POOL x POOL parts, tokens over all of a text."""

FOLDS = 4
MOST_EXAMPLES = 4000
"""Most training examples, evenly chosen, for the choice of the share."""


class AllLayers(nn.Module):
    """Pooled outputs of all blocks of a backbone, standardised, as one vector; or of some of its numbers.

    Blocks whose outputs do not have one row per example, such as those of token-first encoders, are left out.

    Args:
        example: Inputs for detecting these blocks, at least one.
    """

    mean: Tensor
    factor: Tensor
    kept: Tensor

    def __init__(self, network: Network, example: TensorSet) -> None:
        super().__init__()
        self.network = network
        self.read = self._with_a_row_for_each(example)
        self.register_buffer("mean", torch.zeros(()))
        self.register_buffer("factor", torch.ones(()))
        self.register_buffer("kept", torch.zeros(0, dtype=torch.int64))

    def forward(self, inputs: Tensor) -> Float[Tensor, "n m"]:
        """Return all features, or the selected ones; the last are those of the backbone."""
        blocks = BlockOutputs(self.network)
        with blocks.watched():
            *earlier, (_, (features,)) = blocks.of(inputs).items()
        parts = [self._joined(runs) for name, runs in earlier if name in self.read]
        together = (torch.cat([*parts, features.values], dim=1) - self.mean) * self.factor
        return together[:, self.kept] if len(self.kept) else together

    def extra_repr(self) -> str:
        """Return what is not in the weights, for the key of cached features."""
        return f"read={','.join(self.read)}"

    @torch.no_grad()
    def _with_a_row_for_each(self, example: TensorSet) -> tuple[str, ...]:
        """Return the blocks whose outputs have one row per example."""
        of_each = []
        with evaluated(self.network), BlockOutputs(self.network).watched() as blocks:
            for n in (2, 3):
                outputs = blocks.of(example.batch(torch.arange(n, device=example.device) % len(example)).inputs)
                of_each.append([name for name, runs in outputs.items() if len(runs[0].values) == n])
        return tuple(name for name in of_each[0] if name in of_each[1])

    def _joined(self, runs: Sequence[BlockOutput]) -> Tensor:
        """Return one output; for two texts u and v encoded apart |u - v| and u * v, as in `texts.encoded`."""
        pooled = [self._pooled(output) for output in runs]
        if len(pooled) == 1:
            return pooled[0]
        first, second = pooled
        return torch.cat([(first - second).abs(), first * second], dim=1)

    def _pooled(self, output: BlockOutput) -> Tensor:
        if output.values.ndim == 4:
            side = min(POOL, *output.values.shape[2:])
            return F.adaptive_avg_pool2d(output.values, side).flatten(1)
        return output.mean(output.by_position)


@dataclass(frozen=True)
class AllLayersProbe(Method):
    """Fit a linear head to the best of the pooled outputs of all blocks; the backbone stays as it is.

    "Head2Toe: Utilizing Intermediate Representations for Better Transfer Learning" (Evci, Dumoulin, Larochelle, Mozer
    2022, arXiv:2201.03529), with ridge regression instead of the paper's group lasso: a ridge head is fitted to all
    standardised features, each is scored by the norm of its weights over outputs (the paper's relevance score), and the
    final ridge head uses the features with the highest scores, in the share of FRACTIONS with the smallest risk over
    folds of the target's training examples. With fewer than four examples per class the share is 0, the linear probe.
    """

    name: ClassVar[str] = "all-layers-probe"
    called: ClassVar[str] = "all-layers probe"
    version: ClassVar[int] = 3
    start: ClassVar[Start] = "pretrained"
    takes_steps: ClassVar[bool] = False
    keeps_network: ClassVar[bool] = False

    @torch.no_grad()
    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`; notes the "fraction" and how many "features" were kept."""
        started = time.perf_counter()
        target = domain(task.target, options, network)
        own = working_copy(network, task.target.train, options, start=self.start)
        train = target.train
        layers = AllLayers(own, train)
        numbers = outputs_of(layers, train)
        exact = numbers.cpu().double()
        std = exact.std(dim=0, correction=0)
        layers.mean = exact.mean(dim=0).to(numbers)
        layers.factor = torch.where(std > 1e-6, 1 / std, 1.0).to(numbers)
        numbers = (numbers - layers.mean) * layers.factor
        fraction = self._chosen(task, own, target, numbers, options)
        if fraction == 0:
            head = probe_of(frozen_features(own, train), train, options.training)
            fitted = own.with_head(head)
        else:
            if fraction < 1:
                layers.kept = _best(probe_of(numbers, train, options.training), fraction)
            else:
                layers.kept = torch.arange(numbers.shape[1], device=numbers.device)
            head = probe_of(numbers[:, layers.kept], train, options.training)
            fitted = Network(layers, head, len(layers.kept), input=own.input, scaled=own.scaled)
        fitted.is_frozen = True
        notes = {"fraction": float(fraction), "features": float(fitted.n_features)}
        return solved(fitted, target, started, trained=n_weights(head), notes=notes)

    def _chosen(
        self, task: TransferTask, own: Network, target: Domain, numbers: Float[Tensor, "N m"], options: FitOptions
    ) -> float:
        few = np.unique(np.linspace(0, len(numbers) - 1, min(MOST_EXAMPLES, len(numbers))).round().astype(int))
        train = task.target.train.take(few)
        if len(train) < labels_needed(train, FOLDS):
            return 0.0
        last, labels, numbers = frozen_features(own, target.train)[few], target.train.labels[few], numbers[few]
        weights = weights_in(options.training, target.train)
        each = None if weights is None else example_weights(labels, weights)

        def head_on(seen: Float[Tensor, "n m"], fit: Tensor) -> nn.Linear:
            of_fit = None if each is None else each[fit]
            return ridge_probe(seen[fit], labels[fit], target.train.n_outputs, of_fit)

        risks = dict.fromkeys(FRACTIONS, 0.0)
        for fold in stratified_folds(train, FOLDS, seed=stream_seed(options.seed, "held out")):
            fit, left = torch.from_numpy(fold.fit), torch.from_numpy(fold.validate)
            of_all = head_on(numbers, fit)
            for fraction in FRACTIONS:
                seen, head = numbers, of_all
                if fraction < 1:
                    seen = numbers[:, _best(of_all, fraction)] if fraction else last
                    head = head_on(seen, fit)
                risks[fraction] += len(left) * harm(head(seen[left]), labels[left], weights)[0]
        return min(FRACTIONS, key=lambda fraction: risks[fraction])


def _best(of_all: nn.Linear, fraction: float) -> Tensor:
    """Return the ascending indices of the share of features with the largest weights in a ridge head of all."""
    relevance = of_all.weight.norm(dim=0)
    kept: Tensor = relevance.topk(max(1, round(fraction * len(relevance)))).indices.sort().values
    return kept
