"""Cautions about a study that do not depend on its results: shared data, rare classes, weak inner heads."""

import math
from collections.abc import Iterable, Iterator, Mapping

from transferscope.statements import Statement, state

UNEVEN = 5.0
"""Ratio of the most to the least frequent class of test examples from which a note is shown."""

FEW_OF_CLASS = 20
"""Test examples of the rarest class below which a note says that a class metric depends on them."""

WEAK_INNER_RISK = 0.95
"""Leave-one-out risk of MeRLin's inner head, relative to predicting the mean, from which it is uninformative."""


def cautions(
    facts: Mapping[str, object], *, by_class: bool = False, usual: tuple[str, float] | None = None
) -> Iterator[Statement]:
    """Yield cautions on shared data, rare classes, batch normalisation that adapts to batches, and augmentation.

    Args:
        facts: The facts of a study, as `study` stored them.
        usual: The majority class and its share, if it has nearly all examples and balanced accuracy should be used;
            else None.
        by_class: Whether the metric weights rare classes, too.
    """
    target, sources = _table(facts.get("target")), _table(facts.get("sources"))
    places = []  # the target's own, "", and sources, each of which repeats the count of the target's own
    for source, report in _table(facts.get("leakage")).items():
        told = _table(report)
        count, total = told.get("in_source_train" if source else "in_target_train"), told.get("n_test")
        if isinstance(count, int) and count and isinstance(total, int):
            places.append((source, count, total))
    if places:
        yield state("shared examples", places=places)
    if usual is not None:
        yield state("usual class", name=usual[0], share=usual[1])
    if counts := _test_counts(target):
        most, least = max(counts, key=lambda name: counts[name]), min(counts, key=lambda name: counts[name])
        total, few = sum(counts.values()), sum(count < FEW_OF_CLASS for count in counts.values())
        if by_class and few:
            yield state("few of a class", n=counts[least], least=least, others=few - 1)
        elif not by_class and counts[most] >= UNEVEN * counts[least]:
            shares = {"most_share": counts[most] / total, "least_share": counts[least] / total}
            yield state("uneven classes", most=most, least=least, **shares)
    if following := [name for name, about in sources.items() if _table(about).get("follows_batches")]:
        yield state("follows batches", sources=following)
    if _taken_for_characters(facts, target):
        yield state("taken for characters")


def _taken_for_characters(facts: Mapping[str, object], target: Mapping[str, object]) -> bool:
    """Return whether colour images were augmented as characters, because their class names have one character."""
    shape, recipes = target.get("input_shape"), facts.get("recipes")
    used = [str(_table(row).get("training")) for row in recipes] if isinstance(recipes, list) else []
    return (
        isinstance(shape, list) and len(shape) == 3 and shape[0] == 3 and any("shifts and rot" in one for one in used)
    )


def fewer_labels_than_classes(facts: Mapping[str, object], sizes: Iterable[int]) -> Iterator[Statement]:
    """Yield a caution on numbers of labels with which some classes have no labelled example.

    Args:
        sizes: Numbers of target labels.
    """
    target = _table(facts.get("target"))
    names = target.get("classes")
    classes = len(names) if target.get("kind") == "classification" and isinstance(names, list) else 0
    if few := sorted({int(n) for n in sizes if n < classes}):
        yield state("fewer labels than classes", sizes=few, classes=classes)


def nothing_held_out(runs: Iterable[tuple[int, float]]) -> Iterator[Statement]:
    """Yield cautions on early stopping without held-out examples.

    Args:
        runs: Number of target labels of each run, and the step whose weights it kept; NaN without held-out examples.
    """
    steps: dict[int, list[float]] = {}
    for n_target, step in runs:
        steps.setdefault(n_target, []).append(step)
    if sizes := sorted(n for n, best_steps in steps.items() if all(map(math.isnan, best_steps))):
        yield state("nothing held out", sizes=sizes)


def weak_inner_heads(runs: Iterable[tuple[str, int, float]]) -> Iterator[Statement]:
    """Yield methods whose inner heads predict no better than the mean target, by number of labels.

    Args:
        runs: Method, number of target labels and the note "inner_risk" of each run that has one.
    """
    weak = [(method, n_target) for method, n_target, risk in runs if risk >= WEAK_INNER_RISK]
    for n_target in dict.fromkeys(n for _, n in weak):
        own = [method for method, n in weak if n == n_target]
        yield state("weak inner head", methods=list(dict.fromkeys(own)), n_target=n_target, weak=len(own))


def reduced_inputs(runs: Iterable[tuple[int, float, float]]) -> Iterator[Statement]:
    """Yield how the method `raw` reduced its inputs to limit time and memory.

    Args:
        runs: Number of target labels, and the notes "read_side" and "read_tokens" of each run, or NaN.
    """
    reads = {n: (None if math.isnan(side) else int(side), None if math.isnan(tokens) else int(tokens))
             for n, side, tokens in sorted(runs)}  # fmt: skip
    if reads:
        yield state("reduced inputs", reads=[(n, *read) for n, read in reads.items()])


def _test_counts(target: Mapping[str, object]) -> dict[str, int]:
    """Return the test examples of each class that has any; empty if a damaged store has other values."""
    names, counts = target.get("classes"), _table(target.get("class_counts")).get("test")
    if target.get("kind") != "classification" or not isinstance(names, list) or not isinstance(counts, list):
        return {}
    pairs = zip(names, counts, strict=False)
    return {str(name): count for name, count in pairs if isinstance(count, int) and count > 0}


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
