"""Studies that are judged by a measure of classes, against scikit-learn on what each run predicted."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score, matthews_corrcoef
from typer.testing import CliRunner

from transferscope import compare
from transferscope.analyses.compare import Budget
from transferscope.analyses.compare.result import ComparisonResult
from transferscope.analyses.compare.training import nothing_learnt_in_words
from transferscope.analyses.stored import open_result
from transferscope.cli.main import app
from transferscope.errors import DataError, SettingsError
from transferscope.store import Store
from transferscope.study.export import chosen_run
from transferscope.study.facts import load_data
from transferscope.study.frames import read_study
from transferscope.study.spec import parse_spec

N, NAME = 600, "source-to-target"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A target of which nine in ten examples are of one class, and a source of the same kind."""
    made, rng = tmp_path_factory.mktemp("uneven"), np.random.default_rng(0)
    for name, rare in (("target", 0.1), ("source", 0.5)):
        y = (rng.random(N) < rare).astype(np.int64)
        directions = 1.2 * rng.normal(size=(2, 8)) * (name == "target")
        x = (directions[y] + rng.normal(size=(N, 8))).astype(np.float32)
        np.savez(made / f"{name}.npz", x_train=x[:300], y_train=y[:300], x_test=x[300:], y_test=y[300:])
    return made


def asked(folder: Path, metric: str | None = None) -> ComparisonResult:
    return compare(
        f"npz:{folder / 'target.npz'}",
        f"npz:{folder / 'source.npz'}",
        labels=[60],
        methods=["scratch", "fine-tune", "linear-probe"],
        seeds=3,
        budget=Budget(steps=30, pretraining_steps=30, network="mlp", workers=0),
        tuning=False,
        metric=metric,
        folder=folder / "runs",
    )


@pytest.fixture(scope="module")
def plain(folder: Path) -> ComparisonResult:
    return asked(folder)


def test_every_class_counts_the_same_and_nothing_is_run_again(plain: ComparisonResult, folder: Path) -> None:
    assert "accuracy is mostly about the frequent classes" in str(plain.verdict)
    with Store.open(plain.store) as store:
        before = {one.key: one.seconds for one in store.standings(NAME)}
    balanced = asked(folder, "balanced-accuracy")
    assert "accuracy is mostly about" not in str(balanced.verdict)
    with Store.open(plain.store) as store:
        assert {one.key: one.seconds for one in store.standings(NAME)} == before
        frames = read_study(store, NAME)
    labels = np.load(folder / "target.npz")["y_test"]
    final = frames.final("balanced_accuracy").set_index("key")["value"]
    assert len(final) == 9
    for key, value in final.items():
        assert value == pytest.approx(balanced_accuracy_score(labels, frames.predictions[str(key)]), abs=1e-12)
    means = final.groupby(frames.cells.set_index("key")["method"]).mean()
    for comparison in balanced.summary.comparisons:
        assert comparison.score.value == pytest.approx(means[comparison.method])
    page = balanced.report(folder / "balanced.html").html.read_text(encoding="utf-8")
    assert "Balanced accuracy on the test set (%)" in page
    again = open_result(str(balanced.study))
    assert isinstance(again, ComparisonResult)
    assert again.summary.frames.metric.record == "balanced_accuracy"


@pytest.mark.parametrize(
    ("metric", "title", "words", "expected"),
    [
        ("macro-f1", "Macro F1 on the test set (%)", "a macro F1 of", lambda *both: f1_score(*both, average="macro")),
        ("matthews", "Matthews correlation on the test set (%)", "a Matthews correlation of", matthews_corrcoef),
    ],
)
def test_other_measures_of_classes(
    plain: ComparisonResult, folder: Path, metric: str, title: str, words: str, expected: Callable[..., float]
) -> None:
    found, record = asked(folder, metric), metric.replace("-", "_")
    with Store.open(plain.store) as store:
        frames = read_study(store, NAME)
        run, alike = chosen_run(store, NAME)
    assert (frames.metric.record, run.metric) == (record, record)
    labels = np.load(folder / "target.npz")["y_test"]
    final = frames.final(record).set_index("key")["value"]
    assert len(final) == 9
    for key, value in final.items():
        assert value == pytest.approx(expected(labels, frames.predictions[str(key)]), abs=1e-12)
    assert np.mean([one.score for one in alike]) == pytest.approx(max(c.score.value for c in found.summary.comparisons))
    page = found.report(folder / f"{metric}.html").html.read_text(encoding="utf-8")
    assert title in page
    assert words in str(found.verdict)
    with pytest.raises(SettingsError, match="metric"):
        asked(folder, "f1")


