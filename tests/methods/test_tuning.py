from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from cases_of_methods import BUDGET, classification_task, network_for, regression_task
from transferscope.data.splits import folds
from transferscope.data.task import LabelledSet, TransferTask
from transferscope.errors import SettingsError
from transferscope.methods import (
    METHODS,
    Control,
    FineTune,
    FitOptions,
    Fitted,
    L2Sp,
    LinearProbe,
    LoRA,
    Merlin,
    MerlinFt,
    Method,
    Scratch,
    Soup,
)
from transferscope.methods.merlin import MerlinWithoutSource
from transferscope.methods.method import Value
from transferscope.methods.tuning import Tuned, combinations, runs_of_a_search, search_grid, tune
from transferscope.models import Network
from transferscope.records import Cost
from transferscope.training import TrainingSettings, stream_seed

OPTIONS = FitOptions(BUDGET, seed=3, device="cpu")


def search(
    method: Method, task: TransferTask, grid: Mapping[str, Sequence[Value]], options: FitOptions = OPTIONS
) -> Tuned:
    return tune(method, task, network_for(task, method), options, grid=grid)


def fold_by_fold(task: TransferTask) -> Iterator[tuple[TransferTask, LabelledSet]]:
    """The task on the rest of each fold, and the fold."""
    train = task.target.train
    for fold in folds(train, 3, seed=stream_seed(3, "folds")):
        yield task.with_target_train(train.take(fold.fit)), train.take(fold.validate)


def test_combinations_that_a_method_refuses_are_left_out() -> None:
    grid: dict[str, list[Value]] = {"head": ["random", "probe"], "hidden_units": [0, 8], "lr": [0.1]}
    assert combinations(grid, FineTune(), BUDGET) == [
        {"head": "random", "hidden_units": 0, "lr": 0.1},
        {"head": "random", "hidden_units": 8, "lr": 0.1},
        {"head": "probe", "hidden_units": 0, "lr": 0.1},
    ]
    task = classification_task(n_target=30)
    assert len(search(FineTune(), task, grid).trials) == 3
    with pytest.raises(SettingsError, match="fine-tune accepts no combination"):
        search(FineTune(), task, {"head": ["probe"], "hidden_units": [8]})


def test_the_risk_is_that_of_folds_fitted_one_by_one() -> None:
    task = regression_task(n_target=12)
    network = network_for(task, LinearProbe())
    tuned = search(LinearProbe(), task, {"lr": [0.01, 0.1]})  # a closed form has no rate: both do alike
    assert tuned.chosen == {"lr": 0.01}  # the first
    risks = []
    for part, held_out in fold_by_fold(task):
        predicted = LinearProbe().fit(part, network, OPTIONS).predict(held_out)
        risks.append(np.square(predicted - held_out.labels).mean())
    assert tuned.trials[0].risk.value == pytest.approx(np.mean(risks))
    assert tuned.trials[0].risk.stderr == pytest.approx(np.std(risks, ddof=1) / 3**0.5)


