"""`transferscope theory`: the papers' figures, theory as lines and simulation as points."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from transferscope.cli.progress import study_view
from transferscope.errors import SettingsError, unknown_name
from transferscope.report.figures.style import drawing, new_figure, save_figure, to_svg
from transferscope.store import Store
from transferscope.study.engine import run_plan
from transferscope.study.settings import EngineSettings
from transferscope.study.theory_study import WORK, plan_figure, simulated_points
from transferscope.theory.figures import FIGURES, Conclusion, Simulated, TheoryFigure, conclude, configure, draw
from transferscope.theory.figures.table import rows_of

_PANEL_INCHES = (3.6, 3.2)


def theory(
    figure: Annotated[str, typer.Argument(metavar="list|FIGURE", help="`list`, or the name of a figure.")],
    quick: Annotated[bool, typer.Option("--quick/--full", help="Small sizes, or the paper's.")] = True,
    change: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting, as in --set sigma=0.5.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for SVG, PDF and CSV.")] = Path("theory"),
    store: Annotated[str, typer.Option(help="Where simulated points are kept, so that a stop loses nothing.")] = "",
    workers: Annotated[int | None, typer.Option(help="Processes; as many as the machine has room for.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show failures only.")] = False,
) -> None:
    """Regenerate a figure of the papers: SVG, PDF, CSV and a sentence on how theory and simulation agree."""
    if figure == "list":
        _list()
        return
    if figure not in FIGURES:
        raise unknown_name("figure", figure, FIGURES)
    chosen = configure(FIGURES[figure], quick=quick, changes=_changes(change or []))
    out.mkdir(parents=True, exist_ok=True)
    try:
        simulated = _simulated(chosen, store or str(out / "theory.sqlite"), workers, quiet)
    except KeyboardInterrupt as error:
        typer.echo(f"transferscope: {str(error) or 'stopped before anything was done'}", err=True)
        raise typer.Exit(130) from None
    conclusion = conclude(chosen, simulated) if simulated else Conclusion("theory only: there is no simulation")
    files = _write(chosen, simulated, conclusion, out)
    typer.echo(f"{chosen.title}\n{conclusion.sentence}\n{files}")


def _list() -> None:
    width = max(len(name) for name in FIGURES)
    for name, figure in FIGURES.items():
        typer.echo(f"{name:{width}}  {figure.title}")


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
        run_plan(plan, store, engine=EngineSettings(workers, 1, "cpu"), work=WORK, on_event=view)
        return simulated_points(figure, store)


def _write(figure: TheoryFigure, simulated: tuple[Simulated, ...], conclusion: Conclusion, out: Path) -> str:
    before = figure.theory()
    shown = replace(before, curves=(*before.curves, *conclusion.curves))
    width, height = _PANEL_INCHES
    with drawing():
        canvas = new_figure(width * len(shown.panels), height)
        draw(canvas, shown, simulated)
    svg, pdf = save_figure(canvas, to_svg(canvas), out, figure.name)
    table = out / f"{figure.name}.csv"
    pd.DataFrame([asdict(row) for row in rows_of(figure, shown, simulated)]).to_csv(table, index=False)
    return f"{svg}, {pdf.name}, {table.name}"
