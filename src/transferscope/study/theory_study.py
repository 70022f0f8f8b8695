"""A theory figure as a study: a cell for each simulated point, so that it stops, resumes and parallelises like any."""

import hashlib
import json
import math
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import torch

from transferscope.records import Cost, Estimate, Record
from transferscope.store import Outcome, PlannedCell, RecordColumns, Store, StudyRow
from transferscope.study.context import WorkContext
from transferscope.study.facts import surroundings
from transferscope.study.planned import StudyPlan
from transferscope.theory.figures import FIGURES, Point, SharingFigure, Simulated, TheoryFigure, settings_of

WORK = "transferscope.study.theory_study:work"
"""What does the cells of a figure."""


def plan_figure(figure: TheoryFigure) -> StudyPlan:
    """The cells of a figure, of role "theory", in the order of its points; points of one simulation share a cell.

    Args:
        figure: The figure with its settings.

    Returns:
        The plan of the study "theory-NAME"; `study.engine.run_plan` with `WORK` does it.
    """
    settings = settings_of(figure)
    study = StudyRow(
        name=f"theory-{figure.name}",
        spec={"figure": figure.name, "title": figure.title, "settings": settings},
        facts=surroundings(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    cells = {cell.key: cell for cell in (_planned(figure, lead, settings) for _, lead in _with_leads(figure))}
    return StudyPlan(study, tuple(cells.values()), {})


def work(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Simulate the point of a cell; see `study.context.Work`.

    The outcome holds the records "simulated" (for a figure that shares simulations, "simulated/PANEL" for each panel)
    and "expected" (what theory says of the point; undefined where it says nothing).
    """
    torch.set_num_threads(context.threads)
    payload = cell.payload
    figure = replace(FIGURES[payload["figure"]], **payload["settings"])  # type: ignore[type-var]
    point = Point(**payload["point"])
    started = time.perf_counter()
    if isinstance(figure, SharingFigure):
        found = figure.simulate_panels(point)
        records = [Record(_name(figure, panel), estimate, part="") for panel, estimate in found.items()]
    else:
        records = [Record(_name(figure, point.panel), figure.simulate(point), part="")]
    records.append(Record("expected", _exact(point.expected), part=""))
    return Outcome(tuple(records), Cost(seconds=time.perf_counter() - started))


def simulated_points(figure: TheoryFigure, store: Store) -> tuple[Simulated, ...]:
    """The points of a figure that are done, from the store.

    Args:
        figure: The figure, with the settings of its study in the store.
        store: Where `work` put its outcomes.

    Returns:
        Points with their estimates, in the order of the figure's points.
    """
    columns = store.records(f"theory-{figure.name}")
    found = {(columns.key[i], columns.name[i]): _estimate(columns, i) for i in range(len(columns))}
    settings = settings_of(figure)
    pairs = _with_leads(figure)
    placed = ((point, (_key(figure, lead, settings), _name(figure, point.panel))) for point, lead in pairs)
    return tuple(Simulated(point, found[place]) for point, place in placed if place in found)


def _with_leads(figure: TheoryFigure) -> list[tuple[Point, Point]]:
    """Each point with the one whose simulation gives it: itself, or the first that shares it."""
    points = figure.points()
    if not isinstance(figure, SharingFigure):
        return [(point, point) for point in points]
    first: dict[tuple[str, float, float | None], Point] = {}
    return [(point, first.setdefault((point.series, point.x, point.y), point)) for point in points]


def _name(figure: TheoryFigure, panel: str) -> str:
    """Name of the record that holds the estimate of a point."""
    return f"simulated/{panel}" if isinstance(figure, SharingFigure) else "simulated"


def _planned(figure: TheoryFigure, point: Point, settings: dict[str, float]) -> PlannedCell:
    return PlannedCell(
        key=_key(figure, point, settings),
        role="theory",
        labels={"source": None, "method": point.series, "panel": point.panel, "x": point.x, "seed": point.seed},
        payload={"figure": figure.name, "settings": settings, "point": _as_json(point)},
    )


def _key(figure: TheoryFigure, point: Point, settings: dict[str, float]) -> str:
    parts = {"figure": figure.name, "version": figure.version, "settings": settings, "point": _as_json(point)}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _as_json(point: Point) -> dict[str, Any]:
    return {**vars(point), "parameters": dict(point.parameters)}


def _exact(value: float) -> Estimate:
    return Estimate(value, 0.0, 0, "undefined" if math.isnan(value) else "ok")


def _estimate(columns: RecordColumns, i: int) -> Estimate:
    stderr = float(columns.stderr[i])
    known = None if math.isnan(stderr) else stderr
    return Estimate(float(columns.value[i]), known, int(columns.n[i]), columns.status[i])
