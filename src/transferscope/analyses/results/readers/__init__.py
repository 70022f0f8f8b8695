"""Folders of runs that other tools leave: each reader makes one table of them, a row each."""

from pathlib import Path
from typing import Protocol, runtime_checkable

from transferscope.analyses.results.readers import mlflow_store, optuna_study, tensorboard, trainer
from transferscope.data.frame import Frame
from transferscope.errors import DataError, MissingDataError


@runtime_checkable
class RunsReader(Protocol):
    """A reader of one kind of place."""

    def holds(self, place: Path) -> bool:
        """Whether there are runs of this kind at an existing place; looked at only as far as that takes."""

    def read(self, place: Path) -> Frame:
        """The runs, a row each, in columns with the usual names (`columns.ROLES`) as far as they are known.

        Raises:
            DataError: They cannot be read.
        """


READERS: tuple[RunsReader, ...] = (trainer, mlflow_store, tensorboard, optuna_study)
"""In the order in which a place is shown to them."""


def reader_of(place: Path) -> RunsReader | None:
    """The reader of a folder or file by what is in it; None for a file that is a table.

    Raises:
        MissingDataError: There is no such place.
        DataError: It is a folder without runs of a kind that is known.
    """
    if not place.exists():
        raise MissingDataError(f"there is no {place}; give a table with a row for each run, or a folder of runs")
    reader = next((one for one in READERS if one.holds(place)), None)
    if reader is None and place.is_dir():
        raise DataError(
            f"the folder {place} holds no runs that are known: expected all_results.json or trainer_state.json of a "
            "Hugging Face Trainer in folders below it, a file store of MLflow (mlruns), or CSV files of TensorBoard; "
            "otherwise write a table with a row for each run"
        )
    return reader
