"""How often a training curve is measured: never more than its share of a large network's training."""

from dataclasses import replace

import numpy as np
import pytest
from torch import nn

from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.methods import FitOptions, Scratch
from transferscope.models import Network
from transferscope.testing.methods import same, weights_of
from transferscope.training import TrainingSettings, curve
from transferscope.training.curve import LARGE, CurvePlan, curve_plan

SMALL = TrainingSettings(steps=300, batch_size=16)


def plan(training: TrainingSettings = SMALL, n_parameters: int = LARGE, n_test: int = 1000) -> CurvePlan:
    n_steps = training.steps or 0
    return curve_plan(training, n_steps=n_steps, n_train=500, n_test=n_test, n_parameters=n_parameters, examples=1000)


def test_a_small_network_keeps_all_its_points_and_so_does_who_asks_for_them() -> None:
    assert plan(n_parameters=LARGE - 1) == CurvePlan(15, 1000)
    assert plan(replace(SMALL, eval_every=10)) == CurvePlan(10, 1000)
    assert plan(TrainingSettings(steps=3000, batch_size=64)) == CurvePlan(150, 1000)  # 31,500 of 115,200


@pytest.mark.parametrize(
    ("training", "n_test", "every", "examples"),
    [
        (SMALL, 200, 75, 288),  # 21 points of 700 are 14,700 of 2,880; five of 288 + 200 are fewer
        (TrainingSettings(steps=1000, batch_size=32), 1000, 100, 1000),  # 12 points of 1,500 fit into 19,200
        (TrainingSettings(steps=10, batch_size=64), 1000, 3, 100),  # as few as there may be
    ],
)
def test_points_go_first_and_then_examples(training: TrainingSettings, n_test: int, every: int, examples: int) -> None:
    found = plan(training, n_test=n_test)
    assert found == CurvePlan(every, examples)
    n_steps = training.steps or 0
    points = sum(found.wants(step, n_steps) for step in range(n_steps + 1))
    read = points * (min(examples, 500) + min(examples, n_test))
    assert examples == 100 or read <= 0.2 * 3 * n_steps * training.batch_size
    assert points >= 4


def test_a_run_is_measured_at_these_points_and_its_result_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    data = LabelledSet(random.normal(size=(400, 4)).astype(np.float32), random.integers(0, 3, 400), ("a", "b", "c"))
    task = TransferTask(Dataset("d", data, data))
    options = FitOptions(TrainingSettings(steps=40, batch_size=8), seed=1, device="cpu")
    network = Network(nn.Sequential(nn.Linear(4, 5), nn.ReLU()), nn.Linear(5, 3), 5, is_random=True)
    whole = Scratch().fit(task, network, options)
    monkeypatch.setattr(curve, "LARGE", 1)
    thinned = Scratch().fit(task, network, options)
    steps = [
        sorted({record.step for record in fitted.history if record.step is not None}) for fitted in (whole, thinned)
    ]
    assert steps == [list(range(0, 41, 2)), [0, 10, 20, 30, 40]]
    assert {record.estimate.n for record in thinned.history} == {100}
    assert same(weights_of(whole.network), weights_of(thinned.network))
