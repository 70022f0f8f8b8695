"""Study files on disk: reading TOML, and where the results of a study are."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transferscope.data.places import expanded
from transferscope.errors import MissingDataError, SettingsError

LONGEST_FILE = 10_000_000
"""Bytes; a longer file is no study file."""


@dataclass(frozen=True, slots=True)
class StudyAddress:
    """Where the results of a study are.

    Attributes:
        name: Name of the study.
        store: Path or URL of its store; a path that the file gives as a relative one is below the file's folder.
    """

    name: str
    store: str


def default_store(name: str) -> str:
    """The store of a study that names none: `runs/NAME.sqlite` in the folder of its file."""
    return str(Path("runs") / f"{name}.sqlite")


def store_of(study: Path, store: str) -> str:
    """The store that a study file means: a relative path is one below the file's folder."""
    path = store.removeprefix("sqlite:///")
    if "://" in path or path == ":memory:":
        return store
    return str(study.parent / expanded(path))


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a study file.

    Raises:
        MissingDataError: There is no such file.
        SettingsError: It is no TOML or no regular file, is longer than `LONGEST_FILE`, or holds numbers or nesting
            beyond what TOML readers take.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise SettingsError(f"{path} is a device or pipe; expected a study file in TOML")  # it might never end
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise SettingsError(f"{path} has {path.stat().st_size:,} bytes; expected a study file, of a few thousand")
        text = path.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise MissingDataError(f"there is no study file {path}; give the path of a TOML file") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is no text in UTF-8; expected a study file in TOML") from error
    return parse_toml(text, place=str(path))


def parse_toml(text: str, *, place: str) -> dict[str, Any]:
    """The tables in a text of TOML.

    Args:
        text: The text.
        place: Where it is from, for messages.

    Raises:
        SettingsError: It is no TOML; or a number has thousands of digits; or it is nested too deeply to be read.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{place} is not valid TOML: {error}") from error
    except RecursionError as error:
        raise SettingsError(
            f"{place} is nested too deeply to be read; expected tables and lists as in a study"
        ) from error
    except ValueError as error:  # Python's limit on the digits of a number
        raise SettingsError(f"{place} holds a number with thousands of digits; expected one of 64 bits") from error


def find_study(path: Path) -> StudyAddress:
    """Where the results of the study in `path` are, without checking the rest of the file.

    Raises:
        MissingDataError: There is no such file.
        SettingsError: It is no TOML, or names no study.
    """
    tables = read_toml(path)
    name, store = tables.get("name"), tables.get("store")
    if not isinstance(name, str):
        raise SettingsError(f'{path} gives the study no name; begin it with name = "..."')
    if isinstance(store, str) and "\x00" in store:
        raise SettingsError(f"{path}: store holds a NUL character, which no path or URL has; leave it out")
    return StudyAddress(name, store_of(path, store if isinstance(store, str) else default_store(name)))
