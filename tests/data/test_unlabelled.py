"""Inputs to predict for: what a bare path means, and tables that lack a column."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from transferscope.data.input_form import InputForm
from transferscope.data.load import load
from transferscope.data.unlabelled import input_form, read_unlabelled
from transferscope.errors import DataError, MissingDataError, UnknownNameError


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
    (tmp_path / "new.log").write_bytes((tmp_path / "new.csv").read_bytes())
    assert np.array_equal(read_unlabelled(str(tmp_path / "new.log"), form).inputs, named)
    np.savez(tmp_path / "new.npz", x=np.ones((5, 3), np.float32))
    arrays = InputForm("npz:study.npz", (), (3,), (3,))
    assert read_unlabelled(str(tmp_path / "new.npz"), arrays).inputs.shape == (5, 3)


def test_a_table_that_lacks_columns_names_them(table: tuple[pd.DataFrame, InputForm], tmp_path: Path) -> None:
    rows, form = table
    rows[["id", "twice"]].to_csv(tmp_path / "short.csv", index=False)
    with pytest.raises(UnknownNameError, match=r"short\.csv lacks the columns 'area', 'town' of the network"):
        read_unlabelled(f"csv:{tmp_path}/short.csv", form)


def test_a_column_whose_name_has_a_comma_is_one(tmp_path: Path) -> None:
    rows = pd.DataFrame({"a,b": range(30), "c": np.arange(30) * 0.5, "kind": ["x", "y"] * 15})
    rows.to_csv(tmp_path / "comma.csv", index=False)
    assert load(f"csv:{tmp_path}/comma.csv?label=kind&drop=a,b").train.input_shape == (1,)


def test_the_path_of_an_image_is_that_image(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (3, 20, 24, 3), dtype=np.uint8)
    (tmp_path / "new").mkdir()
    for i, one in enumerate(pixels):
        Image.fromarray(one).save(tmp_path / "new" / f"{i}.PNG")
    form = InputForm("folder:photos?resize=12", (), (3, 12, 12), (3, 12, 12))
    below = read_unlabelled(str(tmp_path / "new"), form)
    for name in (f"{tmp_path}/new/1.PNG", f"folder:{tmp_path}/new/1.PNG"):
        alone = read_unlabelled(name, form)
        assert alone.names == ("1.PNG",) == below.names[1:2]
        assert np.array_equal(alone.inputs, below.inputs[1:2])
    with pytest.raises(MissingDataError, match="there is no "):
        read_unlabelled(f"folder:{tmp_path}/new/4.png", form)
    # 20 x 24 pixels: stretched as the study did, or cut to the middle square where that is asked for
    boxes = {"": (0, 0, 24, 20), "?size=12": (2, 0, 22, 20), "?resize=12": (0, 0, 24, 20)}
    for options, box in boxes.items():
        found = read_unlabelled(f"folder:{tmp_path}/new/1.PNG{options}", form).inputs
        by_pillow = Image.fromarray(pixels[1]).resize((12, 12), Image.Resampling.BILINEAR, box=box)
        assert np.array_equal(found[0], np.asarray(by_pillow).transpose(2, 0, 1))


def test_images_of_another_size_are_read_where_the_study_resized_its_own(tmp_path: Path) -> None:
    digits = load("digits", transforms=("resize:28",))
    form = input_form("digits", ("resize:28",), digits)
    assert (form.raw_shape, form.input_shape) == ((1, 8, 8), (1, 28, 28))
    large = np.kron(load("digits").test.inputs, np.ones((1, 1, 7, 7), np.uint8))  # 56 x 56
    np.savez(tmp_path / "large.npz", x=large[:, 0])
    found = read_unlabelled(f"{tmp_path}/large.npz", form).inputs
    by_pillow = [Image.fromarray(one).resize((28, 28), Image.Resampling.BILINEAR) for one in large[:, 0]]
    expected = np.stack([np.asarray(one) for one in by_pillow])
    assert found.shape == expected[:, None].shape
    assert np.abs(found[:, 0].astype(int) - expected).max() <= 1
    np.savez(tmp_path / "colour.npz", x=np.repeat(large, 3, axis=1))
    padded = InputForm("digits", ("pad:9", "resize:28"), (1, 8, 8), (1, 28, 28))
    shuffled = InputForm("digits", ("permuted", "resize:28"), (1, 8, 8), (1, 28, 28))
    for name, one in (
        ("colour.npz", form),
        ("large.npz", padded),
        ("large.npz", shuffled),
        ("large.npz", InputForm("digits", (), (1, 8, 8), (1, 8, 8))),
    ):
        with pytest.raises(DataError, match="as in the network's training"):
            read_unlabelled(f"{tmp_path}/{name}", one)


def test_raw_columns_are_refused_where_the_network_reads_them_from_an_offset(tmp_path: Path) -> None:
    at = 1.7e9 + np.random.default_rng(0).normal(0, 50, 40)
    rows = pd.DataFrame({"x": np.linspace(0, 1, 40), "at": at, "kind": ["a", "b"] * 20})
    rows.to_csv(tmp_path / "study.csv", index=False)
    name = f"csv:{tmp_path}/study.csv?label=kind"
    form = input_form(name, (), load(name))
    offset = form.encoding.offsets[1] if form.encoding is not None else 0.0
    found = read_unlabelled(f"csv:{tmp_path}/study.csv", form).inputs
    np.testing.assert_allclose(found[:, 1], at - offset, atol=1e-3)
    np.savez(tmp_path / "raw.npz", x=rows[["x", "at"]].to_numpy())
    with pytest.raises(DataError, match=r"/raw\.npz: feature 1 \(counted from 0\) is"):
        read_unlabelled(f"npz:{tmp_path}/raw.npz", form)
    np.savez(tmp_path / "raw.npz", x=rows[["x", "at"]].to_numpy() - [0.0, offset])
    assert np.array_equal(read_unlabelled(f"npz:{tmp_path}/raw.npz", form).inputs, found)


def test_numbers_far_from_all_training_examples_are_said(tmp_path: Path) -> None:
    """Areas of 50 to 90, and rooms that are 2 to 5; new rows by hand."""
    rng = np.random.default_rng(0)
    area, rooms = np.append(rng.uniform(50, 90, 38), [50.0, 90.0]), np.arange(40) % 4 + 2
    pd.DataFrame({"area": area, "rooms": rooms, "y": ["u", "v"] * 20}).to_csv(tmp_path / "own.csv", index=False)
    name = f"csv:{tmp_path}/own.csv?label=y&test_share=0.1"
    form = input_form(name, (), data := load(name))
    assert form.ranges == tuple((float(column.min()), float(column.max())) for column in data.train.inputs.T)

    def remarks(areas: list[float], rooms: list[float]) -> tuple[str, ...]:
        pd.DataFrame({"area": areas, "rooms": rooms}).to_csv(tmp_path / "new.csv", index=False)
        return read_unlabelled(f"csv:{tmp_path}/new.csv", form).remarks

    low, high = form.ranges[0]
    assert remarks([60.0, high + 2.9 * (high - low), low - 2.9 * (high - low)], [3, 13, 2]) == ()
    (said,) = remarks([60_000.0, 70.0, 80_000.0], [3, 3, 400])
    assert said.startswith("2 of 3 rows hold numbers far from all training examples, in area and rooms (60000;")
    (said,) = remarks([60.0, low - 3.1 * (high - low)], [3, 3])
    assert said.startswith("1 of 2 rows hold numbers far from all training examples, in area (")


def test_features_of_arrays_that_were_left_out_are_left_out_of_new_ones(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=60), rng.permutation(60)])
    np.savez(tmp_path / "own.npz", x_train=x[:50], y_train=np.arange(50) % 2, x_test=x[50:], y_test=np.arange(10) % 2)
    form = input_form(f"npz:{tmp_path}/own.npz", (), load(f"npz:{tmp_path}/own.npz"))
    assert (form.raw_shape, form.left_out) == ((1,), (1,))
    new = np.column_stack([[0.5, 1.5], [1e6, 2e6]])
    np.savez(tmp_path / "new.npz", x=new)
    np.savez(tmp_path / "bare.npz", x=new[:, :1])
    for file in ("new", "bare"):
        assert read_unlabelled(f"npz:{tmp_path}/{file}.npz", form).inputs.tolist() == [[0.5], [1.5]]
