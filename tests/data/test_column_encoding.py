"""Columns of tables as numbers: against scikit-learn, and what a user would be surprised by."""

import datetime
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter
from scipy import stats
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from transferscope.data.column_encoding import LEAST_ROWS, TableEncoding, fit_encoding
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
    train, test = mixed(0, 200), mixed(1, 5000)  # which is written in two turns
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
    assert plain.remarks(other)[0].startswith("column 'colour': 100 rows with a value that no training row has")
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


def test_features_that_are_0_or_1_by_what_they_mean_are_marked() -> None:
    table = rows(area=[1.0, None] * 10, rooms=[0, 1] * 10, lift=[True, False] * 10, heating=["gas", "oil"] * 10)
    marked = dict(zip((encoding := fit_encoding(table, FILE)).features, encoding.indicators, strict=True))
    expected = {"area is missing", "lift", "heating = gas", "heating = oil"}
    assert {name for name, is_one in marked.items() if is_one} == expected


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
    assert encoding.features == ("area",)
    assert {one.name: one.why for one in encoding.columns if one.why} == {
        "id": "another text in every row, as an identifier has",
        "country": "always 'DE'",
        "floors": "always 2",
        "notes": "empty in every training row",
        "street": "none of its 10 values is in 5 training rows",
        "row": "counts the rows; keep=row keeps it",
    }
    assert "left out: id (another text in every row, as an identifier has), country (always 'DE')" in encoding.words


@pytest.mark.parametrize(
    ("numbers", "is_said"),
    [
        (np.setdiff1d(np.arange(1000, 1100), np.arange(1000, 1100, 5)), True),  # every fifth row is a test row
        (np.random.default_rng(0).permutation(50) + 1, True),
        (np.append(np.arange(40), np.nan), True),
        (np.arange(0, 300, 3), True),  # a sequence in threes
        (np.arange(30) // 2, False),
        (np.arange(30) + 0.5, False),
        (np.array([3, 5, 6, 8]), False),  # too few to tell
    ],
)
def test_numbers_of_rows_are_left_out_where_some_rows_are_test_rows(numbers: np.ndarray, is_said: bool) -> None:
    (column,) = fit_encoding(rows(row=numbers), FILE).columns
    assert column.kind == ("left out" if is_said else "number")
    assert fit_encoding(rows(row=numbers), FILE, kept={"row"}).features[:1] == ("row",)


def test_truth_values_with_gaps_and_numbers_that_stand_for_names() -> None:
    table = rows(garden=[True, False, None, True] * 5, plz=[80331, 10115, 10115, 20095] * 5)
    encoding = fit_encoding(table, FILE, categories={"plz"})
    assert encoding.features == ("garden", "garden is missing", "plz = 10115", "plz = 20095", "plz = 80331")
    assert encoding.apply(table, FILE)[2].tolist() == [1.0, 1.0, 1.0, 0.0, 0.0]
    assert "gaps have a feature of their own, filled with the median (1)" in encoding.columns[0].words


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["12", "13", "14", "unknown"] * 5, "holds 'unknown' among numbers; leave gaps empty, or give category=x"),
        (["3/4/2021", "5/4/2021"] * 10, "holds dates as '3/4/2021', whose day and month cannot be distinguished"),
        (["30/4/2021", "5/30/2021"] * 10, "holds dates as '30/4/2021', which are all valid neither with the day first"),
        (["2021-02-30", "2021-02-03"] * 10, "holds '2021-02-30' in row 1; expected a date"),
        ([[1, 2], [3]] * 10, "holds values of type list; expected numbers, text, booleans or dates"),
        ([b"\xff", b"a"] * 10, "is not UTF-8 text"),
        ([1.0, float("inf")] * 10, "holds 'inf' in row 2; expected a finite number or nothing"),
    ],
)
def test_columns_that_could_mean_several_things_are_refused(values: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(f"column 'x' {message}")):
        fit_encoding(rows(x=values), FILE)


def test_a_number_in_training_must_be_one_in_other_rows() -> None:
    encoding = fit_encoding(rows(x=[1.5, 2.5, 3.0]), FILE)
    with pytest.raises(DataError, match="column 'x' holds 'many' in row 2; expected a finite number or nothing"):
        encoding.apply(rows(x=["1", "many"]), FILE)