def test_nothing_learnt_is_said_in_the_words_of_the_measure(plain: ComparisonResult, folder: Path) -> None:
    asked(folder, "matthews")
    with Store.open(plain.store) as store:
        frames = read_study(store, NAME)
    records = frames.records.copy()
    records.loc[records["name"] == "matthews", "value"] = 0.004
    (said,) = nothing_learnt_in_words(replace(frames, records=records))
    assert said == (
        "With 60 labels nothing has been learnt: the best way reaches a Matthews correlation of 0.4 %, and always to "
        "answer “0” 0.0 %."
    )


def test_the_winner_is_that_of_the_metric(plain: ComparisonResult, folder: Path) -> None:
    asked(folder, "balanced-accuracy")
    labels = np.load(folder / "target.npz")["y_test"]
    with Store.open(plain.store) as store:
        run, alike = chosen_run(store, NAME)
        predictions = store.arrays(NAME, "predictions")
        methods = {stored.cell.key: stored.cell.labels["method"] for stored in store.cells(NAME)}
    of_method: dict[object, list[float]] = {}
    for key, predicted in predictions.items():
        of_method.setdefault(methods[key], []).append(balanced_accuracy_score(labels, predicted))
    means = {method: float(np.mean(values)) for method, values in of_method.items()}
    assert run.metric == "balanced_accuracy"
    assert run.method == max(means, key=lambda method: means[method])
    assert np.mean([one.score for one in alike]) == pytest.approx(max(means.values()))


def test_a_file_that_asks_for_another_metric_than_was_taken_over_is_told(folder: Path) -> None:
    found = asked(folder, "balanced-accuracy")
    assert found.study is not None
    as_run = found.study.read_text(encoding="utf-8")
    page = str(folder / "told.html")
    for text, is_told in ((as_run, False), (as_run.replace('metric = "balanced-accuracy"\n', ""), True)):
        found.study.write_text(text, encoding="utf-8")
        for command in (["report", str(found.study), "--out", page], ["status", str(found.study)]):
            answer = CliRunner().invoke(app, command)
            assert answer.exit_code == 0
            assert ("asks for another metric than this study is judged by" in answer.output) == is_told, command
    found.study.write_text(as_run, encoding="utf-8")


def test_where_it_says_nothing_it_is_refused(folder: Path) -> None:
    tables: dict[str, Any] = {
        "name": "numbers",
        "target": {"data": f"npz:{folder / 'numbers.npz'}", "labels": [20], "metric": "balanced-accuracy"},
        "network": {"name": "mlp", "widths": [4]},
        "training": {"steps": 5},
        "methods": {"scratch": {}},
    }
    x, y = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32), np.arange(40, dtype=np.float32)
    np.savez(folder / "numbers.npz", x_train=x, y_train=y, x_test=x + 1, y_test=y)
    with pytest.raises(DataError, match=r"is for one class of each input, and the task of .* is regression"):
        load_data(parse_spec(tables))
    masks = np.random.default_rng(0).integers(0, 2, size=(40, 4, 4))
    images = np.random.default_rng(0).integers(0, 256, size=(40, 16, 16), dtype=np.uint8)
    np.savez(folder / "masks.npz", x_train=images, y_train=masks, x_test=images, y_test=masks)
    on_grid = {"data": f"npz:{folder / 'masks.npz'}", "labels": [20], "metric": "macro-f1"}
    with pytest.raises(DataError, match=r"the task of masks is segmentation; leave it out"):
        load_data(parse_spec(tables | {"target": on_grid, "network": {"name": "resnet20"}}))
    with pytest.raises(SettingsError, match="metric"):
        parse_spec(tables | {"target": {**tables["target"], "metric": "balanced accuracy"}})
