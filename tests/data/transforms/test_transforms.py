import numpy as np
import pytest

from transferscope.data.task import Dataset, LabelledSet
from transferscope.data.transforms import TRANSFORMS, apply_transforms


def make() -> Dataset:
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (20, 3, 8, 8)).astype(np.uint8)
    data = LabelledSet(images, np.arange(20) % 2, ("a", "b"))
    return Dataset("set", data, data, {"spec": "npz:set.npz"})


def spec(name: str) -> str:
    return f"{name}:{TRANSFORMS[name].example}" if TRANSFORMS[name].example else name


@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_transform_leaves_its_input_alone_and_repeats(name: str) -> None:
    dataset = make()
    before = dataset.train.inputs.tobytes() + dataset.train.labels.tobytes()
    first = apply_transforms(dataset, [spec(name)], seed=4)
    again = apply_transforms(dataset, [spec(name)], seed=4)
    assert dataset.train.inputs.tobytes() + dataset.train.labels.tobytes() == before
    assert first.fingerprint == again.fingerprint
    assert len(first.test) == len(dataset.test) or name == "classes"
    assert first.train.inputs.dtype == np.uint8
    assert first.train.inputs.flags.c_contiguous


@pytest.mark.parametrize("name", TRANSFORMS)
def test_only_the_random_ones_read_the_seed(name: str) -> None:
    one, other = (apply_transforms(make(), [spec(name)], seed=seed).fingerprint for seed in (0, 1))
    assert (one != other) == TRANSFORMS[name].random


def test_transforms_are_done_in_order_and_noted() -> None:
    changed = apply_transforms(make(), ["resize:4", "grey"], seed=0)
    changed = apply_transforms(changed, ["permuted"], seed=7)
    assert changed.train.input_shape == (1, 4, 4)
    assert dict(changed.provenance) == {"spec": "npz:set.npz", "transforms": "resize:4, grey, permuted (seed 7)"}


def test_no_transforms_change_nothing() -> None:
    dataset = make()
    assert apply_transforms(dataset, [], seed=0) is dataset
