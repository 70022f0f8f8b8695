"""Pretrained networks: a named module with its weights, or a backbone with weights from a file."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn

from transferscope.errors import CorruptDataError, NetworkError, out_of_range
from transferscope.models.adapt import OneTensor
from transferscope.models.build import NetworkSettings, build_network, frame_network, input_of, split
from transferscope.models.network import Network, new_head
from transferscope.models.weights import (
    LoadReport,
    OpenedNetwork,
    check_one_set,
    check_weights,
    digest_of,
    listed,
    open_network,
    read_notes,
    read_state_dict,
    with_tied,
)
from transferscope.once import made_once
from transferscope.wording import transforms_to_add

_CODE_NOTE = "transferscope.code"
"""Metadata key of the code digest of the network in a file of weights of a study."""

_NETWORK_NOTE = "transferscope.network"
"""Metadata key of name and widths of a built-in network, as JSON."""

USUAL = "lenet"
"""Default architecture of a file of weights that does not name its network."""


@dataclass(frozen=True, slots=True)
class Pretrained:
    """A pretrained network by name, with its settings and weights.

    Attributes:
        network: The architecture and its input scaling.
        weights: A file of weights; None for those of the network's name.
        least_share: Required share of the backbone's parameters in the weights, above 0 and at most 1; the others stay
            random. A file for a built-in backbone must have all.

    Raises:
        SettingsError: The share is out of range.
    """

    network: NetworkSettings
    weights: Path | None = None
    least_share: float = 1.0

    def __post_init__(self) -> None:
        if self.weights is not None:
            object.__setattr__(self, "weights", Path(self.weights))  # a text will do
        if not 0 < self.least_share <= 1:
            raise out_of_range("least_share", self.least_share, "a number above 0 and at most 1")

    @property
    def name(self) -> str:
        """The display name: its file, or its name."""
        return self.network.name if self.weights is None else str(self.weights)


def open_pretrained(
    pretrained: Pretrained,
    input_shape: tuple[int, ...],
    *,
    n_outputs: int = 1,
    head: Literal["frame", "either"] = "frame",
    seed: int = 0,
) -> OpenedNetwork:
    """Open a pretrained network for inputs of a shape.

    Args:
        n_outputs: Number of outputs of a new head.
        head: "frame" for a new head from the seed, for data with other labels; "either" for the head that belongs to
            the weights if it is linear.
        seed: Seed of a new head, and of weights missing in the file.

    Returns:
        The network on the CPU, and which of its weights were found; `n_outputs` of the report is 0 for a new head.

    Raises:
        MissingDataError: The file does not exist.
        CorruptDataError: The file does not contain weights, or the code of the network has changed.
        NetworkError: The weights belong to another architecture, have less than the required share, or are not finite;
        the input scaling is unknown; or the network cannot be built.
    """
    settings = pretrained.network
    named = settings.module
    if pretrained.weights is not None:
        check_code(settings, pretrained.weights)
    if named is None:
        if pretrained.weights is None:
            raise NetworkError(f"{settings.name} is a backbone without weights; give weights = FILE")
        frame = build_network(settings, input_shape, n_outputs, seed=seed)
        try:
            return open_network(frame, pretrained.weights, head=head, read_as=settings.read_as(input_shape))
        except NetworkError as error:
            side = _side_of(pretrained.weights, settings, input_shape)
            if side is None:
                raise
            raise NetworkError(
                f"{pretrained.weights} is of {settings.name} for {side} x {side} pixels, but the images have "
                f"{input_shape[1]} x {input_shape[2]}; {transforms_to_add(f'resize:{side}')}"
            ) from error
    known = input_of(settings)
    if known is None or not known.is_scaled:
        raise NetworkError(
            f"the input scaling of {pretrained.name} is unknown; give that of its training, as in input = {{ mean = "
            f"0.45, std = 0.22 }} for pixels from 0 to 1, or input = {{ mean = 127, std = 128, scale = 1 }} for bytes"
        )
    if pretrained.weights is not None and _is_of_study(pretrained.weights):
        frame = frame_network(settings, input_shape, n_outputs)
        return open_network(frame, pretrained.weights, head=head, read_as=settings.read_as(input_shape))
    tried = _tried(pretrained, input_shape)
    if tried.report.missing and pretrained.weights is not None:  # they stay random
        tried = _with_own_head(pretrained, input_shape, seed)
    if head == "frame" or tried.report.n_outputs == 0:
        fresh = new_head(tried.network.n_features, n_outputs, seed=seed)  # as a network of random weights has
        return OpenedNetwork(tried.network.with_head(fresh), replace(tried.report, n_outputs=0))
    return OpenedNetwork(tried.network.copy(), tried.report)


@made_once(lambda *asked: repr(asked))
def _tried(pretrained: Pretrained, input_shape: tuple[int, ...]) -> OpenedNetwork:
    """Return what `_with_own_head` makes, which others read too: who trains it copies it."""
    return _with_own_head(pretrained, input_shape, 0)


def _with_own_head(pretrained: Pretrained, input_shape: tuple[int, ...], seed: int) -> OpenedNetwork:
    """Return a named network with its own head, seen to compute what its module does."""
    settings = pretrained.network
    named = settings.module
    assert named is not None
    if pretrained.weights is None:
        given = named.trained()
        module, missing, unexpected = given.module, {name: name for name in given.missing}, given.unexpected
        check_weights(module.state_dict(), module.state_dict(), pretrained.name)
    else:
        module = named.random(seed)
        missing, unexpected = _load(module, read_state_dict(pretrained.weights), pretrained)
    network = split(named, module, settings, input_shape)
    return OpenedNetwork(network, _report(network, module, missing, unexpected, pretrained))


@made_once(lambda file: file)
def _is_of_study(file: Path) -> bool:
    """Return whether a file has the names under which a study keeps its networks."""
    stored = read_state_dict(file)
    return bool(stored) and all(key.startswith(("features.", "head.")) for key in stored)


_SIDES = (8, 12, 14, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 72, 80, 84, 96, 112, 128, 160, 192, 224, 256)
"""Usual sides of training images, in pixels."""


def _side_of(weights: Path, settings: NetworkSettings, input_shape: tuple[int, ...]) -> int | None:
    """Return the side of square images for which a backbone has the weight shapes of a file; None if there is none."""
    if len(input_shape) != 3:
        return None
    stored = {name: tensor.shape for name, tensor in read_state_dict(weights).items()}
    for side in _SIDES:
        with suppress(NetworkError), torch.device("meta"):
            frame = build_network(settings, (input_shape[0], side, side), 1, seed=0)
            own = {name: tensor.shape for name, tensor in frame.state_dict().items() if name.startswith("features.")}
            if (side, side) != input_shape[1:] and all(stored.get(name) == shape for name, shape in own.items()):
                return side
    return None


def notes_of(network: NetworkSettings) -> dict[str, str]:
    """Return the network notes of a file of weights: its built-in network, or the digest of the user's code."""
    if network.code:
        return {_CODE_NOTE: " ".join(network.code.values())}
    return {} if ":" in network.name else {_NETWORK_NOTE: json.dumps({"name": network.name, "widths": network.widths})}


