"""Drawing of batches and augmentation of images, as functions of seed and step, so that a run can resume."""

import math
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from transferscope.errors import out_of_range
from transferscope.settings.training import batches_per_epoch
from transferscope.training.tensors import sent


def stream_seed(seed: int, *names: str) -> int:
    """Return a 63-bit seed for one purpose of a run, such as "order", independent of others; `seed` is at least 0."""
    words = [int.from_bytes(name.encode(), "little") for name in names]
    return int(np.random.SeedSequence([seed, *words]).generate_state(1, np.uint64)[0] >> np.uint64(1))


@dataclass
class BatchStream:
    """Endless passes over n examples, each in a fresh random order without replacement.

    The batch of step t depends on (seed, t) alone.

    Attributes:
        n_examples: Number of examples, at least 1.
        batch_size: Examples per batch, at least 1, reduced to all examples if there are fewer; the last batch of a pass
            can have one more.
    """

    n_examples: int
    batch_size: int
    seed: int
    _epoch: int = field(default=-1, init=False, repr=False)
    _order: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.int64), init=False, repr=False)

    def __post_init__(self) -> None:
        for name, value in (("n_examples", self.n_examples), ("batch_size", self.batch_size)):
            if value < 1:
                raise out_of_range(name, value, "at least 1")
        self.batch_size = min(self.batch_size, self.n_examples)

    def indices(self, step: int) -> Int[Tensor, " n"]:
        """Return the indices of the batch of `step`, counted from 0; see `batches_per_epoch` for their number."""
        n_batches = batches_per_epoch(self.n_examples, self.batch_size)
        epoch, place = divmod(step, n_batches)
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed(stream_seed(self.seed, f"epoch {epoch}"))
            self._order = torch.randperm(self.n_examples, generator=generator)
            self._epoch = epoch
        end = (place + 1) * self.batch_size if place + 1 < n_batches else self.n_examples
        return self._order[place * self.batch_size : end]


PADDING = 4

TURN, ZOOM, SHIFT = math.radians(10), 0.1, 0.1
"""Limits of a warp: angle, relative change of size, and shift as a share of half the image."""


def warp(images: Float[Tensor, "n C H W"], *, seed: int, step: int) -> Float[Tensor, "n C H W"]:
    """Rotate, scale and shift each image, uniformly between minus and plus the maximum.

    One affine map per image, with bilinear interpolation; the border is replicated.
    """
    generator = torch.Generator().manual_seed(stream_seed(seed, f"warp {step}"))
    n, _, height, width = images.shape
    turn, zoom, right, down = 2 * torch.rand(4, n, generator=generator) - 1
    cos, sin = (1 + ZOOM * zoom) * torch.stack(((TURN * turn).cos(), (TURN * turn).sin()))
    # rows of [x, y, 1] with the image between -1 and 1, whatever its sides
    rows = (cos, -sin * height / width, SHIFT * right, sin * width / height, cos, SHIFT * down)
    maps = sent(torch.stack(rows, dim=1).view(n, 2, 3), images.device).to(images)
    grid = F.affine_grid(maps, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)


def flipped(n: int, *, seed: int, step: int) -> Bool[Tensor, " n"]:
    """Return which images of a batch are flipped, each with probability one half."""
    generator = torch.Generator().manual_seed(stream_seed(seed, f"flip {step}"))
    return torch.rand(n, generator=generator) < 0.5


def flip(images: Float[Tensor, "n C H W"], *, seed: int, step: int) -> Float[Tensor, "n C H W"]:
    """Flip each image from left to right with probability one half."""
    flips = sent(flipped(len(images), seed=seed, step=step), images.device)
    return torch.where(flips[:, None, None, None], images.flip(3), images)


