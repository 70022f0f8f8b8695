"""Locating studies: the TOML of a study file, and the store of a file, path or URL."""

import datetime
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from transferscope import consent
from transferscope.errors import SettingsError, StoreError, missing_file, unknown_name
from transferscope.files import expanded
from transferscope.numerics.class_measures import CLASS_MEASURES, ClassMeasure
from transferscope.store import Store, without_password

NETWORK_DISK = "TRANSFERSCOPE_NETWORK_DISK"
"""Environment variable that allows a SQLite store on a network file system when it is not empty."""

LONGEST_FILE = 10_000_000
"""Most bytes of a study file."""


@dataclass(frozen=True, slots=True)
class StudyAddress:
    """The store of a study; relative paths are relative to the file's folder.

    Attributes:
        files: Folder of the networks of a database; None if the file names none.
    """

    name: str
    store: str
    files: str | None = None


def is_study(place: str) -> bool:
    """Return whether a file or URL is a study file or a store rather than a table."""
    return "://" in place or place.endswith((".toml", ".sqlite", ".db"))


def default_store(name: str) -> str:
    """Return the default store of a study: `runs/NAME.sqlite` in the folder of its file."""
    return str(Path("runs") / f"{name}.sqlite")


def store_of(study: Path, store: str) -> str:
    """Return the store of a study file, with relative paths below the file's folder."""
    path = store.removeprefix("sqlite:///")
    if "://" in path or path == ":memory:":
        return store
    return str(study.parent / expanded(path))


def read_toml(path: Path) -> dict[str, Any]:
    """Read the tables of a study file; naming it allows the execution of its code.

    Raises:
        MissingDataError: There is no such file.
        SettingsError: It is not a regular TOML file, is longer than `LONGEST_FILE`, or has numbers or nesting beyond
        the limits of TOML readers.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise SettingsError(f"{path} is a device or pipe; expected a study file in TOML")  # it might never end
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise SettingsError(
                f"{path} has {path.stat().st_size:,} bytes, too many for a study file; give the path of one"
            )
        text = path.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise missing_file("study file", path, "give the path of a TOML file") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not UTF-8 text; expected a study file in TOML") from error
    tables = parse_toml(text, place=str(path))
    consent.give(tables, path.parent)
    return tables


def parse_toml(text: str, *, place: str) -> dict[str, Any]:
    """Parse the tables of a TOML text; raises SettingsError for invalid TOML, dates and unreadable values.

    Dates are refused since no setting is a date; a name that looks like one needs quotation marks.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{place} is not valid TOML: {error}") from error
    except RecursionError as error:
        raise SettingsError(f"{place} is nested too deeply; expected tables and lists as in a study") from error
    except ValueError as error:  # Python's limit on the digits of a number
        raise SettingsError(f"{place} has a number of thousands of digits; expected at most 64 bits") from error
    for key, date in _dates(tables):
        raise SettingsError(f'{place}: {key} = {date} is a TOML date; write {key} = "{date}" for text')
    return tables


