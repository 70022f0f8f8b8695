"""The work behind `transferscope diagnose --map STUDY`: the trained networks of a study in the plane."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd

from transferscope.cli.diagnose_files import write_figure
from transferscope.errors import StoreError
from transferscope.report.figures.maps import Way, draw_weight_map
from transferscope.report.save import file_name, write_table
from transferscope.store import without_password
from transferscope.study.places import open_existing, studies_in
from transferscope.study.weight_map import MappedNetwork, WeightMap, map_study

_INCHES = (6.2, 4.2)


def draw_map(address: str, out: Path, *, seed: int, quiet: bool) -> str:
    """Map the trained networks of a study and write figure and tables.

    Args:
        address: A study file, or the path or URL of a store with one study.
        out: Folder for SVG, PDF and CSV; made if it does not exist.
        seed: Seed of the layout.
        quiet: Show no progress.

    Returns:
        What to tell the reader.

    Raises:
        StoreError: The store holds no or several studies.
        TransferscopeError: As `map_study`.
    """
    with open_existing(address) as store:
        names = studies_in(store, address)
        if len(names) != 1:
            shown = without_password(address)
            raise StoreError(f"{shown} holds {len(names)} studies; give the study file of the one to map")
        if not quiet:
            print(f"{names[0]}: reading the networks in {store.files}", file=sys.stderr, flush=True)
        mapped = map_study(store, names[0], seed=seed)
    out.mkdir(parents=True, exist_ok=True)
    study = file_name(names[0])
    name = f"{study}-weight-map"
    ways = ways_of(mapped)
    files = write_figure(
        out, name, lambda canvas: draw_weight_map(canvas, ways, f"Weights of {names[0]} (t-SNE)"), _INCHES
    )
    table, distances = _tables(mapped)
    write_table(table, out / f"{name}.csv")
    write_table(distances, out / f"{study}-weight-distances.csv")
    return "\n".join(
        (_words(mapped, ways), f"written: {out / files[0]}, {files[1]}, {name}.csv, {study}-weight-distances.csv")
    )


def ways_of(mapped: WeightMap) -> list[Way]:
    """The networks of each cell as one way on the map."""
    rows = zip(mapped.networks, mapped.positions, strict=True)
    ways = []
    for _, group in groupby(rows, key=lambda row: row[0].key):
        networks, positions = zip(*group, strict=True)
        first: MappedNetwork = networks[0]
        ways.append(Way(first.source, first.method, first.n_target, np.array(positions), has_start=first.step == 0))
    return ways


def _words(mapped: WeightMap, ways: Sequence[Way]) -> str:
    moved = sum(way.has_start for way in ways)
    lines = f"; {moved} with their start, joined by lines" if moved else ""
    return (
        f"{len(ways)} trained networks{lines} ({len(mapped.networks)} points, perplexity {mapped.perplexity:.3g}). "
        "Only neighbourhoods mean something on such a map: neither distances between groups nor directions do, and the "
        "distances themselves are in the second table."
    )


def _tables(mapped: WeightMap) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows = [
        {**{k: v for k, v in asdict(network).items() if k != "file"}, "x": x, "y": y}
        for network, (x, y) in zip(mapped.networks, mapped.positions, strict=True)
    ]
    names = [f"{n.key}{'' if n.step is None else f'.step{n.step}'}" for n in mapped.networks]
    distances = pd.DataFrame(mapped.distances, columns=names)
    distances.insert(0, "network", names)
    return pd.DataFrame(rows), distances
