"""Which methods are tried by default, for each kind of target and source."""

from dataclasses import replace

import numpy as np
import pytest

from cases_of_methods import classification_task, regression_task
from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.errors import DataError
from transferscope.methods import METHODS, check_task, default_methods
from transferscope.methods.defaults import DEFAULTS


def as_images(data: Dataset) -> Dataset:
    train, test = (
        replace(part, inputs=np.zeros((len(part), 1, 16, 16), np.float32)) for part in (data.train, data.test)
    )
    return Dataset(data.name, train, test)


def as_texts(data: Dataset) -> Dataset:
    return _with_inputs(data, (2, 4), np.int32)


def _with_inputs(data: Dataset, shape: tuple[int, ...], dtype: type[np.generic]) -> Dataset:
    train, test = (replace(part, inputs=np.zeros((len(part), *shape), dtype)) for part in (data.train, data.test))
    return Dataset(data.name, train, test)


def tried(task: TransferTask, *, large: bool) -> set[str]:
    """Those that can learn a target from data, or from a network alone."""
    found = set()
    for name in default_methods(source_data=task.source is not None, large_network=large):
        try:
            check_task(METHODS[name](), task.target, task.source)
        except DataError:
            continue
        found.add(name)
    return found


TABLES = {"boosting", "boosting-ridge"}
SAME_LABELS = {"source-boosting", "pooled-boosting", "pooled-boosting-ridge"}
WITH_DATA = {"merlin-target-only", "joint", "merlin"}
ALWAYS = {"raw", "random-features", "knn", "linear-probe", "fine-tune", "l2-sp", "merlin-ft"}


@pytest.mark.parametrize("kind", ["table", "images", "texts"])
@pytest.mark.parametrize("large", [False, True])
def test_every_kind_of_target_has_its_arms(kind: str, large: bool) -> None:
    make = {"table": lambda data: data, "images": as_images, "texts": as_texts}[kind]
    task = classification_task()
    assert task.source is not None
    target, source = make(task.target), make(task.source)
    always = ALWAYS | (TABLES if kind == "table" else set())
    always |= {"scratch"} if not large else {"small-scratch"} - ({"small-scratch"} if kind == "texts" else set())
    same = {"do-nothing"} | (SAME_LABELS if kind == "table" else set())
    assert tried(TransferTask(target, source), large=large) == always | WITH_DATA | same
    assert tried(TransferTask(target), large=large) == always
    other = replace(source, train=_renamed(source.train), test=_renamed(source.test))
    assert tried(TransferTask(target, other), large=large) == always | WITH_DATA


def test_numbers_have_the_same_arms() -> None:
    expected = ALWAYS | TABLES | WITH_DATA | SAME_LABELS | {"scratch", "do-nothing"}
    assert tried(regression_task(), large=False) == expected


def test_source_data_are_read_only_where_there_are_any() -> None:
    assert not any(METHODS[name]().uses_source for name in default_methods(source_data=False, large_network=False))


def test_the_cheap_ones_come_first() -> None:
    """No network is trained before what trains none."""
    names = [one.name for one in DEFAULTS]
    assert len(set(names)) == len(names)
    trained = [name for name in names if name in {"scratch", "small-scratch", "joint", "merlin", "merlin-ft", "l2-sp"}]
    assert names[-len(trained) - 2 :] == sorted({*trained, "fine-tune", "merlin-target-only"}, key=names.index)


def _renamed(part: LabelledSet) -> LabelledSet:
    return replace(part, classes=tuple(f"other {name}" for name in part.classes or ()))