def test_what_rows_have_that_no_training_row_had_is_said() -> None:
    train = rows(area=np.arange(20.0) + 0.5, colour=["red", "blue"] * 10, rooms=[1.0, np.nan] * 10)
    encoding = fit_encoding(train, FILE)
    assert encoding.remarks(train) == ()
    new = rows(area=[np.nan, 1.0], colour=["green", None], rooms=[np.nan, 2.0])
    assert encoding.remarks(new) == (
        "column 'area': 1 gap, where no training row has one; the median of these stands there",
        "column 'colour': 1 row with a value that no training row has, for which there is no feature",
        "column 'colour': 1 gap, where no training row has one; no feature says so",
    )


SECONDS = 1.7e9 + np.random.default_rng(0).normal(0, 50, 200)


@pytest.mark.parametrize(("far", "spread"), [(1.7e9, 50.0), (1.7e12, 50.0), (-1.7e9, 50.0), (1.7e18, 5e10)])
def test_numbers_far_from_0_keep_the_digits_in_which_rows_differ(far: float, spread: float) -> None:
    table = rows(at=far + np.random.default_rng(0).normal(0, spread, 200), x=np.linspace(0, 1, 200))
    encoding = fit_encoding(table, FILE)
    found = encoding.apply(table, FILE).astype(np.float32)
    np.testing.assert_allclose(stats.zscore(found), stats.zscore(table.to_numpy()), atol=1e-4)
    (column, plain), sign = encoding.columns, "-" if far > 0 else "+"
    assert abs(column.offset - far) < 10 * spread
    assert encoding.features == (f"at {sign} {abs(column.offset):.15g}", "x")
    assert column.words == f"number, counted from {column.offset:.15g}"
    assert (plain.offset, encoding.offsets, encoding.is_plain) == (0.0, (column.offset, 0.0), False)


@pytest.mark.parametrize(
    "numbers",
    [
        np.random.default_rng(0).normal(1000, 1, 200),
        16_000_000.0 + np.arange(200) // 2,  # far from 0, and exact in 32 bits
        (0.5 + np.random.default_rng(0).normal(0, 1e-7, 200)).astype(np.float32).astype(np.float64),
        np.array([0.3, 0.1 + 0.2] * 100),  # the same but for rounding errors
        np.append(SECONDS, 0.0),  # as far from one another as from 0
    ],
)
def test_numbers_that_32_bits_hold_stay_bit_for_bit(numbers: np.ndarray) -> None:
    encoding = fit_encoding(rows(x=numbers), FILE)
    assert encoding.columns[0].offset == 0.0
    assert encoding.features == ("x",)
    assert np.array_equal(encoding.apply(rows(x=numbers), FILE)[:, 0], numbers)


def test_gaps_and_new_rows_are_counted_from_the_same_number() -> None:
    encoding = fit_encoding(rows(at=np.append(SECONDS, np.nan)), FILE)
    (column,) = encoding.columns
    found = encoding.apply(rows(at=[column.offset + 7.5, np.nan]), FILE)
    np.testing.assert_allclose(found[:, 0], [7.5, np.median(SECONDS) - column.offset])
    assert found[:, 1].tolist() == [0.0, 1.0]


def test_times_of_one_morning_keep_their_minutes() -> None:
    seconds = np.random.default_rng(0).permutation(600)
    times = [str(np.datetime64("2021-03-31T08:00:00") + np.timedelta64(int(one), "s")) for one in seconds]
    encoding = fit_encoding(rows(at=times), FILE)
    found = encoding.apply(rows(at=times), FILE).astype(np.float32)
    days = found[:, 0].astype(np.float64) + encoding.columns[0].offset
    np.testing.assert_allclose((days - days.min()) * 86_400, seconds, atol=0.05)
    at = (seconds + 8 * 3600) / 86_400
    sine = found[:, encoding.features.index("at: sine of the day")]
    np.testing.assert_allclose(sine, np.sin(2 * np.pi * at), atol=1e-5)
    assert "days, counted from 2021-03-31" in encoding.columns[0].words


def test_an_encoding_is_plain_data() -> None:
    fitted = fit_encoding(rows(at=SECONDS), FILE)
    adapter = TypeAdapter(TableEncoding)
    assert adapter.validate_json(adapter.dump_json(fitted)) == fitted


