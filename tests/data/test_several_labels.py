"""Several labels of each input in arrays, and where they are refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transferscope.data.load import load
from transferscope.data.memory import AS_TYPED, write_in_memory
from transferscope.data.task import Dataset, LabelledSet
from transferscope.data.transforms import apply_transforms
from transferscope.errors import DataError

X = np.random.default_rng(0).integers(0, 255, (12, 8, 8)).astype(np.uint8)
Y = np.array([[1, 0], [0, 1], [1, 1], [0, 0]] * 3)


def saved(folder: Path, **arrays: Any) -> str:
    given = {"x_train": X, "x_test": X[:4], "y_train": Y.astype(bool), "y_test": Y[:4].astype(bool), **arrays}
    np.savez(folder / "own.npz", **given)
    return f"npz:{folder / 'own.npz'}"


@pytest.mark.parametrize("kind", [bool, np.int64, np.uint8])
def test_columns_of_truth_values_or_of_0_and_1_are_several_labels(tmp_path: Path, kind: Any) -> None:
    data = load(saved(tmp_path, y_train=Y.astype(kind), y_test=Y[:4].astype(kind), label_names=["cat", "dog"]))
    assert (data.train.kind, data.train.classes, data.train.n_outputs) == ("multi-label", ("cat", "dog"), 2)
    assert np.array_equal(data.train.labels, Y.astype(bool))
    assert data.train.class_counts().tolist() == [6, 6]
    assert "multi-label, 2 labels with their training examples: cat (6), dog (6)" in data.provenance["understood"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y_train": Y.astype(float), "y_test": Y[:4] * 1.0}, "could be several labels or numbers to"),
        ({"label_names": ["cat"]}, "one text per column of labels"),
        ({"y_train": np.ones((12, 2), bool)}, "every training example has the label '1', so it cannot be learnt"),
        ({"y_test": Y[:4] + 1}, "several labels of each input have shape (4, 2)"),
    ],
)
def test_labels_that_could_mean_several_things_are_refused(
    tmp_path: Path, arrays: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError) as caught:
        load(saved(tmp_path, **arrays))
    assert message in str(caught.value)


def test_data_in_memory_keep_their_labels_in_the_file_of_a_study(tmp_path: Path) -> None:
    train = LabelledSet(X[:, None], Y.astype(bool), ("cat", "dog"))
    data = Dataset("own", train, train.take(np.arange(4)))
    name = write_in_memory(data, tmp_path, "target", AS_TYPED)
    again = load(f"npz:{tmp_path / name.removeprefix('npz:')}")
    assert again.fingerprint == data.fingerprint


@pytest.mark.parametrize("transform", ["relabel:brightness", "label-noise:0.2"])
def test_transformations_of_classes_refuse_several_labels(transform: str) -> None:
    train = LabelledSet(X[:, None], Y.astype(bool), ("cat", "dog"))
    with pytest.raises(DataError, match="one class per input, but own has several labels"):
        apply_transforms(Dataset("own", train, train), [transform], seed=0)


def test_a_set_of_labels_is_checked() -> None:
    with pytest.raises(DataError, match=r"have shape \(12, 2\) and type bool; expected booleans \(N, 3\)"):
        LabelledSet(X[:, None], Y.astype(bool), ("cat", "dog", "eel"))
    with pytest.raises(DataError, match="label names repeat: cat, cat"):
        LabelledSet(X[:, None], Y.astype(bool), ("cat", "cat"))
    one, other = (LabelledSet(X[:, None], labels, ("cat", "dog")) for labels in (Y.astype(bool), Y[:, 0]))
    with pytest.raises(DataError, match="training and test labels have different"):
        Dataset("own", one, other)
