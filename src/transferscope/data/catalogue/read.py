"""From an entry of the catalogue to its data."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from transferscope.data.arrays import Parts
from transferscope.data.catalogue.entry import CatalogueEntry
from transferscope.data.catalogue.location import Location, fetch
from transferscope.data.npz import load_npz
from transferscope.data.task import Dataset
from transferscope.errors import DataError


def read_entry(entry: CatalogueEntry, *, seed: int) -> Dataset:
    """Read a data set of the catalogue from the first place that has it; download it if none does.

    Args:
        entry: The data set.
        seed: Seed of the split, for a data set that comes without one.

    Returns:
        The data.

    Raises:
        MissingDataError: It is not here and cannot be downloaded.
        CorruptDataError: A file is not what it should be.
        DataError: An .npz file under its name holds other classes.
    """
    location = fetch(entry)
    if location.form == "npz":
        (path,) = location.files.values()
        parts = _with_class_names(load_npz(path), entry.classes, path)
    else:
        parts = entry.decode(location.files, seed)
    return Dataset(entry.name, parts.train, parts.test, _provenance(entry, location))


def _with_class_names(parts: Parts, classes: tuple[str, ...], path: Path) -> Parts:
    expected = tuple(str(label) for label in range(len(classes)))
    if parts.train.classes != expected:
        raise DataError(
            f"{path} has the labels {', '.join(parts.train.classes or ('floating-point numbers',))}; expected "
            f"0 to {len(classes) - 1} for {', '.join(classes)} (name another file of your own as 'npz:PATH')"
        )
    return Parts(replace(parts.train, classes=classes), replace(parts.test, classes=classes))


def _provenance(entry: CatalogueEntry, location: Location) -> Mapping[str, str]:
    if location.form == "original":
        return {
            "spec": entry.name,
            "address": " ".join(file.addresses[0] for file in entry.files if file.addresses) or entry.home,
            "licence": entry.licence,
            "checksum": " ".join(f"md5:{file.md5}" for file in entry.files),
        }
    address = " ".join(str(path) for path in location.files.values()) or entry.home
    return {"spec": entry.name, "address": address, "licence": entry.licence}