@pytest.mark.parametrize(
    ("known", "given", "expected"),
    [
        (["7", "8"], ["7.0", "8.0", " 8 ", "9"], ["7", "8", "8", None]),
        ([7, 8], ["7", "8.0", "8e+0", ""], ["7", "8", "8", None]),
        (["7", "8"], [7, 8, 9, 7], ["7", "8", None, "7"]),
        (["7", "8"], [7.0, 8.0, 7.5, 8.0], ["7", "8", None, "8"]),
        (["007", "7", "A1"], ["007", "7", "07", "7.0"], ["007", "7", None, None]),
        (["007", "A1"], [7, 7, 7, 7], [None] * 4),
    ],
)
def test_a_category_is_known_by_its_text_and_a_number_by_its_value(
    known: list[Any], given: list[Any], expected: list[str | None]
) -> None:
    encoding = fit_encoding(rows(x=known * 6), FILE, categories={"x"})
    values = [name.removeprefix("x = ") for name in encoding.features]
    found = encoding.apply(rows(x=given), FILE)
    assert [values[row.argmax()] if row.any() else None for row in found] == expected


def test_new_values_are_counted_where_rare_ones_share_a_feature_too() -> None:
    train = rows(code=["A1"] * 10 + ["B2"] * 10 + ["rare"] * 2)
    encoding = fit_encoding(train, FILE)
    new = rows(code=["A1", "rare", "C3", "C4", None])
    assert encoding.apply(new, FILE)[:, 2].tolist() == [0.0, 1.0, 1.0, 1.0, 0.0]
    assert encoding.remarks(train, train) == ()
    (with_training, *_), (without, *_) = encoding.remarks(new, train), encoding.remarks(new)
    assert with_training == "column 'code': 2 rows with a value that no training row has, taken as 'code: other'"
    assert without.startswith("column 'code': 3 rows with a value that few or no training rows have")


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([20190915, 20211230], "'20190915' in row 1"),
        ([np.nan, 1568505600], "'1568505600.0' in row 2"),
        ([Decimal("20190915"), None], "'20190915' in row 1"),
        ([18154.5, 18155.0], "'18154.5' in row 1"),
        (["2019-09-15", "20190916"], "'20190916' in row 2"),
    ],
)
def test_a_number_is_no_date(values: list[Any], shown: str) -> None:
    encoding = fit_encoding(rows(sold=DAYS), FILE)
    with pytest.raises(DataError, match=f"column 'sold' holds {shown}; expected a date"):
        encoding.apply(rows(sold=values), FILE)
    assert np.isfinite(encoding.apply(rows(sold=[np.nan, np.nan]), FILE)).all()


def test_a_date_is_no_number_and_a_number_no_truth_value() -> None:
    encoding = fit_encoding(rows(x=np.linspace(0, 1, 20), garden=[True, False] * 10), FILE)
    assert encoding.apply(rows(x=[1, 2], garden=[0, 1]), FILE).tolist() == [[1.0, 0.0], [2.0, 1.0]]
    for dates in (pd.to_datetime(["2021-03-31"]), [datetime.date(2021, 3, 31)]):
        with pytest.raises(DataError, match=r"column 'x' holds '2021-03-31.*' in row 1; expected a finite number or"):
            encoding.apply(rows(x=dates, garden=[True]), FILE)
    with pytest.raises(DataError, match=r"column 'garden' holds '2' in row 2; expected a boolean, 0 or 1, or noth"):
        encoding.apply(rows(x=[1, 2], garden=[1, 2]), FILE)


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        (["2021/03/31", "2021/12/01"], ["2021-03-31", "2021-12-01"]),
        (["2021/3/31", "2021-12-1"], ["2021-03-31", "2021-12-01"]),
        (["2021/03/31 06:30", "2021/12/01 23:59:59"], ["2021-03-31T06:30", "2021-12-01T23:59:59"]),
        (["31-Mar-2021", "1-DEC-2021"], ["2021-03-31", "2021-12-01"]),
        (["31 March 2021 9:05", "1 Sept 2021 19:05"], ["2021-03-31T09:05", "2021-09-01T19:05"]),
        (["Mar 31, 2021", "December 1, 2021"], ["2021-03-31", "2021-12-01"]),
        (["03/31/2021 10:00", "12/1/2021 9:30"], ["2021-03-31T10:00", "2021-12-01T09:30"]),
        (["31.03.2021 10:00:30", "1.12.21 23:00"], ["2021-03-31T10:00:30", "2021-12-01T23:00"]),
        (["10-Mar-21", "31-Dec-99"], ["2021-03-10", "1999-12-31"]),
        (["2021.03.31", "2021.12.01"], ["2021-03-31", "2021-12-01"]),
        (["03/31/2021 10:00 AM", "12/1/2021 12:30 PM"], ["2021-03-31T10:00", "2021-12-01T12:30"]),
        (["Wed, 31 Mar 2021 10:00:00 GMT", "Tue, 1 Jun 2021 0:30:00 GMT"], ["2021-03-31T10:00", "2021-06-01T00:30"]),
        (["10:00 AM", "12:15 am", "1:05 PM"], ["1970-01-01T10:00", "1970-01-01T00:15", "1970-01-01T13:05"]),
        (["9999-12-31", "0001-01-01"], ["9999-12-31", "0001-01-01"]),
        (["31.12.9999", "1.1.0001"], ["9999-12-31", "0001-01-01"]),
        (["2021-03-31T10:00:00.5+02:00", "2021-12-01 10:00 UTC"], ["2021-03-31T08:00:00.5", "2021-12-01T10:00"]),
    ],
)
def test_dates_that_can_only_be_one_are_read(forms: list[str], expected: list[str]) -> None:
    encoding = fit_encoding(rows(x=forms * 10), FILE)
    assert encoding.columns[0].kind == "date"
    since = (np.array(expected, dtype="datetime64[ms]") - np.datetime64(0, "ms")) / np.timedelta64(1, "D")
    np.testing.assert_allclose(encoding.apply(rows(x=forms), FILE)[:, 0], since, rtol=1e-12)


