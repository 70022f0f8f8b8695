"""Inputs to predict for: what a bare path means, and tables that lack a column."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from transferscope.data.load import load
from transferscope.data.unlabelled import InputForm, input_form, read_unlabelled
from transferscope.errors import UnknownNameError


@pytest.fixture
def table(tmp_path: Path) -> tuple[pd.DataFrame, InputForm]:
    """A table of numbers and categories, and the form that its inputs had in a study."""
    rows = pd.DataFrame(
        {
            "id": range(30),
            "area": np.arange(30) * 1.5,
            "town": ["Bonn", "Kiel", "Ulm"] * 10,
            "twice": np.arange(30) * 3.0,
            "kind": ["a", "b"] * 15,
        }
    )
    rows.to_csv(tmp_path / "study.csv", index=False)
    name = f"csv:{tmp_path}/study.csv?label=kind&drop=id,twice"  # names with commas between them are several
    assert load(name).train.input_shape == (4,)
    return rows, input_form(name, (), load(name))


def test_a_bare_file_is_read_as_the_data_of_the_study_were(
    table: tuple[pd.DataFrame, InputForm], tmp_path: Path
) -> None:
    rows, form = table
    new = rows.drop(columns=["kind", "id"])[["town", "twice", "area"]]
    new.to_csv(tmp_path / "new.csv", index=False)
    new.to_parquet(tmp_path / "new.parquet")
    named = read_unlabelled(f"csv:{tmp_path}/new.csv", form).inputs
    assert named.shape == (30, 4)
    for file in ("new.csv", "new.parquet"):
        assert np.array_equal(read_unlabelled(str(tmp_path / file), form).inputs, named)
    np.savez(tmp_path / "new.npz", x=np.ones((5, 3), np.float32))
    arrays = InputForm("npz:study.npz", (), (3,), (3,))
    assert read_unlabelled(str(tmp_path / "new.npz"), arrays).inputs.shape == (5, 3)


def test_a_table_that_lacks_columns_names_them(table: tuple[pd.DataFrame, InputForm], tmp_path: Path) -> None:
    rows, form = table
    rows[["id", "twice"]].to_csv(tmp_path / "short.csv", index=False)
    with pytest.raises(UnknownNameError) as caught:
        read_unlabelled(f"csv:{tmp_path}/short.csv", form)
    assert str(caught.value) == ("short.csv lacks 'area', 'town', which the network reads; its columns are id, twice")


def test_a_column_whose_name_has_a_comma_is_one(tmp_path: Path) -> None:
    pd.DataFrame({"a,b": range(30), "c": np.arange(30) * 0.5, "kind": ["x", "y"] * 15}).to_csv(
        tmp_path / "comma.csv", index=False
    )
    dropped = load(f"csv:{tmp_path}/comma.csv?label=kind&drop=a,b")
    assert dropped.train.input_shape == (1,)
