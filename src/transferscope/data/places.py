"""Where data lie: the folder a user names, and the cache for downloads."""

import os
from pathlib import Path

from platformdirs import user_cache_path

from transferscope.errors import MissingDataError


def data_folder() -> Path | None:
    """The folder that TRANSFERSCOPE_DATA names, searched before anything is downloaded; None when it is unset."""
    named = os.environ.get("TRANSFERSCOPE_DATA")
    return Path(named).expanduser() if named else None


def cache_folder() -> Path:
    """Where downloads go: TRANSFERSCOPE_CACHE, or the user's cache folder of the operating system."""
    named = os.environ.get("TRANSFERSCOPE_CACHE")
    return Path(named).expanduser() if named else user_cache_path("transferscope")


def expanded(path: str) -> Path:
    """A path with the user's folder for "~"; "~" before an unknown name stays as it is."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  # Path.expanduser raises RuntimeError for an unknown name


def find_path(path: str) -> Path:
    """A user's file or folder: as given, or below TRANSFERSCOPE_DATA when it is relative.

    Args:
        path: Absolute, or relative to the working directory or to TRANSFERSCOPE_DATA, searched in this order.

    Returns:
        The first that exists.

    Raises:
        MissingDataError: None does.
    """
    if not path:
        raise MissingDataError("no path was given; write it after the colon, as in 'npz:data/digits.npz'")
    given, folder = expanded(path), data_folder()
    places = [given] if given.is_absolute() or folder is None else [given, folder / given]
    for place in places:
        if place.exists():
            return place
    looked = " or ".join(str(place.absolute()) for place in places)
    hint = "" if given.is_absolute() or folder else "; set TRANSFERSCOPE_DATA to have another folder searched"
    raise MissingDataError(f"there is no {looked}; check the path{hint}")
