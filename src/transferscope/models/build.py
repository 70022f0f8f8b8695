"""Networks by name: built-in backbones, those of other packages and files, of transformers, timm and torchvision."""

import inspect
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any

import torch
from torch import nn

from transferscope import registry
from transferscope.errors import CorruptDataError, NetworkError, SettingsError, TransferscopeError
from transferscope.machine import memory_free
from transferscope.models.adapt import adapt, check_answers
from transferscope.models.backbones import Backbone, conv4, lenet, linear, mlp, resnet
from transferscope.models.hubs.factory import Factory
from transferscope.models.hubs.hub import NamedModule
from transferscope.models.hubs.huggingface import HuggingFace, split_tower
from transferscope.models.hubs.timm import Timm
from transferscope.models.hubs.torchvision import Torchvision
from transferscope.models.inputs import NetworkInput
from transferscope.models.network import Network, n_weights, new_head, seeded
from transferscope.once import made_once
from transferscope.records import Says
from transferscope.registry import Registry

MOST_LAYERS = 64
"""Most layers: deeper networks without shortcuts do not learn, and steps would take minutes."""


@dataclass(frozen=True, slots=True)
class BackboneEntry:
    """A backbone in `BACKBONES`.

    Attributes:
        build: Builds it from the input shape and the widths, using torch's global CPU generator.
        widths: Default widths of its layers.
        any_depth: Whether the number of layers may differ from the default (at least one).
    """

    build: Callable[[tuple[int, ...], Any], Backbone]
    widths: tuple[int, ...]
    any_depth: bool = False


@dataclass(frozen=True, slots=True, eq=False)  # what is callable need not have a hash
class FactoryEntry:
    """A function or class of another package that returns a whole module, with its head, from keyword arguments."""

    function: Callable[..., object]


def _as_entry(maker: object) -> BackboneEntry | FactoryEntry:
    """Return the entry of a user's function: `function(input_shape)` or `function(input_shape, widths=(...))`.

    It returns a feature module from inputs (N, *input_shape) to (N, n_features), or a `Backbone`. A function without
    `input_shape` as its first parameter, or a class of modules, makes a whole module.
    """
    if not callable(maker):
        raise TypeError("is not a function")
    parameters = inspect.signature(maker).parameters
    if next(iter(parameters), None) != "input_shape":
        return FactoryEntry(maker)
    widths = parameters["widths"].default if "widths" in parameters else ()
    if not isinstance(widths, tuple) or not all(isinstance(width, int) for width in widths):
        raise TypeError("has widths without usual values, as in widths=(32, 64)")

    def build(input_shape: tuple[int, ...], widths: Any) -> Backbone:
        try:
            made = maker(input_shape, widths=widths) if "widths" in parameters else maker(input_shape)
            backbone = made if isinstance(made, Backbone) else _measured(made, input_shape)
            check_answers(backbone.features, input_shape)
            return backbone
        except TransferscopeError:
            raise
        except Exception as error:  # code of another package may raise anything
            reason = " ".join(str(error).split()) or type(error).__name__
            raise NetworkError(f"the network fails on inputs of shape {input_shape}: {reason}") from error

    return BackboneEntry(build, widths, any_depth=bool(widths))


def _measured(features: object, input_shape: tuple[int, ...]) -> Backbone:
    """Return a backbone whose width is that of its features on zeros."""
    if not isinstance(features, nn.Module):
        raise NetworkError(
            f"the network is of type {type(features).__name__}; expected its features, a torch.nn.Module"
        )
    features.eval()
    with torch.no_grad():
        outputs = features(torch.zeros(2, *input_shape))
    features.train()
    if not isinstance(outputs, torch.Tensor) or outputs.ndim != 2 or len(outputs) != 2:
        seen = tuple(outputs.shape) if isinstance(outputs, torch.Tensor) else type(outputs).__name__
        raise NetworkError(f"the network's features of 2 inputs are {seen}; expected a tensor (2, n_features)")
    return Backbone(features, int(outputs.shape[1]))


