"""The work behind `transferscope theory place STUDY`: a study's pairs on the linear-transfer diagram."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.progress import Progress

from transferscope.errors import StoreError
from transferscope.report.figures.style import drawing, new_figure, to_svg
from transferscope.report.save import file_name, save_figure, write_table
from transferscope.store import without_password
from transferscope.study.keep_placements import keep_placements
from transferscope.study.place import place_study
from transferscope.study.placed_source import PlacedSource
from transferscope.study.places import keep_for_report, open_existing, studies_in
from transferscope.theory.placement_diagram import PlacedPanel, draw_placements, panel_of, placement_rows
from transferscope.theory.placement_words import in_words, limits

_PANEL_INCHES = (3.8, 3.4)
_BAR_INCHES = 0.8


def place(address: str, out: Path, *, examples: int, directions: float | None) -> str:
    """Place the pairs of a study, write figure and table, and keep the numbers with the study for its report.

    Args:
        address: A study file, or the path or URL of a store with one study.
        out: Folder for SVG, PDF and CSV; made if it does not exist.
        examples: Target examples to estimate from.
        directions: d, if it is not to be estimated from the inputs.

    Returns:
        What to tell the reader.
    """
    with open_existing(address) as store:
        names = studies_in(store, address)
        if len(names) != 1:
            shown = without_password(address)
            raise StoreError(f"{shown} holds {len(names)} studies; give the study file of the one to place")
        with _shown() as on_progress:
            placed = place_study(
                store, names[0], examples=examples, input_dimension=directions, keep=False, on_progress=on_progress
            )
        kept = keep_for_report(
            store, address, lambda: keep_placements(store, names[0], placed, input_dimension=directions)
        )
    out.mkdir(parents=True, exist_ok=True)
    sentences = [in_words(placement) for source in placed for placement in source.placements]
    kinds = {placement.kind for source in placed for placement in source.placements}
    written = _write(placed, out, f"{file_name(names[0])}-placement")
    return "\n\n".join([*sentences, limits(kinds), f"{written}\n{kept}"])


@contextmanager
def _shown() -> Iterator[Callable[[int, int], None]]:
    """A bar with the time left on a terminal, and the number of parts in a log; on the standard error stream."""
    with Progress(*Progress.get_default_columns(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Looking at pretrained features")

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)
            if not bar.console.is_terminal:
                bar.console.print(f"looking at pretrained features: {done} of {total} parts done")

        yield show


def _write(placed: tuple[PlacedSource, ...], out: Path, name: str) -> str:
    panels = [_panel(source) for source in placed]
    width, height = _PANEL_INCHES
    with drawing():
        canvas = new_figure(width * len(panels) + _BAR_INCHES, height)
        draw_placements(canvas, panels)
        svg, pdf = save_figure(canvas, to_svg(canvas), out, name)
    table = out / f"{name}.csv"
    write_table(pd.DataFrame([asdict(row) for row in placement_rows(panels)]), table)
    return f"{svg}, {pdf.name}, {table.name}"


def _panel(source: PlacedSource) -> PlacedPanel:
    return panel_of(source.name, source.pair.best, source.placements)
