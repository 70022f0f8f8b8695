"""A data set of the catalogue: its description, the location of its files, download and reading.

TRANSFERSCOPE_DATA comes first, then the cache, then its home on the network.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tqdm import tqdm

from transferscope.data.arrays import Parts
from transferscope.data.npz import load_npz
from transferscope.data.places import cache_folder, data_folder
from transferscope.data.splits import TEST_SHARE
from transferscope.data.task import Dataset
from transferscope.errors import CorruptDataError, DataError, MissingDataError

if TYPE_CHECKING:
    import requests

Decoder = Callable[[Mapping[str, Path], int], Parts]
"""Reads the original files of a data set: takes the path of each `RemoteFile.name`, and the seed of the split for a
data set without one; returns the training and the test set. Raises CorruptDataError for a file of another format."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """An original file of a data set.

    Attributes:
        addresses: Its URLs; the first one that answers is used.
        md5: Its published MD5 checksum, 32 hexadecimal digits.
    """

    name: str
    addresses: tuple[str, ...]
    md5: str


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A data set that can be loaded by name.

    Attributes:
        title: One line: content, number and size of the images.
        licence: The licence of the data, or "none stated".
        home: The page that describes the data.
        classes: The name of each class in label order.
        files: The original files; none for data that come with a package.
        drawn: For data without a test part: `decode` with the share of the one that is drawn as a third argument.
    """

    name: str
    title: str
    licence: str
    home: str
    classes: tuple[str, ...]
    files: tuple[RemoteFile, ...]
    decode: Decoder
    drawn: Callable[[Mapping[str, Path], int, float], Parts] | None = None


_RETRIES = 2
_TIMEOUT = 30.0  # seconds without a byte
_CHUNK = 2**16  # bytes


def download(file: RemoteFile, folder: Path) -> Path:
    """Download a file to a folder, created if missing, unless it is there with the right checksum.

    The file is written under a temporary name, checked, and renamed, so that a file with the final name is complete. A
    wrong file with that name is replaced. Every address is tried three times before the next one.

    Raises:
        MissingDataError: No address could be reached.
        CorruptDataError: The download has a wrong checksum; it is deleted.
        DataError: The folder cannot be written.
    """
    failures: list[DataError] = []
    for address in file.addresses:
        try:
            return _download_from(address, file, folder)
        except (CorruptDataError, MissingDataError) as error:
            failures.append(error)
    corrupt = [error for error in failures if isinstance(error, CorruptDataError)]
    if corrupt:
        raise corrupt[0]
    raise MissingDataError("; ".join(str(error) for error in failures))


def _download_from(address: str, file: RemoteFile, folder: Path) -> Path:
    import pooch  # imported here, as requests: only downloads need them
    import requests

    store = pooch.create(
        path=folder,
        base_url="",
        registry={file.name: f"md5:{file.md5}"},
        urls={file.name: address},
        retry_if_failed=_RETRIES,
    )
    try:
        return Path(store.fetch(file.name, downloader=_stream))
    except requests.RequestException as error:
        raise MissingDataError(f"{address} {_reason(error)}") from error
    except OSError as error:
        raise DataError(f"cannot write {folder} ({error}); set TRANSFERSCOPE_CACHE to a folder with room") from error
    except ValueError as error:
        raise CorruptDataError(
            f"{address} returned a file without the MD5 checksum {file.md5}; try again later, or put {file.name} into "
            f"{folder}"
        ) from error


def _stream(address: str, output: str, _: object) -> None:
    """Copy the content of an address to a file; the progress bar is for terminals only."""
    import requests

    request = requests.get(address, stream=True, timeout=_TIMEOUT, headers={"Accept-Encoding": "identity"})
    with request as response, Path(output).open("wb") as stream:
        response.raise_for_status()
        size = int(response.headers.get("Content-Length", 0)) or None
        with tqdm(desc=address.rpartition("/")[2], total=size, unit="B", unit_scale=True, disable=None) as bar:
            for chunk in response.iter_content(_CHUNK):
                stream.write(chunk)
                bar.update(len(chunk))


def _reason(error: "requests.RequestException") -> str:
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"answers {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.Timeout):
        return "does not answer in time"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "breaks off in the middle of the file"
    return "cannot be reached"


Form = Literal["npz", "original", "bundled", "absent"]


