"""The settings of each row of docs/results/papers.md that uses stored runs, beside those of its paper.

`protocols.csv` is written by studies/theory/protocols.py from study files, their runs and published settings.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from transferscope.errors import unknown_name

TABLE = Path(__file__).with_name("protocols.csv")


@dataclass(frozen=True)
class Setting:
    """A setting of a row.

    Attributes:
        study: The study file of the runs of the row.
        name: Name of the setting, such as "learning rate".
    """

    paper: str
    item: str
    study: str
    name: str
    published: str
    ours: str

    @property
    def differs(self) -> bool:
        """Whether ours differs from the published one, if that is stated."""
        plain = [text.lower().replace("-", "") for text in (self.published, self.ours)]
        return self.published != "not said" and plain[0] != plain[1]


def protocols() -> Mapping[tuple[str, str], list[Setting]]:
    """Return the settings of each row by paper and item."""
    found: dict[tuple[str, str], list[Setting]] = {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            one = Setting(**row)
            found.setdefault((one.paper, one.item), []).append(one)
    return found


def protocol_lines(row: str) -> list[str]:
    """Return the lines of a row, such as "liu2019 Figure 4", for a terminal; differences are marked.

    Raises:
        UnknownNameError: No row has this name.
    """
    rows = {f"{paper} {item}": settings for (paper, item), settings in protocols().items()}
    if row not in rows:
        raise unknown_name("row with a protocol", row, rows)
    compared = rows[row]
    table = [("", "published", f"ours ({compared[0].study})")]
    table += [(one.name, one.published, f"{one.ours}{' *' * one.differs}") for one in compared]
    widths = [max(len(line[i]) for line in table) for i in range(2)]
    lines = [f"{name:{widths[0]}}  {published:{widths[1]}}  {ours}" for name, published, ours in table]
    return [row, *lines, "* differs from the paper"]