BACKBONES: Registry[BackboneEntry | FactoryEntry] = Registry(
    "network",
    "transferscope.networks",
    {
        "linear": BackboneEntry(linear, ()),
        "mlp": BackboneEntry(mlp, (256, 256), any_depth=True),
        "lenet": BackboneEntry(lenet, (20, 50, 500)),
        "conv4": BackboneEntry(conv4, (32, 32, 32, 32)),
        "resnet8": BackboneEntry(partial(resnet, name="resnet8", n_per_stage=1), (16, 32, 64)),
        "resnet20": BackboneEntry(partial(resnet, name="resnet20", n_per_stage=3), (16, 32, 64)),
        "resnet32": BackboneEntry(partial(resnet, name="resnet32", n_per_stage=5), (16, 32, 64)),
        "resnet56": BackboneEntry(partial(resnet, name="resnet56", n_per_stage=9), (16, 32, 64)),
    },
    _as_entry,
)
"""Every backbone by the name it has in study files."""


HUBS: dict[str, Callable[[str], NamedModule]] = {"hf": HuggingFace, "timm": Timm, "torchvision": Torchvision}
"""Other libraries by the word before the colon of a name."""

Option = bool | int | float | str
ModuleOptions = Annotated[dict[str, Option], Says("Keyword arguments of a function that makes a whole module")]
ModuleHead = Annotated[
    str | None,
    Says(
        'Name of the head of a whole module, as in "classifier.1"', '"none" for a module of features; None to find it.'
    ),
]
InputChoice = Annotated[
    NetworkInput | None,
    Says(
        "How inputs are brought to the network: size, mean, std, channels and scale",
        "None for what is known of it, see `input_of`.",
    ),
]


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """A network by name, with its settings.

    Raises:
        UnknownNameError: The backbone does not exist.
        SettingsError: A width is below 1, or their number does not match the backbone; a reference does not exist; or a
        setting is for networks of another kind.
    """

    name: Annotated[
        str,
        Says(
            "Which network",
            'One of `BACKBONES`; "hf:FOLDER_OR_ID", "timm:NAME" or "torchvision:NAME"; or a reference to a '
            'function, as in "package.module:function" or "path/to/file.py:function", that makes the features '
            "from `input_shape`, or a whole module from `options`.",
        ),
    ] = "lenet"
    widths: Annotated[
        tuple[int, ...] | None,
        Says(
            "Units or channels of a backbone's layers from the input up, each at least 1",
            "None for the usual ones: () for linear, (256, 256) for mlp, (20, 50, 500) for lenet, (32, 32, 32, "
            "32) for conv4 and (16, 32, 64) for the residual networks.",
        ),
    ] = None
    options: ModuleOptions = field(default_factory=dict)
    head: ModuleHead = None
    input: InputChoice = None

    def __post_init__(self) -> None:
        hub, _, rest = self.name.partition(":")
        if hub in HUBS and not rest:
            raise SettingsError(f"name = {self.name!r} lacks a network; expected one after the colon, as in hf:FOLDER")
        entry = self._entry
        if isinstance(entry, BackboneEntry):
            if self.options or self.head is not None:
                raise SettingsError(f"{self.name} accepts neither options nor head; leave them out")
            if self.widths is not None:
                _check_widths(self.name, entry, self.widths)
        elif self.widths is not None or (self.options and entry is None):
            wrong = "widths" if self.widths is not None else "options"
            raise SettingsError(f"{self.name} accepts no {wrong}; leave them out")

    @property
    def _entry(self) -> BackboneEntry | FactoryEntry | None:
        """The entry of `BACKBONES`; None for a network of a hub."""
        return None if self.name.partition(":")[0] in HUBS else BACKBONES[self.name]

    @property
    def module(self) -> NamedModule | None:
        """The named module; None for a backbone, which is built for the shape of the inputs."""
        return self._module(self._entry)

    def _module(self, entry: BackboneEntry | FactoryEntry | None) -> NamedModule | None:
        if isinstance(entry, BackboneEntry):
            return None
        if entry is None:
            hub, _, rest = self.name.partition(":")
            return _of_hub(hub, rest)
        return _factory(entry, self.name, json.dumps(self.options, sort_keys=True))

    @property
    def code(self) -> dict[str, str]:
        """The digest of the code of a user's function by the network's name, for `planned_code`; otherwise empty."""
        entry = self._entry
        return {} if entry is None else BACKBONES.code(entry)

    @property
    def identity(self) -> dict[str, Any]:
        """Everything about the network that can change a result, as JSON values; for user code including its source."""
        plain: dict[str, Any] = {"name": self.name, "widths": self.widths}
        entry = self._entry  # once: the registry knows of the last one that it gave where its code is
        module = self._module(entry)
        if module is None:
            origin = BACKBONES.identity(entry)
            plain |= {"name": origin["class"], "origin": origin} if origin else {}
        else:
            name = self.name if entry is None else module.identity["origin"]["class"]
            plain = {"name": name, "head": self.head, **module.identity}
            if "config" in module.identity:
                plain["name"] = "hf"  # a folder by another path is the same network
        known = input_of(self)
        return plain if known is None else {**plain, "input": asdict(known)}

    def read_as(self, input_shape: tuple[int, ...]) -> str:
        """Return the end of an error message about weights of another network."""
        entry = self._entry
        if not isinstance(entry, BackboneEntry):
            return f". It was read as {self.name}; choose the network as in its training"
        widths = entry.widths if self.widths is None else self.widths
        return (
            f". It was read as {self.name} of widths {widths} for inputs of shape {input_shape}; choose these as in "
            "its training"
        )


