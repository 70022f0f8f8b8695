"""No backbone at all: the head reads the inputs."""

from collections import OrderedDict

from torch import nn

from transferscope.models.backbones.backbone import Backbone, n_inputs


def linear(input_shape: tuple[int, ...], widths: tuple[()]) -> Backbone:
    """Features are the flattened inputs, so that the network is one linear map.

    Args:
        input_shape: Shape of one input.
        widths: Empty: there are no layers.

    Returns:
        A backbone without parameters.
    """
    return Backbone(nn.Sequential(OrderedDict(flatten=nn.Flatten())), n_inputs(input_shape))
