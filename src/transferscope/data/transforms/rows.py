"""Transformations that keep fewer examples."""

import re
from dataclasses import replace

import numpy as np

from transferscope.data.task import Dataset
from transferscope.errors import DataError, SettingsError


def train_rows(dataset: Dataset, argument: str, seed: int) -> Dataset:
    """Keep a range of the training examples in their original order, so that two sets can be disjoint parts of one.

    "train-rows:0-500" keeps the first 500; "train-rows:500-2000" begins where that ends.

    Args:
        dataset: What to change.
        argument: "FIRST-END" with 0 <= FIRST < END; END is not included.
        seed: Unused.

    Returns:
        The data set with fewer training examples; its test set is the same.

    Raises:
        SettingsError: The argument is no such range.
        DataError: There are fewer training examples than END.
    """
    found = re.fullmatch(r"(\d+)-(\d+)", argument)
    if found is None or int(found[1]) >= int(found[2]):
        raise SettingsError(
            f"transform 'train-rows' was given {argument!r}; expected FIRST-END, as in 'train-rows:0-500'"
        )
    first, end = int(found[1]), int(found[2])
    if end > len(dataset.train):
        raise DataError(f"train-rows:{argument} was asked of {dataset.name}, which has {len(dataset.train)} examples")
    return replace(dataset, train=dataset.train.take(np.arange(first, end)))