@made_once(lambda hub, name: (hub, name))
def _of_hub(hub: str, name: str) -> NamedModule:
    return HUBS[hub](name)


@lru_cache(maxsize=64)  # whether a function loads weights takes two calls of it to tell
def _factory(entry: FactoryEntry, name: str, options: str) -> Factory:
    return Factory(name, entry.function, json.loads(options), BACKBONES.identity(entry))


def input_of(settings: NetworkSettings) -> NetworkInput | None:
    """Return the preprocessing of a network: its settings, and for the rest its own files.

    Returns:
        Size, channels and scaling; None if unspecified, as for backbones: their inputs keep their size and are
        standardised by the training examples.

    Raises:
        NetworkError: The network cannot be opened.
        CorruptDataError: The input form in its files is invalid, and not given by the settings.
    """
    try:
        known = None if settings.module is None else settings.module.input
    except CorruptDataError:
        if settings.input is None or settings.input.size is None or not settings.input.is_scaled:
            raise
        known = None
    return known if settings.input is None else settings.input.over(known)


def is_network_name(text: str) -> bool:
    """Return whether a text names a network other than a backbone, rather than a file of weights or data."""
    return text.partition(":")[0] in HUBS or registry.is_reference(text)


def makes_network(text: str) -> bool:
    """Return whether a name is a whole network rather than data; False for a reference that cannot be loaded."""
    if text.partition(":")[0] in HUBS:
        return True
    if not registry.is_reference(text):
        return False
    try:
        entry = BACKBONES[text]
        if not isinstance(entry, FactoryEntry):
            return False
        inspect.signature(entry.function).bind()
    except (SettingsError, TypeError, ValueError):
        return False  # what reads data says what is wrong
    return True


def seen_from(name: str, folder: Path) -> str:
    """Return a name in a file of `folder` with absolute paths of code and of transformers folders."""
    hub, _, rest = name.partition(":")
    if hub == "hf" and rest:
        place, tower = split_tower(rest)
        if (folder / Path(place).expanduser()).is_dir():
            return f"hf:{folder.absolute() / Path(place).expanduser()}{f'#{tower}' if tower else ''}"
    return registry.seen_from(name, folder)


