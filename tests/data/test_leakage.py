from dataclasses import replace

import numpy as np
import pytest

from transferscope.data.leakage import LeakageReport, check_leakage, remarks_of
from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.errors import DataError

RNG = np.random.default_rng(0)


def images(n: int) -> LabelledSet:
    return LabelledSet(RNG.integers(0, 256, (n, 1, 5, 5), dtype=np.uint8), np.zeros(n, np.int64), ("a",))


def joined(first: LabelledSet, second: LabelledSet) -> LabelledSet:
    inputs = np.concatenate([first.inputs, second.inputs])
    return replace(first, inputs=inputs, labels=np.concatenate([first.labels, second.labels]))


def test_clean_data_leak_nothing() -> None:
    task = TransferTask(Dataset("t", images(30), images(20)), Dataset("s", images(40), images(10)))
    report = check_leakage(task)
    assert report == LeakageReport(n_test=20, in_target_train=0, in_source_train=0, in_any=0)
    report.require_at_most(0)


def test_leaks_are_counted_where_they_are() -> None:
    test = images(20)
    target = Dataset("t", joined(images(30), test.take(np.arange(3))), test)
    source = Dataset("s", joined(test.take(np.arange(2, 7)), images(8)), test)
    report = check_leakage(TransferTask(target, source))
    assert report == LeakageReport(n_test=20, in_target_train=3, in_source_train=5, in_any=7)
    assert check_leakage(TransferTask(target)) == LeakageReport(20, 3, 0, 3)


def test_bytes_and_floating_point_pixels_compare() -> None:
    test = images(6)
    as_floats = replace(test, inputs=(test.inputs / 255).astype(np.float64))
    report = check_leakage(TransferTask(Dataset("t", as_floats, test)))
    assert report.in_target_train == 6


def test_negative_zero_is_zero() -> None:
    train = LabelledSet(np.array([[-0.0, 1.0]], np.float32), np.array([0]), ("a",))
    test = replace(train, inputs=np.abs(train.inputs))
    assert check_leakage(TransferTask(Dataset("t", train, test))).in_any == 1


def test_the_caller_says_how_much_is_too_much() -> None:
    report = LeakageReport(n_test=100, in_target_train=1, in_source_train=2, in_any=3)
    report.require_at_most(0.03)
    with pytest.raises(DataError, match=r"3 of 100 target test examples are also training examples \(1 of the target"):
        report.require_at_most(0.02)


def test_what_is_odd_about_examples_is_said_with_its_counts() -> None:
    inputs = np.arange(12, dtype=np.float32).reshape(6, 2)
    train = LabelledSet(inputs, np.array([0, 1, 0, 1, 0, 1]), ("a", "b"))
    clean = Dataset("clean", train, LabelledSet(inputs + 100, np.array([0, 1, 0, 1, 0, 1]), ("a", "b")))
    assert remarks_of(clean) == ()
    # test rows 0 and 1 are training rows 0 and 1, the second with another label; all test labels are 0
    tested = np.concatenate([inputs[:2], inputs[2:] + 100])
    odd = Dataset("odd", train, LabelledSet(tested, np.zeros(6, dtype=np.int64), ("a", "b")))
    shared, conflicting, one_class = remarks_of(odd)
    assert shared.startswith("2 of 6 test inputs are among the training")
    assert conflicting.startswith("2 of 12 examples have an input that occurs with other labels")
    assert one_class == "all 6 test examples are of the class 'a'"
    doubled = train.take(np.array([0, 0, 1, 2, 3, 4, 5]))
    numbers = LabelledSet(doubled.inputs, np.arange(7, dtype=np.float32)[:, None])
    others = LabelledSet(inputs + 100, np.zeros((6, 1), dtype=np.float32))
    assert remarks_of(Dataset("numbers", numbers, others)) == ()  # measured twice
