"""Weights in files: `save_weights` writes them, `open_network` reads and checks them, for every command."""

import hashlib
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from transferscope.errors import CorruptDataError, DataError, NetworkError
from transferscope.files import require_file, written_whole
from transferscope.models.neighbours import NeighbourHead, neighbours_of
from transferscope.models.network import Network, TwoLayerHead, device_of, scaled_in, seeded

_FORMS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_WRAPPERS = ("module.", "_orig_mod.")  # of torch.nn.DataParallel and torch.compile
_KEYS = ("state_dict", "model_state_dict", "model", "ema")  # under which training scripts keep a state dict
_CHECKSUM = "transferscope.blake2b"
_COUNTER = "normalise.num_batches_tracked"  # of a `TwoLayerHead`: nothing depends on it
_LISTED = 5  # names in a message; the rest is counted


@dataclass(frozen=True, slots=True)
class LoadReport:
    """The weights that a file provided to a network.

    Attributes:
        missing: Names of weights that the file lacks: only batch counters, on which no output depends.
        unexpected: Names of further weights in the file, beyond backbone and head; ignored.
        matched: Number of values (parameters and floating-point buffers) of the backbone from the file.
        backbone: Number of values of the backbone; all must come from the file.
        n_outputs: Number of outputs of the file's head; 0 if the head is not from the file.
    """

    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    matched: int
    backbone: int
    n_outputs: int


@dataclass(frozen=True)
class OpenedNetwork:
    """A network with the weights of a file; it shares no memory with the network of the architecture."""

    network: Network
    report: LoadReport


def save_weights(network: Network, path: Path, *, notes: Mapping[str, str] | None = None) -> None:
    """Write all weights and buffers atomically to a safetensors file.

    Args:
        path: The file, in an existing folder; an existing file is replaced.
        notes: Metadata of the file; see `read_notes`.
    """
    tensors = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in network.state_dict().items()}
    with written_whole(path) as unfinished:
        save_file(tensors, unfinished, metadata={**(notes or {}), **checksum_notes(tensors)})


def checksum_notes(tensors: Mapping[str, Tensor]) -> dict[str, str]:
    """Return the checksum note of tensors for a safetensors file."""
    return {_CHECKSUM: digest_of(tensors)}


