"""The work of cells for tests that only need a finished study: `run_study(spec, store, work=REMEMBERED)`.

A cell is a function of itself alone, so one that a test of this process has done leaves what it left then, outcome and
files, without another training.
"""

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from transferscope.store import Outcome, PlannedCell
from transferscope.study.context import WorkContext
from transferscope.study.work import work as do

REMEMBERED = "remembered:work"

_OUTCOMES: dict[str, Outcome] = {}


def work(cell: PlannedCell, context: WorkContext) -> Outcome:
    """What the cell leaves; see `study.context.Work`."""
    if cell.key not in _OUTCOMES:
        _OUTCOMES[cell.key] = do(cell, context)
        _copy_files(cell.key, context.files, _folder())
    else:
        _copy_files(cell.key, _folder(), context.files)
    return _OUTCOMES[cell.key]


def _copy_files(key: str, here: Path, there: Path) -> None:
    for path in here.glob(f"{key}.*"):
        shutil.copy(path, there)


@cache
def _folder() -> Path:
    folder = mkdtemp(prefix="transferscope-remembered-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
