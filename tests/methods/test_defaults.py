"""Which methods are tried by default, for each kind of target and source."""

from dataclasses import replace

import numpy as np
import pytest

from cases_of_methods import classification_task, regression_task, with_classes
from transferscope.data.task import Dataset, TransferTask
from transferscope.errors import DataError
from transferscope.methods import METHODS, called_of, check_task, default_methods
from transferscope.methods.defaults import DEFAULTS, VARIANTS


def of_kind(kind: str, data: Dataset) -> Dataset:
    """A table as it is, or images or texts in the place of its rows."""
    if kind == "table":
        return data
    one = np.zeros((1, 16, 16), np.float32) if kind == "images" else np.zeros((2, 4), np.int32)
    train, test = (replace(part, inputs=np.stack([one] * len(part))) for part in (data.train, data.test))
    return Dataset(data.name, train, test)


def tried(task: TransferTask, *, large: bool) -> set[str]:
    """Those that can learn a target from data, or from a network alone."""
    found = set()
    for name in default_methods(source_data=task.source is not None, large_network=large):
        try:
            check_task(METHODS[VARIANTS.get(name, {"method": name})["method"]](), task.target, task.source)
        except DataError:
            continue
        found.add(name)
    return found


TABLES = {"boosting", "boosting-ridge"}
SAME_LABELS = {"source-boosting", "pooled-boosting", "pooled-boosting-ridge"}
WITH_DATA = {"merlin-target-only", "joint", "merlin"}
ALWAYS = {"raw", "random-features", "knn", "linear-probe", "fine-tune"}
OF_SMALL, OF_LARGE = {"scratch", "l2-sp", "merlin-ft"}, {"small-scratch", "last-block", "lora"}


@pytest.mark.parametrize("kind", ["table", "images", "texts"])
@pytest.mark.parametrize("large", [False, True])
def test_every_kind_of_target_has_its_arms(kind: str, large: bool) -> None:
    task = classification_task()
    assert task.source is not None
    target, source = of_kind(kind, task.target), of_kind(kind, task.source)
    always = ALWAYS | (TABLES if kind == "table" else set())
    always |= OF_LARGE - ({"small-scratch"} if kind == "texts" else set()) if large else OF_SMALL
    same = {"do-nothing"} | (SAME_LABELS if kind == "table" else set())
    assert tried(TransferTask(target, source), large=large) == always | WITH_DATA | same
    assert tried(TransferTask(target), large=large) == always
    other = with_classes(source, tuple(f"other {name}" for name in source.train.classes or ()))
    assert tried(TransferTask(target, other), large=large) == always | WITH_DATA


def test_numbers_have_the_same_arms() -> None:
    expected = ALWAYS | TABLES | WITH_DATA | SAME_LABELS | OF_SMALL | {"do-nothing"}
    assert tried(regression_task(), large=False) == expected


def test_source_data_are_read_only_where_there_are_any() -> None:
    assert not any(METHODS[name]().uses_source for name in default_methods(source_data=False, large_network=False))


def test_a_small_network_beside_a_large_one_is_trained_from_scratch() -> None:
    names = default_methods(source_data=False, large_network=True, large_from_scratch=False)
    assert set(names) & {"scratch", "small-scratch", "l2-sp", "last-block"} == {"scratch", "last-block"}


def test_the_cheap_ones_come_first() -> None:
    """No network is trained before what trains none."""
    names = [one.name for one in DEFAULTS]
    assert len(set(names)) == len(names)
    trained = OF_SMALL | OF_LARGE | {"joint", "merlin", "fine-tune", "merlin-target-only"}
    assert set(names[-len(trained) :]) == trained
    large = default_methods(source_data=False, large_network=True)
    assert large.index("last-block") < large.index("lora") < large.index("fine-tune")


def test_names_of_ours_are_words_and_those_of_users_stay() -> None:
    made = {"last-block": "fine-tune", "linear-probe": "linear-probe", "fine-tune_clip": "fine-tune", "lora": "lora"}
    called = called_of({name: METHODS[method]() for name, method in made.items()})
    assert called == {"last-block": "last block", "linear-probe": "linear probe", "lora": "LoRA"}
