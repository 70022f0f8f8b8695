import pandas as pd
import pytest

from transferscope.data.cells import without_summaries


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
