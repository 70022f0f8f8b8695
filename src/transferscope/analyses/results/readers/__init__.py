"""Readers of other tools' results: each converts one kind of place to runs with steps and scores (`run.Run`)."""

from pathlib import Path
from typing import Protocol, runtime_checkable

from transferscope.analyses.results.readers import (
    lightning,
    mlflow_store,
    optuna_study,
    tensorboard,
    trainer,
    wandb_chart,
)
from transferscope.analyses.results.readers.run import Found, frame_of
from transferscope.data.frame import Frame
from transferscope.errors import DataError, missing_file


@runtime_checkable
class RunsReader(Protocol):
    """A reader of one kind of place."""

    def holds(self, place: Path) -> bool:
        """Return whether an existing place contains runs of this kind, looking only as far as necessary."""

    def read(self, place: Path) -> Found:
        """Read the runs.

        Raises:
            DataError: The runs cannot be read.
        """


READERS: tuple[RunsReader, ...] = (trainer, mlflow_store, lightning, tensorboard, optuna_study, wandb_chart)
"""Readers in the order in which they are tried."""


def read_place(place: Path, metric: str | None = None) -> Frame | None:
    """Read the runs at a place as a table with one row each, by its content; None for a file that is a table.

    Args:
        metric: Name of the metric; None for the only one.

    Raises:
        MissingDataError: The place does not exist.
        DataError: The folder has no runs of a supported kind, or they cannot be read.
    """
    if not place.exists():
        raise missing_file("file", place, "give a table with a row for each run, or a folder of runs")
    reader = next((one for one in READERS if one.holds(place)), None)
    if reader is not None:
        found = reader.read(place)
        if not any(run.series for run in found.runs):
            raise DataError(f"no run in {place} has a score; expected one numeric metric of every run")
        return frame_of(found, metric)
    database = place if place.is_file() else place / "mlflow.db"
    if database.suffix in (".db", ".sqlite", ".sqlite3") and database.is_file():
        raise DataError(f"{database} has no readable runs; expected a complete SQLite database of MLflow or Optuna")
    if place.is_dir():
        raise DataError(
            f"the folder {place} has no readable runs; expected all_results.json or trainer_state.json of a Hugging "
            "Face Trainer in sub-folders, mlflow.db or mlruns of MLflow, metrics.csv of Lightning, or event files or "
            "CSV files of TensorBoard; or give a table with a row per run"
        )
    return None