def flip_crop(images: Float[Tensor, "n C H W"], *, seed: int, step: int) -> Float[Tensor, "n C H W"]:
    """Flip each image with probability one half and crop it after padding by 4 pixels (He et al. 2016, section 4.2).

    Args:
        images: Standardised images; the padding is 0, the mean of the training pixels.
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
        torch.arange(n, device=device)[:, None, None], sent(rows[:, :, None], device), sent(columns[:, None], device)
    ]
    return picked.permute(0, 3, 1, 2)


STRONGEST_TURN, STRONGEST = math.radians(135), 0.99
"""Limits of a strong change: angle, and relative change of brightness, contrast and colour, or shear."""


def strong_change(images: Float[Tensor, "n C H W"], *, seed: int, step: int) -> Float[Tensor, "n C H W"]:
    """Change each image in one of ten ways, drawn evenly, at a strength drawn evenly up to the strongest.

    Source: "TrivialAugment: Tuning-free Yet State-of-the-Art Data Augmentation" (Müller and Hutter 2021), its wide
    ranges. Values change within the range of each image, since images are standardised; pixels that move in are the
    lowest of the image.
    """
    generator = torch.Generator().manual_seed(stream_seed(seed, f"strong {step}"))
    n, _, height, width = images.shape
    kind, (strength, sign) = torch.randint(10, (n,), generator=generator), torch.rand(2, n, generator=generator)
    signed = torch.where(sign < 0.5, -strength, strength)
    low, high = images.amin((1, 2, 3), keepdim=True), images.amax((1, 2, 3), keepdim=True)
    shares = (images - low) / (high - low).clamp_min(1e-6)
    cos, sin = (STRONGEST_TURN * signed).cos(), (STRONGEST_TURN * signed).sin()
    one, none, sheared = torch.ones(n), torch.zeros(n), STRONGEST * signed
    moves = (
        (cos, -sin * height / width, none, sin * width / height, cos, none),
        (one, sheared, none, none, one, none),
        (one, none, none, sheared, one, none),
        (one, none, 2 * signed, none, one, none),
        (one, none, none, none, one, 2 * signed),
    )
    moved = (kind < len(moves)).nonzero()[:, 0]
    if len(moved):
        maps = torch.stack([torch.stack(rows, dim=1) for rows in moves])[kind[moved], moved].view(-1, 2, 3)
        grid = F.affine_grid(sent(maps, images.device).to(images), [len(moved), *images.shape[1:]], align_corners=False)
        place = sent(moved, images.device)
        shares[place] = F.grid_sample(shares[place], grid, mode="bilinear", align_corners=False)
    for i, changed in enumerate((_brightness, _contrast, _colour, _posterise, _solarise), start=len(moves)):
        own = (kind == i).nonzero()[:, 0]
        amounts = sent(torch.stack((signed[own], strength[own])), images.device).to(images)
        place = sent(own, images.device)
        shares[place] = changed(shares[place], *amounts[:, :, None, None, None])
    return low + (high - low) * shares


def _brightness(shares: Tensor, signed: Tensor, strength: Tensor) -> Tensor:
    return (shares * (1 + STRONGEST * signed)).clamp(0, 1)


def _contrast(shares: Tensor, signed: Tensor, strength: Tensor) -> Tensor:
    mean = shares.mean((1, 2, 3), keepdim=True)
    return (mean + (shares - mean) * (1 + STRONGEST * signed)).clamp(0, 1)


def _colour(shares: Tensor, signed: Tensor, strength: Tensor) -> Tensor:
    grey = shares.mean(1, keepdim=True)
    return (grey + (shares - grey) * (1 + STRONGEST * signed)).clamp(0, 1)


def _posterise(shares: Tensor, signed: Tensor, strength: Tensor) -> Tensor:
    levels = 2 ** (8 - (6 * strength).round())
    return (shares * levels).floor() / levels


def _solarise(shares: Tensor, signed: Tensor, strength: Tensor) -> Tensor:
    return torch.where(shares >= 1 - strength, 1 - shares, shares)


def strong(images: Float[Tensor, "n C H W"], *, seed: int, step: int) -> Float[Tensor, "n C H W"]:
    """Flip and crop each image, then change it in one strong way."""
    return strong_change(flip_crop(images, seed=seed, step=step), seed=seed, step=step)


AUGMENTATIONS = {"warp": warp, "flip": flip, "flip-crop": flip_crop, "strong": strong}
"""What `TrainingSettings.augment` names, besides "none": random changes of a batch, as functions of seed and step."""
