import math

import pytest

from transferscope.wording import (
    candidate_words,
    data_in_words,
    duration,
    few,
    large_count,
    listed,
    memory,
    probability_words,
    rough_duration,
    signed,
)


@pytest.mark.parametrize(
    ("items", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_items_are_listed_as_in_a_sentence(items: list[str], text: str) -> None:
    assert listed(items) == text
    assert few(items, 2) == {"a, b and c": "a and 2 more"}.get(text, text)


def test_methods_have_their_names_of_prose_and_variants_their_own() -> None:
    called = {"merlin": "MeRLin", "scratch": "training from scratch"}
    assert candidate_words("merlin", "fashion-mnist", called) == "MeRLin from fashion-mnist"
    assert candidate_words("scratch", None, called) == "training from scratch"
    assert candidate_words("merlin-rho-4", "mnist", called) == "merlin-rho-4 from mnist"


def test_a_minus_is_a_minus() -> None:
    assert [signed(-1.26, 1), signed(0.5, 2)] == ["−1.3", "+0.50"]


@pytest.mark.parametrize(
    ("p", "text"),
    [(1.0, "> 99 %"), (0.995, "> 99 %"), (0.0, "< 1 %"), (0.005, "< 1 %"), (0.42, "42 %"), (math.nan, "–")],
)
def test_a_probability_from_draws_is_never_certain(p: float, text: str) -> None:
    assert probability_words(p) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.001, "< 0.01 s"), (21.34, "21.3 s"), (600, "10.0 min"), (20_000, "5.6 h")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_memory_and_large_counts() -> None:
    assert [memory(0), memory(480 << 20), memory(3 << 30)] == ["–", "480 MiB", "3.0 GiB"]
    assert [large_count(940), large_count(61_706), large_count(1_280_000)] == ["940", "61.7 k", "1.28 M"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (8.4, "8 s"),
        (59.4, "59 s"),
        (59.9, "1 min"),
        (719, "12 min"),
        (3599, "1 h"),
        (12000, "3 h 20 min"),
        (172800, "48 h"),
    ],
)
def test_durations_ahead_are_rounded_to_what_a_person_wants_to_know(seconds: float, words: str) -> None:
    assert rough_duration(seconds) == words


def test_data_are_told_with_what_their_transforms_leave() -> None:
    entry = {"kind": "classification", "n_train": 7454, "n_test": 1502, "n_outputs": 5}
    origin = {"understood": "classification, 10 classes: 0, ...", "transforms": "classes:5-10"}
    assert data_in_words(entry | {"provenance": origin}) == (
        "classification, 10 classes: 0, ...; after classes:5-10: 7,454 training and 1,502 test examples of 5 classes"
    )
    assert data_in_words(entry | {"provenance": origin | {"transforms": ""}}) == "classification, 10 classes: 0, ..."
    assert data_in_words(entry | {"kind": "regression", "provenance": origin}).endswith("and 1,502 test examples")
    assert data_in_words({"provenance": {"transforms": "grey"}}) == data_in_words({}) == ""
