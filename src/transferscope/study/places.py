"""Stores by what a person types: a study file, a path or a URL."""

from collections.abc import Callable
from pathlib import Path

from transferscope.errors import StoreError, unknown_name
from transferscope.store import Store, without_password
from transferscope.study.file import find_study


def open_new(address: str) -> Store:
    """The store at a path or URL, made with its folder if there is none."""
    if "://" not in address:
        Path(address).parent.mkdir(parents=True, exist_ok=True)
    return Store.open(address)


def open_existing(place: str) -> Store:
    """The store of a study file, or at a path or URL.

    Raises:
        MissingDataError: There is no such study file.
        StoreError: There is no such store.
    """
    return Store.open(find_study(Path(place)).store if place.endswith(".toml") else place, create=False)


def studies_in(store: Store, place: str) -> list[str]:
    """The names of the studies meant by `place`: the one of a study file, or all of a store."""
    return [find_study(Path(place)).name] if place.endswith(".toml") else [study.name for study in store.studies()]


def keep_for_report(store: Store, address: str, keep: Callable[[], None]) -> str:
    """Keep something with a study; what came of it, in a line. A store that cannot be written loses no answer.

    Args:
        store: The store of the study.
        address: What the reader gave for it.
        keep: Writes to the store.
    """
    try:
        keep()
    except StoreError as error:
        return f"The report will not show this: {error}"
    place = store.place if "://" in address else address  # a URL may hold a password
    return f"The report shows this now: transferscope report {place}"


def one_study(store: Store, place: str, name: str | None = None) -> str:
    """The one study that is meant.

    Args:
        store: The store of `place`.
        place: A study file, or the path or URL of a store.
        name: Its name, when a store holds several; None for the only one.

    Raises:
        StoreError: The store holds no study, or several and no name was given.
        UnknownNameError: There is no study of this name.
    """
    names = studies_in(store, place)
    if name is not None and name not in names:
        raise unknown_name(f"study in {without_password(place)}", name, names)
    if name is None and len(names) != 1:
        shown = without_password(place)
        raise StoreError(f"{shown} holds {len(names)} studies ({', '.join(names)}); choose one with --study")
    return name or names[0]
