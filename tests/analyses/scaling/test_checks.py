"""What a table must not be read as unasked: several curves as one, percent as shares, a target in another unit."""

import re

import numpy as np
import pandas as pd
import pytest

from transferscope import scaling
from transferscope.analyses.scaling import Columns, ScalingQuestion
from transferscope.analyses.scaling.checks import check_target, check_units
from transferscope.analyses.scaling.measurements import check_one_curve
from transferscope.errors import DataError, SettingsError

N = 500 * 2.0 ** np.arange(7)
LAW = 2 * N**-0.4 + 0.1


def curve(factor: float = 1.0, *, noise: float = 0.0, draw: int = 0, **columns: str | float) -> pd.DataFrame:
    errors = factor * LAW * np.exp(noise * np.random.default_rng(draw).standard_normal(len(N)))
    return pd.DataFrame({"n": N, "error": errors}).assign(**columns)


def repeated(**columns: list[str] | list[int]) -> pd.DataFrame:
    """Four noisy repeats of one curve, with a value of each column for each."""
    named = [{name: values[place] for name, values in columns.items()} for place in range(4)]
    return pd.concat([curve(noise=0.02, draw=place).assign(**named[place]) for place in range(4)])


def two(name: str, one: str | float, other: str | float, factor: float = 0.8, **columns: str) -> pd.DataFrame:
    """Two noisy curves at the same sizes, which differ in a column."""
    first, second = curve(noise=0.01), curve(factor, noise=0.01, draw=1)
    return pd.concat([first.assign(**{name: one}), second.assign(**{name: other})]).assign(**columns)


def two_of_each(name: str, values: list[int]) -> pd.DataFrame:
    """Two repeats of the model a and two of b, with a further column."""
    models = ("a", "a", "b", "b")
    found = [curve(1 - 0.4 * (m == "b"), noise=0.02, draw=i, model=m) for i, m in enumerate(models)]
    return pd.concat([one.assign(**{name: value}) for one, value in zip(found, values, strict=True)])


@pytest.mark.parametrize(
    ("frame", "columns", "facts"),
    [
        (two("model", "a", "b"), Columns(), ("2 rows at n = 500 differ in model (a and b)", "--by model", "--repeats")),
        (two("frozen", True, False), Columns(), ("differ in frozen (True and False)", "--by frozen", "--repeats")),
        (two("depth", 18, 34), Columns(), ("differ in depth (18 and 34)", "--by depth", "--repeats")),
        (two("tokens", 100, 200), Columns(), ("--columns labels=tokens for laws over both sizes", "--by tokens")),
        (
            two("model", "a", "b", task="x"),
            Columns(by=("task",)),
            ("2 rows at task = x, n = 500 differ in model (a and b)", "--by task --by model"),
        ),
        (two_of_each("seed", [0, 1, 0, 1]), Columns(repeats=True), ("--by model", "or leave that column out")),
        (two_of_each("run", [0, 1, 2, 3]), Columns(), ("4 rows at n = 500 differ in model (a and b)", "--by model")),
        (
            pd.concat([curve(model="a"), curve(0.6, model="b").assign(n=1.4 * N)]),
            Columns(),
            ("rows differ in model (a and b) and lie on no one curve", "--by model"),
        ),
    ],
)
def test_several_curves_are_asked_about(frame: pd.DataFrame, columns: Columns, facts: tuple[str, ...]) -> None:
    with pytest.raises(SettingsError) as caught:
        scaling(frame, columns=columns)
    assert all(fact in str(caught.value) for fact in facts), caught.value


@pytest.mark.parametrize(
    "frame",
    [
        repeated(),
        repeated(seed=[0, 1, 2, 3]),
        repeated(run=["r0", "r1", "r2", "r3"]),
        repeated(cvFold=[0, 1, 2, 3]),
        repeated(number=[0, 1, 2, 3]),  # explains nothing
        repeated(seed=[0, 1, 2, 3], host=["a", "b", "a", "b"]),
        repeated(seed=[0, 1, 2, 3], split=["s0", "s1", "s2", "s3"]),
        # errors that seeds have of their own, which explain nothing but themselves
        pd.concat(
            curve(level, noise=0.001, draw=i, seed=i, split=f"s{i}", date=f"2026-0{i + 1}-01")
            for i, level in enumerate([1.1, 1.0, 0.9, 1.05])
        ),
        curve(noise=0.02).assign(host=list("abababa")),  # one curve, whatever ran each size
        # names of single rows
        repeated().assign(path=[f"run{row}.json" for row in range(28)], note=pd.array(["rerun", *[None] * 27])),
    ],
)
def test_repeats_stay_repeats(frame: pd.DataFrame) -> None:
    assert check_one_curve(frame, Columns()) == ()


def test_repeats_that_were_asked_for_are_averaged_and_said() -> None:
    frame = pd.concat([curve(model="a"), curve(0.6, model="b")])
    notes = scaling(frame, columns=Columns(repeats=True)).analysis.notes
    assert notes[0].startswith("2 rows at n = 500 differ in model (a and b) and were averaged as repeats; give --by m")


