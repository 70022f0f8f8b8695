"""Selection of examples: nested few-shot subsets, a test part, folds for cross-validation."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import islice

import numpy as np
from jaxtyping import Int64, Shaped

from transferscope.data.apart import Apart
from transferscope.data.arrays import Parts, to_parts
from transferscope.data.task import Kind, LabelledSet
from transferscope.errors import DataError, out_of_range
from transferscope.settings.data import Draw
from transferscope.wording import counted

TEST_SHARE = 0.2
"""Default share of the test set, for data without one."""

MOST_TEST_SHARE, ENOUGH_TESTS, POOL = 0.5, 1000, 3
"""Largest share and number of test examples where few labels are asked, and the least multiple of those labels from
which they are drawn, since seeds would else draw mostly the same ones."""


def share_for_labels(n: int, labels: int) -> float:
    """Return the share of a drawn test set where at most `labels` of `n` examples are used as labels.

    What the labels leave is tested instead of unused: the variance that the draw of the test examples adds to every
    difference, which no further seed reduces, is inverse to their number.
    """
    most = min(MOST_TEST_SHARE, ENOUGH_TESTS / n, 1 - POOL * labels / n)
    return max(TEST_SHARE, math.floor(100 * most) / 100)


def few_shot(train: LabelledSet, n: int, *, seed: int, draw: Draw = "stratified") -> LabelledSet:
    """Draw the first `n` examples of a seeded order in which every prefix is stratified, or balanced.

    With one seed, a subset of n examples is contained in that of any n' > n. From n = number of classes on, every class
    that occurs is included; the count of a class is never above the larger of 1 and its proportional share rounded up,
    and lies within 1 of the share once the proportional share of the rarest class reaches 1 (n >= N / its count).

    Args:
        n: Number of examples, from 1 to len(train).
        draw: "balanced" for counts of classes within 1 of each other, as far as a class has examples.

    Examples with groups are drawn by group, since in practice all recordings of a patient are labelled together: first
    a stratified sample of `LEAST_GROUPS` groups in a seeded order, with more groups until every class is included; then
    one group after another.

    Returns:
        The chosen examples; for regression the prefix of a plain permutation. With several labels for each input,
        each label is drawn as a class is, and counts for every example that has it; inputs without any label form a
        class of their own. Counts are then near their share, but not always within 1 of it.

    Raises:
        DataError: `n` is below 1 or above the number of examples; or a balanced draw is requested for labels other than
            one class per input, or for groups.
    """
    return train.take(few_shot_rows(train, n, seed=seed, draw=draw))


def few_shot_rows(train: LabelledSet, n: int, *, seed: int, draw: Draw = "stratified") -> Int64[np.ndarray, " n"]:
    """Return the positions in `train` of the examples of `few_shot`; raises like it."""
    if not 1 <= n <= len(train):
        raise out_of_range("labels", n, f"1 to {len(train)}, the number of training examples", DataError)
    if draw == "stratified":
        return (_stratified_order if train.groups is None else _order_by_group)(train, n, seed=seed)
    if train.groups is not None:
        raise DataError(
            'draw = "balanced" draws equally many examples of each class, but the examples have groups; leave one out'
        )
    if train.kind != "classification":
        raise DataError(
            f'draw = "balanced" draws equally many examples of each class, but the labels are {train.kind}; leave it '
            "out"
        )
    return _balanced_order(train, n, seed=seed)


def split_off_test(examples: LabelledSet, share: float, *, seed: int) -> Parts:
    """Split off a stratified test part, for data without one; arguments and errors as in `rows_split_off`."""
    train, test = rows_split_off(examples, share, seed=seed)
    return Parts(examples.take(train), examples.take(test))


def rows_split_off(
    examples: LabelledSet, share: float, *, seed: int
) -> tuple[Int64[np.ndarray, " n_train"], Int64[np.ndarray, " n_test"]]:
    """Return the positions of a training part and of a stratified test part.

    Args:
        share: Share of the test part, strictly between 0 and 1; each part has at least one example.

    Returns:
        Both, ascending; every class that occurs is in both, and so is every label. A group is in one part only, by
        scikit-learn's StratifiedGroupKFold; the share is then approximate.

    Raises:
        DataError: There are fewer than two examples, or a class has only one, or occurs in one group alone.
    """
    if examples.groups is not None:
        return _groups_split_off(examples, share, seed=seed)
    _refuse_single_examples(examples, "a split into training and test needs two of each class")
    n_classes = 1 if examples.kind != "classification" else int(np.count_nonzero(examples.class_counts()))
    if len(examples) < 2 * n_classes:
        raise DataError(f"there is {len(examples)} example; a split into training and test needs at least two")
    n_smaller = max(round(min(share, 1 - share) * len(examples)), n_classes)
    smaller = np.zeros(len(examples), dtype=bool)
    smaller[_stratified_order(examples, n_smaller, seed=seed)] = True
    test = smaller if share <= 0.5 else ~smaller
    rows = np.flatnonzero(~test), np.flatnonzero(test)
    if examples.kind == "multi-label":
        names, counts = examples.classes or (), examples.class_counts()
        for part, words in zip(rows, ("training", "test"), strict=True):
            lost = np.flatnonzero((counts > 0) & ~examples.labels[part].any(axis=0))
            if len(lost):
                raise DataError(
                    f"the {words} part would have no example of the label {names[lost[0]]!r} ({counts[lost[0]]} of "
                    f"{len(examples)}); give more examples, another test_share or your own test set, or leave the "
                    "label out"
                )
    return rows


def rows_of_parts(
    labels: Shaped[np.ndarray, "N ..."],
    share: float | None,
    *,
    name: str,
    kind: Kind | None,
    label_names: Sequence[str] | None,
    seed: int,
    apart: Apart,
) -> tuple[Int64[np.ndarray, " n_train"], Int64[np.ndarray, " n_test"], str]:
    """Return the rows of the training part and of a drawn test part; other arguments as for `to_parts`.

    Args:
        labels: Labels of all rows.
        share: As in `rows_split_off`; None for `TEST_SHARE`.
        apart: Groups and times of all rows. With times, the test part is every row after one of them.

    Returns:
        Both, and a note on the excluded rows: with groups and times, those of `_later_groups`.

    Raises:
        DataError: As `to_parts` and `rows_split_off`; or all times are the same.
    """
    share = share or TEST_SHARE
    if apart.times is not None:
        train, test = rows_after(apart.times, share, name=name)
        return (train, test, "") if apart.groups is None else _later_groups(train, test, apart, share, seed=seed)
    none = np.zeros((len(labels), 1))
    examples = to_parts((none, none[:1]), (labels, labels[:1]), name=name, kind=kind, label_names=label_names).train
    return *rows_split_off(replace(examples, groups=apart.groups), share, seed=seed), ""


def rows_after(
    times: Shaped[np.ndarray, " N"], share: float, *, name: str
) -> tuple[Int64[np.ndarray, " n_train"], Int64[np.ndarray, " n_test"]]:
    """Return the positions of the rows up to a time and of those after it, whose share is closest to the given one.

    Raises:
        DataError: All times are the same.
    """
    distinct, place = np.unique(times, return_inverse=True)
    if len(distinct) < 2:
        raise DataError(
            f"{name}: the time is the same in all {len(times)} rows; a later test part takes two times or more, so "
            "leave time out"
        )
    later = 1 - np.cumsum(np.bincount(place))[:-1] / len(times)
    is_test = place > int(np.argmin(np.abs(later - share)))
    return np.flatnonzero(~is_test), np.flatnonzero(is_test)


def _later_groups(
    early: Int64[np.ndarray, " n_early"], late: Int64[np.ndarray, " n_late"], apart: Apart, share: float, *, seed: int
) -> tuple[Int64[np.ndarray, " n_train"], Int64[np.ndarray, " n_test"], str]:
    """Return the early rows of some groups, the late rows of the others, and a note on the excluded rows.

    A group with early or late rows only stays on that side. Of the others, those with the largest share of late rows
    become test groups, ties in a seeded order, until the test part is closest to its share of the kept rows.

    Raises:
        DataError: A part would have no row.
    """
    assert apart.groups is not None
    n_groups = int(apart.groups.max()) + 1
    n_early, n_late = (np.bincount(apart.groups[rows], minlength=n_groups) for rows in (early, late))
    on_both = np.random.default_rng([seed, 3]).permutation(np.flatnonzero((n_early > 0) & (n_late > 0)))
    order = on_both[np.argsort(n_early[on_both] / n_late[on_both], kind="stable")]
    n_train = n_early.sum() - np.cumsum([0, *n_early[order]])
    n_test = n_late[n_early == 0].sum() + np.cumsum([0, *n_late[order]])
    distance = np.where((n_train > 0) & (n_test > 0), np.abs(n_test / (n_train + n_test) - share), np.inf)
    if np.isinf(distance).all():
        raise DataError(
            f"{apart.place}: no later test part of other groups: all {len(early) + len(late)} rows are of "
            f"{counted(len(np.unique(apart.groups)), 'group')} by {apart.group!r}; give more groups, or one of group "
            "and time"
        )
    is_test = n_early == 0
    is_test[order[: int(np.argmin(distance))]] = True
    train, test = early[~is_test[apart.groups[early]]], late[is_test[apart.groups[late]]]
    lost = [len(early) - len(train), len(late) - len(test)]
    note = (
        f"{sum(lost)} of {len(early) + len(late)} rows are left out, so that the test part is later and has other "
        f"groups: {lost[0]} early rows of test groups and {lost[1]} late rows of training groups"
    )
    return train, test, note if sum(lost) else ""


def _groups_split_off(
    examples: LabelledSet, share: float, *, seed: int
) -> tuple[Int64[np.ndarray, " n_train"], Int64[np.ndarray, " n_test"]]:
    assert examples.groups is not None
    n_parts, n_groups = max(2, round(1 / min(share, 1 - share))), len(np.unique(examples.groups))
    parts = _group_folds(examples, min(n_parts, n_groups), seed=seed)
    if not parts:
        raise DataError(
            f"{counted(n_groups, 'group')} cannot be split into training and test part with every class in both; give "
            "more groups or your own test set, or leave the class out"
        )
    return (parts[0].fit, parts[0].validate) if share <= 0.5 else (parts[0].validate, parts[0].fit)


def _group_folds(examples: LabelledSet, n_folds: int, *, seed: int) -> tuple["Fold", ...]:
    """Return folds of whole groups by scikit-learn's StratifiedGroupKFold that have every class in both parts.

    If there are none, return those with every class in the fitting part.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    of_classes = examples.kind == "classification"
    strata = examples.labels if of_classes else np.zeros(len(examples), dtype=np.int64)
    n_folds = min(n_folds, int(np.bincount(strata).max()))
    if n_folds < 2:
        return ()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # a class with fewer examples than folds, which is looked for below
        dealer = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed % 2**32)
        dealt = [Fold(fit, left) for fit, left in dealer.split(strata, strata, examples.groups) if len(fit) * len(left)]
    if examples.classes is None or examples.kind == "segmentation":
        return tuple(dealt)
    known = np.eye(len(examples.classes), dtype=bool)[examples.labels] if of_classes else examples.labels
    there = known.any(axis=0)
    in_fit = [fold for fold in dealt if known[fold.fit].any(axis=0)[there].all()]
    in_both = [fold for fold in in_fit if known[fold.validate].any(axis=0)[there].all()]
    return tuple(in_both or in_fit)


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
    """Return stratified folds of the training data, to choose settings without the test data.

    The examples of each class are assigned to the folds in turn, so that the counts of a class, and the sizes, differ
    by at most 1 between folds. A class with fewer examples than folds is missing from some validation parts, but never
    from a fitting part. Several labels for each input are assigned by iterative stratification, the rarest first
    (Sechidis, Tsoumakas and Vlahavas, "On the stratification of multi-label data", ECML PKDD 2011).

    Args:
        n_folds: Number of folds, from 2 to len(train).

    Returns:
        The folds; every example is validated on exactly once. With groups, no group is in both parts of a fold; there
        are at most as many folds as groups, and folds whose fitting part lacks a class are left out, so there may be
        none.

    Raises:
        DataError: There are fewer examples than folds, or a class has only one example.
    """
    if not 2 <= n_folds <= len(train):
        raise out_of_range("folds", n_folds, f"2 to {len(train)}, the number of examples", DataError)
    if train.groups is not None:
        return _group_folds(train, min(n_folds, len(np.unique(train.groups))), seed=seed)
    if train.kind == "multi-label":
        dealt = _dealt_by_label(np.asarray(train.labels), n_folds, seed=seed)
    else:
        _refuse_single_examples(train, "cross-validation needs two of each class")
        dealt = np.empty(len(train), dtype=np.int64)
        dealt[np.concatenate(_members(train, seed=seed))] = np.arange(len(train)) % n_folds
    return tuple(Fold(np.flatnonzero(dealt != fold), np.flatnonzero(dealt == fold)) for fold in range(n_folds))