def test_rare_classes_count_as_much_as_frequent_ones_where_that_is_asked_for() -> None:
    task = classification_task(n_target=30)
    labels = task.target.train.labels
    kept = np.sort(np.concatenate([np.flatnonzero(labels == 0), *(np.flatnonzero(labels == k)[:3] for k in (1, 2))]))
    task = task.with_target_train(task.target.train.take(kept))
    network = network_for(task, Scratch())
    grid = {"steps": [6, 180]}  # a trial takes a third
    weighted = replace(OPTIONS, training=replace(OPTIONS.training, class_weights="balanced"))
    found = search(Scratch(), task, grid, weighted)
    for trial in found.trials:
        risks = []
        for part, held_out in islice(fold_by_fold(task), trial.risk.n):
            options = replace(weighted, training=replace(weighted.training, steps=int(trial.settings["steps"]) // 3))
            predicted = Scratch().fit(part, network, options).predict(held_out)
            risks.append(1 - balanced_accuracy_score(held_out.labels, predicted))
        assert trial.risk.value == pytest.approx(np.mean(risks))
    plain = search(Scratch(), task, grid)
    assert {trial.risk.value for trial in plain.trials} != {trial.risk.value for trial in found.trials}


def test_a_single_combination_is_taken_without_a_trial() -> None:
    tuned = search(FineTune(), classification_task(), {"lr": [0.5], "lr_scale": [1.0]})
    assert (tuned.trials, tuned.cost) == ((), Cost())
    assert tuned.chosen == {"lr": 0.5, "lr_scale": 1.0}
    assert tuned.options.training.lr == 0.5
    assert tuned.method == FineTune(lr_scale=1.0)


def test_halving_is_what_a_loop_over_folds_with_fewer_and_fewer_settings_gives() -> None:
    task = classification_task(n_target=30)
    network = network_for(task, Scratch())
    training = replace(BUDGET, steps=30)
    options = replace(OPTIONS, training=training)
    rates, decays = [0.05, 0.001, 0.4], [5e-4, 0.3]
    tuned = search(Scratch(), task, {"lr": rates, "weight_decay": decays}, options)

    left = [(lr, decay) for lr in rates for decay in decays]
    errors: dict[tuple[float, float], list[float]] = {pair: [] for pair in left}
    for (part, held_out), keep in zip(fold_by_fold(task), (3, 2, 1), strict=True):
        for lr, decay in left:
            short = replace(options, training=replace(training, lr=lr, weight_decay=decay, steps=10))
            wrong = Scratch().fit(part, network, short).predict(held_out) != held_out.labels
            errors[lr, decay].append(float(wrong.mean()))
        left = sorted(left, key=lambda pair: (np.mean(errors[pair]), list(errors).index(pair)))[:keep]
        left.sort(key=list(errors).index)
    assert [(tuned.options.training.lr, tuned.options.training.weight_decay)] == left
    assert [len(found) for found in errors.values()].count(3) == 2
    found = {(trial.settings["lr"], trial.settings["weight_decay"]): trial.risk for trial in tuned.trials}
    for pair, risks in errors.items():
        assert found[pair].n == len(risks)
        assert found[pair].value == pytest.approx(np.mean(risks))
    assert tuned.cost.steps == 11 * 10
    assert runs_of_a_search(6) == pytest.approx(11 * 10 / 30)


@pytest.mark.parametrize("method", [METHODS[name]() for name in METHODS.own], ids=METHODS.own)
def test_every_method_that_trains_is_searched_with_as_many_trials(method: Method) -> None:
    grid = search_grid(method, BUDGET)
    chooses_itself = method.name in ("linear-probe", "all-layers-probe", "soup")
    chooses_itself |= isinstance(method, Control) and not method.takes_steps
    assert len(combinations(grid, method, BUDGET)) == (1 if chooses_itself else 6)
    assert len(combinations(search_grid(method, BUDGET, rates=False), method, BUDGET)) == (1 if chooses_itself else 2)
    if not chooses_itself:
        first = combinations(grid, method, BUDGET)[0]  # what a tie is decided for: the settings as they are
        assert all(value == getattr(method, name, getattr(BUDGET, name, None)) for name, value in first.items())


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (Merlin(), {"lr": [0.3, 0.06, 1.5], "rho": [2, 8]}),
        (MerlinWithoutSource(rho=0.5), {"lr": [0.3, 0.06, 1.5], "weight_decay": [0.002, 0.04]}),
        (Merlin(initial="pretrained"), {"lr_scale": [1, 0.2, 5], "rho": [2, 8]}),
        (Merlin(initial="pretrained", lr_scale=0.2), {"lr_scale": [0.2, 1, 5], "rho": [2, 8]}),
        (Merlin(initial="pretrained", lr_scale=0.3), {"lr_scale": [0.3, 0.06, 1.5], "rho": [2, 8]}),
        (MerlinFt(lr_scale=0.1), {"lr_scale": [0.1, 0.5, 2.5], "weight_decay": [0.002, 0.04]}),
        (FineTune(lr_scale=0.1), {"lr_scale": [0.1, 0.5, 2.5], "head": ["random", "probe"]}),
        (LoRA(lr_scale=0.1, rank=3), {"lr_scale": [0.1, 0.5, 2.5], "rank": [3, 12]}),
        (Scratch(), {"lr": [0.3, 0.06, 1.5], "weight_decay": [0.002, 0.04]}),
        (Soup(), {}),
        (LinearProbe(), {}),
    ],
)
def test_a_search_tries_multiples_of_the_rate_that_a_method_trains_with(
    method: Method, expected: dict[str, list[Value]]
) -> None:
    """One, a fifth and five times it; one, five and twenty-five times a share of it up to a fifth."""
    found = search_grid(method, TrainingSettings(steps=9, lr=0.3, weight_decay=0.002))
    assert {name: list(values) for name, values in found.items()} == {
        name: pytest.approx(values) for name, values in expected.items()
    }


