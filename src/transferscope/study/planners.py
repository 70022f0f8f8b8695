"""Which kind of study a file holds, how it is planned, and what does its cells."""

from collections.abc import Iterable
from pathlib import Path

from transferscope.store import PlannedCell, Store
from transferscope.study.commands import plan as of_commands
from transferscope.study.commands.settings import CommandSpec, is_of_commands, read_commands
from transferscope.study.facts import load_data
from transferscope.study.places import read_toml
from transferscope.study.plan import StudyPlan, plan_cells, plan_study
from transferscope.study.spec import StudySpec, read_spec

WORK = "transferscope.study.work:work"
"""What does the cells of a study of methods."""

AnySpec = StudySpec | CommandSpec


def read_study_file(path: Path) -> AnySpec:
    """The study in a file, of a command where it has a table [run], otherwise of methods; raises as `read_spec`."""
    return read_commands(path) if is_of_commands(read_toml(path)) else read_spec(path)


def plan_of(spec: AnySpec, store: Store | None = None) -> StudyPlan:
    """The plan of a study; see `plan.plan_study` and `commands.plan.plan_commands`."""
    return of_commands.plan_commands(spec) if isinstance(spec, CommandSpec) else plan_study(spec, store)


def cells_of(spec: AnySpec) -> list[PlannedCell]:
    """The cells of a study; see `plan.plan_cells` and `commands.plan.command_cells`."""
    if isinstance(spec, CommandSpec):
        return of_commands.command_cells(spec)
    return plan_cells(spec, load_data(spec).facts)


def work_of(spec: AnySpec) -> str:
    """The dotted name of what does the cells of a study."""
    return of_commands.WORK if isinstance(spec, CommandSpec) else WORK


def work_of_cells(cells: Iterable[PlannedCell]) -> str:
    """That of cells that are planned already."""
    return of_commands.WORK if any(cell.role == "command" for cell in cells) else WORK