def as_file_says(network: NetworkSettings, file: Path) -> NetworkSettings:
    """Return the network settings of a file of weights, if the settings name the default network.

    Raises:
        CorruptDataError: Its network settings are invalid.
        MissingDataError: There is no such file.
    """
    said = read_notes(file).get(_NETWORK_NOTE) if (network.name, network.widths) == (USUAL, None) else None
    if said is None:
        return network
    try:
        own = json.loads(said)
        widths = own["widths"] and tuple(map(int, own["widths"]))
        if ":" not in own["name"]:  # code is run where a person names it
            return replace(network, name=own["name"], widths=widths)
    except (KeyError, ValueError, TypeError, RecursionError):
        pass
    raise CorruptDataError(
        f"{file} says that its network is {said[:80]}, which is unknown; name it, as in --network mlp"
    )


def check_code(settings: NetworkSettings, file: Path) -> None:
    """Refuse weights that a study trained with other code of the same network; other files are not checked.

    Raises:
        CorruptDataError: The code has changed.
        MissingDataError: There is no such file.
    """
    own = notes_of(settings)
    if _CODE_NOTE in own and {**own, **read_notes(file)}[_CODE_NOTE] != own[_CODE_NOTE]:
        raise CorruptDataError(
            f"the code of the network {settings.name} has changed since {file} was trained; restore the code, or "
            "train the network again"
        )