def build_network(
    settings: NetworkSettings | str, input_shape: tuple[int, ...], n_outputs: int, *, seed: int
) -> Network:
    """Return an initialised network with random weights.

    Args:
        input_shape: Shape of one input, as the network reads it: (C, H, W) for images, (D,) for vectors.
        n_outputs: Number of classes or regression targets, at least 1.
        seed: Seed of the initialisation; the global random state is unchanged.

    Returns:
        The network, on the CPU and in training mode; the same weights for the same arguments.

    Raises:
        UnknownNameError: The backbone does not exist.
        NetworkError: The network cannot read inputs of this shape, cannot be built or initialised, `n_outputs` is below
        1, or it is too large for this machine's memory.

    Example:
        >>> build_network("lenet", (1, 28, 28), 10, seed=0).n_features
        500
    """
    settings = NetworkSettings(settings) if isinstance(settings, str) else settings
    if n_outputs < 1 or not input_shape or min(input_shape) < 1:
        raise NetworkError(
            f"input shape {input_shape} and {n_outputs} outputs make no network; expected numbers of at least 1"
        )
    module = settings.module
    if module is not None:
        network = _split(module, module.random(seed), settings, input_shape, n_outputs, seed)
        network.is_random = True
        return network
    entry = BACKBONES[settings.name]
    assert isinstance(entry, BackboneEntry)
    widths = entry.widths if settings.widths is None else settings.widths
    if max(widths, default=0) > _WIDE or math.prod(input_shape) > _WIDE**2:
        _check_memory(entry, settings.name, input_shape, widths)
    with seeded(seed):
        backbone = entry.build(input_shape, widths)
        own_head = nn.Linear(backbone.n_features, n_outputs)
    return Network(backbone.features, own_head, backbone.n_features, input=settings.input, is_random=True)


def frame_network(settings: NetworkSettings, input_shape: tuple[int, ...], n_outputs: int) -> Network:
    """Return a network of the architecture with arbitrary weights, which `open_network` replaces.

    Unlike `build_network` it accepts a function's network that cannot be initialised again.
    """
    module = settings.module
    if not isinstance(module, Factory):
        return build_network(settings, input_shape, n_outputs, seed=0)
    return _split(module, module.made(0), settings, input_shape, n_outputs, 0)


def _split(
    named: NamedModule,
    module: nn.Module,
    settings: NetworkSettings,
    input_shape: tuple[int, ...],
    n_outputs: int,
    seed: int,
) -> Network:
    network = split(named, module, settings, input_shape)
    return network.under(new_head(network.n_features, n_outputs, seed=seed))


def split(named: NamedModule, module: nn.Module, settings: NetworkSettings, input_shape: tuple[int, ...]) -> Network:
    """Split a named module as `adapt` does, testing only the first one of its architecture."""
    tried = _tried(named, module, settings, input_shape)
    return adapt(module, input_shape=input_shape, input=tried.input, like=tried).train()


@made_once(lambda named, module, settings, input_shape: repr((settings, input_shape)))
def _tried(named: NamedModule, module: nn.Module, settings: NetworkSettings, input_shape: tuple[int, ...]) -> Network:
    head = named.head if settings.head is None else settings.head
    return adapt(module, head, input_shape=input_shape, input=input_of(settings)).to("meta")


_WIDE = 4096
"""Widths and input sizes up to which networks fit into the memory of any machine."""


def _check_memory(entry: BackboneEntry, name: str, input_shape: tuple[int, ...], widths: tuple[int, ...]) -> None:
    """Refuse a network whose weights, gradients, momenta and copy exceed the free memory, before allocation."""
    try:
        with torch.device("meta"):
            size: float = n_weights(entry.build(input_shape, widths).features)
    except (RuntimeError, OverflowError):  # sizes beyond 64 bits
        size = math.inf
    needed, there = 16 * size, memory_free()
    if needed > there:
        raise NetworkError(
            f"training {name} of widths {widths} ({size:.3g} weights) on inputs of shape {input_shape} needs "
            f"{needed / 2**30:.3g} GiB of memory, but {there / 2**30:.3g} GiB are free; use smaller widths or inputs"
        )


def _check_widths(name: str, entry: BackboneEntry, widths: tuple[int, ...]) -> None:
    usual = entry.widths
    fits = len(widths) >= 1 if entry.any_depth else len(widths) == len(usual)
    if len(widths) > MOST_LAYERS:
        raise SettingsError(f"{name} has {len(widths)} widths; expected at most {MOST_LAYERS}")
    if not fits or any(width < 1 for width in widths):
        count = "at least 1 width" if entry.any_depth else f"{len(usual)} widths"
        raise SettingsError(f"{name} has widths = {widths}; expected {count}, each >= 1, as in {usual}")
