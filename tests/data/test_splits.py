import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transferscope.data import splits
from transferscope.data.splits import few_shot, folds, split_off_test
from transferscope.data.task import LabelledSet
from transferscope.errors import DataError

steady = settings(deadline=None, max_examples=50, derandomize=True)
COUNTS = st.lists(st.integers(1, 40), min_size=1, max_size=8)


def with_counts(counts: list[int]) -> LabelledSet:
    """Examples whose only input is their position, in shuffled class order."""
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    inputs = np.arange(len(labels), dtype=np.float32)[:, None]
    return LabelledSet(inputs, labels, tuple(f"class {i}" for i in range(len(counts))))


def regression(n: int) -> LabelledSet:
    inputs = np.arange(n, dtype=np.float32)[:, None]
    return LabelledSet(inputs, inputs / 2)


def positions(examples: LabelledSet) -> list[int]:
    return [int(value) for value in examples.inputs[:, 0]]


@steady
@given(COUNTS, st.integers(0, 5))
def test_a_balanced_draw_takes_as_many_of_each_class_while_there_are_any(counts: list[int], seed: int) -> None:
    train = with_counts(counts)
    whole = few_shot(train, len(train), seed=seed, draw="balanced")
    assert sorted(positions(whole)) == list(range(len(train)))
    for n in range(1, len(train) + 1):
        taken = np.bincount(whole.labels[:n], minlength=len(counts))
        left = taken < counts
        assert not left.any() or taken[left].min() >= taken.max() - 1
        if n in (1, len(train) // 2):
            assert positions(few_shot(train, n, seed=seed, draw="balanced")) == positions(whole)[:n]


def test_a_balanced_draw_differs_from_seed_to_seed_in_examples_and_order() -> None:
    train = with_counts([30, 30, 30])
    draws = [few_shot(train, 4, seed=seed, draw="balanced") for seed in range(40)]
    assert len({tuple(positions(one)) for one in draws}) == 40
    assert {int(one.labels[3]) for one in draws} == {0, 1, 2}  # whose turn comes first is drawn


@steady
@given(COUNTS, st.integers(0, 5))
def test_small_subsets_are_contained_in_larger_ones(counts: list[int], seed: int) -> None:
    train = with_counts(counts)
    whole = positions(few_shot(train, len(train), seed=seed))
    assert sorted(whole) == list(range(len(train)))
    for n in {1, len(counts), len(train) // 3 + 1, len(train) // 2 + 1}:
        assert positions(few_shot(train, n, seed=seed)) == whole[:n]


@steady
@given(COUNTS, st.integers(0, 5), st.floats(0.01, 1.0))
def test_examples_are_called_up_at_once_as_one_after_the_other(counts: list[int], seed: int, share: float) -> None:
    train = with_counts(counts)
    n = max(len(counts), round(share * len(train)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splits, "_in_order_of_quotients", lambda *_: None)
        one_by_one = positions(few_shot(train, n, seed=seed))
    assert positions(few_shot(train, n, seed=seed)) == one_by_one


@steady
@given(COUNTS, st.integers(0, 5))
def test_class_counts_are_within_one_of_their_share(counts: list[int], seed: int) -> None:
    train = with_counts(counts)
    whole = few_shot(train, len(train), seed=seed)
    sizes = np.array(counts)
    for n in range(1, len(train) + 1):
        taken = np.bincount(whole.labels[:n], minlength=len(counts))
        share = n * sizes / len(train)
        assert (taken <= np.maximum(1, np.ceil(share))).all()
        if n >= len(counts):
            assert taken.min() >= 1
        if n * sizes.min() >= len(train):
            assert (np.abs(taken - share) < 1).all(), (n, taken, share)


def test_which_classes_come_first_depends_on_the_seed() -> None:
    train = with_counts([20] * 5)
    assert len({int(few_shot(train, 1, seed=seed).labels[0]) for seed in range(40)}) == 5


def test_a_class_of_the_list_that_does_not_occur_is_left_out() -> None:
    train = LabelledSet(np.zeros((4, 1), np.float32), np.array([0, 0, 2, 2]), ("a", "b", "c"))
    assert few_shot(train, 2, seed=0).class_counts().tolist() == [1, 0, 1]


def test_regression_subsets_are_nested_too() -> None:
    train = regression(30)
    small, large = (positions(few_shot(train, n, seed=1)) for n in (7, 20))
    assert large[:7] == small
    assert len(set(large)) == 20


@steady
@given(st.lists(st.integers(2, 30), min_size=1, max_size=6), st.floats(0.01, 0.99), st.integers(0, 3))
def test_every_class_is_on_both_sides_of_a_split(counts: list[int], share: float, seed: int) -> None:
    parts = split_off_test(with_counts(counts), share, seed=seed)
    assert parts.train.class_counts().min() >= 1
    assert parts.test.class_counts().min() >= 1
    assert sorted(positions(parts.train) + positions(parts.test)) == list(range(sum(counts)))


def test_a_split_has_the_share_that_was_asked_for() -> None:
    parts = split_off_test(with_counts([50, 30, 20]), 0.2, seed=0)
    assert parts.test.class_counts().tolist() == [10, 6, 4]
    assert len(split_off_test(regression(10), 0.7, seed=0).test) == 7


@steady
@given(st.lists(st.integers(2, 12), min_size=1, max_size=5), st.integers(2, 6), st.integers(0, 3))
def test_folds_partition_and_stratify(counts: list[int], n_folds: int, seed: int) -> None:
    train = with_counts([*counts, 6])
    parts = folds(train, n_folds, seed=seed)
    assert sorted(np.concatenate([part.validate for part in parts])) == list(range(len(train)))
    sizes = [len(part.validate) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    for part in parts:
        assert sorted([*part.fit, *part.validate]) == list(range(len(train)))
        assert train.take(part.fit).class_counts().min() >= 1
    held_out = np.array([train.take(part.validate).class_counts() for part in parts if len(part.validate)])
    assert (held_out.max(axis=0) - held_out.min(axis=0) <= 1).all()


def test_folds_of_regression_are_a_partition() -> None:
    parts = folds(regression(7), 3, seed=0)
    assert sorted(len(part.validate) for part in parts) == [2, 2, 3]


def with_labels(rows: list[str]) -> LabelledSet:
    """Examples with several labels: each row names those that it has."""
    labels = np.array([[label in row for label in "abc"] for row in rows])
    return LabelledSet(np.arange(len(rows), dtype=np.float32)[:, None], labels, ("a", "b", "c"))


def rows_of(examples: LabelledSet) -> list[str]:
    return ["".join(np.array(["a", "b", "c"])[row]) for row in examples.labels]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("rows", "first", "then"),
    [
        # the labels 7, 3 and 2 of 12 times: once each, then the largest N_c / (n_c + 1) below its share rounded up
        (["a"] * 7 + ["b"] * 3 + ["c"] * 2, ["a", "b", "c", "a", "a", "a", "b", "a", "a"], ["a", "b", "c"]),
        # b and c are on the same four examples, which count for both; no label is a class of two examples
        (["a"] * 5 + ["bc"] * 4 + [""] * 2, ["a", "bc", "", "a", "bc", "a", "bc", "a"], ["", "a", "bc"]),
    ],
)
def test_the_order_by_several_labels_is_that_of_quotas(
    rows: list[str], first: list[str], then: list[str], seed: int
) -> None:
    found = rows_of(few_shot(with_labels(rows), len(first) + len(then), seed=seed))
    assert (found[: len(first)], sorted(found[len(first) :])) == (first, then)


@pytest.mark.parametrize("seed", range(3))
def test_a_label_that_has_its_share_waits_although_it_is_the_largest(seed: int) -> None:
    """Of 15 examples 12 are drawn, 8 = 12/15 * 10 of the largest label, and 10/9 is more than 3/3 and 2/2."""
    drawn = few_shot(with_labels(["a"] * 10 + ["b"] * 3 + ["c"] * 2), 12, seed=seed)
    assert drawn.class_counts()[0] == 8


@steady
@given(st.lists(st.sampled_from(["", "a", "b", "c", "ab", "ac", "bc", "abc"]), min_size=3, max_size=30))
def test_every_example_of_several_labels_has_one_place_in_the_order(rows: list[str]) -> None:
    train = with_labels([*rows, "a", "b", "c"])
    whole = few_shot(train, len(train), seed=1)
    assert sorted(positions(whole)) == list(range(len(train)))
    assert (whole.labels[:4].sum(axis=0) > 0).all()  # none, or any of three labels: each once before any is due again


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("rows", "n_folds"),
    [(["ab", "a", ""], 2), (["ab", "a", ""], 5), (["abc", "bc", "c"], 3), (["a", "a", "b"], 3), (["", "", "c"], 2)],
)
def test_folds_of_several_labels_are_alike_where_they_can_be(rows: list[str], n_folds: int, seed: int) -> None:
    train = with_labels(rows * n_folds)
    for fold in folds(train, n_folds, seed=seed):
        assert sorted(rows_of(train.take(fold.validate))) == sorted(rows)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: few_shot(with_counts([5, 5]), 0, seed=0), "labels = 0 is out of range; expected 1 to 10"),
        (lambda: few_shot(regression(5), 2, seed=0, draw="balanced"), 'draw = "balanced" draws equally many examples'),
        (lambda: few_shot(with_counts([5, 5]), 11, seed=0), "labels = 11 is out of range; expected 1 to 10"),
        (
            lambda: split_off_test(regression(1), 0.5, seed=0),
            "there is 1 example; a split into training and test needs",
        ),
        (lambda: split_off_test(with_counts([5, 1]), 0.5, seed=0), "class 'class 1' has one example; a split into"),
        (
            lambda: split_off_test(replace(with_counts([1] * 6), groups=np.arange(6) % 3), 0.5, seed=0),
            "3 groups cannot be split into training and test part with every class in both",
        ),
        (
            lambda: folds(with_counts([1, 1, 5]), 2, seed=0),
            "class 'class 0' (and 1 other classes) has one example; cross-validation needs two of each class: add",
        ),
        (lambda: folds(with_counts([2, 2]), 5, seed=0), "folds = 5 is out of range; expected 2 to 4"),
    ],
)
def test_too_few_examples_are_refused(ask: Callable[[], object], message: str) -> None:
    with pytest.raises(DataError, match=f"^{re.escape(message)}"):
        ask()
