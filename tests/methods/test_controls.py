"""The controls against other implementations of the same rules."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from torch import nn

from cases_of_methods import BUDGET, classification_task, network_for, regression_task
from transferscope.analyses.compare.frames import CONTROLS
from transferscope.methods import METHODS, Control, FitOptions, Knn, Raw
from transferscope.methods.knn import NEIGHBOURS, NeighbourHead
from transferscope.methods.probe_head import RIDGE_GRID
from transferscope.training import outputs_of, pixel_scale, to_tensors

OPTIONS = FitOptions(BUDGET, device="cpu")


def test_reports_know_the_controls_by_name() -> None:
    assert {name for name in METHODS.own if issubclass(METHODS[name], Control)} == CONTROLS


def test_raw_is_ridge_regression_on_standardised_inputs() -> None:
    task = regression_task(n_target=40)
    method = Raw()
    fitted = method.fit(task, network_for(task, method), OPTIONS)
    mean, std = task.target.train.inputs.mean(axis=0), task.target.train.inputs.std(axis=0)
    inputs = (task.target.train.inputs - mean) / std
    ridge = RidgeCV(alphas=RIDGE_GRID * inputs.shape[1]).fit(inputs, task.target.train.labels)
    expected = ridge.predict((task.target.test.inputs - mean) / std)
    assert fitted.predict(task.target.test) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_neighbours_are_those_of_sklearn(kind: str) -> None:
    numbers = kind == "regression"
    task = regression_task(n_target=45) if numbers else classification_task(n_target=45)
    method = Knn()
    network = network_for(task, method)
    fitted = method.fit(task, network, OPTIONS)
    scale = pixel_scale(task.target.train)
    train, test = (
        outputs_of(network.features, to_tensors(part, scale, torch.device("cpu"))).detach().numpy()
        for part in (task.target.train, task.target.test)
    )
    model = KNeighborsRegressor if numbers else KNeighborsClassifier
    scoring = "neg_mean_squared_error" if numbers else "accuracy"
    k = int(fitted.notes["neighbours"])
    assert k in NEIGHBOURS
    errors = [
        -cross_val_score(
            model(n, metric="cosine", algorithm="brute"),
            train,
            task.target.train.labels,
            cv=LeaveOneOut(),
            scoring=scoring,
        ).mean()
        for n in (k, 1)
    ]
    assert errors[0] <= errors[1] + 1e-9  # no worse than the single nearest
    expected = model(k, metric="cosine", algorithm="brute").fit(train, task.target.train.labels).predict(test)
    agree = np.isclose(fitted.predict(task.target.test), expected, atol=1e-5)
    assert agree.mean() > (0.999 if numbers else 0.9)  # sklearn breaks ties of votes by the order of classes


def test_the_nearer_neighbours_break_a_tie_of_votes() -> None:
    kept = torch.tensor([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    head = NeighbourHead(kept, nn.functional.one_hot(torch.tensor([1, 1, 0, 0]), 2).float(), k=4, votes=True)
    assert head(torch.tensor([[1.0, 0.2], [0.2, 1.0]])).argmax(dim=1).tolist() == [1, 0]
    assert head(torch.tensor([[1.0, 0.2]]))[0].tolist() == pytest.approx([2, 2], abs=0.01)
    assert head.nearest_others(1).flatten().tolist() == [1, 0, 3, 2]


def test_one_example_is_its_own_answer() -> None:
    task = classification_task()
    one = task.with_target_train(task.target.train.take(np.array([1])))
    fitted = Knn().fit(one, network_for(one, Knn()), OPTIONS)
    assert set(fitted.predict(task.target.test).tolist()) == {int(task.target.train.labels[1])}
