from dataclasses import replace

import numpy as np
import pytest
import torch

from cases_of_methods import BUDGET, classification_task, network_for, regression_task
from transferscope.data.splits import folds
from transferscope.methods import FineTune, FitOptions, LinearProbe, Scratch
from transferscope.methods.tuning import Value, candidates, tune
from transferscope.training import stream_seed

OPTIONS = FitOptions(BUDGET, seed=3, device="cpu")


def test_a_small_grid_is_tried_whole_and_a_large_one_without_repetition() -> None:
    grid: dict[str, list[Value]] = {"lr": [0.1, 0.2], "steps": [1, 2, 3]}
    assert len(candidates(grid, 99, seed=0)) == 6
    some = candidates(grid, 4, seed=0)
    assert len({tuple(settings.items()) for settings in some}) == 4
    assert some == candidates(grid, 4, seed=0)


def test_an_empty_grid_has_the_settings_as_they_are() -> None:
    assert candidates({}, 5, seed=0) == ({},)


def test_the_settings_that_learn_win_over_those_that_do_not() -> None:
    task = classification_task(n_target=30)
    network = network_for(task, Scratch())
    grid: dict[str, list[Value]] = {"lr": [1e-6, 0.1], "steps": [200]}
    tuned = tune(Scratch(), task, network, OPTIONS, grid=grid, trials=2, n_folds=3)
    assert tuned.options.training.lr == 0.1
    assert tuned.options.training.steps == 200
    assert [trial.settings["lr"] for trial in tuned.trials] == [0.1, 1e-6]
    assert tuned.trials[0].risk.value < tuned.trials[1].risk.value
    assert tuned.cost.steps == 2 * 3 * 200


def test_the_risk_is_that_of_folds_fitted_one_by_one() -> None:
    task = regression_task(n_target=12)
    network = network_for(task, LinearProbe())
    tuned = tune(LinearProbe(), task, network, OPTIONS, grid={}, trials=1, n_folds=3)
    risks = []
    for fold in folds(task.target.train, 3, seed=stream_seed(3, "folds")):
        part = task.with_target_train(task.target.train.take(fold.fit))
        held_out = task.target.train.take(fold.validate)
        predicted = LinearProbe().fit(part, network, OPTIONS).predict(held_out)
        risks.append(np.square(predicted - held_out.labels).mean())
    assert tuned.trials[0].risk.value == pytest.approx(np.mean(risks))
    assert tuned.trials[0].risk.stderr == pytest.approx(np.std(risks, ddof=1) / 3**0.5)


def test_settings_of_the_method_are_told_from_those_of_the_training() -> None:
    task = classification_task()
    grid: dict[str, list[Value]] = {"lr_scale": [0.5], "weight_decay": [0.1]}
    tuned = tune(FineTune(), task, network_for(task, FineTune()), OPTIONS, grid=grid, trials=1, n_folds=2)
    assert isinstance(tuned.method, FineTune)
    assert tuned.method.lr_scale == 0.5
    assert tuned.options.training.weight_decay == 0.1


def test_a_trial_that_diverges_comes_last() -> None:
    task = regression_task()
    grid: dict[str, list[Value]] = {"lr": [1e12, 0.01], "steps": [100]}
    tuned = tune(Scratch(), task, network_for(task, Scratch()), OPTIONS, grid=grid, trials=2, n_folds=2)
    assert tuned.options.training.lr == 0.01
    assert tuned.trials[1].risk.status == "non_finite"


def test_test_examples_are_never_read() -> None:
    task = classification_task()
    spoilt = replace(task.target.test, labels=(task.target.test.labels + 1) % 3)
    blind = replace(task, target=replace(task.target, test=spoilt))
    grid: dict[str, list[Value]] = {"lr": [0.01, 0.1]}
    one, other = (
        tune(Scratch(), which, network_for(task, Scratch()), OPTIONS, grid=grid, trials=2, n_folds=2)
        for which in (task, blind)
    )
    assert one.trials == other.trials


def test_the_callers_network_is_left_alone() -> None:
    task = classification_task()
    network = network_for(task, FineTune())
    before = [parameter.clone() for parameter in network.parameters()]
    tune(FineTune(), task, network, OPTIONS, grid={"lr_scale": [0.5, 1.0]}, trials=2, n_folds=2)
    assert all(torch.equal(old, new) for old, new in zip(before, network.parameters(), strict=True))
