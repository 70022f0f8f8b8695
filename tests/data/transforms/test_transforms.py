import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from transferscope.data.task import Dataset, LabelledSet
from transferscope.data.transforms import TRANSFORMS, apply_transforms, check_transforms
from transferscope.errors import DataError, SettingsError, UnknownNameError


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


@pytest.mark.parametrize("name", sorted(set(TRANSFORMS) - {"classes", "label-noise", "train-rows"}))
def test_images_are_asked_for(name: str) -> None:
    data = LabelledSet(np.zeros((4, 5)), np.arange(4) % 2, ("a", "b"))
    with pytest.raises(DataError) as caught:
        apply_transforms(Dataset("set", data, data), [spec(name)], seed=0)
    assert str(caught.value) == ("set has inputs of shape (5,); this transform needs images (channels, height, width)")


def test_transforms_are_done_in_order_and_noted() -> None:
    changed = apply_transforms(make(), ["resize:4", "grey"], seed=0)
    changed = apply_transforms(changed, ["permuted"], seed=7)
    assert changed.train.input_shape == (1, 4, 4)
    assert dict(changed.provenance) == {"spec": "npz:set.npz", "transforms": "resize:4, grey, permuted (seed 7)"}


def test_no_transforms_change_nothing() -> None:
    dataset = make()
    assert apply_transforms(dataset, [], seed=0) is dataset


def test_an_unknown_transform_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError) as caught:
        apply_transforms(make(), ["gray"], seed=0)
    assert str(caught.value) == (
        "unknown transform 'gray': did you mean 'grey'? known are "
        "classes, colour, crop, grey, invert, label-noise, mirror, pad, permuted, relabel, resize, train-rows, "
        "upside-down"
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("resize", "transform 'resize' needs an argument, as in 'resize:28'"),
        ("grey:3", "transform 'grey' was given the argument '3' and takes none"),
    ],
)
def test_arguments_are_checked_before_anything_is_done(name: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        check_transforms(["invert", name])
    assert str(caught.value) == message


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(SettingsError) as caught:
        apply_transforms(make(), ["permuted"], seed=-1)
    assert str(caught.value) == "seed = -1 is negative; seeds are 0, 1, 2, ..."


def test_the_number_of_threads_does_not_show() -> None:
    images = np.random.default_rng(0).integers(0, 256, (600, 3, 96, 96), dtype=np.uint8)
    labels = LabelledSet(images, np.zeros(600, np.int64), ("a",))
    found = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            changed = apply_transforms(Dataset("d", labels.take(np.arange(2)), labels), ["resize:64"], seed=0)
            found.append(changed.test.inputs)
    np.testing.assert_array_equal(found[0], found[1])  # some hundred pixels differed by one grey level
