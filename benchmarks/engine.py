"""What the study engine costs: planning and resuming 100,000 cells (aim 1 s each), an empty cell (aim 20 ms), and a
run of a command that does nothing (aim 50 ms).

    python benchmarks/engine.py

Process seconds are what the program itself used, and of a command its guard too; a busy machine shows in the other
column alone.
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from transferscope.estimate import Estimate
from transferscope.records import Cost, Record
from transferscope.settings.engine import EngineSettings
from transferscope.store import Outcome, PlannedCell, Store, StudyRow
from transferscope.study.context import WorkContext
from transferscope.study.facts import DataFacts, SourceFacts
from transferscope.study.plan import StudyPlan, plan_cells
from transferscope.study.planners import read_study_file
from transferscope.study.run import run_plan, run_study
from transferscope.study.spec import StudySpec, parse_spec

CELLS = 100_000
FEW, MANY = 40, 400
FACTS = DataFacts("target", 60_000, {"source": SourceFacts("source", 60_000)})


@dataclass(frozen=True)
class Spent:
    """Seconds of one step.

    Attributes:
        what: The step.
        wall: By the clock.
        process: Used by this process and its children.
        aim: What it should take at most.
    """

    what: str
    wall: float
    process: float
    aim: float | None


def large_study() -> StudySpec:
    """A study of 100,000 cells: 1,000 seeds of 9 methods at 11 sizes, and their pretraining."""
    methods = {f"l2-sp-{i}": {"method": "l2-sp", "beta": 0.01 * (i + 1)} for i in range(8)}
    tables = {
        "name": "large",
        "recipe": "equal",
        "seeds": CELLS // 100,
        "target": {"data": "target", "labels": [10 * (i + 1) for i in range(11)]},
        "sources": {"source": {"data": "source"}},
        "pretraining": {"epochs": 1},
        "training": {"steps": 100},
        "methods": {"scratch": {}, **methods},
    }
    return parse_spec(tables)


def empty(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Work that does nothing, and says so in 40 numbers."""
    records = tuple(Record("accuracy", Estimate(0.5, 0.1, 100), step=step) for step in range(40))
    return Outcome(records, Cost())


def spent(what: str, do: Callable[[], object], *, aim: float | None) -> Spent:
    """Time something."""
    wall, process = time.perf_counter(), process_seconds()
    do()
    return Spent(what, time.perf_counter() - wall, process_seconds() - process, aim)


def process_seconds() -> float:
    """Seconds of this process and of those that it started and that have ended."""
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def planning(folder: Path) -> list[Spent]:
    """Plan 100,000 cells into an empty store, and again into the full one."""
    spec = large_study()
    row = StudyRow(spec.name, spec.as_json(), {}, "2026-01-01T00:00:00+00:00")
    with Store.open(folder / "large.sqlite") as store:

        def plan() -> None:
            cells = plan_cells(spec, FACTS)
            assert len(cells) == CELLS
            store.plan(row, cells)

        first = spent("plan 100,000 cells", plan, aim=1.0)
        again = spent("resume 100,000 cells", plan, aim=1.0)
    return [first, again]


def overhead(folder: Path) -> list[Spent]:
    """What one more cell costs in which nothing happens, in this process and in a warm worker process."""
    cells = [replace(cell, needs=()) for cell in plan_cells(large_study(), FACTS)[: FEW + MANY]]
    found = []
    for workers, what in {0: "an empty cell, in this process", 1: "an empty cell, in a worker process"}.items():
        with Store.open(folder / f"{workers}.sqlite") as store:
            few = run_cells("few", cells[:FEW], store, workers)
            many = run_cells("many", cells[FEW:], store, workers)
        wall, process = (many.wall - few.wall) / (MANY - FEW), (many.process - few.process) / (MANY - FEW)
        found.append(Spent(what, wall, process, aim=0.02))
    return found


def run_cells(name: str, cells: list[PlannedCell], store: Store, workers: int) -> Spent:
    """Do cells as a study of their own."""
    plan = StudyPlan(StudyRow(name, {}, {}, "2026-01-01T00:00:00+00:00"), tuple(cells), {})
    engine = EngineSettings(workers=workers)
    return spent(name, lambda: run_plan(plan, store, engine=engine, work="engine:empty"), aim=None)


COMMANDS = """
name = "commands"
seeds = {seeds}
[run]
command = "sh -c 'cp score.json {{out}}/score.json' {{seed}}"
score = "score.json:accuracy"
unit = "share"
labels = [1]
[arms.nothing]
without_source = true
[engine]
workers = 0
"""


def commands(folder: Path) -> list[Spent]:
    """What one more run of a command costs, and what of it is the start of Python for its guard."""
    (folder / "score.json").write_text('{"accuracy": 0.5}')
    found = []
    for seeds in (FEW, MANY):
        file = folder / f"{seeds}.toml"
        file.write_text(COMMANDS.format(seeds=seeds))
        spec = read_study_file(file)
        with Store.open(folder / f"{seeds}.sqlite") as store:
            found.append(spent("run", partial(run_study, spec, store), aim=None))
    few, many = found
    begin = partial(subprocess.run, [sys.executable, "-I", "-S", "-c", ""])
    starts = [spent("the start of Python for its guard", begin, aim=None) for _ in range(20)]
    wall, process = ((b - a) / (MANY - FEW) for a, b in ((few.wall, many.wall), (few.process, many.process)))
    return [Spent("a run of a command", wall, process, aim=0.05), min(starts, key=lambda one: one.process)]


def table(rows: list[Spent]) -> str:
    """The measurements as a Markdown table."""
    lines = ["| step | seconds | process seconds | aim |", "|---|---|---|---|"]
    lines += [f"| {row.what} | {row.wall:.4f} | {row.process:.4f} | {row.aim} |" for row in rows]
    return "\n".join(lines)


def main() -> None:
    """The command."""
    with tempfile.TemporaryDirectory() as folder:
        text = table([*planning(Path(folder)), *overhead(Path(folder)), *commands(Path(folder))])
    print(text)


if __name__ == "__main__":
    main()