def _dealt_by_label(labels: np.ndarray, n_folds: int, *, seed: int) -> Int64[np.ndarray, " N"]:
    """Assign each example to a fold by iterative stratification: to the fold that lacks its rarest label most."""
    order = np.random.default_rng(seed).permutation(len(labels))
    fold = np.full(len(labels), -1, dtype=np.int64)
    room = np.full(n_folds, len(labels) / n_folds)
    wanted = np.tile(labels.sum(axis=0) / n_folds, (n_folds, 1))  # (fold, label)
    while (left := order[fold[order] < 0]).size:
        counts = labels[left].sum(axis=0)
        rarest = int(np.argmin(np.where(counts > 0, counts, np.iinfo(np.int64).max)))
        for i in left[labels[left, rarest]] if counts.any() else left:
            need = wanted[:, rarest] if counts.any() else room
            fold[i] = chosen = int(np.lexsort((-room, -need))[0])
            wanted[chosen, labels[i]] -= 1
            room[chosen] -= 1
    return fold


def _members(examples: LabelledSet, *, seed: int) -> list[Int64[np.ndarray, " m"]]:
    """Return the positions of each class, classes and positions shuffled; all positions for regression.

    A segmentation is shuffled as a regression is. With several labels for each input, the positions of each label, and
    of the inputs without any.
    """
    generator = np.random.default_rng(seed)
    shuffled = generator.permutation(len(examples))
    if examples.classes is None or examples.kind == "segmentation":
        return [shuffled]
    if examples.kind == "multi-label":
        has = np.column_stack([examples.labels, ~examples.labels.any(axis=1)])[shuffled]
        return [shuffled[column] for column in has.T[generator.permutation(has.shape[1])] if column.any()]
    ordered = shuffled[np.argsort(examples.labels[shuffled], kind="stable")]
    counts = examples.class_counts()
    members = np.split(ordered, np.cumsum(counts[counts > 0])[:-1])
    return [members[i] for i in generator.permutation(len(members))]


