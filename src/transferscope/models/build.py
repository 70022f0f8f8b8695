"""Networks by name, those of other packages and of files included."""

import inspect
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import psutil
import torch
from torch import nn

from transferscope.errors import NetworkError, SettingsError, TransferscopeError
from transferscope.models.backbones.backbone import Backbone
from transferscope.models.backbones.conv4 import conv4
from transferscope.models.backbones.lenet import lenet
from transferscope.models.backbones.linear import linear
from transferscope.models.backbones.mlp import mlp
from transferscope.models.backbones.resnet import resnet20, resnet32, resnet56
from transferscope.models.network import Network, seeded
from transferscope.registry import Registry

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


def _as_entry(found: object) -> BackboneEntry:
    """The entry of a function of another package: `function(input_shape)` or `function(input_shape, widths=(...))`.

    It returns the features as a module from inputs (N, *input_shape) to (N, n_features), or as a `Backbone`.

    Raises:
        TypeError: It is no such function.
    """
    if not callable(found):
        raise TypeError("is no function")
    parameters = inspect.signature(found).parameters
    if next(iter(parameters), None) != "input_shape":
        raise TypeError("takes something else than input_shape first")
    widths = parameters["widths"].default if "widths" in parameters else ()
    if not isinstance(widths, tuple) or not all(isinstance(width, int) for width in widths):
        raise TypeError("has widths without usual values, as in widths=(32, 64)")

    def build(input_shape: tuple[int, ...], widths: Any) -> Backbone:
        try:
            made = found(input_shape, widths=widths) if "widths" in parameters else found(input_shape)
            return made if isinstance(made, Backbone) else _measured(made, input_shape)
        except TransferscopeError:
            raise
        except Exception as error:  # code of another package may raise anything
            reason = " ".join(str(error).split()) or type(error).__name__
            raise NetworkError(f"the network fails on inputs of shape {input_shape}: {reason}") from error

    return BackboneEntry(build, widths, any_depth=bool(widths))


def _measured(features: object, input_shape: tuple[int, ...]) -> Backbone:
    """A backbone from its features, whose width is that of their outputs on zeros."""
    if not isinstance(features, nn.Module):
        raise NetworkError(f"the network is a {type(features).__name__}; expected its features, a torch.nn.Module")
    features.eval()
    with torch.no_grad():
        outputs = features(torch.zeros(2, *input_shape))
    features.train()
    if not isinstance(outputs, torch.Tensor) or outputs.ndim != 2 or len(outputs) != 2:
        seen = tuple(outputs.shape) if isinstance(outputs, torch.Tensor) else type(outputs).__name__
        raise NetworkError(f"the network's features of 2 inputs are {seen}; expected a tensor (2, n_features)")
    return Backbone(features, int(outputs.shape[1]))


BACKBONES: Registry[BackboneEntry] = Registry(
    "network",
    "transferscope.networks",
    {
        "linear": BackboneEntry(linear, ()),
        "mlp": BackboneEntry(mlp, (256, 256), any_depth=True),
        "lenet": BackboneEntry(lenet, (20, 50, 500)),
        "conv4": BackboneEntry(conv4, (32, 32, 32, 32)),
        "resnet20": BackboneEntry(resnet20, (16, 32, 64)),
        "resnet32": BackboneEntry(resnet32, (16, 32, 64)),
        "resnet56": BackboneEntry(resnet56, (16, 32, 64)),
    },
    _as_entry,
)
"""Every backbone by the name it has in study files."""


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """Which backbone, and how wide.

    Attributes:
        name: One of `BACKBONES`, or a reference to a function that makes the features, as in "package.module:function"
            or "path/to/file.py:function".
        widths: Units or channels of its layers from the input up, each at least 1; None for the usual ones: () for
            linear, (256, 256) for mlp, (20, 50, 500) for lenet, (32, 32, 32, 32) for conv4 and (16, 32, 64) for the
            residual networks.

    Raises:
        UnknownNameError: There is no such backbone.
        SettingsError: A width is below 1, or their number does not fit the backbone; or a reference leads nowhere.
    """

    name: str = "lenet"
    widths: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        """Check the name and the widths."""
        entry = BACKBONES[self.name]
        if self.widths is not None:
            _check_widths(self.name, entry, self.widths)

    @property
    def identity(self) -> dict[str, Any]:
        """What of a network can change an answer, as JSON values; one of another package by its source too."""
        origin = BACKBONES.identity(BACKBONES[self.name])
        return {**asdict(self), "name": origin["class"], "origin": origin} if origin else asdict(self)

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
    """Refuse a network whose weights, gradients, momenta and copy exceed the free memory; none is allocated."""
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


def _check_widths(name: str, entry: BackboneEntry, widths: tuple[int, ...]) -> None:
    usual = entry.widths
    fits = len(widths) >= 1 if entry.any_depth else len(widths) == len(usual)
    if len(widths) > MOST_LAYERS:
        raise SettingsError(f"{name} was given {len(widths)} widths; expected at most {MOST_LAYERS}")
    if not fits or any(width < 1 for width in widths):
        count = "at least 1 width" if entry.any_depth else f"{len(usual)} widths"
        raise SettingsError(f"{name} was given widths {widths}; expected {count}, each >= 1, as in {usual}")
