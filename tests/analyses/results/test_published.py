"""Published tables: what they lack is asked, and then they are read as they are."""

import os
from pathlib import Path

import pandas as pd
import pytest

from transferscope.analyses.compare import compare_results
from transferscope.errors import DataError, SettingsError
from transferscope.settings.questions import RunColumns

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def published() -> Path:
    return Path(os.environ["TRANSFERSCOPE_DATA"]) / "results"


def test_losses_of_models_at_numbers_of_labels(published: Path) -> None:
    """30 models, numbers of labels as columns, one run each: the best of a column has the least."""
    path = published / "llm_finetuning_flan.csv"
    with pytest.raises(SettingsError, match="--wide"):
        compare_results(path)
    columns = RunColumns(arm="config name", wide="labels", metric="loss")
    found = compare_results(path, without=[], columns=columns)
    own = pd.read_csv(path).set_index("config name")
    assert list(found.summary.decided) == [int(name) for name in own.columns if name.isdecimal() and name != "0"]
    for n, decision in found.summary.decided.items():
        assert decision.outcome == "no control"
        assert decision.best_transfer_arm == own[str(n)].idxmin()
        assert {arm.name: -(arm.mean or 0.0) for arm in decision.arms} == pytest.approx(own[str(n)].to_dict())


@pytest.mark.long
def test_a_benchmark_of_many_tasks_and_measures(published: Path) -> None:
    table = pd.read_csv(published / "torchgeo_bench.csv", low_memory=False)
    with pytest.raises(SettingsError, match="several metrics in column metric_name"):
        compare_results(table, without=[])
    with pytest.raises(DataError, match="distinguish all but 12 of 1644 rows"):
        compare_results(table, without=[], columns=RunColumns(metric="accuracy"))
    where = {"dataset": "m-eurosat", "method": "linear", "partition": "default", "bands": "rgb"}
    chosen = table.query(
        "metric_name == 'accuracy' and dataset == 'm-eurosat' and method == 'linear' and partition == 'default' "
        "and bands == 'rgb'"
    )
    apart = ("name", "normalization", "image_size", "interpolation")
    columns = RunColumns(arm="+".join(apart), metric="accuracy", where=where)
    assert not chosen.duplicated([*apart, "seed"]).any()
    found = compare_results(table, without=[], columns=columns)
    assert len(found.runs.rows) == len(chosen)
    assert found.runs.rows["score"].max() == chosen["metric_value"].max()
