import numpy as np
import pytest

from cases_of_methods import blobs
from transferscope.data.task import Dataset
from transferscope.data.transforms import apply_transforms
from transferscope.errors import DataError, SettingsError

WHOLE = Dataset("blobs", blobs(10, 2, seed=0), blobs(4, 2, seed=1))


def test_two_ranges_are_disjoint_parts_of_the_training_set() -> None:
    first, rest = (apply_transforms(WHOLE, [f"train-rows:{part}"], seed=0) for part in ("0-3", "3-10"))
    together = np.concatenate([first.train.inputs, rest.train.inputs])
    assert np.array_equal(together, WHOLE.train.inputs)
    assert first.test is WHOLE.test


@pytest.mark.parametrize("argument", ["5", "3-3", "7-2", "a-b", "-1-4"])
def test_what_is_no_range_is_refused(argument: str) -> None:
    with pytest.raises(SettingsError) as caught:
        apply_transforms(WHOLE, [f"train-rows:{argument}"], seed=0)
    expected = f"transform 'train-rows' was given {argument!r}; expected FIRST-END, as in 'train-rows:0-500'"
    assert str(caught.value) == expected


def test_a_range_beyond_the_end_is_refused() -> None:
    with pytest.raises(DataError) as caught:
        apply_transforms(WHOLE, ["train-rows:0-11"], seed=0)
    assert str(caught.value) == "train-rows:0-11 was asked of blobs, which has 10 examples"
