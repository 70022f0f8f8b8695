"""What every backbone file makes."""

from dataclasses import dataclass
from math import prod

from torch import nn

from transferscope.errors import NetworkError


@dataclass(frozen=True, slots=True)
class Backbone:
    """Features without a head.

    Attributes:
        features: Named blocks from the input up; maps (N, *input_shape) to (N, n_features).
        n_features: Width of the features.
    """

    features: nn.Module
    n_features: int


def n_inputs(input_shape: tuple[int, ...]) -> int:
    """Number of scalars of one input, whatever its shape."""
    return prod(input_shape)


def check_image(name: str, input_shape: tuple[int, ...], *, smallest: int) -> None:
    """Refuse inputs that a convolutional backbone cannot read.

    Args:
        name: The backbone, for the message.
        input_shape: Shape of one input; should be (C, H, W).
        smallest: Least height and width in pixels.

    Raises:
        NetworkError: The inputs are no images, or too small.
    """
    if len(input_shape) != 3:
        raise NetworkError(
            f"{name} reads images (channels, height, width), and the inputs have shape {input_shape}; use linear or mlp"
        )
    _, height, width = input_shape
    if min(height, width) < smallest:
        raise NetworkError(
            f"{name} needs images of at least {smallest} x {smallest} pixels, and these are {height} x {width}; "
            f'resize them (transforms "resize:{max(28, smallest)}") or use mlp'
        )