@dataclass(frozen=True, slots=True)
class Location:
    """Location and form of a data set.

    Attributes:
        form: "npz" (one NAME.npz), "original" (the files of its home), "bundled" (comes with a package), or "absent".
        files: The paths by file name; for "absent", those of its files that are there.
    """

    form: Form
    files: Mapping[str, Path] = field(default_factory=dict)


def locate(entry: CatalogueEntry) -> Location:
    """Find a data set on this computer, without the network: the first place that has all of it.

    TRANSFERSCOPE_DATA may hold `NAME.npz`, or the original files, by themselves or in a sub-folder NAME; in NAME, "_"
    may stand for "-". The cache holds original files that were downloaded before.

    Raises:
        CorruptDataError: The sub-folder NAME holds an original file with another checksum than the published one.
    """
    archive = next(filter(Path.is_file, _own_places(entry, ".npz")), None)
    if archive is not None:
        return Location("npz", {archive.name: archive})
    if not entry.files:
        return Location("bundled")
    files = {file.name: path for file in entry.files if (path := _find_original(entry, file)) is not None}
    return Location("original" if len(files) == len(entry.files) else "absent", files)


def fetch(entry: CatalogueEntry) -> Location:
    """Find a data set, and download what is missing of it into the cache; its form is never "absent".

    Raises:
        MissingDataError: It is missing and cannot be downloaded; the message says which file to put where.
        CorruptDataError: A file is corrupt.
    """
    location = locate(entry)
    if location.form != "absent":
        return location
    files = dict(location.files)
    try:
        for file in entry.files:
            if file.name not in files:
                files[file.name] = download(file, cache_folder() / entry.name)
    except MissingDataError as error:
        folder = data_folder()
        named = f"({folder})" if folder else "(it is unset)"
        raise MissingDataError(
            f"data set {entry.name} is not on this computer and cannot be downloaded: {error}; put {entry.name}.npz "
            f"(x_train, y_train, x_test, y_test) or {', '.join(file.name for file in entry.files)} into the folder "
            f"TRANSFERSCOPE_DATA {named}"
        ) from error
    return Location("original", files)


def _own_places(entry: CatalogueEntry, ending: str) -> list[Path]:
    """Return NAME with an ending below TRANSFERSCOPE_DATA, in both spellings; empty if it is unset."""
    folder, names = data_folder(), dict.fromkeys((entry.name, entry.name.replace("-", "_")))
    return [] if folder is None else [folder / f"{name}{ending}" for name in names]


def _find_original(entry: CatalogueEntry, file: RemoteFile) -> Path | None:
    own = next(filter(Path.is_file, _own_places(entry, f"/{file.name}")), None)
    if own is not None:
        if _md5(own) != file.md5:
            raise CorruptDataError(
                f"{own} does not have the MD5 checksum {file.md5}; replace it, or remove it to download it again"
            )
        return own
    # a file by itself may belong to another data set whose files have the same names
    places = [folder for folder in (data_folder(), cache_folder() / entry.name) if folder is not None]
    found = (folder / file.name for folder in places)
    return next((path for path in found if path.is_file() and _md5(path) == file.md5), None)


def _md5(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "md5").hexdigest()


def read_entry(entry: CatalogueEntry, *, seed: int, share: float = TEST_SHARE) -> Dataset:
    """Read a data set of the catalogue from the first place that has it, downloaded if none does; raises as `fetch`.

    Raises:
        DataError: An .npz file under its name holds other classes.
    """
    location = fetch(entry)
    address = " ".join(str(path) for path in location.files.values()) or entry.home
    about = {"spec": entry.name, "address": address, "licence": entry.licence}
    if location.form == "npz":
        (path,) = location.files.values()
        parts = load_npz(path)
        if parts.train.classes != tuple(str(label) for label in range(len(entry.classes))):
            raise DataError(
                f"{path} has the labels {', '.join(parts.train.classes or ('floating-point numbers',))}; expected 0 "
                f"to {len(entry.classes) - 1} for {', '.join(entry.classes)} (give other data as 'npz:PATH')"
            )
        parts = Parts(*(replace(part, classes=entry.classes) for part in (parts.train, parts.test)))
    else:
        files = location.files
        parts = entry.decode(files, seed) if entry.drawn is None else entry.drawn(files, seed, share)
    if location.form == "original":
        about["address"] = " ".join(file.addresses[0] for file in entry.files if file.addresses) or entry.home
        about["checksum"] = " ".join(f"md5:{file.md5}" for file in entry.files)
    return Dataset(entry.name, parts.train, parts.test, about)