def test_measured_is_the_mean_over_repeats() -> None:
    frame = pd.concat([curve(0.5), curve(1.5)])
    (row,) = scaling(frame).shown_tables()[0].rows
    assert (row[2].text, row[2].detail) == ("32,000", f"{LAW[-1]:.3g}")


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
@pytest.mark.parametrize("percent", [N > 3000, N < 3000, N == 4000])
def test_a_column_of_shares_and_percent_is_refused(percent: np.ndarray, order: slice) -> None:
    for values in (LAW, 1 - LAW):
        mixed = pd.Series(np.where(percent, 100 * values, values)[order], name="measured")
        with pytest.raises(DataError, match=r"column measured mixes units: .* write all as shares or all in"):
            check_units(mixed, [pd.Series(N[order])])


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("error", 50 * (N / 500) ** -1.2),  # percent, from 50 to 0.3
        ("accuracy", 100 - 99.9 * (N / 500) ** -0.05),  # percent, from 0.1 to 19
        ("loss", np.where(N > 3000, LAW, 100 * LAW)),
        ("error", 1000 * LAW**3),
    ],
)
def test_percent_below_one_are_percent(name: str, values: np.ndarray) -> None:
    check_units(pd.Series(values, name=name), [pd.Series(N)])


def test_curves_of_errors_may_differ_in_level() -> None:
    frame = pd.concat([curve(100, task="hard"), curve(100 / 60, task="easy")])
    assert [one.name for one in scaling(frame, columns=Columns(by=("task",))).analysis.curves] == ["hard", "easy"]


@pytest.mark.parametrize(
    ("scale", "target", "sentence"),
    [
        (1, 12, "the column holds shares (0.1315 to 0.2665); if 12 % is meant, give --target-score 0.12"),
        (1, 88, "if a quality of 88 % is meant, give --target-score 0.12"),
        (1, 150, "150 of error is not below 1, and the column holds shares (0.1315 to 0.2665); give one below"),
        (1, 0.88, "would be reached already; if a quality of 0.88 is meant, give --target-score 0.12"),
        (100, 0.12, "0.12 % in the unit of the column (13.15 to 26.65), less than a tenth of the least; if 12 % is"),
        (100, 0.12, "give --target-score 12, and otherwise errors and target as shares"),
        (100, 0.88, "if a quality of 88 % is meant, give --target-score 12"),
        (100, 88, "if a quality of 88 is meant, give --target-score 12"),
    ],
)
def test_a_target_error_in_another_unit_is_refused(scale: float, target: float, sentence: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(sentence)):
        scaling(curve(scale), ScalingQuestion(target_score=target))


@pytest.mark.parametrize(
    ("name", "scale", "target"),
    [
        ("error", 1, 0.12),
        ("error", 1, 0.001),
        ("error", 1, 0.3),
        ("error", 3, 3 * LAW.max()),  # the largest of all, where 1 - target is an error of the column too
        ("error", 100, 12),
        ("error", 100, 1.2),
        ("error", 5, 0.6),  # percent from 1.3 to 0.7: 60 % would be none of them
        ("loss", 100, 0.12),
        ("perplexity", 1, 12),
        ("error", 1000, 0.5),
    ],
)
def test_a_target_error_in_its_unit_is_taken(name: str, scale: float, target: float) -> None:
    check_target(pd.Series(scale * LAW, name=name), target, quality=False)


def test_a_target_below_1_beside_losses_above_1_is_pointed_out() -> None:
    notes = scaling(curve(100).rename(columns={"error": "loss"}), ScalingQuestion(target_score=0.5)).analysis.notes
    assert any("every error is above 1 and the target error is 0.5" in note for note in notes)


@pytest.mark.parametrize(
    ("top", "target", "sentence"),
    [
        (1, 85, "out of range; expected a number between 0 and 1; if 85 % is meant, give --target-score 0.85"),
        (100, 0.85, "0.85 % in the unit of the column (73.35 to 86.85) and 85 % as a share; if 85 % is meant, give"),
        (100, 0.95, "if 95 % is meant, give --target-score 95"),
        (100, 12, "if an error of 12 is meant, give --target-score 88"),
    ],
)
def test_a_target_score_in_another_unit_is_refused(top: float, target: float, sentence: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(sentence)):
        check_target(pd.Series(top * (1 - LAW), name="accuracy"), target, quality=True)


def test_a_row_that_cannot_be_used_is_no_repeat() -> None:
    frame = pd.concat([curve() for _ in range(3)], ignore_index=True)
    frame.loc[[3, 10, 17], "error"] = [np.nan, -1.0, np.inf]  # all at n = 4000
    frame.loc[4, "error"] = -1.0
    result = scaling(frame, columns=Columns(repeats=True))
    assert "left out 2 rows with a size or error that is missing or not finite" in result.analysis.notes
    assert "left out 2 rows with a negative size or error" in result.analysis.notes
    (one,) = result.analysis.curves
    assert one.observations.errors.tolist() == pytest.approx(np.delete(LAW, 3).tolist())


def test_frames_as_pandas_leaves_them_are_read() -> None:
    plain = scaling(curve()).verdict
    assert scaling(curve().set_index(pd.Index(list("abcdefg")))).verdict == plain
    assert scaling(curve().rename(columns={"n": 0}), columns=Columns(pretrain_size="0")).verdict == plain
    with pytest.raises(DataError, match="several columns 'error'; give each its own name"):
        scaling(pd.concat([curve(), curve()["error"]], axis=1))
    with pytest.raises(DataError, match=re.escape("column m holds [1]; expected a name or a number for each curve")):
        scaling(curve().assign(m=pd.Series([[1]] * 7)), columns=Columns(by=("m",)))
