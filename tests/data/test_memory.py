"""Data in memory beside the same data in files that NumPy and pandas write."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from sklearn.datasets import load_diabetes, load_digits, load_iris
from torch.utils.data import Subset, TensorDataset

from transferscope.data.load import load, seen_from
from transferscope.data.memory import InMemory, is_data, write_in_memory
from transferscope.data.task import Dataset
from transferscope.errors import TransferscopeError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
CODES = np.arange(60) % 3
PAIRS = np.array([0, 1] * 30)
PIXELS = RNG.integers(0, 256, (30, 8, 9, 3), dtype=np.uint8)


def read(data: Any, folder: Path, **reading: Any) -> Dataset:
    name = write_in_memory(data, folder, "target", InMemory(**reading))
    assert write_in_memory(data, folder, "target", InMemory(**reading)) == name
    return load(seen_from(name, folder))


def test_arrays_are_what_their_npz_file_is(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x_train=X[:40], y_train=CODES[:40], x_test=X[40:], y_test=CODES[40:])
    filed = load(f"npz:{tmp_path}/a.npz")
    assert read((X[:40], CODES[:40], X[40:], CODES[40:]), tmp_path).fingerprint == filed.fingerprint
    tensors = tuple(map(torch.from_numpy, (X[:40], CODES[:40], X[40:], CODES[40:])))
    assert read(tensors, tmp_path).fingerprint == filed.fingerprint
    lists = X[:40].tolist(), CODES[:40].tolist(), X[40:].tolist(), CODES[40:].tolist()
    assert read(lists, tmp_path).fingerprint == filed.fingerprint


@pytest.mark.parametrize(("share", "n_test"), [(None, 12), (0.5, 30)])
def test_a_share_of_arrays_is_the_test_part_with_all_classes(tmp_path: Path, share: float | None, n_test: int) -> None:
    data = read((X, CODES), tmp_path, test_share=share)
    assert len(data.test) == n_test
    assert len(data.train) == 60 - n_test
    assert np.bincount(data.test.labels).tolist() == [n_test // 3] * 3
    both = np.concatenate([data.train.inputs, data.test.inputs])
    assert sorted(both[:, 0].tolist()) == sorted(X[:, 0].astype(np.float32).tolist())
    assert f"{n_test} of 60 examples" in data.provenance["understood"]
    np.savez(tmp_path / "whole.npz", x=X, y=CODES)
    assert load(f"npz:{tmp_path}/whole.npz?test_share={share or 0.2}").fingerprint == data.fingerprint


def test_a_test_share_beside_a_test_part_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x_train=X, y_train=CODES, x_test=X, y_test=CODES)
    with pytest.raises(TransferscopeError, match="has a test part, x_test, and test_share is given"):
        load(f"npz:{tmp_path}/a.npz?test_share=0.5")


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "size": X[:, 0],
            "kind": ["u", "v", "w"] * 20,
            "row": range(60),
            "built": pd.date_range("2020-01-01", periods=60, freq="17D"),
            "sold": X[:, 1] > 0,
            "price": X[:, 2],
        }
    )


def test_a_frame_is_what_its_csv_file_is(tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "f.csv", index=False)
    filed = load(f"csv:{tmp_path}/f.csv?label=price")
    own = read(frame(), tmp_path, label="price")
    assert own.fingerprint == filed.fingerprint
    assert own.provenance["understood"] == filed.provenance["understood"]
    assert "row (counts the rows" in own.provenance["understood"]
    assert own.train.kind == "regression"
    parted = frame().rename(columns={"price": "label"}).drop(columns="label"), frame()["price"].set_axis(range(5, 65))
    assert read(parted, tmp_path).fingerprint == filed.fingerprint


def test_a_column_of_numbers_is_a_category_where_pandas_says_so(tmp_path: Path) -> None:
    codes = pd.Series(CODES).astype("category")
    data = read(pd.DataFrame({"code": codes, "label": ["a", "b"] * 30}), tmp_path)
    assert data.train.input_shape == (3,)


@pytest.mark.parametrize(
    ("labels", "task", "kind", "classes"),
    [
        (CODES, None, "classification", ("0", "1", "2")),
        (CODES, "regression", "regression", None),
        (CODES[:, None], None, "classification", ("0", "1", "2")),
        (X[:, 0], None, "regression", None),
        (X[:, :2], None, "regression", None),
        (PAIRS > 0, None, "classification", ("False", "True")),
        (["b", "a"] * 30, None, "classification", ("a", "b")),
        (pd.Series(["1", "2"] * 30), None, "classification", ("1", "2")),
        (np.array(["a", "b"] * 30, dtype=object), None, "classification", ("a", "b")),
        (np.array([1, 2] * 30, dtype=object), None, "classification", ("1", "2")),
        (PAIRS * 1.0, "classification", "classification", ("0.0", "1.0")),
        (np.eye(3)[CODES] + np.eye(3)[[0] * 60] > 0, None, None, None),
        (X > 0, None, "multi-label", ("1", "2", "3")),
    ],
)
def test_what_labels_are_is_told_by_their_type(
    tmp_path: Path, labels: Any, task: Any, kind: str | None, classes: tuple[str, ...] | None
) -> None:
    if kind is None:
        with pytest.raises(TransferscopeError, match="every training example has the label '1'"):
            read((X, labels), tmp_path, task=task)
        return
    data = read((X, labels), tmp_path, task=task)
    assert (data.train.kind, data.train.classes) == (kind, classes)


def test_text_labels_of_a_frame_are_classes_though_they_look_like_numbers(tmp_path: Path) -> None:
    data = read(pd.DataFrame({"a": X[:, 0], "label": ["1.5", "2.5"] * 30}), tmp_path)
    assert data.train.classes == ("1.5", "2.5")


def test_bunches_give_their_inputs_and_named_classes(tmp_path: Path) -> None:
    iris, digits, diabetes = load_iris(), load_digits(), load_diabetes()
    data = read(iris, tmp_path)
    assert data.train.classes == tuple(iris.target_names)
    assert len(data.train) + len(data.test) == 150
    assert read(load_iris(as_frame=True), tmp_path).train.classes == data.train.classes
    assert read(digits, tmp_path).train.input_shape == (64,)
    assert read(diabetes, tmp_path).train.kind == "regression"


def test_images_of_arrays_and_of_data_sets_of_torch_are_the_same(tmp_path: Path) -> None:
    labels = np.arange(30) % 3
    arrays = read((PIXELS, labels), tmp_path)
    assert arrays.train.input_shape == (3, 8, 9)

    class Pictures:
        def __len__(self) -> int:
            return 30

        def __getitem__(self, place: int) -> tuple[Any, int]:
            return Image.fromarray(PIXELS[place]), int(labels[place])

    assert read(Pictures(), tmp_path).fingerprint == arrays.fingerprint
    tensors = TensorDataset(torch.from_numpy(PIXELS.transpose(0, 3, 1, 2).copy()), torch.from_numpy(labels))
    assert read(tensors, tmp_path).fingerprint == arrays.fingerprint
    assert len(read(Subset(tensors, range(12)), tmp_path).train) == 9  # 12 less 3, one of each class


def test_texts_become_lines_that_hold_them_as_they_are(tmp_path: Path) -> None:
    texts = ['a "quoted"\ntext', "b, c"] * 3
    name = write_in_memory((texts, ["x", "y"] * 3), tmp_path, "target", InMemory())
    file = name.removeprefix("text:").partition("?")[0]
    held = pd.read_json(tmp_path / file, lines=True)
    assert held["text"].tolist() == texts
    assert held["label"].tolist() == ["x", "y"] * 3
    assert name.endswith("?text=text&label=label&kind=classification")


class Saved:
    """What the package datasets offers, of a table."""

    def __init__(self, table: pd.DataFrame, names: list[str]) -> None:
        feature = type("ClassLabel", (), {"names": names, "dtype": "int64"})()
        self.table, self.column_names = table, list(table.columns)
        self.features = {name: feature if name == "y" else type("Value", (), {"dtype": "float64"})() for name in table}

    def to_pandas(self) -> pd.DataFrame:
        return self.table

    def save_to_disk(self, place: str) -> None:
        raise AssertionError(place)


def test_tables_of_datasets_are_frames_whose_classes_have_names(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": PAIRS})
    data = read(Saved(table, ["no", "yes"]), tmp_path, label="y")
    assert data.train.classes == ("no", "yes")
    assert data.train.input_shape == (2,)


@pytest.mark.parametrize(
    ("data", "reading", "message"),
    [
        ((X, CODES[:59]), {}, "60 inputs and 59 labels"),
        ((X, 3), {}, "60 inputs and no labels"),
        ((X, [None, 1] * 30), {}, "are missing .* in 30 of 60"),
        ((X, [np.nan, 1.5] * 30), {}, "NaN or infinity"),
        ((X, ["a", 1] * 30), {}, "contain text and the int '1'"),
        ((X, [{"a": 1}] * 60), {}, "array of objects, such as the dict"),
        ((X, np.arange(60) % 37 * 3), {}, "37 different whole numbers .* task='regression'"),
        ((X, PAIRS * 1.0), {}, "only 0 and 1, .* task='regression'"),
        ((X, ["a", "b"] * 30), {"task": "regression"}, "expected numbers"),
        (([[1, 2], [3]] * 30, PAIRS), {}, "have different shapes"),
        ((np.ma.masked_array(X), PAIRS), {}, "MaskedArray"),
        ((X[:40], PAIRS[:40], X[40:, :2], PAIRS[40:]), {}, "give both the same shape"),
        ((X[:0], []), {}, "no inputs"),
        ((X * np.nan, PAIRS), {}, "NaN or infinity in"),
        (pd.DataFrame({"a": X[:, 0], "n": PAIRS}), {}, "one of a and n"),
        (pd.DataFrame({"a": X[:, 0], "n": PAIRS}), {"label": "m"}, "no column 'm'"),
        (pd.DataFrame({"a": [[1]] * 60, "label": PAIRS}), {}, "type list"),
        (pd.DataFrame({"a": X[:, 0], "label": pd.array([1, None] * 30, dtype="Int64")}), {}, "30 of 60 rows"),
        (pd.DataFrame(X, columns=["a", "a", "label"]), {}, "several columns 'a'"),
        ((pd.DataFrame(X, columns=["a", "label", "c"]), PAIRS), {}, "column 'label', and labels"),
        ((["a", "b", float("nan")] * 20, PAIRS), {}, "text and the float"),
        ((["a\ud800", "b"] * 30, PAIRS), {}, "not UTF-8"),
        ([Image.fromarray(PIXELS[0]).convert("P")], {}, "mode P"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(
    tmp_path: Path, data: Any, reading: dict[str, Any], message: str
) -> None:
    if isinstance(data, list):
        image = data[0]
        data = type("Pictures", (), {"__len__": lambda _: 1, "__getitem__": lambda _, place: (image, place)})()
    with pytest.raises(TransferscopeError, match=message):
        read(data, tmp_path, **reading)


def test_data_are_told_from_several_sources() -> None:
    assert is_data((X, PAIRS))
    assert is_data((["a", "b"], [0, 1]))
    assert is_data(load_iris())
    assert is_data(TensorDataset(torch.zeros(3, 2)))
    assert not is_data(["digits", "glyphs"])
    assert not is_data(("digits", "glyphs"))
    assert not is_data(((X, PAIRS), (X, PAIRS)))
    assert not is_data([(X, PAIRS)])
    assert not is_data(torch.nn.Sequential(torch.nn.Linear(2, 2)))
    assert not is_data({"a": X})
    assert not is_data(X)
