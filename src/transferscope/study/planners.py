"""Reading and planning of study files with methods, commands or both."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from transferscope.store import PlannedCell, Store
from transferscope.study.commands.plan import command_cells, in_order_of_seeds, plan_commands
from transferscope.study.commands.settings import OWN_TABLES, CommandSpec, read_commands
from transferscope.study.facts import load_data
from transferscope.study.places import read_toml
from transferscope.study.plan import StudyPlan, plan_cells, plan_study, with_precision
from transferscope.study.spec import NOTHING, StudySpec, read_spec

AnySpec = StudySpec | CommandSpec


def read_study_file(path: Path, given: Mapping[str, Any] = NOTHING) -> AnySpec:
    """Read the study in a file, with commands if it has [run] or [arms]; settings and errors as for `read_spec`."""
    read = read_commands if set(OWN_TABLES) & set(read_toml(path)) else read_spec
    return read(path, given=given)


def plan_of(spec: AnySpec, store: Store | None = None) -> StudyPlan:
    """Return the plan of a study; see `plan.plan_study` and `commands.plan.plan_commands`."""
    return plan_commands(spec, store) if isinstance(spec, CommandSpec) else plan_study(spec, store)


def cells_of(spec: AnySpec) -> list[PlannedCell]:
    """Return the cells of a study; see `plan.plan_cells` and `commands.plan.command_cells`."""
    if isinstance(spec, StudySpec):
        return plan_cells(spec, load_data(spec).facts)
    if spec.beside is None:
        return command_cells(spec)
    data = load_data(spec.beside).facts
    return in_order_of_seeds(spec, [*plan_cells(spec.beside, data), *command_cells(spec, data)])


def as_planned_before(spec: AnySpec, facts: Mapping[str, Any]) -> AnySpec:
    """Return a study with the choices of its last plan, given its facts; see `plan.with_precision`."""
    if isinstance(spec, StudySpec):
        return with_precision(spec, facts)
    return spec if spec.beside is None else replace(spec, beside=with_precision(spec.beside, facts))
