"""A small vision transformer, as a network of one's own.

From the folder above:
    transferscope compare usps --from fashion-mnist --labels 100 --network examples/vit.py:small_vit \\
        --set training.optimiser=adamw
"""

from collections import OrderedDict

import torch
from torch import Tensor, nn

from transferscope.errors import NetworkError


class Patches(nn.Module):
    """A token for each of 4 x 4 patches of an image, plus one that is learnt for its place."""

    def __init__(self, input_shape: tuple[int, int, int], width: int) -> None:
        super().__init__()
        channels, height, across = input_shape
        self.embed = nn.Conv2d(channels, width, (height // 4, across // 4), stride=(height // 4, across // 4))
        self.places = nn.Parameter(torch.empty(1, 16, width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw what is the module's own again; layers in it are asked themselves."""
        nn.init.normal_(self.places, std=0.02)

    def forward(self, images: Tensor) -> Tensor:
        """(N, C, H, W) to (N, 16, width)."""
        tokens: Tensor = self.embed(images)[:, :, :4, :4].flatten(2).transpose(1, 2)
        return tokens + self.places


class Mean(nn.Module):
    """The mean over tokens, normalised: (N, T, width) to (N, width)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: Tensor) -> Tensor:
        """(N, T, width) to (N, width)."""
        mean: Tensor = self.norm(tokens).mean(dim=1)
        return mean


def small_vit(input_shape: tuple[int, ...], widths: tuple[int, ...] = (64, 64, 64)) -> nn.Module:
    """Layers of self-attention over 16 patches; transferscope puts a head on the features and finds out their width.

    Args:
        input_shape: Shape (C, H, W) of one image, of at least 4 pixels a side.
        widths: Width of the tokens, the same number for each layer.

    Returns:
        The features, as blocks that methods can freeze from the input up.

    Raises:
        NetworkError: The inputs are no such images, or the widths differ or are no multiples of 4 (heads).
    """
    if len(input_shape) != 3 or min(input_shape[1:]) < 4:
        raise NetworkError(f"small_vit reads images (C, H, W) of at least 4 x 4 pixels; it was given {input_shape}")
    if len(set(widths)) != 1 or widths[0] % 4:
        raise NetworkError(f"small_vit has one width, a multiple of 4, for each layer; it was given {widths}")
    channels, height, across = input_shape
    width = widths[0]
    layers = {
        f"layer{i + 1}": nn.TransformerEncoderLayer(
            width, nhead=4, dim_feedforward=2 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        for i in range(len(widths))
    }
    return nn.Sequential(OrderedDict(patches=Patches((channels, height, across), width), **layers, mean=Mean(width)))
