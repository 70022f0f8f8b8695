"""The LeNet of digit transfer experiments."""

from collections import OrderedDict

from torch import nn

from transferscope.models.backbones.backbone import Backbone, check_image

SMALLEST = 16  # pixels: the side that leaves one pixel after two convolutions and poolings


def lenet(input_shape: tuple[int, ...], widths: tuple[int, int, int]) -> Backbone:
    """Two 5 x 5 convolutions without padding, each with 2 x 2 max pooling and ReLU, and one hidden layer.

    The Caffe variant of LeNet-5 (LeCun et al. 1998), with 431,080 parameters on 28 x 28 grey images and ten classes.
    Pooling comes before ReLU: max pooling and ReLU commute, and ReLU then has a quarter of the work.

    Args:
        input_shape: Shape of one image (C, H, W), at least 16 x 16 pixels.
        widths: Channels of both convolutions and units of the hidden layer; (20, 50, 500) by default.

    Returns:
        The backbone, with blocks `conv1`, `conv2` and `hidden`.

    Raises:
        NetworkError: The inputs are no images, or too small.
    """
    check_image("lenet", input_shape, smallest=SMALLEST)
    channels, height, width = input_shape
    first, second, hidden = widths
    n_pooled = second * _pooled(_pooled(height)) * _pooled(_pooled(width))
    blocks: OrderedDict[str, nn.Module] = OrderedDict(
        conv1=nn.Sequential(nn.Conv2d(channels, first, 5), nn.MaxPool2d(2), nn.ReLU()),
        conv2=nn.Sequential(nn.Conv2d(first, second, 5), nn.MaxPool2d(2), nn.ReLU()),
        hidden=nn.Sequential(nn.Flatten(), nn.Linear(n_pooled, hidden), nn.ReLU()),
    )
    return Backbone(nn.Sequential(blocks), hidden)


def _pooled(side: int) -> int:
    """Side in pixels after a 5 x 5 convolution and 2 x 2 pooling."""
    return (side - 4) // 2
