"""Columns of tables as numbers: against scikit-learn, and what a user would be surprised by."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from transferscope.data.column_encoding import LEAST_ROWS, fit_encoding
from transferscope.errors import DataError

FILE = Path("own.csv")
DAYS = ["2021-03-01", "2021-03-06", "2021-07-15", "2022-01-31"] * 5


def rows(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(columns)


def mixed(seed: int, n: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    colours = np.array(["red", "green", "blue", "mauve", "teal"])[random.choice(5, n, p=[0.45, 0.3, 0.2, 0.03, 0.02])]
    area = random.normal(80, 20, n)
    return rows(area=np.where(random.random(n) < 0.2, np.nan, area), colour=colours, rooms=random.integers(1, 6, n))


def test_categories_and_gaps_become_what_scikit_learn_makes_of_them() -> None:
    train, test = mixed(0, 200), mixed(1, 50)
    train.loc[0, "colour"], test.loc[0, "colour"] = "ochre", "a colour that nobody saw"
    expected = ColumnTransformer(
        [
            ("area", SimpleImputer(strategy="median", add_indicator=True), ["area"]),
            (
                "colour",
                OneHotEncoder(min_frequency=LEAST_ROWS, handle_unknown="infrequent_if_exist", sparse_output=False),
                ["colour"],
            ),
            ("rooms", "passthrough", ["rooms"]),
        ]
    ).fit(train)
    encoding = fit_encoding(train, FILE)
    assert encoding.columns[1].has_others
    for part in (train, test):
        np.testing.assert_allclose(encoding.apply(part, FILE), expected.transform(part))


def test_test_rows_decide_nothing() -> None:
    train = mixed(0, 100)
    encoding = fit_encoding(train, FILE)
    other = mixed(1, 100).assign(area=1e6, colour="never seen")
    assert fit_encoding(train, FILE) == encoding
    assert set(encoding.apply(other, FILE)[:, 0]) == {1e6}
    plain = fit_encoding(train.assign(colour=["red", "green"] * 50), FILE)
    assert plain.remarks(other)[0] == (
        "column 'colour': 100 rows with a value that no training row has, for which there is no feature"
    )
    colours = [name.startswith("colour") for name in plain.features]
    assert not plain.apply(other, FILE)[:, colours].any()


def test_dates_are_days_with_their_place_in_year_and_week() -> None:
    (column,) = (encoding := fit_encoding(rows(sold=DAYS), FILE)).columns
    assert (column.kind, column.cycles) == ("date", ("year", "week"))
    found = encoding.apply(rows(sold=["1970-01-08", "2024-02-29"]), FILE)
    np.testing.assert_allclose(found[:, 0], [7.0, 19782.0])
    np.testing.assert_allclose(found[0, 3:], [0.0, 1.0], atol=1e-9)  # a week after day 0
    angle = 2 * np.pi * 7 / 365.2425
    np.testing.assert_allclose(found[0, 1:3], [np.sin(angle), np.cos(angle)])


def test_times_offsets_and_dates_of_other_orders_are_read() -> None:
    times = ["2021-03-01T06:00:00+02:00", "2021-03-02 18:00", "2021-03-03 00:30Z"] * 7
    (column,) = (encoding := fit_encoding(rows(at=times), FILE)).columns
    assert "day" in column.cycles
    assert encoding.apply(rows(at=["1970-01-01T03:00:00+01:00"]), FILE)[0, 0] == pytest.approx(2 / 24)
    german = rows(sold=["31.12.2020", "1.2.2021", "7.8.2021"] * 7)
    days = fit_encoding(german, FILE, order="day-first").apply(german, FILE)[:2, 0]
    assert days.tolist() == [18627.0, 18659.0]
    told = fit_encoding(german, FILE)  # there is no month 31
    assert told.columns[0].order == "day-first"
    assert told.apply(german, FILE)[:2, 0].tolist() == [18627.0, 18659.0]
    assert told.columns[0].words.startswith("date (day-first): days")
    american = rows(sold=["2/1/2021", "8/7/2021", "12/31/2020"] * 7)
    assert fit_encoding(american, FILE, order="month-first").apply(american, FILE)[0, 0] == 18659.0
    assert fit_encoding(american, FILE).apply(american, FILE)[0, 0] == 18659.0


def test_gaps_of_dates_and_categories_have_features_of_their_own() -> None:
    table = rows(sold=[*DAYS[:-1], None], heating=["gas", "oil", None, " "] * 5)
    encoding = fit_encoding(table, FILE)
    assert encoding.features[-3:] == ("heating = gas", "heating = oil", "heating is missing")
    found = dict(zip(encoding.features, encoding.apply(table, FILE).T, strict=True))
    assert found["sold is missing"].tolist() == [0.0] * 19 + [1.0]
    assert found["sold"][-1] == np.median(found["sold"][:-1])
    assert found["heating is missing"].tolist() == [0.0, 0.0, 1.0, 1.0] * 5


def test_what_says_nothing_is_left_out_with_its_reason() -> None:
    table = rows(
        id=[f"house {i}" for i in range(20)],
        country=["DE"] * 20,
        floors=[2] * 20,
        notes=[None] * 20,
        street=[f"street {i // 2}" for i in range(20)],
        area=np.linspace(50, 90, 20),
        row=np.arange(20),
    )
    encoding = fit_encoding(table, FILE)
    assert encoding.features == ("area", "row")
    assert {one.name: one.why for one in encoding.columns if one.why} == {
        "id": "another text in every row, as an identifier has",
        "country": "always 'DE'",
        "floors": "always 2",
        "notes": "empty in every training row",
        "street": "none of its 10 values is in 5 training rows",
        "row": "whole numbers that count the rows; drop them if they number rows",
    }
    assert "left out: id (another text in every row, as an identifier has), country (always 'DE')" in encoding.words


@pytest.mark.parametrize(
    ("numbers", "is_said"),
    [
        (np.setdiff1d(np.arange(1000, 1100), np.arange(1000, 1100, 5)), True),  # every fifth row is a test row
        (np.random.default_rng(0).permutation(50) + 1, True),
        (np.append(np.arange(40), np.nan), True),
        (np.arange(0, 300, 3), False),  # a column of measurements in threes
        (np.arange(30) // 2, False),
        (np.arange(30) + 0.5, False),
        (np.array([3, 5, 6, 8]), False),  # too few to tell
    ],
)
def test_numbers_of_rows_are_pointed_out_where_some_rows_are_test_rows(numbers: np.ndarray, is_said: bool) -> None:
    (column,) = fit_encoding(rows(row=numbers), FILE).columns
    assert column.kind == "number"
    assert ("count the rows" in column.why) is is_said


def test_truth_values_with_gaps_and_numbers_that_stand_for_names() -> None:
    table = rows(garden=[True, False, None, True] * 5, plz=[80331, 10115, 10115, 20095] * 5)
    encoding = fit_encoding(table, FILE, categories={"plz"})
    assert encoding.features == (*("garden", "garden is missing", "plz = 10115", "plz = 20095", "plz = 80331"),)
    assert encoding.apply(table, FILE)[2].tolist() == [1.0, 1.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            ["1,234.5", "980"] * 10,
            "holds '1,234.5', a number with separators or a decimal comma; write numbers plainly",
        ),
        (["12,5", "9,75"] * 10, "holds '12,5', a number with separators or a decimal comma"),
        (["12", "13", "14", "unknown"] * 5, "holds 'unknown' among numbers; leave gaps empty, or say category=x"),
        (["3/4/2021", "5/4/2021"] * 10, "holds dates as '3/4/2021', of which day and month could be either in every"),
        (["30/4/2021", "5/30/2021"] * 10, "holds dates as '30/4/2021', which exist neither all with the day first"),
        (
            ["2021-02-30", "2021-02-03"] * 10,
            "holds '2021-02-30' in row 1, which is no date; mend it, or leave it empty",
        ),
        ([[1, 2], [3]] * 10, "holds values of the type list; expected numbers, text, truth values or dates"),
        ([b"\xff", b"a"] * 10, "holds bytes that are no text in UTF-8"),
        ([1.0, float("inf")] * 10, "holds 'inf' in row 2; expected a finite number or nothing"),
    ],
)
def test_columns_that_could_mean_several_things_are_refused(values: list[Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        fit_encoding(rows(x=values), FILE)
    assert f"column 'x' {message}" in str(caught.value)


def test_a_number_in_training_must_be_one_in_other_rows() -> None:
    encoding = fit_encoding(rows(x=[1.5, 2.5, 3.0]), FILE)
    with pytest.raises(DataError, match="column 'x' holds 'many' in row 2; expected a finite number or nothing"):
        encoding.apply(rows(x=["1", "many"]), FILE)


def test_what_rows_have_that_no_training_row_had_is_said() -> None:
    train = rows(area=np.arange(20.0), colour=["red", "blue"] * 10, rooms=[1.0, np.nan] * 10)
    encoding = fit_encoding(train, FILE)
    assert encoding.remarks(train) == ()
    new = rows(area=[np.nan, 1.0], colour=["green", None], rooms=[np.nan, 2.0])
    assert encoding.remarks(new) == (
        "column 'area': 1 gap, where no training row has one; the median of these stands there",
        "column 'colour': 1 row with a value that no training row has, for which there is no feature",
        "column 'colour': 1 gap, where no training row has one; no feature says so",
    )
