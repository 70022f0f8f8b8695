"""Where the data of an entry lie: TRANSFERSCOPE_DATA first, then the cache, then its home on the network."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from transferscope.data.catalogue.download import download
from transferscope.data.catalogue.entry import CatalogueEntry, RemoteFile
from transferscope.data.places import cache_folder, data_folder
from transferscope.errors import CorruptDataError, MissingDataError

Form = Literal["npz", "original", "bundled", "absent"]


@dataclass(frozen=True, slots=True)
class Location:
    """Where a data set lies, and in which form.

    Attributes:
        form: "npz" (one NAME.npz), "original" (the files of its home), "bundled" (comes with a package), or "absent".
        files: The paths by file name; for "absent", those of its files that are there.
    """

    form: Form
    files: Mapping[str, Path] = field(default_factory=dict)


def locate(entry: CatalogueEntry) -> Location:
    """Find a data set on this computer, without the network.

    TRANSFERSCOPE_DATA may hold `NAME.npz`, or the original files, by themselves or in a sub-folder NAME; in NAME, "_"
    may stand for "-". The cache holds original files that were downloaded before.

    Args:
        entry: The data set.

    Returns:
        The first place that has all of it.

    Raises:
        CorruptDataError: The sub-folder NAME holds an original file with another checksum than the published one.
    """
    archive = _first(folder / f"{spelling}.npz" for folder in _data_folders() for spelling in _spellings(entry.name))
    if archive is not None:
        return Location("npz", {archive.name: archive})
    if not entry.files:
        return Location("bundled")
    found = {file.name: path for file in entry.files if (path := _find_original(entry, file)) is not None}
    return Location("original" if len(found) == len(entry.files) else "absent", found)


def fetch(entry: CatalogueEntry) -> Location:
    """Find a data set, and download what is missing of it into the cache.

    Args:
        entry: The data set.

    Returns:
        Where it lies now; never "absent".

    Raises:
        MissingDataError: It is not here and cannot be downloaded; the message says what to put where.
        CorruptDataError: A file is not what it should be.
    """
    location = locate(entry)
    if location.form != "absent":
        return location
    files = dict(location.files)
    for file in entry.files:
        if file.name not in files:
            files[file.name] = _download(entry, file)
    return Location("original", files)


def _download(entry: CatalogueEntry, file: RemoteFile) -> Path:
    try:
        return download(file, cache_folder() / entry.name)
    except MissingDataError as error:
        folder = data_folder()
        named = f"({folder})" if folder else "(it is unset)"
        raise MissingDataError(
            f"data set {entry.name} is not on this computer and cannot be downloaded: {error}; put {entry.name}.npz "
            f"(x_train, y_train, x_test, y_test) or {', '.join(file.name for file in entry.files)} "
            f"into the folder that TRANSFERSCOPE_DATA names {named}"
        ) from error


def _find_original(entry: CatalogueEntry, file: RemoteFile) -> Path | None:
    for folder in _data_folders():
        own = _first(folder / spelling / file.name for spelling in _spellings(entry.name))
        if own is not None and _md5(own) != file.md5:
            raise CorruptDataError(
                f"{own} has another MD5 checksum than the published {file.md5}; replace it, or remove it to have it "
                "downloaded"
            )
        loose = folder / file.name  # may belong to another data set whose files have the same names
        if own is not None or (loose.is_file() and _md5(loose) == file.md5):
            return own or loose
    cached = cache_folder() / entry.name / file.name
    return cached if cached.is_file() and _md5(cached) == file.md5 else None


def _data_folders() -> list[Path]:
    folder = data_folder()
    return [] if folder is None else [folder]


def _spellings(name: str) -> list[str]:
    return list(dict.fromkeys((name, name.replace("-", "_"))))


def _first(paths: Iterable[Path]) -> Path | None:
    return next((path for path in paths if path.is_file()), None)


def _md5(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "md5").hexdigest()
