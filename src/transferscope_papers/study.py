"""A figure as a study with a cell per simulated point, which stops, resumes and runs in parallel like any study."""

import hashlib
import json
import math
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from transferscope.estimate import Estimate
from transferscope.records import Cost, Record
from transferscope.store import Outcome, PlannedCell, RecordColumns, Store, StudyRow
from transferscope.study.context import WorkContext
from transferscope.study.facts import surroundings
from transferscope.study.plan import StudyPlan
from transferscope_papers.catalogue import FIGURES
from transferscope_papers.figure import Point, Simulated, TheoryFigure

WORK = "transferscope_papers.study:work"
"""Dotted name of the function that executes the cells of a figure."""


def plan_figure(figure: TheoryFigure) -> StudyPlan:
    """Return the cells of a figure, of role "theory", in the order of its points; points of one simulation share a
    cell.

    Returns:
        The plan of the study "papers-NAME"; run it by `study.run.run_plan` with `WORK`.
    """
    settings = figure.settings
    study = StudyRow(
        name=f"papers-{figure.name}",
        spec={"figure": figure.name, "settings": settings},
        facts=surroundings(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    cells = []
    for points in figure.groups():
        first = points[0]
        labels = {"source": None, "method": first.series, "panel": first.panel, "x": first.x, "seed": first.seed}
        payload = {"figure": figure.name, "settings": settings, "points": [_as_json(point) for point in points]}
        cells.append(PlannedCell(_key(figure, points), "theory", labels, payload))
    return StudyPlan(study, tuple(cells), {})


def work(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Simulate the points of a cell; see `study.context.Work`.

    The outcome has a record "simulated" per point; its part is the number within the cell.
    """
    payload = cell.payload
    figure = replace(FIGURES[payload["figure"]], **payload["settings"])
    points = [Point(**point) for point in payload["points"]]
    started = time.perf_counter()
    records = tuple(Record("simulated", mean, part=str(i)) for i, mean in enumerate(figure.simulate(points)))
    return Outcome(records, Cost(seconds=time.perf_counter() - started))


def simulated_points(figure: TheoryFigure, store: Store) -> tuple[Simulated, ...]:
    """Return the stored points of a figure, with the settings of its study, in its order."""
    columns = store.records(f"papers-{figure.name}")
    rows = (i for i in range(len(columns)) if columns.name[i] == "simulated")
    estimates = {(columns.key[i], columns.part[i]): _estimate(columns, i) for i in rows}
    done: dict[str, Simulated] = {}
    for points in figure.groups():
        key = _key(figure, points)
        for i, point in enumerate(points):
            if (key, str(i)) in estimates:
                done[repr(point)] = Simulated(point, estimates[key, str(i)])
    return tuple(done[repr(point)] for point in figure.points() if repr(point) in done)


def _key(figure: TheoryFigure, points: list[Point]) -> str:
    shown = [_as_json(point) for point in points]
    parts = {"figure": figure.name, "version": figure.version, "settings": figure.settings, "points": shown}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _as_json(point: Point) -> dict[str, Any]:
    return {**vars(point), "parameters": dict(point.parameters)}


def _estimate(columns: RecordColumns, i: int) -> Estimate:
    stderr = float(columns.stderr[i])
    known = None if math.isnan(stderr) else stderr
    return Estimate(float(columns.value[i]), known, int(columns.n[i]), columns.status[i])
