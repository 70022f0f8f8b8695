"""Which examples are used: nested few-shot subsets, a test part split off, folds for cross-validation."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from transferscope.data.arrays import Parts
from transferscope.data.task import LabelledSet
from transferscope.errors import DataError


def few_shot(train: LabelledSet, n: int, *, seed: int) -> LabelledSet:
    """The first `n` examples of a seeded order in which every prefix is stratified.

    With one seed, a subset of n examples is contained in that of any n' > n. From n = number of classes on, every class
    that occurs is there; the count of a class is never above the larger of 1 and its proportional share rounded up,
    and lies within 1 of the share as soon as the rarest class is due (n >= N / its count).

    Args:
        train: The examples to choose from.
        n: How many, from 1 to len(train).
        seed: Seed of the order.

    Returns:
        The chosen examples; for regression the prefix of a plain permutation.

    Raises:
        DataError: `n` is below 1 or above the number of examples.
    """
    if not 1 <= n <= len(train):
        raise DataError(f"{n} labelled examples were asked for; there are {len(train)}: ask for 1 to {len(train)}")
    return train.take(_stratified_order(train, n, seed=seed))


def split_off_test(examples: LabelledSet, share: float, *, seed: int) -> Parts:
    """Split off a stratified test part, for data that come without one.

    Args:
        examples: All examples.
        share: Share of the test part, strictly between 0 and 1; at least one example is left on either side.
        seed: Seed of the split.

    Returns:
        Both parts, each in the order of `examples`; every class that occurs is in both.

    Raises:
        DataError: There are fewer than two examples, or a class has only one.
    """
    _refuse_single_examples(examples, "a split into training and test needs two of each class")
    n_classes = 1 if examples.classes is None else int(np.count_nonzero(examples.class_counts()))
    if len(examples) < 2 * n_classes:
        raise DataError(f"there is {len(examples)} example; a split into training and test needs at least two")
    n_smaller = max(round(min(share, 1 - share) * len(examples)), n_classes)
    smaller = np.zeros(len(examples), dtype=bool)
    smaller[_stratified_order(examples, n_smaller, seed=seed)] = True
    test = smaller if share <= 0.5 else ~smaller
    return Parts(examples.take(np.flatnonzero(~test)), examples.take(np.flatnonzero(test)))


@dataclass(frozen=True)
class Fold:
    """One fold of a cross-validation.

    Attributes:
        fit: Positions of the examples to fit on, ascending.
        validate: Positions of the examples to choose by, ascending; no position is in both.
    """

    fit: Int64[np.ndarray, " n_fit"]
    validate: Int64[np.ndarray, " n_validate"]


def folds(train: LabelledSet, n_folds: int, *, seed: int) -> tuple[Fold, ...]:
    """Stratified folds of the training data, to choose settings without looking at the test data.

    Each class is dealt out in turn, so that its counts in two folds differ by 1 at most, and so do the sizes of the
    folds. A class with fewer examples than folds is missing from some validation parts but from no fitting part.

    Args:
        train: The training examples.
        n_folds: How many folds, from 2 to len(train).
        seed: Seed of the deal.

    Returns:
        The folds; every example is validated on exactly once.

    Raises:
        DataError: There are fewer examples than folds, or a class has only one example.
    """
    if not 2 <= n_folds <= len(train):
        raise DataError(f"{n_folds} folds were asked of {len(train)} examples; ask for 2 to {len(train)} folds")
    _refuse_single_examples(train, "cross-validation needs two of each class")
    dealt = np.empty(len(train), dtype=np.int64)
    dealt[np.concatenate(_members(train, seed=seed))] = np.arange(len(train)) % n_folds
    return tuple(Fold(np.flatnonzero(dealt != fold), np.flatnonzero(dealt == fold)) for fold in range(n_folds))


def _members(examples: LabelledSet, *, seed: int) -> list[Int64[np.ndarray, " m"]]:
    """The positions of each class that occurs, classes and positions shuffled; all positions for regression."""
    generator = np.random.default_rng(seed)
    shuffled = generator.permutation(len(examples))
    if examples.classes is None:
        return [shuffled]
    ordered = shuffled[np.argsort(examples.labels[shuffled], kind="stable")]
    counts = examples.class_counts()
    members = np.split(ordered, np.cumsum(counts[counts > 0])[:-1])
    return [members[i] for i in generator.permutation(len(members))]


def _stratified_order(examples: LabelledSet, n: int, *, seed: int) -> Int64[np.ndarray, " n"]:
    """The first `n` positions of the order that `few_shot` documents.

    Each class is called up once, the most frequent first. Then follows the quota method of Balinski and Young (American
    Mathematical Monthly 82, 1975): among the classes below their share rounded up, the one with the largest
    N_c / (n_c + 1), which keeps every class within 1 of its share.
    """
    members = _members(examples, seed=seed)
    sizes = np.array([len(positions) for positions in members])
    taken = np.zeros(len(members), dtype=np.int64)
    first_round = np.argsort(-sizes, kind="stable")
    order = np.empty(n, dtype=np.int64)
    for i in range(n):
        if i < len(members):
            chosen = int(first_round[i])
        else:
            below_share = taken * len(examples) < (i + 1) * sizes
            chosen = int(np.argmax(np.where(below_share, sizes / (taken + 1), -1.0)))
        order[i] = members[chosen][taken[chosen]]
        taken[chosen] += 1
    return order


def _refuse_single_examples(examples: LabelledSet, need: str) -> None:
    if examples.classes is None:
        return
    single = np.flatnonzero(examples.class_counts() == 1)
    if len(single):
        others = f" (and so have {len(single) - 1} others)" if len(single) > 1 else ""
        raise DataError(
            f"class {examples.classes[single[0]]!r} has one example{others}; {need}: add examples or drop the class"
        )
