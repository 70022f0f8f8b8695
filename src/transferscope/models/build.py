"""Networks by name."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psutil
import torch
from torch import nn

from transferscope.errors import NetworkError, SettingsError, unknown_name
from transferscope.models.backbones.backbone import Backbone
from transferscope.models.backbones.conv4 import conv4
from transferscope.models.backbones.lenet import lenet
from transferscope.models.backbones.linear import linear
from transferscope.models.backbones.mlp import mlp
from transferscope.models.backbones.resnet import resnet20, resnet32, resnet56
from transferscope.models.network import Network
from transferscope.models.seeding import seeded

MOST_LAYERS = 64
"""More layers without shortcuts do not learn, and each step of training would take minutes."""


@dataclass(frozen=True, slots=True)
class BackboneEntry:
    """A backbone as `BACKBONES` lists it.

    Attributes:
        build: Makes it from the input shape and the widths, drawing from torch's global CPU generator.
        widths: The usual widths of its layers.
        any_depth: Whether there may be more or fewer layers than usual (at least one).
    """

    build: Callable[[tuple[int, ...], Any], Backbone]
    widths: tuple[int, ...]
    any_depth: bool = False


BACKBONES: dict[str, BackboneEntry] = {
    "linear": BackboneEntry(linear, ()),
    "mlp": BackboneEntry(mlp, (256, 256), any_depth=True),
    "lenet": BackboneEntry(lenet, (20, 50, 500)),
    "conv4": BackboneEntry(conv4, (32, 32, 32, 32)),
    "resnet20": BackboneEntry(resnet20, (16, 32, 64)),
    "resnet32": BackboneEntry(resnet32, (16, 32, 64)),
    "resnet56": BackboneEntry(resnet56, (16, 32, 64)),
}


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """Which backbone, and how wide.

    Attributes:
        name: One of `BACKBONES`.
        widths: Units or channels of its layers from the input up, each at least 1; None for the usual ones: () for
            linear, (256, 256) for mlp, (20, 50, 500) for lenet, (32, 32, 32, 32) for conv4 and (16, 32, 64) for the
            residual networks.

    Raises:
        UnknownNameError: There is no such backbone.
        SettingsError: A width is below 1, or their number does not fit the backbone.
    """

    name: str = "lenet"
    widths: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        """Check the name and the widths."""
        if self.name not in BACKBONES:
            raise unknown_name("network", self.name, BACKBONES)
        if self.widths is not None:
            _check_widths(self.name, self.widths)

    def read_as(self, input_shape: tuple[int, ...]) -> str:
        """The end of a message about weights that do not belong to this network."""
        widths = BACKBONES[self.name].widths if self.widths is None else self.widths
        return (
            f". It was read as {self.name} of widths {widths} for inputs of shape {input_shape}; choose these as in "
            "its training"
        )


def build_network(
    settings: NetworkSettings | str, input_shape: tuple[int, ...], n_outputs: int, *, seed: int
) -> Network:
    """A freshly initialised network.

    Args:
        settings: Which backbone and how wide, or just its name.
        input_shape: Shape of one input: (C, H, W) for images, (D,) for vectors.
        n_outputs: Number of classes or regression targets, at least 1.
        seed: Seed of the initialisation; the global random state is left as it was.

    Returns:
        The network, on the CPU and in training mode; the same weights for the same arguments.

    Raises:
        UnknownNameError: There is no such backbone.
        NetworkError: The backbone cannot read inputs of this shape, `n_outputs` is below 1, or the network is too large
            for this machine's memory.

    Example:
        >>> build_network("lenet", (1, 28, 28), 10, seed=0).n_features
        500
    """
    settings = NetworkSettings(settings) if isinstance(settings, str) else settings
    if n_outputs < 1 or not input_shape or min(input_shape) < 1:
        raise NetworkError(
            f"a network from inputs of shape {input_shape} to {n_outputs} outputs was asked for; all must be >= 1"
        )
    entry = BACKBONES[settings.name]
    widths = entry.widths if settings.widths is None else settings.widths
    if max(widths, default=0) > _WIDE or math.prod(input_shape) > _WIDE**2:
        _check_memory(entry, settings.name, input_shape, widths)
    with seeded(seed):
        backbone = entry.build(input_shape, widths)
        head = nn.Linear(backbone.n_features, n_outputs)
    return Network(backbone.features, head, backbone.n_features)


_WIDE = 4096
"""Networks of these widths, for inputs of this many numbers, fit into any machine's memory."""


def _check_memory(entry: BackboneEntry, name: str, input_shape: tuple[int, ...], widths: tuple[int, ...]) -> None:
    """Whether there is room for weights, their gradients, momenta and a copy, found out without allocating any."""
    try:
        with torch.device("meta"):
            size: float = sum(weight.numel() for weight in entry.build(input_shape, widths).features.parameters())
    except (RuntimeError, OverflowError):  # sizes beyond 64 bits
        size = math.inf
    needed, there = 16 * size, psutil.virtual_memory().available
    if needed > there:
        raise NetworkError(
            f"{name} of widths {widths} for inputs of shape {input_shape} has {size:.3g} weights; training it takes "
            f"{needed / 2**30:.3g} GiB of memory and {there / 2**30:.3g} GiB are free: give smaller widths or inputs"
        )


def _check_widths(name: str, widths: tuple[int, ...]) -> None:
    usual = BACKBONES[name].widths
    fits = len(widths) >= 1 if BACKBONES[name].any_depth else len(widths) == len(usual)
    if len(widths) > MOST_LAYERS:
        raise SettingsError(f"{name} was given {len(widths)} widths; expected at most {MOST_LAYERS}")
    if not fits or any(width < 1 for width in widths):
        count = "at least 1 width" if BACKBONES[name].any_depth else f"{len(usual)} widths"
        raise SettingsError(f"{name} was given widths {widths}; expected {count}, each >= 1, as in {usual}")