def is_whole(path: Path) -> bool:
    """Return whether a file of weights exists undamaged; without a checksum its header is checked."""
    try:
        return bool(read_tensors(path))
    except (DataError, OSError, MemoryError):
        return False


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file by name, after verifying its checksum, if any.

    Raises:
        DataError: It is not a regular file.
        MissingDataError: It does not exist.
        CorruptDataError: It cannot be read, or its checksum is wrong.
    """
    checksum = read_notes(path).get(_CHECKSUM)
    try:
        tensors: dict[str, Tensor] = load_file(path)
        is_damaged = checksum not in (None, digest_of(tensors))
    except (OSError, MemoryError):
        raise
    except Exception as error:  # on a damaged file the reader raises whatever comes first
        raise _unreadable(path) from error
    if is_damaged:
        raise CorruptDataError(f"{path} is damaged: its weights do not match their checksum; copy or export it again")
    return tensors


def check_checksum(path: Path) -> None:
    """Refuse a damaged file of our own before a library reads it; other files are not checked.

    Raises:
        DataError: It is damaged, or not a regular file.
    """
    if path.exists() and _CHECKSUM in read_notes(path):
        read_tensors(path)


def _unreadable(path: Path) -> CorruptDataError:
    return CorruptDataError(
        f"{path} cannot be read as weights; expected a safetensors file, or a state dict written by torch.save"
    )


def read_notes(path: Path) -> dict[str, str]:
    """Return the metadata of a safetensors file; empty for a file of another kind, or one without.

    Raises:
        MissingDataError: There is no such file.
        CorruptDataError: It ends in ".safetensors" but has another format.
    """
    _require_weights(path)
    if path.suffix != ".safetensors":
        return {}
    try:
        with safe_open(path, framework="pt") as file:
            return dict(file.metadata() or {})
    except (SafetensorError, ValueError) as error:
        raise _unreadable(path) from error


def open_network(
    frame: Network, path: Path, *, head: Literal["file", "frame", "either"] = "file", read_as: str = ""
) -> OpenedNetwork:
    """Return the network with the weights of a file.

    The file must give the whole backbone under the network's names: dense floating-point numbers of the network's
    shapes, all finite and not all zero. Counters of batches (integer buffers) may be absent.

    Args:
        frame: Gives the architecture of the backbone; it is not changed.
        path: A safetensors file (".safetensors"), or a state dict written by `torch.save`, alone or under the key
            "state_dict", "model_state_dict", "model" or "ema"; it is read without running any code in it. Names may
            have the prefixes of DataParallel, `torch.compile` or an averaged model. A weight with several names in the
            network may be stored under one of them. A file with two sets of weights, such as averaged and last ones, is
            refused.
        head: "file" for the file's head as wide as it is: a linear one, with "head.weight" (K, n_features) and maybe
            "head.bias" (K,), a `TwoLayerHead` or a `NeighbourHead`; "frame" for that of `frame`, for a file from a task
            with other labels; "either" for the file's where it has such a head, otherwise that of `frame`.
        read_as: End of a message about another architecture, from `NetworkSettings.read_as`.

    Returns:
        A network on the device of `frame`, and a report of the loaded weights.

    Raises:
        MissingDataError: There is no such file.
        CorruptDataError: The file does not contain dense floating-point tensors by name, or its checksum is wrong.
        NetworkError: The file's backbone is different or incomplete, its weights are not finite or all zero, it lacks
        the requested head, or the network has no weights to load.
    """
    stored = read_state_dict(path)
    own = {name: tensor for name, tensor in frame.state_dict().items() if name.startswith("features.")}
    stored = with_tied(stored, own, path)
    taken = {name: stored[name] for name in own if name in stored}
    check_one_set(taken, {name: tensor for name, tensor in stored.items() if name not in own}, path)
    of_head = {
        name: tensor
        for name, tensor in stored.items()
        if name.startswith("head.") and name != f"head.{_COUNTER}" and head != "frame"
    }
    _check_form({**taken, **of_head}, own, path)
    own_head = head_of({name.removeprefix("head."): tensor for name, tensor in of_head.items()}, frame)
    given = {} if own_head is None else of_head
    needed = {name: tensor for name, tensor in own.items() if tensor.is_floating_point()}
    if not needed and not given:
        raise NetworkError(
            f"{path} has nothing to transfer: the network has no weights before its head; give a network with a "
            f"backbone{read_as}"
        )
    _check_names(stored, own, needed, path, read_as)
    if head == "file" and not given:
        raise NetworkError(f"{path} has no linear head (a matrix head.weight); it has {listed(stored)}{read_as}")
    _check_values({**{name: taken[name] for name in needed}, **given}, path)
    _check_zeros({name: taken[name] for name in needed}, path)
    network = frame.copy() if own_head is None else frame.with_head(own_head)
    network.load_state_dict({**taken, **given}, strict=False)
    network.scaled = scaled_in(read_notes(path))
    numbers = sum(tensor.numel() for tensor in needed.values())
    report = LoadReport(
        missing=tuple(name for name in own if name not in stored),
        unexpected=tuple(name for name in stored if not name.startswith(("features.", "head."))),
        matched=numbers,
        backbone=numbers,
        n_outputs=0 if own_head is None else own_head.out_features,
    )
    return OpenedNetwork(network, report)


def digest_of(tensors: Mapping[str, Tensor]) -> str:
    """Return a digest of tensors with their names, types and shapes: 32 hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def read_state_dict(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a training checkpoint by name; code in it is never executed.

    Args:
        path: A safetensors file, or a state dict written by `torch.save`; see `open_network`.

    Raises:
        MissingDataError: There is no such file.
        CorruptDataError: It has other content, or its checksum is wrong.
    """
    _require_weights(path)
    if path.suffix == ".safetensors":
        return _named_tensors(read_tensors(path), path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of archives that are refused in any case
            stored = torch.load(path, "cpu", weights_only=True)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # on a damaged file torch raises whatever comes first
        raise _unreadable(path) from error
    return _named_tensors(stored, path)


def _require_weights(path: Path) -> None:
    require_file(path, "file of weights", "a safetensors file or a state dict")


def _named_tensors(stored: Any, path: Path) -> dict[str, Tensor]:
    keys = [key for key in _KEYS if isinstance(stored, Mapping) and isinstance(stored.get(key), Mapping)]
    if len(keys) > 1:
        raise _two_sets(path, *keys)
    if keys:
        weights = _named_tensors(stored[keys[0]], path)
        others = {key: value for key, value in stored.items() if key != keys[0]}
        needed = Counter(tuple(tensor.shape) for tensor in weights.values() if tensor.ndim > 1)  # matrices and kernels
        for place, tensors in _held(others, "") if needed else ():
            if needed <= Counter(tuple(tensor.shape) for tensor in tensors):
                raise _two_sets(path, keys[0], place)
        return weights
    of_tensors = isinstance(stored, Mapping) and all(isinstance(value, Tensor) for value in stored.values())
    if not of_tensors or not all(isinstance(name, str) for name in stored):
        raise CorruptDataError(f"{path} is not a dict of tensors by name; save network.state_dict() alone")
    weights = {name: tensor for name, tensor in stored.items() if name != "n_averaged"}  # torch.optim.swa_utils
    nested = next((name for name, tensor in weights.items() if tensor.is_nested), None)  # they have no shape
    if nested is not None:
        raise _not_dense(path, f"{nested} nested")
    while prefix := next((p for p in _WRAPPERS if weights and all(name.startswith(p) for name in weights)), None):
        weights = {name.removeprefix(prefix): tensor for name, tensor in weights.items()}
    return weights


def _held(stored: Any, place: str) -> Iterator[tuple[str, list[Tensor]]]:
    """Yield every collection of tensors in a training checkpoint, except the state of an optimiser."""
    if not isinstance(stored, Mapping | list | tuple) or (isinstance(stored, Mapping) and "param_groups" in stored):
        return
    items = stored.items() if isinstance(stored, Mapping) else enumerate(stored)
    inner = []
    for key, value in items:
        if isinstance(value, Tensor):
            inner += [] if value.is_nested else [value]
        else:
            yield from _held(value, f"{place}.{key}".removeprefix("."))
    yield place, inner


def check_one_set(taken: Mapping[str, Tensor], others: Mapping[str, Tensor], path: Path) -> None:
    """Refuse a file with a second set of the network's tensors, such as averaged ones under other names.

    Raises:
        CorruptDataError: All used matrices occur a second time, with a prefix, without dots in their names, or with
        another first word.
    """
    matrices = {name: tensor.shape for name, tensor in taken.items() if tensor.ndim > 1}
    groups: dict[str, dict[str, torch.Size]] = {}
    for name, tensor in others.items():
        groups.setdefault(name.partition(".")[0], {})[name] = tensor.shape
    for first, group in groups.items():
        for tails in ({name: name for name in matrices}, {name: name.partition(".")[2] for name in matrices}):
            again = [_again(tail, matrices[name], group) for name, tail in tails.items() if not first.isdecimal()]
            if again and None not in again and len(set(again)) == len(again):
                raise _two_sets(path, next(iter(matrices)), str(again[0]))


def _again(tail: str, shape: torch.Size, group: Mapping[str, torch.Size]) -> str | None:
    """Return the name in a group that ends in another one (LitEma writes names without dots), with its shape."""
    forms = (f".{tail}", f".{tail.replace('.', '')}")
    return next((name for name, held in group.items() if tail and held == shape and name.endswith(forms)), None)


def _two_sets(path: Path, *places: str) -> CorruptDataError:
    return CorruptDataError(
        f"{path} has several sets of weights: {' and '.join(places)} (such as averaged and last ones); save one of "
        "them alone"
    )


def with_tied(stored: Mapping[str, Tensor], own: Mapping[str, Tensor], path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file, including tied weights stored under another name.

    Safetensors stores a weight that a network uses in several places only once.

    Args:
        own: The network's `state_dict`, in which names of one weight share their memory.

    Raises:
        NetworkError: The file has different values for one weight.
    """
    names: dict[tuple[object, ...], list[str]] = {}
    for name, tensor in own.items():
        if tensor.numel() and not tensor.is_meta:
            place = (tensor.device, tensor.data_ptr(), tuple(tensor.shape), tensor.stride())
            names.setdefault(place, []).append(name)
    weights = dict(stored)
    for tied in names.values():
        given = [name for name in tied if name in stored]
        for name in tied if given else ():
            if name not in weights:
                weights[name] = stored[given[0]]
            elif not _equal(weights[name], stored[given[0]]):
                raise NetworkError(
                    f"{path} has different numbers for {given[0]} and {name}, which the network shares; give the "
                    "network as in its training"
                )
    return weights


def _equal(one: Tensor, other: Tensor) -> bool:
    """Return whether two tensors hold the same numbers; tensors refused for their form count as equal."""
    if any(tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta for tensor in (one, other)):
        return True
    first, second = (tensor.reshape(-1).view(torch.uint8) for tensor in (one, other))  # of NaN too
    return one.shape == other.shape and torch.equal(first, second)


def head_of(given: Mapping[str, Tensor], frame: Network) -> nn.Linear | TwoLayerHead | NeighbourHead | None:
    """Return a head of the kind of these tensors, on the device of the frame; None for other tensors."""
    shapes = {name: tuple(tensor.shape) for name, tensor in given.items()}
    weight, hidden, output = (shapes.get(name, ()) for name in ("weight", "hidden.weight", "output.weight"))
    head: nn.Linear | TwoLayerHead | NeighbourHead
    if (neighbours := neighbours_of(given, frame.n_features)) is not None:
        return neighbours.to(device_of(frame))
    with seeded(0):  # what is drawn is overwritten, and leaves no trace in the global random state
        if len(weight) == 2 and weight[0] and weight[1] == frame.n_features:
            head = nn.Linear(frame.n_features, weight[0], bias="bias" in shapes)
        elif len(hidden) == len(output) == 2 and all(output) and hidden == (output[1], frame.n_features):
            head = TwoLayerHead(frame.n_features, output[0], hidden=output[1])
        else:
            return None
    own = {name: tuple(tensor.shape) for name, tensor in head.state_dict().items() if name != _COUNTER}
    return head.to(device_of(frame)) if own == shapes else None


def _check_form(given: Mapping[str, Tensor], own: Mapping[str, Tensor], path: Path | str) -> None:
    """Check that all are dense floating-point numbers, or integers where the network counts batches."""
    for name, tensor in given.items():
        counts = name in own and not own[name].is_floating_point()
        whole = counts and not tensor.is_complex() and not tensor.is_quantized
        dense = tensor.layout == torch.strided and tensor.device.type != "meta"
        if not dense or not (tensor.dtype in _FORMS or whole):
            layout = "" if tensor.layout == torch.strided else f"{tensor.layout} "
            form = "without its values" if tensor.device.type == "meta" else f"as {layout}{tensor.dtype}"
            raise _not_dense(path, f"{name} {form.replace('torch.', '')}")


def _not_dense(path: Path | str, what: str) -> CorruptDataError:
    return CorruptDataError(
        f"{path} holds {what}; expected dense numbers in float16, bfloat16, float32 or float64: save the state dict of "
        "the trained network"
    )


def _check_names(
    stored: Mapping[str, Tensor], own: Mapping[str, Tensor], needed: Mapping[str, Tensor], path: Path, read_as: str
) -> None:
    """Check that the file has exactly the backbone, in the network's shapes."""
    if needed and not needed.keys() & stored.keys():
        raise NetworkError(
            f"{path} shares no name with the network's backbone: it has {listed(stored)}; expected "
            f"{listed(needed)}{read_as}"
        )
    missing = [name for name in needed if name not in stored]
    if missing:
        numbers = sum(tensor.numel() for tensor in needed.values())
        there = numbers - sum(needed[name].numel() for name in missing)
        raise NetworkError(
            f"{path} has another architecture: it has {there:,} of the {numbers:,} numbers of the backbone and lacks "
            f"{listed(missing)}; all are needed{read_as}"
        )
    more = [name for name in stored if name.startswith("features.") and name not in own]
    if more:
        raise NetworkError(
            f"{path} has another architecture: its backbone has {listed(more)}, which the network lacks{read_as}"
        )
    wrong = [
        f"{name} {tuple(stored[name].shape)} instead of {tuple(tensor.shape)}"
        for name, tensor in own.items()
        if name in stored and stored[name].shape != tensor.shape
    ]
    if wrong:
        raise NetworkError(
            f"{path} does not fit the network: {listed(wrong)}; build the network with the file's widths{read_as}"
        )


def check_weights(given: Mapping[str, Tensor], own: Mapping[str, Tensor], place: Path | str) -> None:
    """Check that weights can be those of a trained network.

    Args:
        own: The network's own tensors by name.

    Raises:
        CorruptDataError: Some are not dense floating-point numbers.
        NetworkError: Some are not finite, or all matrices are zero.
    """
    _check_form(given, own, place)
    _check_values(given, place)
    _check_zeros(given, place)


def _check_zeros(given: Mapping[str, Tensor], path: Path | str) -> None:
    matrices = [tensor for tensor in given.values() if tensor.ndim > 1]
    if matrices and not any(matrix.to(torch.float32).any() for matrix in matrices):
        raise NetworkError(f"{path} has only zeros in the matrices of the backbone; give the file of a trained network")


def _check_values(given: Mapping[str, Tensor], path: Path | str) -> None:
    wrong = [name for name, tensor in given.items() if not torch.isfinite(tensor.to(torch.float32)).all()]
    if wrong:
        raise NetworkError(
            f"{path} has NaN or infinity in {listed(wrong)}: its training diverged; give an earlier checkpoint, or "
            "leave it out"
        )


def listed(items: Iterable[str]) -> str:
    """List the first names and the number of others."""
    names = list(items)
    shown = ", ".join(names[:_LISTED])
    return shown if len(names) <= _LISTED else f"{shown} and {len(names) - _LISTED} more"
