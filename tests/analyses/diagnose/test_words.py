"""What a diagnostic says of its numbers."""

import pytest

from transferscope.analyses.diagnose import explain
from transferscope.diagnostics import ClassSeparation
from transferscope.estimate import Estimate, Status
from transferscope.records import Record
from transferscope.wording import number_words as number


def said(status: Status, value: float = 0.5) -> str:
    return explain(ClassSeparation(), [Record("variance_ratio", Estimate(value, None, 9, status), "target_test")])


@pytest.mark.parametrize("status", ["ok", "converged"])
def test_a_settled_number_is_explained(status: Status) -> None:
    assert said(status).startswith("Examples scatter within their class 0.5 times as much")
    assert "care" not in said(status)


def test_a_number_that_is_not_settled_comes_with_a_warning() -> None:
    warning = "; but this number is not settled (max_steps), so read it with care."
    assert said("max_steps") == said("ok").removesuffix(".") + warning


def test_no_number_is_no_conclusion() -> None:
    assert said("undefined", float("nan")) == (
        "variance_ratio does not exist here (undefined), so it says nothing about this network."
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1.047, "1.05"),
        (2358.05, "2,358"),
        (805.9, "806"),
        (-0.0547, "−0.0547"),
        (-1234.5, "−1,234"),
        (3.22e-6, "3.22e−06"),
    ],
)
def test_numbers_are_written_without_powers_of_ten_where_they_can(value: float, words: str) -> None:
    assert number(value) == words
