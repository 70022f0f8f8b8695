"""Curves of runs in an exported chart of Weights & Biases: a CSV file with a column "RUN - METRIC" for each run.

Further columns hold the smallest and largest value at a step (__MIN, __MAX). The name of a run ends in its seed.
"""

import re
from pathlib import Path

from transferscope.analyses.results.readers.run import Found, Run, arm_and_seed, csv_rows, header_of, number
from transferscope.errors import DataError

_CURVE = re.compile(r"(?P<run>.+) - (?P<metric>.+?)(?P<end>__MIN|__MAX)?")


def holds(place: Path) -> bool:
    """See `readers.RunsReader`."""
    names = header_of(place) if place.is_file() else []
    return len(names) > 1 and all(_CURVE.fullmatch(name) for name in names[1:])


def read(place: Path) -> Found:
    """See `readers.RunsReader`.

    Raises:
        DataError: Its curves are means of groups of runs.
    """
    axis, *names = header_of(place)
    curves = {name: named for name in names if (named := _CURVE.fullmatch(name)) and not named["end"]}
    series: dict[str, list[tuple[float, str, float]]] = {named["run"]: [] for named in curves.values()}
    for row in csv_rows(place, "a chart of Weights & Biases"):
        for name, named in curves.items():
            if cell := row.get(name, ""):
                step = number(row.get(axis), place, f"a number in column {axis}")
                series[named["run"]].append((step, named["metric"], number(cell, place)))
    if groups := [run for run in series if re.match(r"[\w.-]+: ", run)]:
        raise DataError(
            f"{place} is a chart of grouped runs, such as {groups[0]!r}, whose curves are means; export it without "
            "grouping, or as a table of runs"
        )
    here = Path()
    return Found(
        tuple(
            Run(run, arm_and_seed(here / run.replace("/", "_"), here, numbered=True), tuple(own))
            for run, own in series.items()
        )
    )