def _dates(tables: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield dates and times in tables, however deeply they nest, with their keys."""
    within: list[tuple[str, object]] = [("", tables)]
    while within:
        key, value = within.pop()
        if isinstance(value, Mapping):
            within += reversed([(str(name), one) for name, one in value.items()])
        elif isinstance(value, list):
            within += reversed([(key, one) for one in value])
        elif isinstance(value, datetime.date | datetime.time):
            yield key, value


def find_study(path: Path) -> StudyAddress:
    """Return the store of the study in `path`, without checking the rest of the file.

    Raises:
        MissingDataError: There is no such file.
        SettingsError: It is not TOML, or names no study.
    """
    tables = read_toml(path)
    name, store = tables.get("name"), tables.get("store")
    if not isinstance(name, str):
        raise SettingsError(f'{path} has no name; begin it with name = "..."')
    if isinstance(store, str) and "\x00" in store:
        raise SettingsError(f"{path}: store contains a null character; leave it out")
    files = tables.get("files")
    folder = str(path.parent.absolute() / expanded(files)) if isinstance(files, str) and "://" in str(store) else None
    return StudyAddress(name, store_of(path, store if isinstance(store, str) else default_store(name)), folder)


def open_new(address: str, *, files: str | None = None) -> Store:
    """Open the store at a path or URL, and create it and its folder if missing; `files` of None is the usual folder."""
    if "://" not in address:
        Path(address).parent.mkdir(parents=True, exist_ok=True)
    return Store.open(address, files=files)


def open_existing(place: str) -> Store:
    """Open the store of a study file, or at a path or URL; raises MissingDataError or StoreError if there is none."""
    address = find_study(Path(place)) if place.endswith(".toml") else StudyAddress("", place)
    return Store.open(address.store, create=False, files=address.files)


def check_place(store: Store) -> None:
    """Refuse to run a study where runners could damage or miss each other's results.

    Raises:
        StoreError: The store is a SQLite file on a network file system, or the folder of its networks differs from that
        of other runners.
    """
    if (kind := store.network_disk) is not None and not os.environ.get(NETWORK_DISK):
        raise StoreError(
            f"the store {store.place} is a SQLite file on a network file system ({kind}), where runners on two "
            'machines would damage it; give store = "postgresql+psycopg://user@host/name" in the study file, or a '
            f"path on a local disk; if only this machine uses it, allow it with --network-disk or {NETWORK_DISK}=1"
        )
    store.check_files()


def studies_in(store: Store, place: str) -> list[str]:
    """Return the studies of `place`: the one of a study file, or all of a store."""
    return [find_study(Path(place)).name] if place.endswith(".toml") else [study.name for study in store.studies()]


def keep_for_report(store: Store, address: str, keep: Callable[[], None]) -> str:
    """Store something with a study and return a line about it; a read-only store is not an error."""
    try:
        keep()
    except StoreError as error:
        return f"The report will not show this: {error}"
    place = store.place if "://" in address else address  # a URL may hold a password
    return f"The report shows this now: transferscope report {quote(place)}"


def one_study(store: Store, place: str, name: str | None = None) -> str:
    """Return the one study of a place.

    Args:
        place: A study file, or the path or URL of a store.
        name: Name of the study if the store holds several; None for the only one.

    Raises:
        StoreError: The store holds no study, or several and no name was given.
        UnknownNameError: The study does not exist.
    """
    names, shown = studies_in(store, place), without_password(place)
    if name is not None and name not in names:
        raise unknown_name(f"study in {shown}", name, names)
    if name is None and not names:
        raise StoreError(f"the store {shown} has no study; run `transferscope run` on a study file first")
    if name is None and len(names) != 1:
        raise StoreError(f"{shown} has {len(names)} studies ({', '.join(names)}); choose one with --study")
    return name or names[0]


USUAL_CLASS = 0.8
"""Share of one class among training examples from which balanced accuracy is the default metric: a constant prediction
has such an accuracy, but a balanced accuracy of 1 / K."""


def metric_of(spec: Mapping[str, object], facts: Mapping[str, object]) -> ClassMeasure | None:
    """Return the class metric of a stored study: the requested one, or the one for imbalance; None for the usual one.

    Args:
        facts: Facts of its data; empty to use only the requested metric.
    """
    if usual_class(spec, facts) is not None:
        return "balanced_accuracy"
    return next((name for name in CLASS_MEASURES if name.replace("_", "-") == _metric_asked(spec)), None)


def usual_class(spec: Mapping[str, object], facts: Mapping[str, object]) -> tuple[str, float] | None:
    """Return the dominant class of the training examples and its share, if the study uses balanced accuracy for it.

    None without such a class, or if the study names a metric.
    """
    target = facts.get("target")
    if _metric_asked(spec) is not None or not isinstance(target, Mapping) or target.get("kind") != "classification":
        return None
    names, counted = target.get("classes"), target.get("class_counts")
    counts = counted.get("train") if isinstance(counted, Mapping) else None
    if not isinstance(names, list) or not isinstance(counts, list) or not len(names) == len(counts) > 1:
        return None
    if not all(isinstance(count, int) for count in counts) or not sum(counts):
        return None
    most = max(range(len(counts)), key=lambda place: counts[place])
    share = counts[most] / sum(counts)
    return (str(names[most]), share) if share >= USUAL_CLASS else None


def _metric_asked(spec: Mapping[str, object]) -> object:
    target = spec.get("target")
    return target.get("metric") if isinstance(target, Mapping) else None


def _judged_by(spec: Mapping[str, object]) -> object:
    run = spec.get("run")
    if not isinstance(run, Mapping):
        return metric_of(spec, {})
    return [run.get("score"), run.get("better") or "higher", run.get("unit") or "", run.get("name")]


def metric_in_words(path: Path, stored: Mapping[str, object]) -> str:
    """Return advice if a study file asks for another metric than the stored study; otherwise empty."""
    if _judged_by(read_toml(path)) == _judged_by(stored):
        return ""
    return (
        f"{path} asks for another metric than this study is judged by: `transferscope run {quote(str(path))}` takes it "
        "over, and trains nothing again for that"
    )