def _stratified_order(examples: LabelledSet, n: int, *, seed: int) -> Int64[np.ndarray, " n"]:
    """Return the first `n` positions of the order that `few_shot` documents.

    Each class is drawn once, the most frequent first. Then follows the quota method of Balinski and Young (American
    Mathematical Monthly 82, 1975): among the classes below their share rounded up, the one with the largest
    N_c / (n_c + 1), which keeps every class within 1 of its share. Examples of several labels count for each of them.
    """
    members = _members(examples, seed=seed)
    if examples.kind == "multi-label":
        return _order_by_label(members, len(examples), n)
    if len(members) == 1:
        return members[0][:n]
    sizes = [len(positions) for positions in members]
    first_round = sorted(range(len(members)), key=lambda c: -sizes[c])[:n]
    order = [members[c][0] for c in first_round]
    taken = [1] * len(members)
    whole = len(examples)
    if (at_once := _in_order_of_quotients(np.array(sizes), whole, n - len(order))) is not None:
        classes, places = at_once
        starts = np.cumsum([0, *sizes[:-1]])
        return np.concatenate([order, np.concatenate(members)[starts[classes] + places]]).astype(np.int64)
    waiting = [(whole // size, c) for c, size in enumerate(sizes)]  # index from which a class is below its share
    below: list[tuple[float, int]] = []  # the largest quotient first
    heapify(waiting)
    for i in range(len(members), n):
        while waiting and waiting[0][0] <= i:
            _, c = heappop(waiting)
            heappush(below, (-sizes[c] / (taken[c] + 1), c))
        _, chosen = heappop(below)
        order.append(members[chosen][taken[chosen]])
        taken[chosen] += 1
        heappush(waiting, (taken[chosen] * whole // sizes[chosen], chosen))
    return np.array(order, dtype=np.int64)


def _in_order_of_quotients(
    sizes: Int64[np.ndarray, " C"], whole: int, n: int
) -> tuple[Int64[np.ndarray, " n"], Int64[np.ndarray, " n"]] | None:
    """Return classes and positions within them after the first of each, by the largest size / (position + 1).

    Returns:
        None if the class with the largest quotient exceeds its share rounded up, so that another one must be drawn.
    """
    most = np.minimum(sizes - 1, (n + len(sizes)) * sizes // whole + 2)
    classes = np.repeat(np.arange(len(sizes)), most)
    places = np.arange(len(classes)) - np.repeat(np.cumsum(most) - most, most) + 1
    first = np.argsort(-sizes[classes] / (places + 1), kind="stable")[:n]
    classes, places = classes[first], places[first]
    called, all_called = len(sizes) + np.arange(n), np.bincount(classes, minlength=len(sizes)) == most
    if (all_called & (most < sizes - 1)).any() or (places * whole // sizes[classes] > called).any():
        return None
    return classes, places


LEAST_GROUPS = 5
"""Least number of groups of the labelled examples, so that settings can be validated on other groups."""


def _order_by_group(examples: LabelledSet, n: int, *, seed: int) -> Int64[np.ndarray, " n"]:
    """Return the first `n` positions of the order that `few_shot` documents for examples with groups."""
    assert examples.groups is not None
    numbers, of = np.unique(examples.groups, return_inverse=True)
    left = np.random.default_rng([seed, 2]).permutation(len(numbers)).tolist()
    members = np.split(np.argsort(of, kind="stable"), np.cumsum(np.bincount(of))[:-1])
    known = np.ones((len(examples), 1), dtype=bool)
    if examples.kind == "classification":
        known = np.eye(examples.n_outputs, dtype=bool)[examples.labels]
    elif examples.kind == "multi-label":
        known = np.asarray(examples.labels, dtype=bool)
    has = np.array([known[rows].any(axis=0) for rows in members])
    seen = np.zeros(known.shape[1], dtype=bool)
    first: list[int] = []
    while left and (len(first) < LEAST_GROUPS or not seen[has.any(axis=0)].all()):
        new = next((group for group in left if (has[group] & ~seen).any()), left[0])
        first.append(new)
        left.remove(new)
        seen |= has[new]
    pools = [np.sort(np.concatenate([members[group] for group in first])), *(members[group] for group in left)]
    order: list[np.ndarray] = []
    for pool in pools:
        if sum(map(len, order)) >= n:
            break
        order.append(pool[_stratified_order(replace(examples.take(pool), groups=None), len(pool), seed=seed)])
    return np.concatenate(order)[:n]


def _balanced_order(examples: LabelledSet, n: int, *, seed: int) -> Int64[np.ndarray, " n"]:
    """Return the first `n` positions in rounds of one example of every class that has some left, reordered."""
    generator = np.random.default_rng([seed, 1])
    members = _members(examples, seed=seed)
    rounds = range(max(map(len, members)))
    order = (members[c][i] for i in rounds for c in generator.permutation(len(members)) if i < len(members[c]))
    return np.fromiter(islice(order, n), dtype=np.int64)


def _order_by_label(members: list[np.ndarray], n_all: int, n: int) -> Int64[np.ndarray, " n"]:
    """Return the balanced order for several labels: each example counts for all its labels."""
    sizes = np.array([len(positions) for positions in members])
    belongs = np.zeros((n_all, len(members)), dtype=bool)
    for place, positions in enumerate(members):
        belongs[positions, place] = True
    taken, free, queues = np.zeros(len(members), dtype=np.int64), np.ones(n_all, dtype=bool), [0] * len(members)
    order = np.empty(n, dtype=np.int64)
    for i in range(n):
        below_share = taken * n_all < (i + 1) * sizes
        worth = np.where(below_share, sizes / (taken + 1), sizes / (taken + 1) / n_all)
        worth[taken == sizes] = -1.0  # no example is left
        if i < len(members) and (taken == 0).any():  # every label occurs once before any repeats
            worth[taken > 0] = -1.0
        chosen = int(np.argmax(worth))
        while not free[members[chosen][queues[chosen]]]:
            queues[chosen] += 1
        order[i] = members[chosen][queues[chosen]]
        free[order[i]] = False
        taken += belongs[order[i]]
    return order


def _refuse_single_examples(examples: LabelledSet, need: str) -> None:
    if examples.classes is None or examples.kind == "segmentation":
        return
    single = np.flatnonzero(examples.class_counts() == 1)
    if len(single):
        others = f" (and {len(single) - 1} other classes)" if len(single) > 1 else ""
        raise DataError(
            f"class {examples.classes[single[0]]!r}{others} has one example; {need}: add examples or drop the class"
        )
