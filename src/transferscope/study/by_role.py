"""Execution of a cell by its role; modules are imported on first use, so commands do not wait for torch."""

from importlib import import_module

from transferscope.store import Outcome, PlannedCell
from transferscope.study.context import Work, WorkContext

WORK = "transferscope.study.by_role:work"
"""Dotted name of the function that executes the cells of a study."""


def work(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Execute a cell of a study; see `study.context.Work`."""
    of_commands = "commands.call" if "call" in cell.payload else "commands.run"
    module = f"transferscope.study.{of_commands if cell.role == 'command' else 'work'}"
    do: Work = import_module(module).work
    return do(cell, context)
