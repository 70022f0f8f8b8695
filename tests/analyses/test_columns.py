"""Every reader of results finds a column by each of its common names, whichever command reads the table."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

import transferscope
from transferscope.analyses.columns import ROLES
from transferscope.analyses.plan.measurements import read_scores
from transferscope.analyses.results.runs import RunColumns, read_runs
from transferscope.analyses.scaling.measurements import found_columns
from transferscope.data.frame import Frame
from transferscope.errors import DataError, SettingsError
from transferscope.settings.questions import Columns, LabelColumns


def compare(table: pd.DataFrame, role: str) -> object:
    return read_runs(Frame(table, ()), RunColumns(), ["scratch"], folder=Path()).columns.get(role)


def plan(table: pd.DataFrame, role: str, *, labelled: bool = True) -> object:
    return getattr(read_scores(table, LabelColumns(), labelled=labelled)[1], role)


def compare_of_tasks(table: pd.DataFrame, role: str) -> object:
    return plan(table, role, labelled=False)


def scaling(table: pd.DataFrame, role: str) -> object:
    columns = found_columns(table.assign(params=range(1, 9)), Columns())[1]
    return columns.finetune_size if role == "labels" else columns.error


READERS = {
    "arm": (compare, plan, compare_of_tasks),
    "seed": (compare, plan, compare_of_tasks),
    "labels": (compare, plan, compare_of_tasks, scaling),
    "task": (plan, compare_of_tasks),
    "stderr": (plan, compare_of_tasks),
    "score": (plan, compare_of_tasks, scaling),
}


@pytest.mark.parametrize(
    ("role", "reader"), [(role, reader) for role, readers in READERS.items() for reader in readers]
)
def test_every_reader_knows_every_common_name(role: str, reader: Callable[[pd.DataFrame, str], object]) -> None:
    usual = pd.DataFrame(
        [(arm, seed, n, "a", 0.01, 0.5 + n / 1000) for arm in ("scratch", "b") for seed in (0, 1) for n in (10, 20)],
        columns=["arm", "seed", "labels", "task", "stderr", "accuracy" if role != "score" else "score"],
    )
    for name in ROLES[role].names.split():
        assert reader(usual.rename(columns={role: name}), role) == name, name


@pytest.mark.parametrize("name", ["split", "part", "model"])
def test_parts_of_the_data_are_no_repeats_and_no_arms(name: str) -> None:
    """Scores on training and test data are answers to two questions."""
    table = pd.DataFrame(
        [(arm, n, part, 0.5 + n / 1000) for arm in ("scratch", "b") for n in (10, 20) for part in ("train", "Test")],
        columns=["arm", "labels", name, "accuracy"],
    )
    for ask in (partial(transferscope.compare, without=["scratch"]), transferscope.plan):
        with pytest.raises((DataError, SettingsError), match=f"differ in {name}"):
            ask(table)


def test_a_column_of_lists_is_read_past(tmp_path: Path) -> None:
    """Data frames and parquet files of runs hold a list of settings as it is."""
    runs = [(arm, n, s, 0.6 + n / 1000 + s / 100) for arm in ("scratch", "b") for n in (10, 20, 40) for s in (0, 1, 2)]
    table = pd.DataFrame(runs, columns=["arm", "labels", "seed", "accuracy"])
    table["tags"] = pd.Series([["a", "b"]] * len(table))
    table.to_parquet(tmp_path / "runs.parquet")
    rows = transferscope.compare(tmp_path / "runs.parquet", without=["scratch"]).next(2)  # type: ignore[attr-defined]
    assert [list(one) for one in rows["tags"]] == [["a", "b"]] * 2
    assert transferscope.plan(table).verdict
    assert transferscope.scaling(table[table["arm"] == "b"].rename(columns={"labels": "n"})).verdict
