"""What a cell costs beside its work, on each backend, beside Optuna with a database and joblib doing the same nothing.

    python benchmarks/backends.py [--cells 2000]

All do the same cells in two processes (the inline backend and Optuna in one), after a few to start processes and load
modules. transferscope claims each cell in SQL, stores its outcome there and can be killed at any moment; so does Optuna
with its RDB storage. joblib keeps results in memory alone. Optuna is left out where it is
not installed (`pip install optuna`).
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from transferscope.estimate import Estimate
from transferscope.records import Cost, Record
from transferscope.settings.engine import EngineSettings
from transferscope.store import Outcome, PlannedCell, Store, StudyRow
from transferscope.study.context import WorkContext
from transferscope.study.plan import StudyPlan
from transferscope.study.run import run_plan

WARM = 20


def nothing(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Work that does nothing, and says so in two numbers."""
    return Outcome((Record("accuracy", Estimate(0.5, 0.1, 100)), Record("loss", Estimate(0.7, 0.1, 100))), Cost())


def plan(name: str, n_cells: int) -> StudyPlan:
    """A study of empty cells."""
    cells = [PlannedCell(f"{name}{i:024x}", "method", {"method": "empty", "seed": i}, {}) for i in range(n_cells)]
    return StudyPlan(StudyRow(name, {}, {}, "2026-01-01T00:00:00+00:00"), tuple(cells), {})


def ours(engine: EngineSettings) -> Callable[[int, Path], float]:
    """Seconds of so many cells with a backend, the start of its processes left out."""

    def measure(n_cells: int, folder: Path) -> float:
        with Store.open(folder / "store.sqlite") as store:
            seconds = []
            for name, n in (("warm", WARM), ("some", WARM + n_cells)):
                begun = time.perf_counter()
                run_plan(plan(name, n), store, engine=engine, work="backends:nothing")
                seconds.append(time.perf_counter() - begun)
        return seconds[1] - seconds[0]

    return measure


def with_optuna(n_cells: int, folder: Path) -> float:
    """The same number of trials that report two numbers, with Optuna's RDB storage on SQLite, in this process."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        storage=f"sqlite:///{folder / 'optuna.sqlite'}", sampler=optuna.samplers.RandomSampler()
    )

    def objective(trial: optuna.Trial) -> float:
        trial.set_user_attr("loss", 0.7)
        return 0.5

    study.optimize(objective, n_trials=WARM)
    begun = time.perf_counter()
    study.optimize(objective, n_trials=n_cells)
    return time.perf_counter() - begun


def with_joblib(n_cells: int, folder: Path) -> float:
    """The same number of calls with joblib's processes (loky), one at a time; nothing is stored."""
    from joblib import Parallel, delayed

    cells = plan("joblib", n_cells).cells
    with Parallel(n_jobs=2, batch_size=1) as parallel:
        parallel(delayed(nothing)(cell, WorkContext(folder)) for cell in cells[:WARM])
        begun = time.perf_counter()
        parallel(delayed(nothing)(cell, WorkContext(folder)) for cell in cells)
        return time.perf_counter() - begun


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=2000)
    options = parser.parse_args()
    rivals: dict[str, tuple[str | None, Callable[[int, Path], float]]] = {
        "inline": (None, ours(EngineSettings(workers=0))),
        "local, 2 workers": (None, ours(EngineSettings(workers=2))),
        "Optuna, RDB storage on SQLite": ("optuna", with_optuna),
        "joblib (loky), 2 processes, nothing stored": ("joblib", with_joblib),
    }
    lines = [f"{options.cells} empty cells", "", "| | milliseconds per cell |", "|---|---|"]
    for name, (package, measure) in rivals.items():
        if package is not None and find_spec(package) is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            lines.append(f"| {name} | {1000 * measure(options.cells, Path(folder)) / options.cells:.2f} |")
    text = "\n".join(lines)
    print(text)


if __name__ == "__main__":
    main()
