import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fabricate import Fabrication, fabricate, fabricate_regression
from transferscope.analyses.compare.summary import Summary
from transferscope.records import Cost
from transferscope.store import PlannedCell, StoredCell
from transferscope.store.rows import Label
from transferscope.study.frames import (
    RECORD_COLUMNS,
    are_labels,
    are_predictions,
    cells_frame,
    read_study,
    records_frame,
)
from transferscope.study.measure import ACCURACY, SQUARED_ERROR


def test_a_study_is_read_with_its_order(summary: Summary) -> None:
    frames = summary.frames
    assert frames.methods == ["scratch", "fine-tune", "l2-sp", "joint", "merlin"]
    assert frames.sources == ["fashion", "mnist"]
    assert frames.sizes == [50, 200, 600]
    assert frames.seeds == [0, 1, 2, 3, 4]
    assert (frames.baseline, frames.metric) == ("scratch", ACCURACY)


def test_final_values_and_curves_are_kept_apart(summary: Summary) -> None:
    n_runs = 3 * 5 * 9 - 1  # one failed
    assert len(summary.frames.final("accuracy")) == n_runs
    assert len(summary.frames.curves("accuracy")) == 20 * n_runs


def test_a_scratch_under_another_name_is_found_by_the_study_file(tmp_path: Path, small: Fabrication) -> None:
    with fabricate(tmp_path / "s.sqlite", small) as store:
        frames = read_study(store, "usps")
    for key in ("method", "name"):  # in a study file, and as the engine stores it
        spec = {**frames.study.spec, "methods": {"fine-tune": {key: "scratch"}, "scratch": {key: "joint"}}}
        assert replace(frames, study=replace(frames.study, spec=spec)).baseline == "fine-tune"


def test_a_regression_is_judged_by_squared_error(tmp_path: Path) -> None:
    with fabricate_regression(tmp_path / "s.sqlite") as store:
        frames = read_study(store, "numbers")
    assert (frames.metric, frames.classes) == (SQUARED_ERROR, None)


def test_a_source_of_numbers_does_not_change_what_classes_are_judged_by(summary: Summary) -> None:
    records = summary.frames.records
    of_source = records.iloc[:1].assign(name="mse", part="source_test")
    assert replace(summary.frames, records=pd.concat([records, of_source])).metric == ACCURACY


def test_a_source_in_several_sizes_is_named_with_them() -> None:
    cells = [_cell("few", 1000), _cell("many", 50_000), _cell("none", None)]
    assert cells_frame(cells)["source"].tolist() == ["mnist (1,000 examples)", "mnist (50,000 examples)", "mnist"]


def test_a_value_that_is_not_finite_is_no_value() -> None:
    cells = cells_frame([_cell("diverged", None)])
    values = ["diverged", "mse", "target_test", None, float("inf"), float("nan"), "non_finite"]
    frame = records_frame(pd.DataFrame([values], columns=RECORD_COLUMNS), cells)
    assert frame["value"].isna().all()
    assert frame["method"].tolist() == ["joint"]


CLASSES = {"target": {"classes": ["a", "b", "c"]}}


@pytest.mark.parametrize(
    ("facts", "labels", "predicted", "can_be"),
    [
        (CLASSES, [0, 1, 2, 2], [2, 0, 1, 1], True),
        (CLASSES, [0, 1, 2, 2], [2, 0, 1], False),
        (CLASSES, [0, 1, 2, 2], [[2], [0], [1], [1]], False),
        (CLASSES, [0, 1, 2, 2], [2, 0, 1, 3], False),
        (CLASSES, [0, 1, 2, 2], [2, 0, 1, -1], False),
        (CLASSES, [0, 1, 2, 2], [2.0, 0.0, 1.0, 1.0], False),
        (CLASSES, [[[0, -1], [2, 2]]], [[[2, 0], [1, 1]]], True),
        (CLASSES, [[[0, -1], [2, 2]]], [[[2, 0], [1, -1]]], False),
        (CLASSES, [[True, False, True]], [[0.5, math.nan, -3.0]], True),
        (CLASSES, [[True, False, True]], [[1, 0, 1]], False),
        ({}, [[0.5], [2.5]], [[math.nan], [1e30]], True),  # a run that diverged
        ({}, [[0.5], [2.5]], [0.5, 2.5], False),
        ({}, None, [0.5, 2.5], True),
        ({}, None, [[0.5, 2.5]], False),
        ({}, None, [], False),
        ({}, None, ["0.5"], False),
    ],
)
def test_predictions_are_of_the_shape_and_kind_of_the_labels_and_of_their_classes(
    facts: dict[str, object], labels: list[object] | None, predicted: list[object], can_be: bool
) -> None:
    known = None if labels is None else np.array(labels)
    assert are_predictions(facts, known, np.array(predicted)) is can_be
    assert known is None or are_labels(facts, known)


@pytest.mark.parametrize(
    "labels",
    [[], [0, 3], [0, -1], [[0, 1]], [[[0, -2]]], [[math.nan]], [0.5, 1.5], [[True, False, True, True]], ["0", "1"], 2],
)
def test_labels_are_classes_truth_values_or_finite_numbers(labels: object) -> None:
    assert not are_labels(CLASSES, np.array(labels))


def _cell(key: str, n_source: int | None) -> StoredCell:
    labels: dict[str, Label] = {"source": "mnist", "method": "joint", "n_target": 100, "n_source": n_source, "seed": 0}
    return StoredCell(PlannedCell(key, "method", labels, {}), "done", Cost(1.0))
