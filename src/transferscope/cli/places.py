"""Stores by what a person types: a study file, a path or a URL."""

from pathlib import Path

from transferscope.store import Store
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
