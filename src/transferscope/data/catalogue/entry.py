"""What the catalogue says about a data set."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from transferscope.data.arrays import Parts

Decoder = Callable[[Mapping[str, Path], int], Parts]
"""Reads the original files of a data set: takes where each `RemoteFile.name` lies, and the seed of the split for a data
set that comes without one; returns the training and the test set. Raises CorruptDataError for a file that is not what
it should be."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """An original file of a data set.

    Attributes:
        name: Its name on disk.
        addresses: Where it can be had, the first that answers is used.
        md5: Its published MD5 checksum, 32 hexadecimal digits.
    """

    name: str
    addresses: tuple[str, ...]
    md5: str


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A data set that can be asked for by name.

    Attributes:
        name: The name.
        title: One line: what is on the images, how many, how large.
        licence: The licence of the data, or "none stated".
        home: The page that describes the data.
        classes: The name of each class in label order.
        files: The original files; none for data that come with a package.
        decode: Reads them.
    """

    name: str
    title: str
    licence: str
    home: str
    classes: tuple[str, ...]
    files: tuple[RemoteFile, ...]
    decode: Decoder
