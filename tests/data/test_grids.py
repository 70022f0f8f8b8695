"""Labels on a grid over each image: masks of classes, and maps of numbers."""

from pathlib import Path

import numpy as np
import pytest

from transferscope.data import load
from transferscope.data.splits import few_shot, folds
from transferscope.data.task import Dataset, LabelledSet
from transferscope.errors import DataError


def images(n: int = 6, side: int = 8) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (n, 3, side, side), dtype=np.uint8)


def masks(n: int = 6, classes: int = 3) -> np.ndarray:
    drawn = np.random.default_rng(1).integers(0, classes, (n, 4, 4))
    drawn[:, 0, 0] = np.arange(n) % classes
    return drawn


def saved(path: Path, labels: np.ndarray, test: np.ndarray | None = None, **further: np.ndarray) -> str:
    x = images(len(labels)).transpose(0, 2, 3, 1)
    arrays = {"x_train": x, "y_train": labels, "x_test": x, "y_test": labels if test is None else test, **further}
    np.savez(path / "d.npz", **arrays)  # type: ignore[arg-type]
    return f"npz:{path / 'd.npz'}"


def test_the_shape_of_labels_says_their_kind() -> None:
    kinds = {
        "segmentation": LabelledSet(images(), masks(), ("a", "b", "c")),
        "dense regression": LabelledSet(images(), np.zeros((6, 2, 4, 5), np.float32)),
        "classification": LabelledSet(images(), np.zeros(6, np.int64), ("a", "b")),
        "regression": LabelledSet(images(), np.zeros((6, 2), np.float32)),
    }
    assert {name: examples.kind for name, examples in kinds.items()} == {name: name for name in kinds}
    assert [examples.grid for examples in kinds.values()] == [(4, 4), (4, 5), None, None]
    assert kinds["segmentation"].n_outputs == 3
    assert kinds["dense regression"].n_outputs == 2
    counted = [sum((mask == label).any() for mask in masks()) for label in range(3)]
    assert kinds["segmentation"].class_counts().tolist() == counted


def test_labels_on_a_grid_that_fit_nothing_are_refused() -> None:
    with pytest.raises(DataError, match="class labels run from 0 to 2; expected 0 to 1"):
        LabelledSet(images(), masks(), ("a", "b"))
    with pytest.raises(DataError, match=r"inputs with a grid of labels have shape \(6, 5\)"):
        LabelledSet(np.zeros((6, 5), np.float32), masks(), ("a", "b", "c"))
    nothing = masks()
    nothing[[2, 4]] = -1
    with pytest.raises(DataError, match=r"2 of 6 masks have no label at all \(first: 2\); drop those"):
        LabelledSet(images(), nothing, ("a", "b", "c"))
    coarse = LabelledSet(images(), masks()[:, ::2, ::2], ("a", "b", "c"))
    with pytest.raises(DataError, match="different classes or outputs"):
        Dataset("d", LabelledSet(images(), masks(), ("a", "b", "c")), coarse)


def test_a_file_of_masks_is_a_segmentation(tmp_path: Path) -> None:
    labels = masks() * 10
    labels[0, 1, 1] = -1
    found = load(saved(tmp_path, labels))
    assert found.train.classes == ("0", "10", "20")
    np.testing.assert_array_equal(np.where(found.train.labels < 0, -1, found.train.labels * 10), labels)
    said = found.provenance["understood"]
    assert said.startswith("segmentation on a grid of 4 x 4 over each image, 3 classes: 0, 10, 20")
    assert said.endswith("; 1.0% of the cells are unlabelled")


def test_classes_of_masks_may_have_names(tmp_path: Path) -> None:
    found = load(saved(tmp_path, masks(), label_names=np.array(["sky", "road", "tree", "car"])))
    assert found.train.classes == ("sky", "road", "tree", "car")
    np.testing.assert_array_equal(found.test.labels, masks())
    with pytest.raises(DataError, match="label_names have shape"):
        load(saved(tmp_path, masks(), label_names=np.array([["sky", "road"]])))


def test_a_file_of_maps_of_numbers_is_a_dense_regression(tmp_path: Path) -> None:
    depths = np.random.default_rng(0).normal(size=(6, 4, 4))
    found = load(saved(tmp_path, depths))
    assert found.train.kind == "dense regression"
    np.testing.assert_array_equal(found.train.labels[:, 0], depths.astype(np.float32))
    assert found.provenance["understood"] == "regression of 1 number on a grid of 4 x 4 over each image"


def test_wrong_masks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="start at -2; expected masks"):
        load(saved(tmp_path, masks() - 2))
    with pytest.raises(DataError, match="is not among the training labels"):
        load(saved(tmp_path, masks(), test=masks() + 1))
    name = saved(tmp_path, masks())
    with pytest.raises(DataError, match="transform 'mirror' moves pixels"):
        load(name, transforms=["mirror"])
    with pytest.raises(DataError, match="label-noise needs one class per image, but d has a grid of labels"):
        load(name, transforms=["label-noise:0.2"])
    assert load(name, transforms=["resize:16", "grey"]).train.grid == (4, 4)


def test_few_shot_subsets_and_folds_of_masks_are_random_and_nested() -> None:
    data = LabelledSet(images(30), masks(30), ("a", "b", "c"))
    few, more = (few_shot(data, n, seed=0) for n in (5, 12))
    assert (more.inputs[:, None] == few.inputs[None]).all(axis=(2, 3, 4)).any(axis=0).all()
    dealt = np.concatenate([fold.validate for fold in folds(data, 4, seed=0)])
    assert sorted(dealt) == list(range(30))
