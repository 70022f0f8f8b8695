import pytest

from transferscope.report.figures.choice import evenly_chosen, short, shown_of, tick_name


@pytest.mark.parametrize(
    ("n", "at_most", "chosen"), [(3, 4, [0, 1, 2]), (7, 4, [0, 2, 4, 6]), (10, 4, [0, 3, 6, 9]), (9, 2, [0, 8])]
)
def test_the_first_and_the_last_are_among_the_chosen(n: int, at_most: int, chosen: list[int]) -> None:
    assert evenly_chosen(range(n), at_most) == chosen


def test_what_was_left_out_is_said() -> None:
    assert shown_of("sources", ["a", "b"], ["a", "b"]) == ""
    assert shown_of("sources", ["a", "c"], ["a", "b", "c"]) == " Shown are 2 of 3 sources (a and c)."


def test_long_names_are_cut() -> None:
    assert short("digit 8") == "digit 8"
    assert short("a very long name of a class", width=8) == "a very …"


def test_methods_on_an_axis() -> None:
    assert [tick_name(name) for name in ("scratch", "fine-tune", "mine")] == ["From scratch", "Fine-tuning", "Mine"]
