"""What every method promises, whatever it does inside."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from cases_of_methods import BUDGET, CASES, CLASSES_ALONE, NOT_HELD_TO_LEARN, classification_task, network_for
from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.errors import DataError
from transferscope.methods import METHODS, FineTune, FitOptions, Fitted, L2Sp, check_task
from transferscope.models import NetworkSettings, build_network
from transferscope.testing.methods import IMAGE, METHOD_PROMISES, NETWORKS, ON_EVERY_NETWORK, MethodCase

OPTIONS = FitOptions(BUDGET, seed=7, device="cpu")

every_method = pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.long) if "," in case else case for case in CASES]
)
"""Of each method its own case at once; other settings of it, which have a comma in their names, take longer."""


def fit(case: str, task: TransferTask, options: FitOptions = OPTIONS) -> Fitted:
    method = CASES[case]
    return method.fit(task, network_for(task, method), options)


@every_method
@pytest.mark.parametrize("promise", METHOD_PROMISES)
def test_it_keeps_what_every_method_promises(case: str, promise: str) -> None:
    METHOD_PROMISES[promise](_case_of(case))


@every_method
@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.name.rpartition(":")[2])
@pytest.mark.parametrize(
    "promise",
    [
        pytest.param(one, marks=[pytest.mark.slow] * ("cut off" in one) + [pytest.mark.long] * ("resumes" in one))
        for one in ON_EVERY_NETWORK
    ],
)
def test_it_keeps_them_on_networks_with_batch_normalisation_or_attention(
    case: str, promise: str, network: NetworkSettings
) -> None:
    of_images = replace(_case_of(case), network=network, input_shape=IMAGE)
    if not of_images.takes():
        pytest.skip("it learns from tables")
    METHOD_PROMISES[promise](of_images)


def _case_of(case: str) -> MethodCase:
    return MethodCase(CASES[case], case not in CLASSES_ALONE, case not in NOT_HELD_TO_LEARN)


@pytest.mark.parametrize(
    ("case", "trained"),
    [
        ("do-nothing", 0),
        ("knn", 0),
        ("boosting", 0),
        ("raw", 3 * (5 + 1)),  # three classes of five features, with a bias
        ("linear-probe", 3 * (7 + 1)),
        ("bitfit", 6 + 7 + 3 * (7 + 1)),  # biases of the layers of 6 and 7 units, and the head
        ("scratch", 6 * (5 + 1) + 7 * (6 + 1) + 3 * (7 + 1)),
        ("joint", 6 * (5 + 1) + 7 * (6 + 1) + (3 + 4) * (7 + 1)),  # a head of the source's four classes beside it
    ],
)
def test_its_cost_counts_the_weights_that_it_could_change(case: str, trained: int) -> None:
    short = replace(OPTIONS, training=replace(BUDGET, steps=1), curve_examples=0)
    assert fit(case, classification_task(), short).cost.trained_parameters == trained


def test_every_method_has_a_case() -> None:
    assert set(METHODS) <= {case.name for case in CASES.values()}


@pytest.mark.long
@every_method
def test_it_learns_what_is_easy_to_learn_in_16_bits_too(case: str) -> None:
    task = classification_task(n_target=30)
    options = replace(OPTIONS, training=replace(BUDGET, steps=300, lr=0.1, precision="bfloat16", eval_every=100))
    fitted = fit(case, task, options)
    assert fitted.status != "non_finite"
    accuracy = float(np.mean(fitted.predict(task.target.test) == task.target.test.labels))
    assert accuracy > 0.8 or case in NOT_HELD_TO_LEARN  # chance is 1/3


@pytest.mark.parametrize("kind", ["classification", "regression"])
@every_method
def test_every_method_on_a_linear_network(case: str, kind: str) -> None:
    """It has no backbone to freeze, to hold or to train; its head is still learnt."""
    of_images = replace(_case_of(case), input_shape=IMAGE)
    task, method = of_images.classification() if kind == "classification" else of_images.numbers(), CASES[case]
    try:
        check_task(method, task.target, task.source)
    except DataError as refused:
        pytest.skip(str(refused))
    if isinstance(method, FineTune):
        method = replace(method, frozen_blocks=0)  # there is no block
    options = replace(OPTIONS, training=replace(BUDGET, steps=1, lr=0.01), curve_examples=0)
    fitted = method.fit(task, network_for(task, method, NetworkSettings("linear")), options)
    assert fitted.status in ("max_steps", "converged")
    assert np.isfinite(fitted.outputs(task.target.test).numpy()).all()


def test_l2_sp_of_a_linear_network_is_weight_decay_of_its_head() -> None:
    task = classification_task()
    network = build_network("linear", task.target.train.input_shape, 4, seed=5)
    decayed = replace(OPTIONS, training=replace(BUDGET, weight_decay=0.01))
    plain, held = FineTune(lr_scale=1.0).fit(task, network, decayed), L2Sp(lr_scale=1.0).fit(task, network, OPTIONS)
    one, other = (fitted.network.head.get_parameter("weight") for fitted in (plain, held))
    assert torch.allclose(one, other, rtol=1e-5)


def test_a_network_for_other_inputs_is_refused() -> None:
    task, method = classification_task(), CASES["scratch"]
    network = network_for(task, method)
    with pytest.raises(ValueError, match=r"^the network fails on inputs of shape \(10,\): "):
        method.fit(TransferTask(widened(task.target)), network, OPTIONS)


def widened(data: Dataset) -> Dataset:
    def twice(part: LabelledSet) -> LabelledSet:
        return replace(part, inputs=np.repeat(part.inputs, 2, axis=1))

    return replace(data, train=twice(data.train), test=twice(data.test))
