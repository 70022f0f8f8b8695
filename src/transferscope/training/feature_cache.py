"""Cache of features of frozen backbones on disk, shared by all runs with the same network and data.

Keys are digests of the weights and examples. A few examples are recomputed every time; if their features differ from
the file in any bit, as after a change of code, all are recomputed.
"""

import hashlib
import os
from contextlib import suppress
from itertools import chain
from pathlib import Path

import torch
from jaxtyping import Float
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from transferscope.data.places import cache_folder
from transferscope.data.task import give_back
from transferscope.errors import SettingsError
from transferscope.files import written_whole
from transferscope.models.network import n_weights
from transferscope.models.texts import POOLING
from transferscope.models.weights import checksum_notes, digest_of
from transferscope.training.tensors import TensorSet, joined

LEAST_PARAMETERS = 1_000_000
"""Least parameters of cached backbones: smaller ones compute features faster than a file is read."""

MOST_BYTES = 4 * 2**30
"""Size of the cache; the least recently used entries are removed first. TRANSFERSCOPE_FEATURES sets another number, 0
for none; the folder `features` of the cache may be deleted at any time."""

LOOKED_AT = 4
"""Examples that are recomputed to verify the cache: most of what a use costs, 0.02 s each for
EfficientNet-lite0, whose weights are digested in as much."""


def is_kept(features: nn.Module) -> bool:
    """Return whether the features of a frozen backbone are cached."""
    return _room() > 0 and n_weights(features) >= LEAST_PARAMETERS


def kept_features(features: nn.Module, data: TensorSet, size: int) -> Float[Tensor, "N m"]:
    """Return the features of all examples in evaluation mode, from the disk if cached, else `size` per batch."""
    batches = (batch.inputs for batch in data.chunks(size))
    file = cache_folder() / "features" / f"{content_key(features, data)}.safetensors"
    first = next(batches)
    few = features(first[:LOOKED_AT].clone()).cpu()
    stored = _read(file)
    if stored is not None and len(stored["features"]) == len(data) and torch.equal(stored["few"], few):
        with suppress(OSError):
            os.utime(file)
        return stored["features"].to(data.device)
    whole = joined((features(inputs) for inputs in chain([first], batches)), len(data))
    with suppress(OSError):  # a full disk, or a folder that cannot be written, takes the time alone
        file.parent.mkdir(parents=True, exist_ok=True)
        tensors = {"features": whole.cpu().contiguous(), "few": few.contiguous()}
        with written_whole(file) as unfinished:
            save_file(tensors, unfinished, metadata=checksum_notes(tensors))
        _make_room(file.parent)
    return whole


def content_key(features: nn.Module, data: TensorSet) -> str:
    """Return a digest of a network's weights and structure, of the examples, and of what affects the last digits."""
    digest = hashlib.blake2b(digest_size=16)
    state = {name: tensor.detach().cpu().contiguous() for name, tensor in features.state_dict().items()}
    pooling = [getattr(module, POOLING, None) for module in features.modules()]
    arithmetic = (torch.__version__, torch.get_num_threads(), data.device.type)
    digest.update(f"{digest_of(state)} {features} {pooling} {arithmetic}".encode())
    for tensor in (data.inputs, data.shift, data.factor):
        digest.update(digest_of({"": tensor.cpu().contiguous()}).encode())
    give_back(data.mapped)
    return digest.hexdigest()


def _read(file: Path) -> dict[str, Tensor] | None:
    try:
        with safe_open(file, framework="pt") as stored:
            tensors = {name: stored.get_tensor(name) for name in ("features", "few")}
            whole = stored.metadata() == checksum_notes(tensors)
    except (SafetensorError, OSError, ValueError, RuntimeError):
        return None
    return tensors if whole else None


def _make_room(folder: Path) -> None:
    """Delete the least recently used files until the rest fits."""
    with suppress(OSError):
        sizes = sorted((file.stat().st_mtime, file.stat().st_size, file) for file in folder.glob("*.safetensors"))
        total = sum(size for _, size, _ in sizes)
        for _, size, file in sizes:
            if total <= _room():
                break
            file.unlink(missing_ok=True)
            total -= size


def _room() -> int:
    given = os.environ.get("TRANSFERSCOPE_FEATURES", str(MOST_BYTES))
    if not given.isdecimal():
        raise SettingsError(
            f"TRANSFERSCOPE_FEATURES = {given!r}; expected a number of bytes, as in 4000000000, or 0 for none"
        )
    return int(given)
