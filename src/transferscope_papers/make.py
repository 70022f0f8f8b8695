"""The work behind `transferscope papers draw`: simulate what is missing, draw, write, and say how it agrees."""

from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from transferscope.cli.progress import study_view
from transferscope.errors import SettingsError
from transferscope.report.figures.style import drawing, new_figure, to_svg
from transferscope.report.save import save_figure, write_table
from transferscope.store import Store
from transferscope.study.run import run_plan
from transferscope.study.settings import EngineSettings
from transferscope_papers.catalogue import FIGURES
from transferscope_papers.draw import draw
from transferscope_papers.figure import (
    Conclusion,
    Simulated,
    TheoryFigure,
    check_claims,
    conclude,
    configure,
    with_conclusion,
)
from transferscope_papers.study import WORK, plan_figure, simulated_points
from transferscope_papers.table import rows_of

_PANEL_INCHES = (3.6, 3.2)


def chosen_figure(name: str, changes: list[str], *, quick: bool) -> TheoryFigure:
    """A figure of `FIGURES` by name, with settings changed as in "sigma=0.5".

    Raises:
        UnknownNameError: The figure has no such setting.
        SettingsError: A change cannot be read.
    """
    return configure(FIGURES[name], quick=quick, changes=_changes(changes))


@dataclass(frozen=True)
class FigureMade:
    """What came of a figure.

    Attributes:
        words: What to tell the reader.
        n_failed: Points that could not be simulated; they are tried again the next time.
    """

    words: str
    n_failed: int


def make_figure(
    figure: TheoryFigure, title: str, out: Path, *, store: str, workers: int | None, quiet: bool
) -> FigureMade:
    """Simulate, draw and write a figure.

    Args:
        figure: The figure with its settings.
        title: What it shows; the first line of the words.
        out: Folder for SVG, PDF and CSV; made if it does not exist.
        store: Path or URL of the store of simulated points; empty for one in `out`.
        workers: Processes; 0 for this one, None for as many as the machine has room for.
        quiet: Show failures only.

    Returns:
        What came of it.
    """
    out.mkdir(parents=True, exist_ok=True)
    simulated = _simulated(figure, store or str(out / "papers.sqlite"), workers, quiet)
    conclusion = conclude(figure, simulated) if simulated else Conclusion("theory only: nothing is simulated")
    files = _write(figure, simulated, conclusion, out)
    n_points = len(figure.points())
    n_failed = n_points - len(simulated)
    lines = [title, conclusion.sentence]
    if n_failed:
        lines.append(f"{n_failed} of {n_points} points could not be simulated; they are tried again the next time")
    lines += [f"claim {claim.sentence}" for claim in check_claims(figure, simulated, conclusion)]
    lines.append(files)
    return FigureMade("\n".join(lines), n_failed)


def _changes(items: list[str]) -> dict[str, str]:
    pairs = [item.partition("=") for item in items]
    for name, equals, value in pairs:
        if not (name and equals and value):
            raise SettingsError(
                f"--set {name}{equals}{value} cannot be read; expected NAME=VALUE, as in --set sigma=0.5"
            )
    return {name: value for name, _, value in pairs}


def _simulated(figure: TheoryFigure, address: str, workers: int | None, quiet: bool) -> tuple[Simulated, ...]:
    plan = plan_figure(figure)
    if not plan.cells:
        return ()
    with Store.open(address) as store, study_view(plan.study.name, quiet=quiet) as view:
        run_plan(plan, store, engine=EngineSettings(workers, 1, "cpu"), work=WORK, retry_failed=True, on_event=view)
        return simulated_points(figure, store)


def _write(figure: TheoryFigure, simulated: tuple[Simulated, ...], conclusion: Conclusion, out: Path) -> str:
    shown = with_conclusion(figure.theory(), conclusion)
    width, height = _PANEL_INCHES
    with drawing():
        canvas = new_figure(width * len(shown.panels), height)
        draw(canvas, shown, simulated)
    svg, pdf = save_figure(canvas, to_svg(canvas), out, figure.name)
    table = out / f"{figure.name}.csv"
    write_table(pd.DataFrame([asdict(row) for row in rows_of(figure, shown, simulated)]), table)
    return f"{svg}, {pdf.name}, {table.name}"
