"""Locations of data: the user's data folder and the download cache; and size limits."""

import math
import os
from pathlib import Path

from platformdirs import user_cache_path

from transferscope.errors import DataError, MissingDataError, SettingsError
from transferscope.files import expanded


def data_folder() -> Path | None:
    """Return the folder TRANSFERSCOPE_DATA, searched before any download; None if it is unset."""
    named = os.environ.get("TRANSFERSCOPE_DATA")
    return Path(named).expanduser() if named else None


def cache_folder() -> Path:
    """Return the download folder: TRANSFERSCOPE_CACHE, or the user's cache folder of the operating system."""
    named = os.environ.get("TRANSFERSCOPE_CACHE")
    return Path(named).expanduser() if named else user_cache_path("transferscope")


def most_bytes(usual_gb: str = "4") -> int:
    """Return the size limit for the arrays of one file, in bytes: TRANSFERSCOPE_MOST_GB, or the default.

    A small file can unpack to more than the memory, so declared sizes are compared with this limit first.

    Args:
        usual_gb: Default limit in gigabytes.

    Raises:
        SettingsError: TRANSFERSCOPE_MOST_GB is not a number above 0.
    """
    named = os.environ.get("TRANSFERSCOPE_MOST_GB", usual_gb)
    try:
        most = float(named)
    except ValueError:
        most = 0.0
    if not 0 < most < math.inf:
        raise SettingsError(f"TRANSFERSCOPE_MOST_GB = {named!r}; expected a number of gigabytes, as in 16")
    return int(most * 1e9)


def check_bytes(path: Path, n_bytes: int, *, most_gb: str = "4") -> None:
    """Refuse, with a DataError, data that would take up more room than `most_bytes`."""
    if n_bytes > (most := most_bytes(most_gb)):
        raise DataError(
            f"{path} decompresses to {n_bytes / 1e9:,.1f} GB, but the limit is {most / 1e9:g} GB; save less of it, or "
            "raise TRANSFERSCOPE_MOST_GB"
        )


def find_path(path: str) -> Path:
    """Find a user's file or folder: as given, or below TRANSFERSCOPE_DATA if relative.

    Raises:
        MissingDataError: Neither exists.
        DataError: The path is invalid on this machine.
    """
    if not path:
        raise MissingDataError("the path is empty; write it after the colon, as in 'npz:data/digits.npz'")
    given, folder = expanded(path), data_folder()
    places = [given] if given.is_absolute() or folder is None else [given, folder / given]
    for place in places:
        try:
            if place.exists():
                return place
        except OSError as error:  # too long, or in a folder that may not be read
            raise DataError(f"the path {path!r} is invalid ({error.strerror}); check it") from error
    looked = " or ".join(str(place.absolute()) for place in places)
    hint = "" if given.is_absolute() or folder else "; or set TRANSFERSCOPE_DATA to the folder with the data"
    raise MissingDataError(f"there is no file {looked}; check the path{hint}")
