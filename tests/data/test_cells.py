import pandas as pd
import pytest

from transferscope.data.cells import typed, without_summaries


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (["ann", "bob", "cid", "total"], 3),  # a table of people with their sum below it
        (["ann", "bob", "cid", "mean", "std"], 3),
        (["red", "red", "red", "all"], 4),  # beside one other value it is a value of its own
        (["ann", "total", "bob", "cid"], 4),  # not at the end
        (["ann", "bob", "cid", "total", "total"], 5),
        (["1", "2", "3", "mean"], 3),  # among the numbers of seeds
        (["ann", "max", "cid", "bob"], 4),  # a name
    ],
)
def test_a_row_sums_others_up_where_a_word_for_it_ends_a_column_of_names(names: list[str], left: int) -> None:
    rows, said = without_summaries(pd.DataFrame({"who": names, "x": range(len(names))}))
    assert len(rows) == left
    assert bool(said) == (left < len(names))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1E2", ".", "1E3"], ["1E2", ".", "1E3"]),  # codes and a gap
        (["1E2", "1.5", ""], [100.0, 1.5, None]),
        (["+5", " 7 ", "-0"], [5, 7, 0]),
        (["007", "7"], ["007", "7"]),
        (["0.7", "-0.5"], [0.7, -0.5]),
        (["-inf", "nan", "2"], [float("-inf"), None, 2.0]),
        (["٣", "5"], [3, 5]),  # an Arabic three
        (["True", "false"], [True, False]),
    ],
)
def test_text_is_read_as_the_numbers_that_all_of_it_writes(texts: list[str], expected: list[object]) -> None:
    found = typed(pd.Series(texts, dtype=object))
    assert [None if value != value else value for value in found.tolist()] == expected
