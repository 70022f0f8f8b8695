"""The target of commands compared with methods: their training rows, and metrics on the same test examples."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Int

from transferscope.data.frame import place_of
from transferscope.data.splits import few_shot_rows
from transferscope.data.task import Dataset, LabelledSet
from transferscope.errors import DataError
from transferscope.settings.data import DataSettings
from transferscope.store import PlannedCell
from transferscope.study.commands.score import read_examples_table
from transferscope.study.context import RunFailed
from transferscope.study.fitting import as_planned, number
from transferscope.study.tables import settings_of
from transferscope.training import measure, stream_seed
from transferscope.training.evaluate import Measures


def check_target(facts: Mapping[str, Any]) -> None:
    """Refuse a target whose test examples do not have one prediction row each; raises DataError."""
    kind = facts.get("kind")
    if kind != "classification" and not (kind == "regression" and facts.get("n_outputs") == 1):
        raise DataError(
            f"[run] with [methods] needs a target of one class or number per example, but the target is of {kind}; "
            "leave out [run], or give another target"
        )


def target_of(cell: PlannedCell) -> Dataset:
    """Return the target of a command; raises CorruptDataError if it has changed since planning."""
    planned = cell.payload["target"]
    return as_planned(settings_of(DataSettings, planned["data"]), planned["content"])


def write_rows(cell: PlannedCell, path: Path) -> None:
    """Write the indices, from 0, of the training examples of this seed, one per line."""
    seed = stream_seed(number(cell, "seed"), "subset")
    rows: Int[np.ndarray, " n"] = few_shot_rows(target_of(cell).train, number(cell, "n_target"), seed=seed)
    np.savetxt(path, rows, fmt="%d")


def measured(cell: PlannedCell, name: str, out: Path) -> Measures:
    """Return the metrics of a command's predictions, computed like those of methods, except for the loss.

    Args:
        name: A CSV file in the run's folder with the columns prediction and label, a row for each test example in the
            order of the target: classes by their names.

    Raises:
        RunFailed: The file does not exist, or has other content.
    """
    table, test = read_examples_table(name, out), target_of(cell).test
    if missing := {"prediction", "label"} - set(table):
        raise RunFailed(f"{name} has no column {min(missing)}; expected prediction and label of each test example")
    if len(table) != len(test):
        raise RunFailed(f"{name} has {len(table):,} rows; expected {len(test):,}, one per test example of the target")
    labels, predictions = (_numbers(table[column], column, name, test) for column in ("label", "prediction"))
    known = test.labels.reshape(len(test))
    apart = ~np.isclose(labels, known, rtol=1e-4, atol=1e-6)
    if apart.any():
        raise RunFailed(
            f"the labels in {name} differ from those of the target's test examples, starting at "
            f"{place_of(table.index, int(apart.argmax()))}; write these examples in their order"
        )
    of_classes = None if test.classes is None else np.eye(len(test.classes))[predictions.astype(np.int64)]
    outputs = torch.tensor(predictions[:, None] if of_classes is None else of_classes)
    measures = measure(outputs, torch.tensor(test.labels), part="target_test")
    return Measures(tuple(record for record in measures.records if record.name != "loss"), measures.predictions)


def _numbers(column: "pd.Series[str]", what: str, name: str, test: LabelledSet) -> np.ndarray:
    if test.classes is None:
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
        expected = "a finite number"
    else:
        places = {known: float(place) for place, known in enumerate(test.classes)}
        numbers = column.map(places).to_numpy(dtype=np.float64)
        expected = f"a class of the target, such as {test.classes[0]}"
    if (strange := ~np.isfinite(numbers)).any():
        row = int(strange.argmax())
        place = place_of(column.index, row)
        raise RunFailed(f"{name} holds the {what} {column.iloc[row]!r} in {place}; expected {expected}")
    return numbers
