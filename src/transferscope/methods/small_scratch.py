"""A small network from scratch: the baseline of large pretrained networks that take days to train from scratch."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.errors import unsupported
from transferscope.methods.method import FitOptions
from transferscope.methods.target_training import Beginning, TargetTraining
from transferscope.models.build import build_network
from transferscope.models.network import Network
from transferscope.training import stream_seed

SMALLEST, LARGEST_LENET, LARGEST = 16, 40, 64
"""Least side of images in pixels, largest side for LeNet (conv4 beyond), and largest side."""


@dataclass(frozen=True)
class SmallScratch(TargetTraining):
    """Train a small network on the target's labels alone, independent of the study's network.

    Images are read by LeNet, or by conv4 where they have more than 40 pixels on a side, averaged to 64 at most; vectors
    by a multilayer perceptron.
    """

    name: ClassVar[str] = "small-scratch"
    called: ClassVar[str] = "small network from scratch"
    version: ClassVar[int] = 1
    keeps_network: ClassVar[bool] = False
    uses_network: ClassVar[bool] = False

    def check_task(self, target: Dataset, source: Dataset | None) -> None:
        """Refuse texts, with a DataError."""
        if target.train.is_tokens:
            raise unsupported(self.name, "images or vectors", f"{target.name} is texts")

    def own_network(self, few: LabelledSet) -> Network:
        """Return the small network."""
        return small_network(few, seed=0)

    def begin(self, task: TransferTask, network: Network, options: FitOptions) -> Beginning:
        """Return the small network, drawn from the seed, instead of the given one."""
        small = small_network(task.target.train, seed=stream_seed(options.seed, "small network"))
        return super().begin(task, small, options)


def small_network(train: LabelledSet, *, seed: int) -> Network:
    """Return a small built-in network for images or vectors like these."""
    if not train.is_image:
        return build_network("mlp", train.input_shape, train.n_outputs, seed=seed)
    channels, *sides = train.input_shape
    height, width = (min(max(side, SMALLEST), LARGEST) for side in sides)
    name = "lenet" if max(height, width) <= LARGEST_LENET else "conv4"
    network = build_network(name, (channels, height, width), train.n_outputs, seed=seed)
    if [height, width] != sides:
        blocks = OrderedDict(resize=nn.AdaptiveAvgPool2d((height, width)), **dict(network.features.named_children()))
        network.features = nn.Sequential(blocks)
    return network
