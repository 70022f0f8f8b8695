"""A network of your own, on one page, as a template to copy.

    transferscope compare usps --from fashion-mnist --labels 100 --network examples/network.py:small_net

or in a study file

    [network]
    name = "examples/network.py:small_net"
    widths = [16, 64]
"""

from collections import OrderedDict

from torch import nn

from transferscope.errors import NetworkError


def small_net(input_shape: tuple[int, ...], widths: tuple[int, ...] = (8, 32)) -> nn.Module:
    """One convolution and one hidden layer; transferscope puts a head on the features and finds out their width.

    Args:
        input_shape: Shape (C, H, W) of one image.
        widths: Channels of the convolution and units of the hidden layer.

    Returns:
        The features, as blocks that methods can freeze from the input up.

    Raises:
        NetworkError: The inputs are no images, or the widths are not two.
    """
    if len(input_shape) != 3 or len(widths) != 2:
        raise NetworkError(f"small_net reads images (C, H, W) with two widths; it was given {input_shape} and {widths}")
    convolution = nn.Sequential(nn.Conv2d(input_shape[0], widths[0], 3, stride=2, padding=1), nn.ReLU())
    pooled = nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(16 * widths[0], widths[1]), nn.ReLU())
    return nn.Sequential(OrderedDict(convolution=convolution, hidden=pooled))
