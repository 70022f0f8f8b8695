"""SVHN: digits of house numbers (Netzer, Wang, Coates, Bissacco, Wu, Ng, NIPS workshop, 2011)."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from transferscope.data.arrays import Parts
from transferscope.data.catalogue.entry import CatalogueEntry, RemoteFile
from transferscope.data.task import LabelledSet
from transferscope.errors import CorruptDataError

_CLASSES = tuple("0123456789")
_HOME = "http://ufldl.stanford.edu/housenumbers/"


def _decode(files: Mapping[str, Path], seed: int) -> Parts:
    return Parts(_read(files["train_32x32.mat"]), _read(files["test_32x32.mat"]))


def _read(path: Path) -> LabelledSet:
    """Read `X`, images of shape (32, 32, 3, N), and `y`, labels of shape (N, 1) with 10 for the digit 0."""
    from scipy.io import loadmat  # imported here, since the import is slow

    try:
        content = loadmat(path, variable_names=["X", "y"])
        images, labels = np.asarray(content["X"]), np.asarray(content["y"])
    except Exception as error:  # the parser may raise anything on a damaged file
        raise CorruptDataError(f"{path} is not a MATLAB file with X and y ({error}); fetch it again") from error
    if images.dtype != np.uint8 or images.shape != (32, 32, 3, labels.size) or not np.isin(labels, range(1, 11)).all():
        raise CorruptDataError(
            f"{path} has images of shape {images.shape} and labels of shape {labels.shape}; expected bytes (32, 32, "
            "3, N) and digits 1..10 (N, 1): fetch it again"
        )
    return LabelledSet(
        np.ascontiguousarray(images.transpose(3, 2, 0, 1)), labels.ravel().astype(np.int64) % 10, _CLASSES
    )


ENTRY = CatalogueEntry(
    name="svhn",
    title="digits of house numbers, 73,257 / 26,032, 32 x 32 colour",
    licence="non-commercial use only",
    home=_HOME,
    classes=_CLASSES,
    files=(
        RemoteFile("train_32x32.mat", (f"{_HOME}train_32x32.mat",), "e26dedcc434d2e4c54c9b2d4a06d8373"),
        RemoteFile("test_32x32.mat", (f"{_HOME}test_32x32.mat",), "eb5a983be6a315427106f1b164d9cef3"),
    ),
    decode=_decode,
)
