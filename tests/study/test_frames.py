from dataclasses import replace
from pathlib import Path

import pandas as pd

from fabricate import Fabrication, fabricate, fabricate_regression
from transferscope.analyses.compare.summary import Summary
from transferscope.records import Cost
from transferscope.store import PlannedCell, StoredCell
from transferscope.store.rows import Label
from transferscope.study.frames import RECORD_COLUMNS, cells_frame, read_study, records_frame
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


def _cell(key: str, n_source: int | None) -> StoredCell:
    labels: dict[str, Label] = {"source": "mnist", "method": "joint", "n_target": 100, "n_source": n_source, "seed": 0}
    return StoredCell(PlannedCell(key, "method", labels, {}), "done", Cost(1.0))
