"""Settings of training that every method takes: batch normalisation, early stopping, class weights."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cases_of_methods import CASES, CLASSES_ALONE, classification_task, labelled_task, regression_task
from methods.by_hand import KilledError, die
from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.errors import DataError, SettingsError
from transferscope.methods import FineTune, FitOptions, Merlin, MerlinFt, Method, Scratch, Snapshots, pretrain
from transferscope.methods.common import training_domain
from transferscope.methods.inner_head import leave_one_out_head, weighted_ridge_head
from transferscope.models import Network
from transferscope.testing.methods import network_for, same, weights_of
from transferscope.training import Batch, TrainingSettings, pixel_scale

ALL = TrainingSettings(steps=6, batch_size=8, lr=0.05, eval_every=2, early_stopping=2, class_weights="balanced")


def options(seed: int = 7, **settings: Any) -> FitOptions:
    plain = TrainingSettings(steps=1, batch_size=1000, lr=0.5, momentum=0.0, weight_decay=0.0, schedule="constant")
    return FitOptions(replace(plain, **settings), seed=seed, device="cpu", curve_examples=0)


def uneven(n: int = 30) -> TransferTask:
    """Three classes, of which the first has most of the examples."""
    random = np.random.default_rng(5)
    labels = random.choice(3, size=n, p=[0.7, 0.2, 0.1])
    inputs = (random.normal(size=(n, 4)) + 2 * np.eye(3, 4)[labels]).astype(np.float32)
    data = LabelledSet(inputs, labels, ("a", "b", "c"))
    return TransferTask(Dataset("uneven", data, data), Dataset("source", data, data))


def standardised(data: LabelledSet) -> Tensor:
    scale = pixel_scale(data)
    return torch.from_numpy((data.inputs - scale.mean) / scale.std)


def linear(head: nn.Linear) -> Network:
    return Network(nn.Flatten(), head, 4, is_random=True)


def first_step(task: TransferTask, given: FitOptions, loss_of: object) -> tuple[Tensor, Tensor]:
    """The head after one step of training from scratch, and the same by a gradient written out."""
    fitted = Scratch().fit(task, linear(nn.Linear(4, 3)), given)
    begin = Scratch().begin(task, linear(nn.Linear(4, 3)), given).own.head
    weight, bias = (parameter.detach().clone().requires_grad_() for parameter in begin.parameters())
    loss = loss_of(lambda x: x @ weight.T + bias)  # type: ignore[operator]
    gradient, _ = torch.autograd.grad(loss, (weight, bias))
    found = next(fitted.network.head.parameters())
    return found.detach(), (weight - 0.5 * gradient).detach()


def test_the_first_step_with_class_weights_is_that_written_by_hand() -> None:
    task = uneven()
    inputs, labels = standardised(task.target.train), torch.from_numpy(task.target.train.labels)
    counts = np.bincount(task.target.train.labels)

    def loss(outputs):  # type: ignore[no-untyped-def]
        log_p = outputs(inputs).log_softmax(dim=1)
        return -sum(30 / (3 * counts[int(y)]) * log_p[i, int(y)] for i, y in enumerate(labels)) / 30

    found, expected = first_step(task, options(class_weights="balanced"), loss)
    assert found.numpy() == pytest.approx(expected.numpy(), abs=1e-6)


def test_a_method_that_does_not_know_them_says_so() -> None:
    with pytest.raises(SettingsError, match="does not support class_weights"):
        _ = Batch(torch.zeros(2, 1), torch.tensor([0, 1]), weights=torch.ones(2)).labels


def test_what_cannot_be_done_is_refused_in_a_sentence() -> None:
    numbers = regression_task()
    with pytest.raises(DataError, match="weighs classes, but the labels are numbers"):
        Scratch().fit(numbers, network_for(numbers, Scratch()), options(class_weights="balanced"))
    with pytest.raises(SettingsError, match='batch_norm = "source", but the network has no batch normalisation'):
        FineTune().fit(uneven(), network_for(uneven(), FineTune()), options(batch_norm="source"))
    with pytest.raises(SettingsError, match="does not support class_weights"):
        Merlin(inner="unrolled").fit(uneven(), network_for(uneven(), Merlin()), options(class_weights="balanced"))


QUICK = {"linear-probe", "fine-tune", "delta", "co-tuning", "distill", "joint", "merlin", "merlin-ft", "surgical"}
KNOWN = [case for case in CASES if case != "merlin, unrolled"]


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[] if case in QUICK else pytest.mark.long) for case in KNOWN]
)
def test_every_method_takes_all_of_them(case: str) -> None:
    task = classification_task(n_target=32)
    fitted = CASES[case].fit(task, network_for(task, CASES[case]), FitOptions(ALL, seed=3, device="cpu"))
    assert fitted.status in ("converged", "max_steps")
    if CASES[case].takes_steps and "soup" not in case:
        assert fitted.notes["best_step"] <= fitted.notes["stopped_at"] <= 6


@pytest.mark.long
@pytest.mark.parametrize("case", [case for case in KNOWN if case not in CLASSES_ALONE])
def test_so_it_does_with_several_labels_and_numbers(case: str) -> None:
    of_numbers = (regression_task(n_target=32), replace(ALL, class_weights="none"))
    for task, settings in ((labelled_task(), ALL), of_numbers):
        fitted = CASES[case].fit(task, network_for(task, CASES[case]), FitOptions(settings, seed=3, device="cpu"))
        assert np.isfinite(fitted.outputs(task.target.test).numpy()).all()


def test_weights_of_integers_are_repeated_examples_in_ridge_heads() -> None:
    random = torch.Generator().manual_seed(1)
    features, targets = torch.randn(9, 4, generator=random), torch.randn(9, 2, generator=random)
    times = torch.tensor([1, 3, 2, 1, 1, 2, 1, 4, 1])
    repeated = features.repeat_interleave(times, dim=0), targets.repeat_interleave(times, dim=0)
    constant = weighted_ridge_head(features, targets, 0.7, times[:, None].float())
    assert constant.numpy() == pytest.approx(weighted_ridge_head(*repeated, 0.7).numpy(), abs=1e-5)
    each = weighted_ridge_head(features, targets, 0.7, times[:, None].float().expand(9, 2))
    assert each.numpy() == pytest.approx(constant.numpy(), abs=1e-5)


def test_a_weighted_leave_one_out_head_is_that_of_brute_force() -> None:
    """Every lambda of the grid by leaving each example out and solving the weighted problem anew."""
    from transferscope.methods.inner_head import RIDGE_GRID

    random = np.random.default_rng(2)
    x, y, w = random.normal(size=(12, 3)), random.normal(size=(12, 2)), random.uniform(0.2, 3, size=12)

    def solve(x: np.ndarray, y: np.ndarray, w: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
        mu, ybar = w @ x / w.sum(), w @ y / w.sum()
        theta = np.linalg.solve(
            (x - mu).T @ (w[:, None] * (x - mu)) + ridge * np.eye(3), (x - mu).T @ (w[:, None] * (y - ybar))
        )
        return theta, ybar - mu @ theta

    mu = w @ x / w.sum()
    trace = float((w[:, None] * (x - mu) ** 2).sum())
    risks = []
    for g in RIDGE_GRID:
        total = 0.0
        for i in range(12):
            rest = np.arange(12) != i
            theta, bias = solve(x[rest], y[rest], w[rest], g * trace / 12)
            total += w[i] * np.square(y[i] - x[i] @ theta - bias).sum()
        risks.append(total)
    theta, bias = solve(x, y, w, RIDGE_GRID[int(np.argmin(risks))] * trace / 12)
    found = leave_one_out_head(torch.from_numpy(x), torch.from_numpy(y), torch.from_numpy(w)[:, None])
    assert found.bias is not None
    assert found.theta.numpy() == pytest.approx(theta, abs=1e-10)
    assert found.bias.numpy() == pytest.approx(bias, abs=1e-10)


# --- batch normalisation


def layers(network: Network) -> Any:
    """The parts of the backbone."""
    return network.features


def normalised() -> Network:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = Network(nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU()), nn.Linear(5, 3), 5)
        layers(network)[1].running_mean.uniform_(-1, 1)
        layers(network)[1].running_var.uniform_(0.5, 2)
    return network


def test_held_statistics_give_the_first_step_written_by_hand() -> None:
    task, network, given = uneven(), normalised(), options(batch_norm="source")
    method = FineTune(lr_scale=1.0)
    inputs, labels = standardised(task.target.train), torch.from_numpy(task.target.train.labels)
    (w1, b1), norm = layers(network)[0].parameters(), layers(network)[1]
    mean, var = norm.running_mean.detach().clone(), norm.running_var.detach().clone()
    head = method.begin(task, network, given).own.head
    weight, bias = (parameter.detach().clone() for parameter in head.parameters())
    before = w1.detach().clone().requires_grad_()
    features = torch.relu((inputs @ before.T + b1 - mean) / (var + norm.eps).sqrt() * norm.weight + norm.bias)
    loss = F.cross_entropy(features @ weight.T + bias, labels)
    expected = before - 0.5 * torch.autograd.grad(loss, before)[0]
    fitted = method.fit(task, network, given).network
    assert layers(fitted)[0].weight.detach().numpy() == pytest.approx(expected.detach().numpy(), abs=1e-5)
    assert layers(fitted)[1].running_mean.numpy() == pytest.approx(mean.numpy(), abs=1e-6)
    assert layers(fitted)[1].running_var.numpy() == pytest.approx(var.numpy(), abs=1e-5)


def test_statistics_of_a_source_are_no_matter_for_training_from_scratch() -> None:
    kinds = ("train", "source")
    one, other = (Scratch().fit(uneven(), normalised(), options(batch_norm=kind)).network for kind in kinds)
    assert torch.equal(layers(one)[0].weight, layers(other)[0].weight)


def test_auto_keeps_statistics_where_there_are_any() -> None:
    task = uneven()
    kept, auto = (FineTune().fit(task, normalised(), options(batch_norm=kind)).network for kind in ("source", "auto"))
    assert same(weights_of(auto), weights_of(kept))
    plain = network_for(task, FineTune())
    FineTune().fit(task, plain, options(batch_norm="auto"))  # no sentence: it asks for nothing that is not there


@pytest.mark.parametrize("method", [Merlin(initial="pretrained"), MerlinFt(), FineTune()])
def test_networks_that_are_kept_on_the_way_change_nothing(method: Method) -> None:
    """A head that is fitted for one reads the backbone in evaluation mode; held statistics stay so afterwards."""
    task, given = uneven(), options(steps=5, batch_size=10, lr=0.05, batch_norm="source")
    kept: list[int] = []
    watched = replace(given, snapshots=Snapshots(lambda step, _now: kept.append(step), every=(2,)))
    plain, other = (method.fit(task, normalised(), one).network for one in (given, watched))
    assert kept == [0, 2, 4]
    assert same(weights_of(plain), weights_of(other))


def test_statistics_of_random_weights_follow_at_least_as_fast_as_those_of_pytorch() -> None:
    task, slow, usual = uneven(), normalised(), normalised()
    layers(slow)[1].momentum, layers(usual)[1].momentum = 0.001, 0.1
    fitted = [Scratch().fit(task, one, options(steps=5)).network for one in (slow, usual)]
    assert same(weights_of(fitted[0]), weights_of(fitted[1]))
    assert layers(slow)[1].momentum == 0.001
    tuned = FineTune().fit(task, slow, options(steps=5)).network
    assert layers(tuned)[1].momentum == 0.001  # of a network that is trained already
    for faster in (0.5, None):  # or the mean of all batches
        layers(usual)[1].momentum = faster
        assert not same(weights_of(Scratch().fit(task, usual, options(steps=5)).network), weights_of(fitted[1]))


@pytest.mark.parametrize("method", [FineTune(), MerlinFt(), FineTune(head="probe")])
def test_they_stay_whatever_a_method_trains(method: Method) -> None:
    network = normalised()
    fitted = method.fit(uneven(), network, options(batch_norm="source", steps=4)).network
    assert torch.equal(layers(fitted)[1].running_mean, layers(network)[1].running_mean)
    assert not torch.equal(layers(fitted)[1].weight, layers(network)[1].weight)


# --- early stopping


def noisy(n: int = 80) -> TransferTask:
    random = np.random.default_rng(0)
    inputs = random.normal(size=(n, 4)).astype(np.float32)
    data = LabelledSet(inputs, random.integers(0, 3, n), ("a", "b", "c"))  # labels that nothing predicts
    return TransferTask(Dataset("noise", data, data), Dataset("source", data, data))


def test_training_ends_where_held_out_examples_gain_nothing() -> None:
    task, given = noisy(), options(steps=400, batch_size=16, eval_every=5, early_stopping=3)
    network = network_for(task, Scratch())
    fitted = Scratch().fit(task, network, given)
    best, stopped = int(fitted.notes["best_step"]), int(fitted.notes["stopped_at"])
    assert fitted.status == "converged"
    assert stopped == fitted.cost.steps == best + 15 < 400
    # by hand: training on the same part for so many steps and no more gives the network of the best point
    domain = training_domain(task.target, given, network)
    assert domain.held_out is not None
    assert (len(domain.train), len(domain.held_out)) == (60, 20)
    seen = {tuple(row.tolist()) for row in domain.train.inputs}
    assert not seen & {tuple(row.tolist()) for row in domain.held_out.inputs}
    assert best > 0
    begun = Scratch().begin(task, network, given)
    begun = replace(begun, target=replace(begun.target, held_out=None))
    again = Scratch().fit_from(begun, options(steps=best, batch_size=16)).network
    assert same(weights_of(fitted.network), weights_of(again))


def test_so_it_does_after_an_interruption(tmp_path: Path) -> None:
    task, given = noisy(), options(steps=100, batch_size=16, eval_every=5, early_stopping=3)
    network = network_for(task, Scratch())
    whole = Scratch().fit(task, network, given)

    for checked in (1, 7):
        killed = replace(given, checkpoint=tmp_path / f"run{checked}", checkpoint_seconds=0.0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("transferscope.training.loop.CHECK_EVERY", checked)
            with pytest.raises(KilledError):
                Scratch().fit(task, network, replace(killed, on_progress=die))
        resumed = Scratch().fit(task, network, killed)
        assert resumed.notes == whole.notes
        assert same(weights_of(resumed.network), weights_of(whole.network))


def test_with_too_few_examples_nothing_is_held_out() -> None:
    task = classification_task(n_target=8)
    network = network_for(task, Scratch())
    plain, stopped = (
        Scratch().fit(task, network, options(steps=3, early_stopping=patience)).network for patience in (None, 1)
    )
    assert torch.equal(plain.state_dict()["head.weight"], stopped.state_dict()["head.weight"])


def test_pretraining_takes_them_too() -> None:
    task = classification_task()
    assert task.source is not None
    fitted = pretrain(task.source, network_for(task, Scratch()), FitOptions(ALL, seed=1, device="cpu"))
    assert "best_step" in fitted.notes
