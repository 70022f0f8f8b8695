"""Computed and simulated figures: simulate missing points, draw, and report the agreement."""

import numpy as np
import pandas as pd

from transferscope.cli.progress import study_view
from transferscope.errors import SettingsError
from transferscope.machine import keep_freed_memory
from transferscope.report.blocks import Figure
from transferscope.settings.engine import EngineSettings
from transferscope.store import Store
from transferscope.study.run import run_plan
from transferscope_papers.catalogue import FIGURES
from transferscope_papers.draw import drawn_figure
from transferscope_papers.figure import Drawn, Simulated, TheoryFigure
from transferscope_papers.made import FigureMade
from transferscope_papers.simulate.agreement import z_score
from transferscope_papers.study import WORK, plan_figure, simulated_points

_COLUMNS = ("panel", "series", "kind", "x", "y", "value", "stderr", "n", "status", "expected", "z")


def chosen_figure(name: str, changes: list[str], *, quick: bool) -> TheoryFigure:
    """Return a figure of `FIGURES` by name, with settings changed as in "sigma=0.5".

    Raises:
        UnknownNameError: The figure has no such setting.
        SettingsError: A change is invalid.
    """
    values: dict[str, str] = {}
    for change in changes:
        setting, equals, value = change.partition("=")
        if not (setting and equals and value):
            raise SettingsError(f"--set {change} is invalid; write NAME=VALUE, as in --set sigma=0.5")
        values[setting] = value
    return FIGURES[name].configured(quick=quick, changes=values)


def make_figure(figure: TheoryFigure, *, store: str, workers: int | None, quiet: bool) -> FigureMade:
    """Simulate the missing points of a figure, and draw it.

    Args:
        store: Path or URL of the store of simulated points.
        workers: Number of processes; 0 for this one, None for as many as the machine has room for.
        quiet: Show failures only.
    """
    drawn = figure.drawn(_simulated(figure, store, workers, quiet))
    canvas = drawn_figure(drawn.theory, drawn.simulated)
    made = Figure(figure.name, canvas, numbers_of(figure, drawn), "Lines and maps: theory. Points: simulation.")
    n_points, n_failed = len(drawn.planned), len(drawn.planned) - len(drawn.simulated)
    failed = f"{n_failed} of {n_points} points could not be simulated; they are tried again the next time"
    sentences = [*drawn.sentence.splitlines(), *([failed] if n_failed else [])]
    return FigureMade((made,), tuple(sentences), figure.check(drawn), points=n_points, points_failed=n_failed)


def numbers_of(figure: TheoryFigure, drawn: Drawn) -> pd.DataFrame:
    """Return all drawn numbers: lines, maps and points, in this order.

    Returns:
        A row for each number. `kind` is "theory" or "simulation"; `y` is the ordinate in a map; `value` is the number,
        with its standard error (0 for theory), number of seeds and status as in `records.Estimate`; `expected` is the
        value by theory at a simulated point, and `z` the distance from it in standard errors, as a normal score.
        Columns that do not apply are missing values.
    """
    rows: list[tuple[object, ...]] = []
    for curve in drawn.theory.curves:
        pairs = zip(curve.x, curve.y, strict=True)
        rows += [_computed(curve.panel, curve.series, float(x), None, float(value)) for x, value in pairs]
    for diagram in drawn.theory.diagrams:
        for y, line in zip(diagram.y, diagram.values, strict=True):
            pairs = zip(diagram.x, line, strict=True)
            rows += [_computed(diagram.panel, "map", float(x), float(y), float(value)) for x, value in pairs]
    for item in drawn.simulated:
        point, mean = item.point, item.estimate
        z = z_score(mean, point.expected, known_error=figure.error_at(point))
        measured = (mean.value, mean.stderr, mean.n, mean.status)
        rows.append((point.panel, point.series, "simulation", point.x, point.y, *measured, point.expected, z))
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _simulated(figure: TheoryFigure, address: str, workers: int | None, quiet: bool) -> tuple[Simulated, ...]:
    plan = plan_figure(figure)
    if not plan.cells:
        return ()
    if workers == 0:
        keep_freed_memory()
    with Store.open(address) as store, study_view(plan.study.name, quiet=quiet) as view:
        run_plan(plan, store, engine=EngineSettings(workers, 1, "cpu"), work=WORK, retry_failed=True, on_event=view)
        return simulated_points(figure, store)


def _computed(panel: str, series: str, x: float, y: float | None, value: float) -> tuple[object, ...]:
    status = "ok" if np.isfinite(value) else "undefined" if np.isnan(value) else "unbounded"
    return panel, series, "theory", x, y, value, 0.0, 0, status, None, None
