"""Tables made by hand: each gets a sentence or a status, never a traceback."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scaling.examples import OBJDET, SIZES
from transferscope.errors import CorruptDataError, DataError, MissingDataError, UnknownNameError
from transferscope.scaling.analysis import analyse
from transferscope.scaling.question import Question
from transferscope.scaling.table import Columns, by_finetune_size, curves, read_table
from transferscope.scaling.words import curve_row, verdict


def table(n: list[object], error: list[object]) -> pd.DataFrame:
    return pd.DataFrame({"n": n, "error": error})


AWKWARD = {
    "three points": table([1000, 2000, 4000], [0.5, 0.4, 0.35]),
    "equal sizes": table([1000, 1000, 1000], [0.5, 0.4, 0.35]),
    "an error of 0": table([1000, 2000, 4000, 8000], [0.5, 0.4, 0.0, 0.3]),
    "errors above 1": table([1000, 2000, 4000, 8000], [3.5, 2.4, 2.0, 1.8]),
    "NaN": table([1000, 2000, np.nan, 8000], [0.5, np.nan, 0.3, 0.3]),
    "falling, then rising": table([1000, 2000, 4000, 8000, 16000], [0.5, 0.3, 0.25, 0.35, 0.6]),
    "one point": table([1000], [0.5]),
    "constant": table([1000, 2000, 4000, 8000, 16000], [0.3, 0.3, 0.3, 0.3, 0.3]),
}


@pytest.mark.parametrize("frame", AWKWARD.values(), ids=AWKWARD.keys())
def test_an_awkward_table_is_answered(frame: pd.DataFrame) -> None:
    analysis = analyse(curves(frame, Columns()), Question(target_error=0.2))
    assert verdict(analysis)
    assert all(curve_row(curve) for curve in analysis.curves)


def test_a_group_of_two_points_does_not_spoil_the_others() -> None:
    frame = pd.concat(
        [
            pd.DataFrame({"task": "long", "n": SIZES, "error": OBJDET}),
            pd.DataFrame({"task": "short", "n": SIZES[:2], "error": OBJDET[:2]}),
        ]
    )
    analysis = analyse(curves(frame, Columns(by=("task",))), Question())
    assert [curve.name for curve in analysis.curves] == ["long", "short"]
    assert analysis.curves[1].fit.status == "too_few"
    assert analysis.curves[1].advice is not None


def test_sizes_that_are_no_numbers_are_a_sentence() -> None:
    with pytest.raises(DataError) as caught:
        curves(table([1000, "2k", 4000], [0.5, 0.4, 0.3]), Columns())
    assert str(caught.value) == "column n holds '2k' in row 2; expected plain numbers, such as 64000"


def test_a_missing_column_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError) as caught:
        curves(table([1], [0.5]), Columns(error="errors"))
    assert str(caught.value) == "unknown column 'errors': did you mean 'error'? known are error, n"


def test_files_that_are_no_tables_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError):
        read_table(tmp_path / "absent.csv")
    empty = tmp_path / "empty.csv"
    empty.write_text("n,error\n")
    with pytest.raises(CorruptDataError) as caught:
        read_table(empty)
    assert str(caught.value) == f"{empty} has no rows; expected one for each measured error"


def test_repeats_become_means_with_standard_errors() -> None:
    frame = table([1000, 1000, 2000, 2000], [0.5, 0.52, 0.4, 0.42])
    data = curves(frame, Columns(repeats=True))["all rows"]
    assert data.errors.tolist() == pytest.approx([0.51, 0.41])
    assert data.stderr is not None
    relative = [np.std([0.5, 0.52], ddof=1) / 0.51, np.std([0.4, 0.42], ddof=1) / 0.41]
    pooled = np.sqrt(np.mean(np.square(relative)))
    assert data.stderr.tolist() == pytest.approx([pooled * 0.51 / np.sqrt(2), pooled * 0.41 / np.sqrt(2)])


def test_two_sizes_become_one_curve_for_each_s() -> None:
    frame = pd.DataFrame({"n": [1, 2, 1, 2], "s": [10, 10, 20, 20], "error": [0.5, 0.4, 0.3, 0.2]})
    found = by_finetune_size(curves(frame, Columns(finetune_size="s")))
    assert list(found) == ["s = 10", "s = 20"]
    assert found["s = 20"].errors.tolist() == [0.3, 0.2]


def test_groups_that_are_numbers_name_their_column() -> None:
    frame = pd.concat([pd.DataFrame({"depth": depth, "n": SIZES, "error": OBJDET}) for depth in (18, 34)])
    assert list(curves(frame, Columns(by=("depth",)))) == ["depth = 18", "depth = 34"]