@made_once(lambda *asked: repr(asked))
def fingerprint_of(pretrained: Pretrained, input_shape: tuple[int, ...]) -> str:
    """Return a digest of the backbone's weights that a name stands for."""
    return digest_of(open_pretrained(pretrained, input_shape).network.features.state_dict())


def _load(
    module: nn.Module, stored: Mapping[str, Tensor], pretrained: Pretrained
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Load the tensors that fit; return the missing weights, with the reason, and the unused ones."""
    assert pretrained.weights is not None
    own = module.state_dict()
    stored = with_tied(_below(stored, own), own, pretrained.weights)
    taken = {name: tensor for name, tensor in stored.items() if name in own and own[name].shape == tensor.shape}
    check_weights(taken, own, pretrained.weights)
    check_one_set(taken, {name: tensor for name, tensor in stored.items() if name not in own}, pretrained.weights)
    if not any(own[name].is_floating_point() for name in taken):
        raise NetworkError(
            f"{pretrained.weights} has no weight of {pretrained.network.name} by name and shape: it has "
            f"{listed(stored)}; expected {listed(own)}: give the network that wrote the file"
        )
    module.load_state_dict(taken, strict=False)
    missing = {
        name: f"{name} ({tuple(stored[name].shape)} instead of {tuple(tensor.shape)})" if name in stored else name
        for name, tensor in own.items()
        if name not in taken
    }
    return missing, tuple(name for name in stored if name not in own)


def _below(stored: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """Return weights without an attribute before all names, as the `self.model` of a LightningModule leaves it."""
    first = {name.partition(".")[0] for name in stored}
    below = {name.partition(".")[2]: tensor for name, tensor in stored.items()}
    return below if len(first) == 1 and not own.keys() & stored.keys() and own.keys() & below.keys() else stored


def _report(
    network: Network, module: nn.Module, missing: Mapping[str, str], unexpected: tuple[str, ...], pretrained: Pretrained
) -> LoadReport:
    """Return a report of the loaded weights, after checking that they suffice."""
    prefix = "module." if isinstance(network.features, OneTensor) else ""
    state = {name.removeprefix(prefix): tensor for name, tensor in network.features.state_dict().items()}
    needed = {name: tensor.numel() for name, tensor in state.items() if tensor.is_floating_point()}
    lacking = [name for name in needed if name in missing]
    numbers = sum(needed.values())
    matched = numbers - sum(needed[name] for name in lacking)
    if not numbers:
        raise NetworkError(f"{pretrained.name} has no weights before its head; give a network with a backbone")
    if matched < pretrained.least_share * numbers:
        share = pretrained.least_share
        needs = "all are needed" if share == 1 else f"least_share = {share:g} of them are needed"
        raise NetworkError(
            f"{pretrained.name} has another architecture: it has {matched:,} of the {numbers:,} numbers of the "
            f"backbone and lacks {listed(missing[name] for name in lacking)}; {needs}{pretrained.network.read_as(())}"
        )
    of_head, head = [name for name in module.state_dict() if name not in state], network.head
    is_given = of_head and not any(name in missing for name in of_head)
    n_outputs = head.out_features if is_given and isinstance(head, nn.Linear) else 0
    return LoadReport(tuple(lacking), unexpected, matched=matched, backbone=numbers, n_outputs=n_outputs)
