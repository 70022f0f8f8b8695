"""Figures of papers that are drawn from a finished study, and their requirements."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from transferscope.analyses.finished_study import finished_cells
from transferscope.consent import reads_code
from transferscope.errors import StoreError
from transferscope.store import Store, StoredCell, without_password
from transferscope.study.frames import StudyFrames, read_study
from transferscope.study.places import one_study, open_existing, studies_in
from transferscope_papers.catalogue import found_at, listed
from transferscope_papers.made import FigureMade


@dataclass(frozen=True)
class FinishedStudy:
    """A study without remaining cells."""

    store: Store
    name: str
    cells: Sequence[StoredCell]
    frames: StudyFrames

    def methods(self, kind: str) -> list[str]:
        """Return the names in the study file of a method of transferscope, such as "merlin"."""
        tables = self.frames.study.spec["methods"]
        return [str(name) for name, table in tables.items() if table.get("name") == kind]


@reads_code
def study_figure(paper: str, figure: str, place: str, *, store: str = "") -> FigureMade:
    """Draw a figure from a finished study.

    Args:
        place: The study file, or the path or URL of a store that holds one study.
        store: The store of the study; "" for that in its file.

    Raises:
        UnknownNameError: There is no such figure.
        StoreError: There is no such store, or the study is not finished.
        DataError: The study lacks the data of the figure.
    """
    draw = cast(Callable[[FinishedStudy], FigureMade], found_at(listed(paper, figure).place))
    with open_existing(store or place) as opened:
        names = studies_in(opened, place)
        if len(names) > 1:
            shown = without_password(place)
            raise StoreError(
                f"{shown} has {len(names)} studies ({', '.join(names)}); choose one, as in --study STUDY.toml --store "
                f"{shown}"
            )
        name = one_study(opened, place)
        cells = finished_cells(opened, name, before="it is drawn")
        return replace(draw(FinishedStudy(opened, name, cells, read_study(opened, name))), runs=name)
