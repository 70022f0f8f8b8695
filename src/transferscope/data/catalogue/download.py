"""One file from the network to the disk: with progress, retries, a checksum, and all or nothing."""

from pathlib import Path

import pooch
import requests
from tqdm import tqdm

from transferscope.data.catalogue.entry import RemoteFile
from transferscope.errors import CorruptDataError, DataError, MissingDataError

_RETRIES = 2
_TIMEOUT = 30.0  # seconds without a byte
_CHUNK = 2**16  # bytes


def download(file: RemoteFile, folder: Path) -> Path:
    """Fetch a file into a folder, unless it is there already and whole.

    The file is written under a temporary name, checked, and renamed, so that a file under its own name is complete.
    A wrong file under that name is replaced. Every address is tried three times before the next one is.

    Args:
        file: What to fetch.
        folder: Where to put it; made if absent.

    Returns:
        Its path.

    Raises:
        MissingDataError: No address could be reached.
        CorruptDataError: What came has another checksum than the published one; nothing of it is kept.
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
            f"{address} gave a file whose MD5 checksum is not {file.md5}; it was thrown away: try again later, "
            f"or put the right {file.name} into {folder}"
        ) from error


def _stream(address: str, output: str, _: object) -> None:
    """Copy the content of an address to a file; the progress bar is for terminals only."""
    request = requests.get(address, stream=True, timeout=_TIMEOUT, headers={"Accept-Encoding": "identity"})
    with request as response, Path(output).open("wb") as stream:
        response.raise_for_status()
        size = int(response.headers.get("Content-Length", 0)) or None
        with tqdm(desc=address.rpartition("/")[2], total=size, unit="B", unit_scale=True, disable=None) as bar:
            for chunk in response.iter_content(_CHUNK):
                stream.write(chunk)
                bar.update(len(chunk))


def _reason(error: requests.RequestException) -> str:
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"answers {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.Timeout):
        return "does not answer in time"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "breaks off in the middle of the file"
    return "cannot be reached"
