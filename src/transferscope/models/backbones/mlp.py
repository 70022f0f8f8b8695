"""Fully connected layers."""

from collections import OrderedDict
from itertools import pairwise

from torch import nn

from transferscope.models.backbones.backbone import Backbone, n_inputs


def mlp(input_shape: tuple[int, ...], widths: tuple[int, ...]) -> Backbone:
    """A multilayer perceptron with ReLU after every layer; one block per layer.

    Args:
        input_shape: Shape of one input; it is flattened.
        widths: Units of each hidden layer, from the input up; the last one is the width of the features.

    Returns:
        The backbone, with blocks `hidden1`, `hidden2`, ...
    """
    sizes = (n_inputs(input_shape), *widths)
    blocks: OrderedDict[str, nn.Module] = OrderedDict(flatten=nn.Flatten())
    for depth, (n_in, n_out) in enumerate(pairwise(sizes), start=1):
        blocks[f"hidden{depth}"] = nn.Sequential(nn.Linear(n_in, n_out), nn.ReLU())
    return Backbone(nn.Sequential(blocks), widths[-1])
