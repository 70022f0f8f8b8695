"""CIFAR-10: small photographs of ten classes (Krizhevsky, technical report, 2009), read from pickles without executing
them.

A pickle is a program. The reader below replaces the three names in NumPy's pickles of arrays by stand-ins that only
record their arguments, and refuses every other name.
"""

import io
import pickle
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from transferscope.data.arrays import Parts
from transferscope.data.catalogue.entry import CatalogueEntry, RemoteFile
from transferscope.data.task import LabelledSet
from transferscope.errors import CorruptDataError

_BYTE_TYPES = ("u1", b"u1")


def read_array_pickle(content: bytes, *, name: str) -> dict[str, Any]:
    """Decode a pickled dict (Python 2 or 3) of plain values and arrays of unsigned bytes; its keys become text.

    Raises:
        CorruptDataError: It is damaged, is not a dict, has other arrays, or refers to other code.
    """
    try:
        values = _Reader(io.BytesIO(content), encoding="latin1").load()
        if not isinstance(values, dict):
            raise pickle.UnpicklingError("it is not a dict")
        return {str(key): value.to_array() if isinstance(value, _Array) else value for key, value in values.items()}
    except Exception as error:  # damaged bytes may raise anything; nothing is executed
        raise CorruptDataError(f"{name} cannot be read ({error}); delete the file and fetch it again") from error


class _Type:
    """Stand-in for `numpy.dtype` that records the type code, such as "u1"."""

    def __init__(self, code: object, *_: object) -> None:
        self.code = code

    def __setstate__(self, state: object) -> None:
        """Ignore byte order and alignment, which do not matter for bytes."""


class _Array:
    """Stand-in for `numpy.core.multiarray._reconstruct` that records the state of the array."""

    def __init__(self, *_: object) -> None:
        self.state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def to_array(self) -> np.ndarray:
        _version, shape, dtype, column_major, content = self.state
        if not isinstance(dtype, _Type) or dtype.code not in _BYTE_TYPES:
            raise pickle.UnpicklingError("an array that is not of bytes")
        buffer = content if isinstance(content, bytes) else content.encode("latin1")
        return np.frombuffer(buffer, np.uint8).reshape(shape, order="F" if column_major else "C")


_STAND_INS: dict[tuple[str, str], type] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): object,
    ("numpy", "dtype"): _Type,
}


class _Reader(pickle.Unpickler):
    """Unpickler that accepts only the three NumPy names of pickled arrays."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        """Return the stand-in for a name; `pickle` calls this for every name it would import."""
        try:
            return _STAND_INS[module_name, global_name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks to run {module_name}.{global_name}") from None


_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_ARCHIVE = "cifar-10-python.tar.gz"
_FOLDER = "cifar-10-batches-py"
_SHAPE = (3, 32, 32)


def _decode(files: Mapping[str, Path], seed: int) -> Parts:
    path = files[_ARCHIVE]
    try:
        with tarfile.open(path, "r:gz") as archive:
            train = [_read_batch(archive, f"{_FOLDER}/data_batch_{i}", path) for i in range(1, 6)]
            test = _read_batch(archive, f"{_FOLDER}/test_batch", path)
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise CorruptDataError(f"{path} cannot be unpacked ({error}); delete it and fetch it again") from error
    inputs = np.concatenate([batch.inputs for batch in train])
    labels = np.concatenate([batch.labels for batch in train])
    return Parts(LabelledSet(inputs, labels, _CLASSES), test)


def _read_batch(archive: tarfile.TarFile, name: str, path: Path) -> LabelledSet:
    """Read a batch, a pickled dict of `data`, bytes (N, 3072), channel by channel, and `labels`, a list of N."""
    try:
        stream = archive.extractfile(name)
    except KeyError as error:
        raise CorruptDataError(f"{path} has no {name}; delete it and fetch it again") from error
    content = read_array_pickle(stream.read() if stream is not None else b"", name=f"{path}: {name}")
    images, labels = content.get("data"), content.get("labels")
    if not isinstance(images, np.ndarray) or not isinstance(labels, list) or images.size != len(labels) * 3072:
        raise CorruptDataError(f"{path}: {name} has no images with labels; delete it and fetch it again")
    return LabelledSet(images.reshape(-1, *_SHAPE), np.array(labels, dtype=np.int64), _CLASSES)


ENTRY = CatalogueEntry(
    name="cifar10",
    title="small photographs of ten things, 50,000 / 10,000, 32 x 32 colour",
    licence="none stated",
    home="https://www.cs.toronto.edu/~kriz/cifar.html",
    classes=_CLASSES,
    files=(
        RemoteFile(
            _ARCHIVE,
            (f"https://www.cs.toronto.edu/~kriz/{_ARCHIVE}",),
            "c58f30108f718f92721af3b95e74349a",
        ),
    ),
    decode=_decode,
)
