"""Weights in files."""

import hashlib
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from transferscope.errors import CorruptDataError, MissingDataError, NetworkError
from transferscope.files import written_whole
from transferscope.models.network import Network

_WRAPPERS = ("module.", "_orig_mod.")  # of torch.nn.DataParallel and torch.compile
_CHECKSUM = "transferscope.blake2b"
_LISTED = 5  # names in a message; the rest is counted


@dataclass(frozen=True, slots=True)
class LoadReport:
    """Which names of a file and of a network had no counterpart.

    Attributes:
        missing: Weights of the network that the file lacks; they kept their values.
        unexpected: Weights of the file that the network has no place for; they were left out.
    """

    missing: tuple[str, ...]
    unexpected: tuple[str, ...]


def save_weights(network: Network, path: Path) -> None:
    """Write all weights and buffers to a safetensors file, which appears whole or not at all.

    Args:
        network: What to save; it may live on any device.
        path: The file, in a folder that exists; replaced if it is there already.
    """
    tensors = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in network.state_dict().items()}
    with written_whole(path) as unfinished:
        save_file(tensors, unfinished, metadata={_CHECKSUM: _checksum(tensors)})


def is_whole(path: Path) -> bool:
    """Whether a file that `save_weights` wrote is there, undamaged.

    One without a checksum, of an earlier version, is taken when its header fits its length.
    """
    try:
        with safe_open(path, framework="pt") as stored:
            checksum = (stored.metadata() or {}).get(_CHECKSUM)
            if checksum is None:
                return len(stored.keys()) > 0
        return bool(checksum == _checksum(load_file(path)))
    except (SafetensorError, OSError, ValueError, RuntimeError, MemoryError):
        return False


def load_weights(network: Network, path: Path, *, heads: Literal["load", "ignore"] = "load") -> LoadReport:
    """Copy weights from a file into a network, in place; nothing is changed unless all that match by name fit.

    Args:
        network: What to load into; it stays on its device.
        path: A safetensors file (".safetensors"), or a state dict written by `torch.save`, alone or under the key
            "state_dict"; it is read without running any code in it. Names may begin with what DataParallel or
            `torch.compile` put before them.
        heads: "ignore" leaves the network's head as it is, for a file from a task with other labels.

    Returns:
        The names without counterpart.

    Raises:
        MissingDataError: There is no such file.
        CorruptDataError: The file holds something else than named tensors.
        NetworkError: Tensors of the same name differ in shape, or no name is shared.
    """
    stored = _read(path)
    own = network.state_dict()
    if heads == "ignore":
        stored, own = _without_head(stored), _without_head(own)
    shared = stored.keys() & own.keys()
    _check_fit(stored, own, path)
    network.load_state_dict({name: stored[name] for name in shared}, strict=False)
    return LoadReport(
        missing=tuple(name for name in own if name not in shared),
        unexpected=tuple(name for name in stored if name not in shared),
    )


def load_trained(network: Network, path: Path) -> Network:
    """The network whose weights a file holds, with a linear head as wide as the file's.

    Args:
        network: Gives the architecture of the backbone; it is not changed.
        path: A file as for `load_weights`, with "head.weight" (K, n_features) and maybe "head.bias" (K,).

    Returns:
        A network on the device of `network`.

    Raises:
        MissingDataError: There is no such file.
        CorruptDataError: The file holds something else than named tensors.
        NetworkError: The file's backbone is another one, or it has no linear head.
    """
    stored = _read(path)
    weight = stored.get("head.weight")
    if weight is None or weight.ndim != 2:
        raise NetworkError(f"{path} has no linear head (a matrix head.weight); it holds {_listed(list(stored))}")
    head = nn.Linear(weight.shape[1], weight.shape[0], bias="head.bias" in stored)
    trained = network.with_head(head.to(next(network.parameters()).device))
    report = load_weights(trained, path)
    if report.missing or report.unexpected:
        odd = _listed([*report.missing, *report.unexpected])
        raise NetworkError(f"{path} is not of this architecture: only one of the two has {odd}")
    return trained


def _checksum(tensors: Mapping[str, Tensor]) -> str:
    """Checksum of tensors with their names, types and shapes."""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _read(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise MissingDataError(f"there is no file of weights {path}; expected a safetensors file or a state dict")
    try:
        stored = load_file(path) if path.suffix == ".safetensors" else torch.load(path, "cpu", weights_only=True)
    except (SafetensorError, pickle.UnpicklingError, RuntimeError, EOFError, KeyError, ValueError) as error:
        raise CorruptDataError(
            f"{path} cannot be read as weights; expected a safetensors file, or a state dict (tensors by name) written "
            "by torch.save"
        ) from error
    return _named_tensors(stored, path)


def _named_tensors(stored: Any, path: Path) -> dict[str, Tensor]:
    if isinstance(stored, Mapping) and isinstance(stored.get("state_dict"), Mapping):
        stored = stored["state_dict"]
    if not isinstance(stored, Mapping) or not all(isinstance(value, Tensor) for value in stored.values()):
        raise CorruptDataError(f"{path} holds something else than tensors by name; save network.state_dict() alone")
    return _unwrapped(stored)


def _unwrapped(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights under the names of the network itself, where a wrapper put its own before every one."""
    for prefix in _WRAPPERS:
        if weights and all(name.startswith(prefix) for name in weights):
            return _unwrapped({name.removeprefix(prefix): tensor for name, tensor in weights.items()})
    return dict(weights)


def _without_head(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in weights.items() if not name.startswith("head.")}


def _check_fit(stored: Mapping[str, Tensor], own: Mapping[str, Tensor], path: Path) -> None:
    shared = [name for name in own if name in stored]
    if own and not shared:
        raise NetworkError(
            f"{path} shares no name with the network: it has {_listed(list(stored))}, and the network "
            f"{_listed(list(own))}"
        )
    wrong = [
        f"{name} {tuple(stored[name].shape)} instead of {tuple(own[name].shape)}"
        for name in shared
        if stored[name].shape != own[name].shape
    ]
    if wrong:
        raise NetworkError(
            f"{path} does not fit the network: {_listed(wrong)}; build the network with the file's widths and outputs, "
            'or leave the head out (heads = "ignore") if only that differs'
        )


def _listed(items: list[str]) -> str:
    shown = ", ".join(items[:_LISTED])
    return shown if len(items) <= _LISTED else f"{shown} and {len(items) - _LISTED} more"
