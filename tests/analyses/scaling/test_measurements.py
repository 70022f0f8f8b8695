"""Tables made by hand: each gets a sentence or a status, never a traceback."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scaling.examples import OBJDET, SIZES, language_models
from transferscope.analyses.columns import measured_rows
from transferscope.analyses.scaling.analysis import Analysis, analyse
from transferscope.analyses.scaling.measurements import (
    as_errors,
    by_finetune_size,
    curves,
    found_columns,
)
from transferscope.analyses.scaling.result import ScalingResult
from transferscope.errors import DataError, MissingDataError, SettingsError, UnknownNameError
from transferscope.settings.questions import Better, Columns, ScalingQuestion


def verdict(analysis: Analysis) -> str:
    return str(ScalingResult(analysis, "").verdict)


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
    analysis = analyse(curves(frame, Columns()), ScalingQuestion(target_score=0.2))
    assert verdict(analysis)
    zeros = [note for note in analysis.notes if "error 0, which has no logarithm" in note]
    assert len(zeros) == (frame["error"] == 0).any()
    assert len(ScalingResult(analysis, "").shown_tables()[0].rows) == len(analysis.curves)


def test_a_group_of_two_points_does_not_spoil_the_others() -> None:
    whole = pd.DataFrame({"n": SIZES, "error": OBJDET})
    frame = pd.concat([whole.assign(task="long"), whole[:2].assign(task="short")])
    analysis = analyse(curves(frame, Columns(by=("task",))), ScalingQuestion())
    assert [curve.name for curve in analysis.curves] == ["long", "short"]
    assert analysis.curves[1].fit.status == "too_few"
    assert analysis.curves[1].advice is not None


def test_a_missing_column_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"'errors': did you mean 'error'\? known are error, n$"):
        curves(table([1], [0.5]), Columns(error="errors"))


def test_files_that_are_no_tables_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError):
        measured_rows(tmp_path / "absent.csv")
    empty = tmp_path / "empty.csv"
    empty.write_text("n,error\n")
    with pytest.raises(DataError, match="has no rows"):
        measured_rows(empty)


def test_repeats_become_means_with_standard_errors() -> None:
    frame = table([1000, 1000, 2000, 2000], [0.5, 0.52, 0.4, 0.42])
    data = curves(frame, Columns(repeats=True))["all rows"]
    assert data.errors.tolist() == pytest.approx([0.51, 0.41])
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


N = [1000.0, 2000.0, 4000.0, 8000.0, 16000.0]
RISES, FALLS = [0.6, 0.7, 0.75, 0.8, 0.82], [0.4, 0.3, 0.25, 0.2, 0.18]


def measured(name: str, values: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"n": N, name: values})


@pytest.mark.parametrize(
    ("name", "values", "better", "target", "error", "target_error"),
    [
        ("accuracy", RISES, None, 0.95, FALLS, 0.05),
        ("Top-1 acc.", [100 * value for value in RISES], None, 95, [100 * value for value in FALLS], 5),
        ("valAUROC", RISES, None, 0.81, FALLS, 0.19),  # reached by the last value
        ("f1-macro", RISES, None, None, FALLS, None),
        ("mAP", RISES, None, 0.9, FALLS, 0.1),
        ("y", RISES, "higher", 0.9, FALLS, 0.1),
        ("error", FALLS, None, 0.05, FALLS, 0.05),
        ("top1_error", FALLS, None, 0.05, FALLS, 0.05),
        ("val_loss", [3.0, 2.5, 2.2, 2.1, 2.0], None, 1.8, [3.0, 2.5, 2.2, 2.1, 2.0], 1.8),
        ("y", FALLS, None, 0.1, FALLS, 0.1),
        ("accuracy", FALLS, "lower", 0.1, FALLS, 0.1),
        ("error", RISES, None, 0.1, RISES, 0.1),  # no answer "reached" can come of it; the verdict says that it rises
    ],
)
def test_every_measure_becomes_an_error(
    name: str,
    values: list[float],
    better: Better | None,
    target: float | None,
    error: list[float],
    target_error: float | None,
) -> None:
    frame, wanted, measure = as_errors(measured(name, values), Columns(error=name, better=better), target)
    assert frame[name].tolist() == pytest.approx(error)
    assert wanted == (None if target_error is None else pytest.approx(target_error))
    assert measure.higher_is_better == (values != error)
    assert [measure.bounds[1] - one if measure.higher_is_better else one for one in error] == pytest.approx(values)


@pytest.mark.parametrize(
    ("name", "values", "better", "target", "sentence"),
    [
        ("metric", RISES, None, 0.95, "do not show whether it is an error; say which with --better"),
        ("metric", [0.5] * 5, None, 0.95, "do not show whether it is an error; say which with --better"),
        ("accuracy", FALLS, None, 0.95, "column accuracy falls with the sizes (from 0.4 to 0.18), unlike a score"),
        ("error", RISES, None, 0.95, "column error rises with the sizes (from 0.6 to 0.82), unlike an error"),
        ("accuracy", RISES, None, 0.05, "if an error of 0.05 is meant, give --target-score 0.95"),
        ("reward", [-3.0, 1.0, 2.0, 4.0, 5.0], None, None, "are neither within 0 to 1 nor within 0 to 100"),
    ],
)
def test_a_measure_that_could_be_misread_is_asked_about(
    name: str, values: list[float], better: Better | None, target: float | None, sentence: str
) -> None:
    with pytest.raises(SettingsError, match=re.escape(sentence)):
        as_errors(measured(name, values), Columns(error=name, better=better), target)


@pytest.mark.parametrize("target", np.linspace(0.01, 0.99, 7).tolist())
def test_no_target_above_every_measured_quality_is_reached(target: float) -> None:
    """The class of the fault: whatever is asked of a rising measure, "reached" is only said where it was measured."""
    read = []
    for quality in ("accuracy", "auc", "score"):
        try:
            frame, wanted, _ = as_errors(measured(quality, RISES), Columns(error=quality), target)
        except SettingsError:
            assert target <= max(RISES)
            return
        read.append((tuple(frame[quality]), wanted))
    assert len(set(read)) == 1
    analysis = analyse(curves(frame, Columns(error=quality)), ScalingQuestion(target_score=wanted))
    assert ("reached already" in verdict(analysis)) == (target <= max(RISES))


@pytest.mark.parametrize(
    ("n", "error", "sentence"),
    [
        ([1000, "2k", 4000], [0.5, 0.4, 0.3], "column n holds '2k' in row 2; expected plain numbers, such as 64000"),
        ([5e-324, 2000, 4000], [0.5, 0.4, 0.3], "a size = 4.94e-324 is out of range; expected 1e-30 to 1e+30"),
        ([1e300, 2000, 4000], [0.5, 0.4, 0.3], "a size = 1e+300 is out of range"),
        ([1000, 2000, 4000], [0.5, 1e-310, 0.3], "an error = 1e-310 is out of range"),
        ([1000, 2000, 4000], [0.5, 0.4, 1.7e308], "an error = 1.7e+308 is out of range"),
        ([1e-20, 2000, 4000], [0.5, 0.4, 0.3], "the sizes run from 1e-20 to 4e+03, a factor above 1e+15"),
        ([1000, 2000, 4000], [0.5, 0.4, 1e20], "the errors run from 0.4 to 1e+20, a factor above 1e+09"),
    ],
)
def test_sizes_and_errors_that_cannot_be_used_are_a_sentence(
    n: list[object], error: list[object], sentence: str
) -> None:
    with pytest.raises(DataError, match=re.escape(sentence)):
        curves(table(n, error), Columns())


@pytest.mark.parametrize("value", [5e-324, 1e300, float("inf"), float("nan"), -1.0])
def test_questions_out_of_range_are_a_sentence(value: float) -> None:
    for name in ("target_score", "largest_size"):
        asked: dict[str, Any] = {name: value}
        with pytest.raises(SettingsError, match=rf"^{name} .* (out of range; expected at least 1e-30|not a number)"):
            ScalingQuestion(**asked)


@pytest.mark.parametrize("seed", range(5))
def test_the_widest_tables_that_are_taken_are_answered(seed: int) -> None:
    generator = np.random.default_rng(seed)
    n = 10.0 ** generator.uniform(-15, 0, 6) * 10.0 ** generator.integers(-14, 30)
    error = 10.0 ** generator.uniform(-9, 0, 6) * 10.0 ** generator.integers(-20, 30)
    error[generator.random(6) < 0.2] = 0
    analysis = analyse(
        curves(table(list(n), list(error)), Columns()), ScalingQuestion(target_score=float(error.max() / 3))
    )
    assert verdict(analysis)


def test_only_columns_that_were_not_named_are_looked_for() -> None:
    frame = language_models()
    _, columns, said = found_columns(frame, Columns())
    assert (columns.error, columns.pretrain_size, columns.finetune_size) == ("loss", "params", "tokens")
    assert len(said) == 3
    named = Columns(error="loss", pretrain_size="tokens")
    assert found_columns(frame, named)[1:] == (named, ())
    plain = pd.DataFrame({"n": [1, 2], "error": [0.5, 0.4], "loss": [1.0, 0.9], "tokens": [5, 6]})
    assert found_columns(plain, Columns())[1:] == (Columns(), ())
    twice = pd.DataFrame({"n": [1, 2], "loss": [1.0, 0.9], "val_loss": [5, 6]})
    with pytest.raises(SettingsError, match=r"several metrics .* choose one with --columns score=loss"):
        found_columns(twice, Columns())


def test_a_table_with_a_column_for_each_size_is_its_long_form() -> None:
    wide = pd.DataFrame({"model": ["a", "b"], "1000": [0.5, 0.6], "2_000": [0.4, 0.5], "4000": [0.3, np.nan]})
    frame, columns, said = found_columns(wide, Columns(by=("model",)))
    found = curves(frame, columns)
    assert {name: dict(zip(data.sizes[:, 0], data.errors, strict=True)) for name, data in found.items()} == {
        "a": {1000: 0.5, 2000: 0.4, 4000: 0.3},
        "b": {1000: 0.6, 2000: 0.5},
    }
    assert len(said) == 1


def test_an_interval_of_an_accuracy_ends_at_zero() -> None:
    table = pd.DataFrame({"n": [10.0, 20.0, 40.0], "accuracy": [41.0, 50.0, 57.0]})
    _, _, measure = as_errors(table, Columns(error="accuracy", pretrain_size="n"), None)
    assert measure.shown_scores(10.0, 115.8) == "0.0 % to 90.0 %"
    _, _, r_squared = as_errors(table.assign(r2=table["accuracy"] / 100), Columns(error="r2", pretrain_size="n"), None)
    assert r_squared.score(1.5) == pytest.approx(-0.5)
