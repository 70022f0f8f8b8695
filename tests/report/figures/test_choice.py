import pytest

from transferscope.report.figures.choice import beside_axis, evenly_chosen, short, shown_of


@pytest.mark.parametrize(
    ("n", "at_most", "chosen"), [(3, 4, [0, 1, 2]), (7, 4, [0, 2, 4, 6]), (10, 4, [0, 3, 6, 9]), (9, 2, [0, 8])]
)
def test_the_first_and_the_last_are_among_the_chosen(n: int, at_most: int, chosen: list[int]) -> None:
    assert evenly_chosen(range(n), at_most) == chosen


def test_what_was_left_out_is_said() -> None:
    assert shown_of("sources", ["a", "b"], ["a", "b"]) == ""
    assert shown_of("sources", ["a", "c"], ["a", "b", "c"]) == " Shown are 2 of 3 sources (a and c)."


def test_long_names_are_cut() -> None:
    assert short("digit 8", width=7) == "digit 8"
    assert short("a very long name of a class", width=8) == "a very …"


def test_names_beside_an_axis_stay_apart_however_long_they_are() -> None:
    assert beside_axis("Linear probe", width=12) == "Linear probe"
    names = [f"Fine-tuning from far ({n} examples)" for n in (100, 200)]
    assert [beside_axis(name, width=26) for name in names] == [
        f"Fine-tuning from far\n({n}\N{NO-BREAK SPACE}examples)" for n in (100, 200)
    ]
    for width in (12, 18):
        shown = [beside_axis(f"Fine-tuning from {'a-very-long-folder/' * 3}{n}", width=width) for n in (1, 2)]
        assert shown[0] != shown[1]
        assert all(len(line) <= width for name in shown for line in name.split("\n"))
        assert all(name.count("\n") == 1 for name in shown)
    assert beside_axis("Mine (a name that goes on and on)", width=18) == "Mine (a name that\ngoes on and on)"
    assert beside_axis("") == ""
