"""What to beware of, as kinds and facts, and that there are words for each."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from made_up import made_up
from transferscope.analyses.compare.cautions import (
    cautions,
    fewer_labels_than_classes,
    nothing_held_out,
    reduced_inputs,
    weak_inner_heads,
)
from transferscope.analyses.compare.words import words_of
from transferscope.statements import Statement

WORDS = words_of(made_up({(("raw", ""), 100): np.array([0.5])}))
NAN = float("nan")
TARGET = {"kind": "classification", "n_outputs": 3, "classes": ["ok", "<scratch>", "dent"]}


def stated(found: Iterable[Statement]) -> dict[str, dict[str, Any]]:
    """Facts by kind; every kind is said once, and has words."""
    said = list(found)
    for sentence in WORDS.all_of(said):
        assert sentence.endswith(".")
        assert "None" not in sentence
        assert "nan" not in sentence
    facts = {one.kind: dict(one.facts) for one in said}
    assert len(facts) == len(said)
    return facts


def shared(n_test: int, target: int, source: int) -> dict[str, int]:
    return {"n_test": n_test, "in_target_train": target, "in_source_train": source, "in_any": target + source}


def counted(*counts: object) -> dict[str, object]:
    return {"target": TARGET | {"class_counts": {"train": [9, 9, 9], "test": list(counts)}}}


def warped(shape: list[int], training: str) -> dict[str, object]:
    recipe = {"method": "scratch", "source": None, "labels": [100], "training": training, "from": ""}
    return {"target": {"input_shape": shape}, "recipes": [recipe]}


TAKEN_FOR_CHARACTERS: dict[str, dict[str, object]] = {"taken for characters": {}}


@pytest.mark.parametrize(
    ("facts", "by_class", "expected"),
    [
        (
            {"leakage": {"": shared(2000, 3, 0), "<b>": shared(2000, 3, 40), "clean": shared(2000, 3, 0)}},
            False,
            {"shared examples": {"places": [("", 3, 2000), ("<b>", 40, 2000)]}},
        ),
        ({"leakage": {"": shared(2000, 0, 0)}}, False, {}),
        ({"target": {}, "sources": {"net": {}}}, False, {}),
        (
            counted(930, 50, 20),
            False,
            {"uneven classes": {"most": "ok", "most_share": 0.93, "least": "dent", "least_share": 0.02}},
        ),
        (counted(930, 50, 20), True, {}),
        (counted(400, 100, 0), False, {}),
        (counted(930, 5, 12), True, {"few of a class": {"n": 5, "least": "<scratch>", "others": 1}}),
        (counted(930, 20, 1), True, {"few of a class": {"n": 1, "least": "dent", "others": 0}}),
        (counted(930, 20, 0), True, {}),
        ({"target": {"kind": "regression", "n_outputs": 3}}, False, {}),
        (
            {"sources": {"imagenet": {"network": "x", "follows_batches": True}, "other": {"network": "y"}}},
            False,
            {"follows batches": {"sources": ["imagenet"]}},
        ),
        (warped([3, 32, 32], "SGD 0.02, 1,000 steps of 50, cosine, shifts and rotations"), False, TAKEN_FOR_CHARACTERS),
        (warped([3, 32, 32], "SGD 0.02, 1,000 steps of 50, cosine, flips and crops"), False, {}),
        (warped([1, 28, 28], "SGD 0.05, 1,000 steps of 50, cosine, shifts and rotations"), False, {}),
        ({}, False, {}),
    ],
)
def test_what_is_told_of_the_data(
    facts: dict[str, object], by_class: bool, expected: dict[str, dict[str, object]]
) -> None:
    assert stated(cautions(facts, by_class=by_class)) == expected


def test_labels_that_cannot_cover_the_classes_are_told() -> None:
    facts = counted(9, 9, 9)  # three classes
    told = stated(fewer_labels_than_classes(facts, [5, 2, 1, 2, 3]))
    assert told == {"fewer labels than classes": {"sizes": [1, 2], "classes": 3}}
    assert stated(fewer_labels_than_classes(facts, [3])) == {}
    assert stated(fewer_labels_than_classes({"target": {"kind": "regression", "n_outputs": 3}}, [1])) == {}


def test_the_class_is_named_for_which_balanced_accuracy_is_the_measure() -> None:
    assert stated(cautions({}, usual=("ham", 0.95))) == {"usual class": {"name": "ham", "share": 0.95}}


@pytest.mark.parametrize(
    ("names", "counts"), [(["a"], [3, 4]), ([["x"], "b"], [3, 400]), (["a", "b"], [None, "4"]), ("ab", [1, 2])]
)
@pytest.mark.parametrize("by_class", [False, True])
def test_counts_of_a_damaged_store_are_no_counts(names: object, counts: object, by_class: bool) -> None:
    facts = {"target": {"kind": "classification", "classes": names, "class_counts": {"test": counts}}}
    stated(cautions(facts, by_class=by_class))


def test_what_is_told_of_runs() -> None:
    runs = [("merlin", 100, 0.97), ("merlin", 100, 0.5), ("merlin-ft", 100, 1.04), ("merlin", 600, 0.3)]
    weak = {"methods": ["merlin", "merlin-ft"], "n_target": 100, "weak": 2}
    assert stated(weak_inner_heads(runs)) == {"weak inner head": weak}
    assert stated(weak_inner_heads([("merlin", 600, 0.949)])) == {}
    held_out = nothing_held_out([(100, 40.0), (20, NAN), (100, NAN), (20, NAN)])
    assert stated(held_out) == {"nothing held out": {"sizes": [20]}}
    reads = [(20, 64.0, NAN), (200, NAN, 5000.0)]
    assert stated(reduced_inputs(reads)) == {"reduced inputs": {"reads": [(20, 64, None), (200, None, 5000)]}}
    assert stated(reduced_inputs([])) == {}


@pytest.mark.parametrize(
    ("kind", "of_examples", "said"), [("unlikely", 0.83, True), ("unlikely", 0.2, False), ("more seeds", 0.83, False)]
)
def test_where_seeds_will_not_do_it_is_said_what_may(kind: str, of_examples: float, said: bool) -> None:
    facts = {"arms": [("raw", "")], "more": 8, "seconds": None, "sizes": [100], "chance": 0.02}
    loss = {"arm": ("raw", ""), "at_most": None}
    sentence = WORDS.say(Statement(kind, facts | loss | {"of_examples": of_examples}))
    assert ("83 % of the variance" in sentence) is said