def test_a_search_tries_some_weight_decay_where_there_is_none() -> None:
    assert search_grid(Scratch(), TrainingSettings(steps=9, weight_decay=0.0))["weight_decay"] == (0.0, 0.01)


@pytest.mark.parametrize(("pull", "other"), [(0.01, 0.1), (0.1, 0.01), (0.05, 0.005), (0.001, 0.01), (0.0, 0.1)])
def test_a_search_tries_a_weaker_pull_where_it_is_strong_and_a_stronger_one_elsewhere(
    pull: float, other: float
) -> None:
    assert search_grid(L2Sp(beta=pull), BUDGET)["beta"] == pytest.approx([pull, other])


def test_halving_does_not_depend_on_the_order_in_which_settings_stand() -> None:
    task = classification_task(n_target=30)  # a stored table comes back in another order than it was written in
    grid: dict[str, list[Value]] = {"weight_decay": [5e-4, 0.0], "lr": [0.01, 0.02]}
    one, other = (search(Scratch(), task, dict(items)) for items in (grid.items(), reversed(grid.items())))
    assert (one.trials, one.chosen) == (other.trials, other.chosen)


def test_too_few_labels_leave_the_settings_as_they_are() -> None:
    tuned = search(Scratch(), classification_task(n_target=11), {"lr": [0.5, 0.1]})  # three classes: four of each fold
    assert (tuned.options, tuned.chosen, tuned.trials, tuned.labels_needed) == (OPTIONS, {}, (), 12)


def test_an_example_alone_in_its_class_is_always_fitted_on() -> None:
    task = classification_task(n_target=30)
    train = task.target.train
    kept = np.flatnonzero(train.labels != 0)
    alone = int(np.flatnonzero(train.labels == 0)[0])
    task = task.with_target_train(train.take(np.sort(np.append(kept, alone))))
    seen: list[np.ndarray] = []

    class Watched(Scratch):
        def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
            seen.append(task.target.train.labels)
            return super().fit(task, network, options)

    search(Watched(), task, {"lr": [0.01, 0.1]})
    assert [int((labels == 0).sum()) for labels in seen] == [1] * len(seen)


def test_after_an_interruption_only_the_missing_trials_are_made(tmp_path: Path) -> None:
    task = classification_task(n_target=30)
    options = replace(OPTIONS, checkpoint=tmp_path / "cell.partial")
    grid = {"lr": [0.05, 0.001, 0.4], "weight_decay": [5e-4, 0.3]}
    fits: list[float] = []

    class Counted(Scratch):
        def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
            fits.append(options.training.lr)
            if len(fits) == 6:
                raise KeyboardInterrupt
            return super().fit(task, network, options)

    with pytest.raises(KeyboardInterrupt):
        search(Counted(), task, grid, options)
    log = tmp_path / "cell.trials"
    kept = log.read_bytes()
    resumed, fresh = search(Counted(), task, grid, options), search(Counted(), task, grid)
    assert len(fits) == 6 + (11 - 5) + 11
    assert (resumed.trials, resumed.chosen) == (fresh.trials, fresh.chosen)
    log.write_bytes(kept[: len(kept) // 2])
    assert search(Counted(), task, grid, options).trials == fresh.trials


def test_progress_is_that_of_search_and_run_together() -> None:
    task = classification_task(n_target=30)
    told: list[float] = []
    options = replace(OPTIONS, on_progress=lambda done, whole: told.append(done / whole))
    tuned = search(Scratch(), task, {"lr": [0.05, 0.001, 0.4], "weight_decay": [5e-4, 0.3]}, options)
    assert told == sorted(told)
    assert told[-1] == pytest.approx(11 / 14, abs=0.01)
    tuned.method.fit(task, network_for(task, Scratch()), tuned.options)
    assert told[-1] == 1.0


def test_a_trial_that_diverges_comes_last() -> None:
    tuned = search(Scratch(), regression_task(), {"lr": [1e12, 0.01], "steps": [100]})
    assert tuned.options.training.lr == 0.01
    assert tuned.trials[1].risk.status == "non_finite"


def test_test_examples_are_never_read() -> None:
    task = classification_task()
    spoilt = replace(task.target.test, labels=(task.target.test.labels + 1) % 3)
    blind = replace(task, target=replace(task.target, test=spoilt))
    one, other = (search(Scratch(), which, {"lr": [0.01, 0.1]}) for which in (task, blind))
    assert one.trials == other.trials