def test_columns_that_are_all_left_out_give_no_features() -> None:
    assert fit_encoding(rows(x=[5] * 20), FILE).apply(rows(x=[5, 6, 7]), FILE).shape == (3, 0)


def test_minutes_and_seconds_a_score_or_a_ratio_are_no_time_of_day() -> None:
    for forms in (["0:00", "10:30", "1:05"], ["2:01", "3:12", "1h30"]):
        assert fit_encoding(rows(x=forms * 10), FILE).columns[0].kind == "category"


UNREAD = [
    ([f"{i}.5%" for i in range(20)], "'0.5%', a number with a sign or a unit"),
    ([f"{i} %" for i in range(20)], "'0 %', a number with a sign or a unit"),
    ([f"${i}.20" for i in range(20)], "'$0.20', a number with a sign or a unit"),
    ([f"-€ 1,{i:03}.5" for i in range(20)], "'-€ 1,000.5', a number with a sign or a unit"),
    ([f"{i} mg" for i in range(19)] + ["none"], "'0 mg', a number with a sign or a unit"),
    ([f"{i}km/h" for i in range(20)], "'0km/h', a number with a sign or a unit"),
    ([f"{i},5 °C" for i in range(20)], "'0,5 °C', a number with a sign or a unit"),
    ([f"2021-03-{i}" for i in range(10, 30)] + ["unknown"], "'unknown' among dates; leave gaps empty"),
    ([f"2021-03-{i}" for i in range(10, 30)] + ["31.3.2021"], "'31.3.2021' and '2021-03-10', dates of two forms"),
]


@pytest.mark.parametrize(("values", "said"), UNREAD)
def test_numbers_and_dates_that_would_quietly_be_categories_are_refused(values: list[str], said: str) -> None:
    said = re.escape(f"own.csv: column 'x' holds {said}")
    with pytest.raises(DataError, match=f"{said}.* or give category=x if they are names"):
        fit_encoding(rows(x=values), FILE)
    assert fit_encoding(rows(x=values * 5), FILE, categories={"x"}).columns[0].kind == "category"


@pytest.mark.parametrize(
    "values",
    [
        ["36 months", "60 months"],  # a category says as much of two values
        ["1A", "1B", "2A", "2B"],
        ["S", "M", "2XL", "3XL"],
        ["001A", "002A", "003A", "010A"],  # codes, whose zeros are part of them
        ["May 2021", "Jun 2021", "Jul 2021"],
        ["2021-03-31 storm", "2021-04-02 flood", "2021-04-03 hail"],
        ["18-24", "25-34", "35+"],
        ["1 Main Street", "2 Main Street", "3 Main Street"],
    ],
)
def test_names_with_numbers_in_them_stay_categories(values: list[str]) -> None:
    (column,) = fit_encoding(rows(x=values * 6), FILE).columns
    assert (column.kind, column.values) == ("category", tuple(sorted(values)))
