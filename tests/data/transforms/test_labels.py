import numpy as np
import pytest

from cases_of_methods import blobs
from transferscope.data.task import Dataset, LabelledSet
from transferscope.data.transforms import apply_transforms

CLASSES = ("a", "b", "c", "d")


def part(n: int, channels: int, seed: int) -> LabelledSet:
    random = np.random.default_rng(seed)
    scale = random.random((n, channels, 1, 1))
    images = (255 * scale * random.random((n, channels, 5, 5))).astype(np.uint8)
    return LabelledSet(images, random.integers(0, 4, n), CLASSES)


def make(channels: int = 3) -> Dataset:
    return Dataset("set", part(200, channels, 0), part(80, channels, 1))


def test_brightness_classes_are_quantiles_of_the_training_images() -> None:
    random = np.random.default_rng(0)
    levels = random.permutation(200).astype(np.uint8)  # every level once: quarters end at 49, 99 and 149
    test_levels = random.integers(0, 256, 300).astype(np.uint8)
    train, test = (
        LabelledSet(np.tile(each[:, None, None, None], (1, 3, 2, 2)), np.zeros(len(each), np.int64), CLASSES)
        for each in (levels, test_levels)
    )
    relabelled = apply_transforms(Dataset("set", train, test), ["relabel:brightness"], seed=0)
    np.testing.assert_array_equal(relabelled.train.labels, levels // 50)
    np.testing.assert_array_equal(relabelled.test.labels, np.minimum(test_levels // 50, 3))
    assert relabelled.train.classes == tuple(f"brightness {i} of 4" for i in (1, 2, 3, 4))
    np.testing.assert_array_equal(relabelled.train.inputs, train.inputs)


def test_colour_is_red_against_blue() -> None:
    dataset = make()
    redness = dataset.train.inputs[:, 0].mean(axis=(1, 2)) - dataset.train.inputs[:, 2].mean(axis=(1, 2))
    labels = apply_transforms(dataset, ["relabel:colour"], seed=0).train.labels
    assert labels[redness.argmin()] == 0
    assert labels[redness.argmax()] == 3
    assert np.bincount(labels).tolist() == [50, 50, 50, 50]


def test_noise_makes_the_share_of_training_labels_wrong() -> None:
    dataset = make()
    noisy = apply_transforms(dataset, ["label-noise:0.3"], seed=0)
    assert (noisy.train.labels != dataset.train.labels).sum() == 60
    assert noisy.train.labels.max() < 4
    np.testing.assert_array_equal(noisy.test.labels, dataset.test.labels)


def test_noisy_labels_are_spread_over_the_other_classes() -> None:
    data = LabelledSet(np.zeros((3000, 1)), np.zeros(3000, np.int64), CLASSES)
    labels = apply_transforms(Dataset("set", data, data), ["label-noise:1"], seed=0).train.labels
    counts = np.bincount(labels, minlength=4)
    assert counts[0] == 0
    assert np.abs(counts[1:] - 1000).max() < 4 * np.sqrt(3000 * (1 / 3) * (2 / 3))


WHOLE = Dataset("blobs", blobs(10, 2, seed=0), blobs(4, 2, seed=1))


def test_two_ranges_are_disjoint_parts_of_the_training_set() -> None:
    first, rest = (apply_transforms(WHOLE, [f"train-rows:{part}"], seed=0) for part in ("0-3", "3-10"))
    together = np.concatenate([first.train.inputs, rest.train.inputs])
    assert np.array_equal(together, WHOLE.train.inputs)
    assert first.test is WHOLE.test


@pytest.mark.parametrize(("argument", "kept"), [("1-3", [1, 2]), ("d+b", [1, 3]), ("0-4", [0, 1, 2, 3])])
def test_only_the_named_classes_stay_in_their_order(argument: str, kept: list[int]) -> None:
    before, after = make(), apply_transforms(make(), [f"classes:{argument}"], seed=0)
    for old, new in ((before.train, after.train), (before.test, after.test)):
        rows = [row for row, label in enumerate(old.labels) if label in kept]
        np.testing.assert_array_equal(new.inputs, old.inputs[rows])
        assert [new.classes[label] for label in new.labels] == [CLASSES[old.labels[row]] for row in rows]  # type: ignore[index]
        assert new.classes == tuple(CLASSES[index] for index in kept)
