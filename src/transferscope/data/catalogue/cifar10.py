"""CIFAR-10: small photographs of ten things (Krizhevsky, technical report, 2009)."""

import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from transferscope.data.arrays import Parts
from transferscope.data.catalogue.array_pickle import read_array_pickle
from transferscope.data.catalogue.entry import CatalogueEntry, RemoteFile
from transferscope.data.task import LabelledSet
from transferscope.errors import CorruptDataError

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
    """A batch is a pickled dict of `data`, bytes (N, 3072), channel by channel, and `labels`, a list of N."""
    try:
        stream = archive.extractfile(name)
    except KeyError as error:
        raise CorruptDataError(f"{path} has no {name}; delete it and fetch it again") from error
    content = read_array_pickle(stream.read() if stream is not None else b"", name=f"{path}: {name}")
    images, labels = content.get("data"), content.get("labels")
    if not isinstance(images, np.ndarray) or not isinstance(labels, list) or images.size != len(labels) * 3072:
        raise CorruptDataError(f"{path}: {name} holds no images with labels; delete it and fetch it again")
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
