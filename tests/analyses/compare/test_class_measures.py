"""Studies that are judged by a measure of classes, against scikit-learn on what each run predicted."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score, matthews_corrcoef

from transferscope import compare
from transferscope.analyses.compare.result import ComparisonResult
from transferscope.analyses.compare.training import nothing_learnt
from transferscope.analyses.stored import open_result
from transferscope.errors import SettingsError
from transferscope.store import Store
from transferscope.study.export import chosen_run
from transferscope.study.frames import read_study
from transferscope.study.places import usual_class

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
        network="mlp",
        training={"steps": 30},
        pretraining={"steps": 30},
        engine={"workers": 0},
        tuning=False,
        metric=metric,
        folder=folder / "runs",
    )


@pytest.fixture(scope="module")
def plain(folder: Path) -> ComparisonResult:
    return asked(folder, "accuracy")


def test_where_nearly_all_are_of_one_class_each_counts_the_same_unless_accuracy_is_asked_for(
    plain: ComparisonResult, folder: Path
) -> None:
    found = asked(folder)
    assert found.summary.frames.metric.record == "balanced_accuracy"
    assert "% balanced accuracy" in found.verdict.headline
    assert found.summary.frames.study.spec["target"]["metric"] is None
    share = float((np.load(folder / "target.npz")["y_train"] == 0).mean())
    assert f"{100 * share:.0f} % of the training examples are “0”" in str(found.verdict)
    assert plain.summary.frames.metric.record == "accuracy"
    assert "balanced accuracy" not in plain.verdict.headline


@pytest.mark.parametrize(
    ("counts", "usual"),
    [
        ([80, 20], ("ham", 0.8)),
        ([10, 190], ("spam", 0.95)),
        ([79, 21], None),
        ([100], None),
        ([0, 0], None),
        (None, None),
        (["80", 20], None),
    ],
)
def test_a_class_of_four_in_five_examples_is_usual(counts: object, usual: tuple[str, float] | None) -> None:
    about = {"kind": "classification", "classes": ["ham", "spam"], "class_counts": {"train": counts}}
    assert usual_class({"target": {}}, {"target": about}) == usual
    assert usual_class({"target": {"metric": "accuracy"}}, {"target": about}) is None
    assert usual_class({}, {"target": {**about, "kind": "multi-label"}}) is None
    assert usual_class({}, {}) is None


def test_every_class_counts_the_same_and_nothing_is_run_again(plain: ComparisonResult, folder: Path) -> None:
    assert "accuracy is mostly about the frequent classes" in str(plain.verdict)
    with Store.open(plain.store) as store:
        before = {one.key: one.seconds for one in store.standings(NAME)}
    balanced = asked(folder, "balanced-accuracy")
    assert "accuracy is mostly about" not in str(balanced.verdict)
    with Store.open(plain.store) as store:
        assert {one.key: one.seconds for one in store.standings(NAME)} == before
        frames = read_study(store, NAME)
    final = frames.final("balanced_accuracy").set_index("key")["value"]
    means = final.groupby(frames.cells.set_index("key")["method"]).mean()
    for comparison in balanced.summary.comparisons:
        assert comparison.score.value == pytest.approx(means[comparison.method])
    again = open_result(str(balanced.study))
    assert isinstance(again, ComparisonResult)
    assert again.summary.frames.metric.record == "balanced_accuracy"


@pytest.mark.parametrize(
    ("metric", "title", "expected"),
    [
        ("balanced-accuracy", "Balanced accuracy", balanced_accuracy_score),
        ("macro-f1", "Macro F1", lambda *both: f1_score(*both, average="macro")),
        pytest.param("matthews", "Matthews correlation", matthews_corrcoef, marks=pytest.mark.long),
    ],
)
def test_measures_of_classes_are_those_of_scikit_learn(
    plain: ComparisonResult, folder: Path, metric: str, title: str, expected: Callable[..., float]
) -> None:
    found, record = asked(folder, metric), metric.replace("-", "_")
    with Store.open(plain.store) as store:
        frames = read_study(store, NAME)
        choice = chosen_run(store, NAME, method="fine-tune")
        run, alike = choice.run, choice.alike
    assert (frames.metric.record, run.metric) == (record, record)
    labels = np.load(folder / "target.npz")["y_test"]
    final = frames.final(record).set_index("key")["value"]
    assert len(final) == 9
    for key, value in final.items():
        assert value == pytest.approx(expected(labels, frames.predictions[str(key)]), abs=1e-12)
    (tuned,) = [c for c in found.summary.comparisons if c.method == "fine-tune"]
    assert np.mean([one.score for one in alike]) == pytest.approx(tuned.score.value)
    page = found.report(folder / f"{metric}.html").html.read_text(encoding="utf-8")
    assert title in page
    with pytest.raises(SettingsError, match="metric"):
        asked(folder, "f1")


def test_nothing_learnt_goes_by_the_measure(plain: ComparisonResult, folder: Path) -> None:
    asked(folder, "matthews")
    with Store.open(plain.store) as store:
        frames = read_study(store, NAME)
    records = frames.records.copy()
    records.loc[records["name"] == "matthews", "value"] = 0.004
    assert nothing_learnt(replace(frames, records=records)) == {60}


def test_the_recommended_arm_is_that_of_the_metric(plain: ComparisonResult, folder: Path) -> None:
    found = asked(folder, "balanced-accuracy")
    labels = np.load(folder / "target.npz")["y_test"]
    with Store.open(plain.store) as store:
        choice = chosen_run(store, NAME)
        predictions = store.arrays(NAME, "predictions")
    (decision,) = found.summary.decided.values()
    own = next(arm for arm in decision.arms if arm.name == decision.recommended)
    assert (choice.run.method, choice.chance) == (own.name.partition(" from ")[0], decision.chance)
    scores = [balanced_accuracy_score(labels, predictions[one.cell.cell.key]) for one in choice.alike]
    assert 100 * np.mean(scores) == pytest.approx(own.mean)
