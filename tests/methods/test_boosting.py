"""Boosted trees against scikit-learn's, which are asked for the same by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

from cases_of_methods import BUDGET, classification_task, network_for, regression_task, with_classes
from methods.by_hand import ridge
from transferscope.data.task import LabelledSet, TransferTask
from transferscope.methods import (
    Boosting,
    BoostingRidge,
    FitOptions,
    Fitted,
    Method,
    PooledBoosting,
    PooledBoostingRidge,
    SourceBoosting,
)
from transferscope.methods.trees import boosted
from transferscope.training import TrainingSettings, scale_of, stream_seed

OPTIONS = FitOptions(BUDGET, seed=3, device="cpu")
SETTINGS: dict[str, Any] = {
    "n_estimators": 100,
    "learning_rate": 0.1,
    "max_depth": 3,
    "random_state": stream_seed(3, "trees") % 2**32,
}


def fit(method: Method, task: TransferTask, options: FitOptions = OPTIONS) -> Fitted:
    return method.fit(task, network_for(task, method), options)


def outputs(method: Method, task: TransferTask) -> np.ndarray:
    found: np.ndarray = fit(method, task).outputs(task.target.test).numpy()
    return found


def regressors(inputs: np.ndarray, labels: np.ndarray, **fitted: Any) -> list[Any]:
    return [GradientBoostingRegressor(**SETTINGS).fit(inputs, column, **fitted) for column in labels.T]


def predict(models: list[Any], inputs: np.ndarray) -> np.ndarray:
    return np.stack([model.predict(inputs) for model in models], axis=1)


@pytest.mark.parametrize("kind", ["numbers", "two of four classes", "three of four classes", "labels", "one class"])
def test_outputs_are_those_of_scikit_learn(kind: str) -> None:
    """Inputs with ties, so that many lie at a threshold."""
    draw = np.random.default_rng(0)
    train, test = (draw.normal(size=(n, 6)).round(1).astype(np.float32) for n in (60, 400))
    model: Any
    if kind == "numbers":
        labels: np.ndarray = train[:, :2] + draw.normal(size=(60, 2))
        expected = predict(regressors(train, labels), test)
    elif kind == "labels":
        labels = np.column_stack([train[:, 0] > 0, np.ones(60, bool)])
        model = GradientBoostingClassifier(**SETTINGS).fit(train, labels[:, 0])
        expected = np.column_stack([model.decision_function(test), np.full(400, np.log(60.5 / 0.5))])
    else:
        labels = {"one class": 0, "two of four classes": 1, "three of four classes": 2}[kind] * (train[:, 0] > 0)
        labels = 1 + np.minimum(labels, 1 + (train[:, 1] > 0))
        expected = np.full((400, 4), -65504.0)
        if kind == "one class":
            expected[:, 1] = 0
        else:
            model = GradientBoostingClassifier(**SETTINGS).fit(train, labels)
            scores = model.decision_function(test)
            expected[:, model.classes_] = scores if scores.ndim > 1 else np.column_stack([np.zeros(400), scores])
    trees = boosted(train, labels, expected.shape[1], **SETTINGS)
    assert trees(torch.from_numpy(test)).numpy() == pytest.approx(expected, abs=1e-5)


def test_the_mean_of_trees_and_ridge_regression_is_that_of_both() -> None:
    task = regression_task(n_target=30)
    train, test = task.target.train, task.target.test
    assert outputs(Boosting(), task) == pytest.approx(
        predict(regressors(train.inputs, train.labels), test.inputs), abs=1e-4
    )
    models = [(factor, ridge(train.inputs / factor, train.labels)) for factor in (train.inputs.std(axis=0), np.ones(5))]
    factor, model = max(models, key=lambda one: one[1].best_score_)
    both = (outputs(Boosting(), task) + model.predict(test.inputs / factor)) / 2
    assert outputs(BoostingRidge(), task) == pytest.approx(both, abs=1e-4)


@pytest.mark.parametrize(
    ("method", "trees"), [(BoostingRidge(), Boosting()), (PooledBoostingRidge(), PooledBoosting())]
)
def test_trees_are_averaged_as_probabilities(method: Method, trees: Method) -> None:
    """What is left of the mean without them is linear in the inputs, and the same for both."""
    task = classification_task(n_target=30)
    grown = np.exp(outputs(trees, task))
    ridge = 2 * outputs(method, task) - (grown / grown.sum(axis=1, keepdims=True) - 1 / 3)
    inputs = np.column_stack([task.target.test.inputs, np.ones(30)])
    fitted = inputs @ np.linalg.lstsq(inputs, ridge, rcond=None)[0]
    assert ridge == pytest.approx(fitted, abs=1e-4)
    assert (ridge.argmax(axis=1) == task.target.test.labels).mean() > 0.8


@pytest.mark.parametrize("method", [SourceBoosting(), PooledBoosting(), PooledBoostingRidge()])
def test_source_rows_are_read_in_the_units_of_the_target(method: Method) -> None:
    """Trees of the source, the least squares line from them to the target's labels, trees of both, all by hand."""
    task = regression_task(n_target=20)
    assert task.source is not None
    source, target, test = task.source.train, task.target.train, task.target.test.inputs
    turned = replace(task.source, train=replace(source, labels=7 - 100 * source.labels))
    found = outputs(method, replace(task, source=turned))
    of_source = regressors(source.inputs, 7 - 100 * source.labels)
    lines = [np.polyfit(model.predict(target.inputs), target.labels[:, k], 1) for k, model in enumerate(of_source)]
    expected = np.stack(
        [np.polyval(line, model.predict(test)) for line, model in zip(lines, of_source, strict=True)], 1
    )
    if method.name != "source-boosting":
        labels = np.stack([np.polyval(line, 7 - 100 * source.labels[:, k]) for k, line in enumerate(lines)], axis=1)
        flagged = [np.column_stack([target.inputs, np.ones(20)]), np.column_stack([source.inputs, np.zeros(40)])]
        rows = np.vstack(flagged)
        pooled = regressors(rows, np.vstack([target.labels, labels]))
        expected = predict(pooled, np.column_stack([test, np.ones(30)]))
    if method.name == "pooled-boosting-ridge":
        ridge = 2 * outputs(BoostingRidge(), task) - outputs(Boosting(), task)
        expected = (expected + ridge) / 2
    near = np.isclose(found, expected, atol=2e-3)  # two splits that are equally good but for rounding may change places
    assert near.mean() > (0.999 if method.name == "source-boosting" else 0.8)


