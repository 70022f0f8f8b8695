"""Random flips and crops of image batches, drawn from seed and step."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from transferscope.training.stream import stream_seed

PADDING = 4


def flip_crop(images: Float[Tensor, "n C H W"], *, seed: int, step: int) -> Float[Tensor, "n C H W"]:
    """Flip each image with probability one half and crop it after padding by 4 pixels (He et al. 2016, section 4.2).

    Args:
        images: Standardised images; the padding is 0, the mean of the training pixels.
        seed: Seed of the run.
        step: Training step; the same seed and step give the same draw.

    Returns:
        Images of the same shape.
    """
    generator = torch.Generator().manual_seed(stream_seed(seed, f"augment {step}"))
    n, _, height, width = images.shape
    flips = torch.rand(n, generator=generator) < 0.5
    top = torch.randint(2 * PADDING + 1, (n,), generator=generator)
    left = torch.randint(2 * PADDING + 1, (n,), generator=generator)
    rows = top[:, None] + torch.arange(height)  # (n, H)
    columns = torch.arange(width).expand(n, width)
    columns = left[:, None] + torch.where(flips[:, None], width - 1 - columns, columns)  # (n, W)
    padded = F.pad(images, (PADDING,) * 4).permute(0, 2, 3, 1)  # (n, H', W', C)
    device = images.device
    picked = padded[
        torch.arange(n, device=device)[:, None, None], rows[:, :, None].to(device), columns[:, None].to(device)
    ]
    return picked.permute(0, 3, 1, 2)
