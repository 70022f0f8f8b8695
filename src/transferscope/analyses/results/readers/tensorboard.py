"""Scalars of runs as TensorBoard saves them: a folder of CSV files with the columns Wall time, Step and Value.

A file is called run-RUN-tag-TAG.csv. The last value of a tag is that of the run, whose name ends in its seed, as in
bert_3 or bert-seed3; the number in resnet50 is none.
"""

import re
from pathlib import Path

import pandas as pd

from transferscope.data.frame import Frame, read_frame

_COLUMNS = "Wall time,Step,Value"
_FILE = re.compile(r"run-(?P<run>.+)-tag-(?P<tag>.+)")
_RUN = re.compile(r"(?P<arm>.+?)(?:[-_.]?seed[-_=]?|[-_.])(?P<seed>\d+)")


def holds(place: Path) -> bool:
    """See `readers.RunsReader`."""
    return place.is_dir() and bool(_files(place))


def read(place: Path) -> Frame:
    """See `readers.RunsReader`."""
    runs: dict[str, dict[str, object]] = {}
    for path in _files(place):
        named = _FILE.fullmatch(path.stem)
        assert named is not None
        parts = _RUN.fullmatch(named["run"])
        row = runs.setdefault(named["run"], {"arm": named["run"], **(parts.groupdict() if parts else {})})
        values = read_frame(path).rows
        row[named["tag"]] = values["Value"].iloc[-1]
        first, last = (float(values["Wall time"].iloc[at]) for at in (0, -1))
        if last > first:  # one step alone tells no time
            row["seconds"] = max(last - first, float(str(row.get("seconds", 0.0))))
    return Frame(pd.DataFrame(list(runs.values())), ())


def _files(place: Path) -> list[Path]:
    paths = []
    for path in sorted(place.glob("*.csv")):
        if _FILE.fullmatch(path.stem):
            with path.open(encoding="utf-8", errors="replace") as lines:
                if lines.readline().strip() == _COLUMNS:
                    paths.append(path)
    return paths
