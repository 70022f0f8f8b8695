"""USPS: handwritten digits from envelopes (Hull, IEEE Transactions on Pattern Analysis, 1994)."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from transferscope.data.arrays import Parts
from transferscope.data.catalogue.entry import CatalogueEntry, RemoteFile
from transferscope.data.task import LabelledSet
from transferscope.errors import CorruptDataError

_CLASSES = tuple("0123456789")
_HOME = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
_SIDE = 16


def _decode(files: Mapping[str, Path], seed: int) -> Parts:
    return Parts(_read(files["usps.bz2"]), _read(files["usps.t.bz2"]))


def _read(path: Path) -> LabelledSet:
    """Read one line per image, `label index:value ...`: labels 1..10 for the digits 0..9, values in [-1, 1]."""
    from sklearn.datasets import load_svmlight_file

    try:
        values, labels = load_svmlight_file(str(path), n_features=_SIDE**2)
    except (OSError, EOFError, ValueError) as error:
        raise CorruptDataError(f"{path} is not packed LIBSVM text ({error}); delete it and fetch it again") from error
    pixels = np.rint((values.toarray() + 1) / 2 * 255)
    if not pixels.size or pixels.min() < 0 or pixels.max() > 255 or not np.isin(labels, np.arange(1, 11)).all():
        raise CorruptDataError(f"{path} has labels outside 1..10 or values outside [-1, 1]; fetch it again")
    images = pixels.astype(np.uint8).reshape(-1, 1, _SIDE, _SIDE)
    return LabelledSet(images, labels.astype(np.int64) - 1, _CLASSES)


ENTRY = CatalogueEntry(
    name="usps",
    title="handwritten digits from envelopes, 7,291 / 2,007, 16 x 16 grey",
    licence="none stated",
    home=f"{_HOME}multiclass.html#usps",
    classes=_CLASSES,
    files=(
        RemoteFile("usps.bz2", (f"{_HOME}multiclass/usps.bz2",), "ec16c51db3855ca6c91edd34d0e9b197"),
        RemoteFile("usps.t.bz2", (f"{_HOME}multiclass/usps.t.bz2",), "8ea070ee2aca1ac39742fdd1ef5ed118"),
    ),
    decode=_decode,
)
