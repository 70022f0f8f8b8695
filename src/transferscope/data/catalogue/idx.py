"""The idx format of MNIST: two zero bytes, a type, the number of axes, their lengths (big-endian), the values."""

import gzip
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from transferscope.data.arrays import Parts
from transferscope.data.catalogue.entry import RemoteFile
from transferscope.data.task import LabelledSet
from transferscope.errors import CorruptDataError

_UNSIGNED_BYTE = 0x08


def read_idx(path: Path) -> UInt8[np.ndarray, "..."]:
    """Read a gzipped idx file of unsigned bytes; raises CorruptDataError for another format or length."""
    try:
        with gzip.open(path) as stream:
            content = stream.read()
    except (OSError, EOFError, zlib.error) as error:
        raise CorruptDataError(f"{path} cannot be unpacked ({error}); delete it and fetch it again") from error
    if len(content) < 4 or content[:3] != bytes((0, 0, _UNSIGNED_BYTE)):
        raise CorruptDataError(
            f"{path} starts with {content[:4].hex()}; expected 000008, an idx file of unsigned bytes"
        )
    n_axes = content[3]
    start = 4 + 4 * n_axes
    shape = struct.unpack(f">{n_axes}I", content[4:start]) if len(content) >= start else ()
    values = np.frombuffer(content, np.uint8, offset=min(start, len(content)))
    if not shape or values.size != np.prod(shape, dtype=np.int64):
        raise CorruptDataError(f"{path} has {values.size} values; expected {shape}, as in its header: fetch it again")
    return values.reshape(shape)


def idx_files(*, address: str, mirror: str, md5: Mapping[str, str]) -> tuple[RemoteFile, ...]:
    """Return the four files of a data set in MNIST's layout; the address of their folder ends in "/"."""
    return tuple(RemoteFile(name, (address + name, mirror + name), checksum) for name, checksum in md5.items())


def decode_idx(files: Mapping[str, Path], seed: int, *, classes: tuple[str, ...]) -> Parts:
    """Read the four files of a data set in MNIST's layout; images are uint8 (N, 1, H, W).

    Args:
        files: Paths of `train-images-idx3-ubyte.gz`, `train-labels-idx1-ubyte.gz` and the two of `t10k`.

    Raises:
        CorruptDataError: A file is corrupt or has another format.
    """
    return Parts(_read_set(files, "train", classes), _read_set(files, "t10k", classes))


def _read_set(files: Mapping[str, Path], stem: str, classes: tuple[str, ...]) -> LabelledSet:
    images = read_idx(files[f"{stem}-images-idx3-ubyte.gz"])
    labels = read_idx(files[f"{stem}-labels-idx1-ubyte.gz"])
    if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
        raise CorruptDataError(
            f"the {stem} files have images of shape {images.shape} and labels of shape {labels.shape}; expected (N, "
            "H, W) and (N,): fetch them again"
        )
    return LabelledSet(images[:, None], labels.astype(np.int64), classes)
