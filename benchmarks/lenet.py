"""A LeNet trained on scanned digits, for the benchmarks of diagnostics."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transferscope.data.load import load
from transferscope.models import build_network


@dataclass(frozen=True)
class Trained:
    """A trained network and the examples it was trained on.

    Attributes:
        network: LeNet with 431,080 parameters, in evaluation mode.
        inputs: Images, shape (N, 1, 28, 28), float32 in [0, 1].
        labels: Digits, shape (N,).
    """

    network: nn.Module
    inputs: Tensor
    labels: Tensor


def trained_lenet(n_examples: int, *, steps: int = 60) -> Trained:
    """Train for a few steps on scikit-learn's digits, enlarged to 28 x 28 pixels.

    Args:
        n_examples: Training examples, repeated if there are fewer.
        steps: Steps of SGD on batches of 64.
    """
    digits = load("digits").train
    images = torch.from_numpy(digits.inputs).float()
    scaled = nn.functional.interpolate(images / images.max(), size=(28, 28), mode="bilinear")
    index = torch.arange(n_examples) % len(scaled)
    inputs, labels = scaled[index], torch.from_numpy(digits.labels)[index]
    network = build_network("lenet", (1, 28, 28), 10, seed=0)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    generator = torch.Generator().manual_seed(0)
    for _ in range(steps):
        batch = torch.randint(n_examples, (64,), generator=generator)
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(inputs[batch]), labels[batch]).backward()
        optimiser.step()
    network.zero_grad(set_to_none=True)
    return Trained(network.eval(), inputs, labels)
