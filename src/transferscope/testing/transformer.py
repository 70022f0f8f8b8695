"""A small transformer for testing methods."""

from torch import Tensor, nn

from transferscope.errors import NetworkError

_PATCH = 8
"""Side of the patch of a token, in pixels."""


class _Tokens(nn.Module):
    """(N, width, h, w) to (N, h w, width)."""

    def forward(self, maps: Tensor) -> Tensor:
        return maps.flatten(2).transpose(1, 2)


class _Mean(nn.Module):
    """(N, T, width) to (N, width)."""

    def forward(self, tokens: Tensor) -> Tensor:
        return tokens.mean(dim=1)


def transformer(input_shape: tuple[int, ...]) -> nn.Module:
    """Return one layer of self-attention over patches of 8 x 8 pixels.

    Args:
        input_shape: Shape (C, H, W) of one image, of at least 8 pixels a side.
    """
    if len(input_shape) != 3 or min(input_shape[1:]) < _PATCH:
        raise NetworkError(f"the transformer reads images of at least 8 x 8 pixels; it was given {input_shape}")
    width = 8
    layer = nn.TransformerEncoderLayer(width, nhead=2, dim_feedforward=12, dropout=0.0, batch_first=True)
    patches = nn.Sequential(nn.Conv2d(input_shape[0], width, _PATCH, stride=_PATCH), _Tokens())
    return nn.Sequential(patches, layer, nn.Sequential(nn.LayerNorm(width), _Mean()))
