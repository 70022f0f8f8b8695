"""A small study with diagnostics and checkpoints, from its file to the page; numbers counted again from the store."""

import io
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pages import held_tables
from studies import tables
from transferscope.analyses.compare.checkpoints import checkpoint_series
from transferscope.analyses.compare.study_page import build_report
from transferscope.analyses.compare.summary import Summary, summarise
from transferscope.analyses.diagnose.study import diagnoses_of
from transferscope.report.page import ReportFiles
from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec

pytestmark = pytest.mark.long

STEPS = (5, 20)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("why")
    study = tables(
        folder,
        seeds=3,
        store=str(folder / "small.sqlite"),
        pretraining={"steps": 60, "lr": 0.1, "checkpoints": list(STEPS)},
        methods={"scratch": {}, "linear-probe": {}, "fine-tune": {}, "joint": {}},
        diagnostics={"weights": {"every": 5}, "class-separation": {"part": "target_test"}, "kernel-distance": {}},
        engine={"workers": 0},
    )
    with Store.open(folder / "small.sqlite") as opened:
        run_study(parse_spec(study), opened)
        yield opened


@pytest.fixture(scope="module")
def summary(store: Store) -> Summary:
    return summarise(store, "small")


@pytest.fixture(scope="module")
def report(store: Store, tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    return build_report(store, "small", tmp_path_factory.mktemp("report") / "report.html")


def numbers(store: Store, role: str, name: str, part: str) -> pd.DataFrame:
    """Final values straight from the store, with the labels of their cells."""
    records = pd.DataFrame(store.records("small").columns())
    cells = {cell.cell.key: cell.cell for cell in store.cells("small") if cell.cell.role == role}
    own = records[records["key"].isin(list(cells)) & (records["name"] == name) & (records["part"] == part)]
    own = own[own["step"].isna()]
    labels = pd.DataFrame([dict(cells[key].labels) for key in own["key"]])
    assert role == "method" or "pretrain_step" not in labels  # diagnostics look into the last networks alone
    return labels.reindex(columns=["method", "seed", "pretrain_step"]).assign(value=own["value"].to_numpy())


def test_readings_are_those_of_the_store(store: Store, summary: Summary) -> None:
    found = {diagnosis.name: diagnosis for diagnosis in diagnoses_of(summary.frames, 12)}
    values = numbers(store, "diagnose", "weight_deviation", "target_train")
    values = values[values["pretrain_step"].isna()]
    by_method = {m: rows.set_index("seed")["value"].sort_index() for m, rows in values.groupby("method")}
    assert {reading.method for reading in found["weights"].readings} == by_method.keys()
    for reading in found["weights"].readings:
        own = by_method[reading.method]
        assert reading.by_seed.tolist() == own.tolist()
        low, high = stats.t.interval(0.95, 2, loc=own.mean(), scale=stats.sem(own))
        assert (reading.over_seeds.interval.low, reading.over_seeds.interval.high) == pytest.approx((low, high))


def test_rank_correlations_are_those_of_scipy_seed_by_seed(store: Store, summary: Summary) -> None:
    found = {diagnosis.name: diagnosis for diagnosis in diagnoses_of(summary.frames, 12)}
    ratio = numbers(store, "diagnose", "variance_ratio", "target_test")
    ratio = ratio[ratio["pretrain_step"].isna()]
    accuracy = numbers(store, "method", "accuracy", "target_test")
    accuracy = accuracy[accuracy["pretrain_step"].isna()]
    joined = ratio.merge(accuracy, on=["method", "seed"], suffixes=("", "_of_fit"))
    each = [stats.spearmanr(rows["value"], 1 - rows["value_of_fit"]).statistic for _, rows in joined.groupby("seed")]
    correlation = found["class-separation"].correlation
    assert correlation.value == pytest.approx(np.mean(each))
    assert found["kernel-distance"].correlation is None  # three networks a seed: training from scratch has no source


def test_checkpoints_stay_out_of_the_comparison_and_have_their_own(store: Store, summary: Summary) -> None:
    assert {c.method for c in summary.comparisons} == {"scratch", "linear-probe", "fine-tune", "joint"}
    assert all(len(c.seeds) == 3 for c in summary.comparisons)
    accuracy = numbers(store, "method", "accuracy", "target_test").fillna({"pretrain_step": 60})
    for series in checkpoint_series(summary):
        own = accuracy[accuracy["method"] == series.method]
        means = own.groupby("pretrain_step")["value"].mean()
        assert series.table["step"].tolist() == [*STEPS, 60]
        assert series.table["mean"].tolist() == pytest.approx(means.tolist())
        assert means[series.best] == means.max()
        if series.lead is not None:
            assert series.lead.value == pytest.approx(means[series.best] - means[60])
    assert {series.method for series in checkpoint_series(summary)} == {"linear-probe", "fine-tune"}


def test_the_page_has_the_tables_of_diagnostics_and_checkpoints_with_every_network(report: ReportFiles) -> None:
    held = held_tables(report.html.read_text(encoding="utf-8"))
    assert {"diagnostics", "diagnostics-training", "checkpoints"} <= set(held)
    table = pd.read_csv(io.StringIO(held["diagnostics"]))
    assert table.groupby("diagnostic").size().to_dict() == {"weights": 12, "class-separation": 12, "kernel-distance": 9}
