"""Digits: the handwritten digits that come with scikit-learn (the test part of UCI's optical recognition set, 1998)."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from transferscope.data.arrays import Parts
from transferscope.data.catalogue.entry import CatalogueEntry
from transferscope.data.splits import TEST_SHARE, split_off_test
from transferscope.data.task import LabelledSet

_CLASSES = tuple("0123456789")
_BRIGHTEST = 16


def _decode(files: Mapping[str, Path], seed: int, share: float = TEST_SHARE) -> Parts:
    package = find_spec("sklearn")  # imported here, since the import is slow
    assert package is not None
    assert package.origin is not None
    table = np.loadtxt(Path(package.origin).parent / "datasets/data/digits.csv.gz", delimiter=",")
    pixels = np.rint(table[:, :-1].reshape(-1, 1, 8, 8) * (255 / _BRIGHTEST)).astype(np.uint8)
    whole = LabelledSet(pixels, table[:, -1].astype(np.int64), _CLASSES)
    return split_off_test(whole, share, seed=seed)


ENTRY = CatalogueEntry(
    name="digits",
    title="handwritten digits, 1,797 in a seeded split of 80 : 20, 8 x 8 grey; comes with scikit-learn",
    licence="CC BY 4.0",
    home="https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits",
    classes=_CLASSES,
    files=(),
    decode=_decode,
    drawn=_decode,
)
