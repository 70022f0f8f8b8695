"""Scalars of runs in TensorBoard: event files, a folder for each run, or CSV files downloaded from its page.

The name of a run ends in its seed, as in bert/seed3, bert_3 or bert-seed3, but not in resnet50.
"""

import re
from pathlib import Path

from transferscope.analyses.results.readers.events import scalars
from transferscope.analyses.results.readers.run import Found, Run, arm_and_seed, csv_rows, header_of, number, several

_COLUMNS = ["Wall time", "Step", "Value"]
_FILE = re.compile(r"run-(?P<run>.+)-tag-(?P<tag>.+)")
_OWN = re.compile(r"[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_.+")
_EVENTS = "events.out.tfevents.*"


def holds(place: Path) -> bool:
    """See `readers.RunsReader`."""
    return place.is_dir() and (bool(_tables(place)) or next(place.rglob(_EVENTS), None) is not None)


def read(place: Path) -> Found:
    """See `readers.RunsReader`."""
    values: dict[Path, list[tuple[float, float, str, float]]] = {}
    cut = []
    for path in sorted(place.rglob(_EVENTS)):
        own, whole = scalars(path)
        values.setdefault(_run(path.parent, place), []).extend(own)
        cut += [] if whole else [path.relative_to(place).as_posix()]
    for path in _tables(place):
        named = _FILE.fullmatch(path.stem)
        assert named is not None
        for row in csv_rows(path, "a CSV file of TensorBoard"):
            time, step, value = (number(row.get(name), path) for name in _COLUMNS)
            values.setdefault(place / named["run"], []).append((time, step, named["tag"], value))
    runs = []
    for path, own in sorted(values.items()):
        times = [time for time, *_ in own]
        took = max(times) - min(times) if times else 0.0  # one step alone tells no time
        series = tuple((step, tag, value) for _, step, tag, value in own)
        name = "/".join(path.relative_to(place).parts) or path.resolve().name
        if series:
            runs.append(Run(name, arm_and_seed(path, place, numbered=True), series, seconds=took or None))
    return Found(tuple(runs), several(cut, "event file cut off, and read up to there"))


def _run(folder: Path, place: Path) -> Path:
    """Return the folder of a run, above runs/Nov28_08-45-01_host, which writers create by default."""
    own = folder.parent.name == "runs" and _OWN.fullmatch(folder.name) and place in folder.parents[1:]
    return folder.parent.parent if own else folder


def _tables(place: Path) -> list[Path]:
    paths = sorted(path for path in place.glob("*.csv") if _FILE.fullmatch(path.stem))
    return [path for path in paths if header_of(path) == _COLUMNS]
