"""Runs of Lightning's CSVLogger: a folder version_N each, with metrics.csv, and hparams.yaml for its settings.

Every line of metrics.csv has the values of one step, and gaps. The settings name the arm and the seed, else the path.
"""

from collections.abc import Iterator
from pathlib import Path

from transferscope.analyses.results.readers.run import (
    Found,
    Run,
    arm_and_seed,
    csv_rows,
    header_of,
    number,
    plain_yaml,
)

_METRICS, _SETTINGS = "metrics.csv", "hparams.yaml"


def holds(place: Path) -> bool:
    """See `readers.RunsReader`."""
    return place.is_dir() and next(_files(place), None) is not None


def read(place: Path) -> Found:
    """See `readers.RunsReader`."""
    return Found(tuple(_run(path, place) for path in sorted(_files(place))))


def _files(place: Path) -> Iterator[Path]:
    return (path for path in place.rglob(_METRICS) if "step" in header_of(path))


def _run(path: Path, place: Path) -> Run:
    folder = path.parent
    named = folder
    for own in ("version_", "lightning_logs"):  # what the logger calls them, and not the user
        named = named.parent if named.name.startswith(own) and named != place else named
    about = folder / _SETTINGS
    settings = arm_and_seed(named, place) | (dict(plain_yaml(about)) if about.is_file() else {})
    series = []
    for row in csv_rows(path, "metrics of Lightning"):
        step = number(row.get("step"), path, "a step")
        cells = {name: cell for name, cell in row.items() if cell and name not in ("step", "epoch")}
        series += [(step, name, number(cell, path)) for name, cell in cells.items()]
    return Run("/".join(folder.relative_to(place).parts) or folder.resolve().name, settings, tuple(series))
