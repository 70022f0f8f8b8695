"""Execution of cells: in processes on this machine (`LocalBackend`), or in this process (`InlineBackend`).

Only this package handles processes. A backend takes planned cells and returns messages; it does not access the store.
"""

from transferscope.settings.engine import EngineSettings
from transferscope.study.backends.backend import Advanced, Failed, Finished, InlineBackend, Message, Stopped
from transferscope.study.backends.devices import Spread, visible_gpus
from transferscope.study.backends.local import LocalBackend, default_workers
from transferscope.study.context import WorkContext

__all__ = [
    "Advanced",
    "Backend",
    "Failed",
    "Finished",
    "InlineBackend",
    "LocalBackend",
    "Message",
    "Stopped",
    "backend_of",
    "default_workers",
]


Backend = InlineBackend | LocalBackend


def backend_of(engine: EngineSettings, work: str, context: WorkContext, *, n_cells: int) -> Backend:
    """Return a backend, not yet entered.

    Args:
        n_cells: Number of cells, an upper bound of the number of processes.

    Raises:
        SettingsError: The named work or the GPU does not exist.
    """
    seconds = 60.0 * engine.timeout
    if engine.workers == 0:
        return InlineBackend(work, context, seconds=seconds)
    workers = min(engine.workers or default_workers(engine.device), n_cells)
    gpus = visible_gpus(engine.device)
    given = None if engine.workers is None else workers
    spread = Spread(gpus, workers=given, at_most=workers) if gpus else None
    return LocalBackend(work, context, workers=workers, seconds=seconds, spread=spread)