def test_source_classes_that_the_target_lacks_are_left_out() -> None:
    """Classes 0 to 3 of the source, of which the target has 2 and 0, in this order."""
    task = classification_task(n_target=20, n_classes=2)
    assert task.source is not None
    target = with_classes(task.target, ("class 2", "class 0"))
    source = task.source.train
    known = np.isin(source.labels, (0, 2))
    model: Any = GradientBoostingClassifier(**SETTINGS).fit(source.inputs[known], source.labels[known] == 0)
    expected = model.decision_function(target.test.inputs)
    found = outputs(SourceBoosting(), replace(task, target=target))
    assert found[:, 1] - found[:, 0] == pytest.approx(expected, abs=1e-4)


def test_classes_may_count_the_same() -> None:
    task = classification_task(n_target=30)
    few = task.with_target_train(task.target.train.take(np.array([0, 1, 2, 3, 4, 5, 6, 9, 12, 15, 18, 21])))
    labels = few.target.train.labels
    weights = (len(labels) / (3 * np.bincount(labels)[labels])).astype(np.float32)
    model: Any = GradientBoostingClassifier(**SETTINGS).fit(few.target.train.inputs, labels, sample_weight=weights)
    balanced = replace(OPTIONS, training=TrainingSettings(steps=1, class_weights="balanced"))
    fitted = fit(Boosting(), few, balanced)
    expected = model.decision_function(task.target.test.inputs)
    assert fitted.outputs(task.target.test).numpy() == pytest.approx(expected, abs=1e-5)
    assert scale_of(fitted.network, few.target.train).std.tolist() == [1.0] * 5  # inputs as they are


def test_a_large_source_is_read_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    task = regression_task(n_target=20)
    assert task.source is not None
    monkeypatch.setattr("transferscope.methods.pooled_boosting.MOST_ROWS", 10)
    rows: LabelledSet = SourceBoosting().source_rows(task, OPTIONS)
    assert len(rows) == 10
    assert all((row == task.source.train.inputs).all(axis=1).any() for row in rows.inputs)
