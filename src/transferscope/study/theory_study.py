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
from transferscope.theory.figures import FIGURES, Point, Simulated, TheoryFigure, settings_of

WORK = "transferscope.study.theory_study:work"
"""What does the cells of a figure."""


def plan_figure(figure: TheoryFigure) -> StudyPlan:
    """The cells of a figure, of role "theory", in the order of its points.

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
    return StudyPlan(study, tuple(_planned(figure, point, settings) for point in figure.points()), {})


def work(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Simulate the point of a cell; see `study.context.Work`.

    The outcome holds two records, "simulated" and "expected" (what theory says; undefined where it says nothing).
    """
    torch.set_num_threads(context.threads)
    payload = cell.payload
    figure = replace(FIGURES[payload["figure"]], **payload["settings"])  # type: ignore[type-var]
    point = Point(**payload["point"])
    started = time.perf_counter()
    estimate = figure.simulate(point)
    records = (Record("simulated", estimate, part=""), Record("expected", _exact(point.expected), part=""))
    return Outcome(records, Cost(seconds=time.perf_counter() - started))


def simulated_points(figure: TheoryFigure, store: Store) -> tuple[Simulated, ...]:
    """The points of a figure that are done, from the store.

    Args:
        figure: The figure, with the settings of its study in the store.
        store: Where `work` put its outcomes.

    Returns:
        Points with their estimates, in the order of the figure's points.
    """
    columns = store.records(f"theory-{figure.name}")
    found = {columns.key[i]: _estimate(columns, i) for i in range(len(columns)) if columns.name[i] == "simulated"}
    settings = settings_of(figure)
    keyed = ((_key(figure, point, settings), point) for point in figure.points())
    return tuple(Simulated(point, found[key]) for key, point in keyed if key in found)


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
