"""The figures of the papers by author and year; each is imported when it is requested.

To add one: a member of `figure.TheoryFigure`, a line in figures.csv, a line in docs/theory/.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from transferscope.errors import unknown_name

if TYPE_CHECKING:  # listing names must not import numerics
    from transferscope_papers.figure import TheoryFigure


@dataclass(frozen=True)
class Listed:
    """A figure of a paper, before it is imported.

    Attributes:
        place: "module:name" within this package: a class, or a function for a figure that reads something.
        reads: "table" for the rows published by the authors, "study" for a finished study of `transferscope run`,
            "nothing" for figures that are computed and simulated.
    """

    title: str
    place: str
    reads: Literal["nothing", "table", "study"] = "nothing"


@dataclass(frozen=True)
class Paper:
    """A paper with those of its figures that can be drawn, by name.

    Attributes:
        title: Authors, year and title.
    """

    title: str
    figures: Mapping[str, Listed]


_TITLES = {
    "liu2019": "Liu et al. 2019, Towards Understanding the Transferability of Deep Representations",
    "tahir2024": "Tahir et al. 2024, Features are fate",
    "shachaf2021": "Shachaf et al. 2021, A Theoretical Analysis of Fine-tuning with Linear Teachers",
    "mikami2021": "Mikami et al. 2021, A Scaling Law for Syn2real Transfer",
    "merlin2020": "Liu et al. 2020, Meta-learning Transferable Representations with a Single Target Domain (MeRLin)",
}


def _figures(paper: str) -> dict[str, Listed]:
    with Path(__file__).with_name("figures.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.pop("paper") == paper]
    return {row.pop("name"): Listed(**row) for row in rows}  # type: ignore[arg-type]


PAPERS = {paper: Paper(title, _figures(paper)) for paper, title in _TITLES.items()}
"""Every paper by first author (or method) and year. Figures that are missing are sketches, or pictures without data."""


def listed(paper: str, figure: str) -> Listed:
    """Return a figure by paper and name; raises UnknownNameError if there is none."""
    if paper not in PAPERS:
        raise unknown_name("paper", paper, PAPERS)
    if figure not in PAPERS[paper].figures:
        raise unknown_name(f"figure of {paper}", figure, PAPERS[paper].figures)
    return PAPERS[paper].figures[figure]


def found_at(place: str) -> object:
    """Return the object at a `Listed.place`."""
    module, _, name = place.partition(":")
    member: object = getattr(import_module(f"{__package__}.{module}"), name)
    return member


class _Figures(Mapping[str, "TheoryFigure"]):
    """The computed and simulated figures; iterating imports none of them."""

    _places: Mapping[str, str] = {
        f"{paper}-{name}": figure.place
        for paper, known in PAPERS.items()
        for name, figure in known.figures.items()
        if figure.reads == "nothing"
    }

    def __getitem__(self, name: str) -> "TheoryFigure":
        made: TheoryFigure = found_at(self._places[name])()  # type: ignore[operator]
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


FIGURES: Mapping[str, "TheoryFigure"] = _Figures()
"""Every figure that is computed and simulated, as PAPER-FIGURE, with the settings of the paper."""
