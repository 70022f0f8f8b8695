"""Methods that choose among blocks: surgical fine-tuning and the probe of all layers."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from cases_of_methods import BUDGET, classification_task, network_for, regression_task
from methods.by_hand import ONE_STEP, OPTIONS, convolutions, images, ridge, whole
from transferscope.data.splits import folds
from transferscope.data.task import TransferTask
from transferscope.errors import SettingsError
from transferscope.methods import AllLayersProbe, FineTune, LinearProbe, Surgical, all_layers_probe
from transferscope.methods.all_layers_probe import FRACTIONS
from transferscope.models import Network
from transferscope.models.network import seeded
from transferscope.testing.methods import same, weights_of
from transferscope.training import stream_seed


@pytest.mark.long
def test_the_first_step_moves_the_named_block_and_the_head() -> None:
    task = classification_task()
    network = network_for(task, Surgical())
    names = list(network.named_blocks())
    inputs, labels = whole(task.target)
    probe = LinearProbe().fit(task, network, OPTIONS).network.head
    block = network.named_blocks()[names[0]]
    loss = F.cross_entropy(probe(network.features(inputs)), labels)
    before = [*block.parameters(), *probe.parameters()]
    gradients = torch.autograd.grad(loss, before)
    fitted = Surgical(block=names[0], lr_scale=0.5).fit(task, network, OPTIONS)
    after = [*fitted.network.named_blocks()[names[0]].parameters(), *fitted.network.head.parameters()]
    for own, old, gradient in zip(after, before, gradients, strict=True):
        assert own.detach().numpy() == pytest.approx((old - 0.5 * ONE_STEP.lr * gradient).detach().numpy(), abs=1e-6)
    assert same(block_weights(network, names[1]), block_weights(fitted.network, names[1]))
    assert fitted.notes == {"block": 1}


def block_weights(network: Network, name: str) -> dict[str, torch.Tensor]:
    return {key: value.clone() for key, value in network.named_blocks()[name].state_dict().items()}


def test_the_chosen_block_has_the_largest_relative_gradient_and_the_others_keep_their_statistics() -> None:
    task, network = images(24), convolutions()
    probe = LinearProbe().fit(task, network, OPTIONS).network
    inputs, labels = whole(task.target)
    own = probe.copy().eval()
    F.cross_entropy(own(inputs), labels).backward()  # type: ignore[no-untyped-call]
    norms = []
    for block in own.blocks():
        gradient = np.concatenate([p.grad.double().numpy().ravel() for p in block.parameters() if p.grad is not None])
        weights = np.concatenate([p.detach().double().numpy().ravel() for p in block.parameters()])
        norms.append(np.linalg.norm(gradient) / np.linalg.norm(weights))
    best = int(np.argmax(norms))
    fitted = Surgical().fit(task, network, replace(OPTIONS, training=replace(BUDGET, steps=3)))
    assert fitted.notes == {"block": best + 1}
    for i, name in enumerate(network.named_blocks()):
        assert same(block_weights(network, name), block_weights(fitted.network, name)) == (i != best)


def test_a_block_that_is_none_is_refused() -> None:
    task, network = images(24), convolutions()
    with pytest.raises(SettingsError, match=r"^unknown block of the backbone '9'"):
        Surgical(block="9").fit(task, network, OPTIONS)


def test_what_the_named_block_shares_with_another_is_trained() -> None:
    with seeded(0):
        shared = nn.Linear(5, 5)
        low, high = nn.Sequential(nn.Linear(5, 5), nn.ReLU(), shared), nn.Sequential(nn.ReLU(), shared, nn.ReLU())
        network = Network(nn.Sequential(OrderedDict(low=low, high=high)), nn.Linear(5, 3), 5)
    fitted = Surgical(block="high").fit(classification_task(), network, replace(OPTIONS, training=BUDGET))
    before, after = network.state_dict(), fitted.network.state_dict()
    assert not torch.equal(before["features.high.1.weight"], after["features.high.1.weight"])
    assert torch.equal(before["features.low.0.weight"], after["features.low.0.weight"])


def _layers(n: int) -> nn.Module:
    return nn.Sequential(*(part for _ in range(n) for part in (nn.Linear(5, 5), nn.Tanh())))


@pytest.mark.parametrize(
    ("blocks", "trained"),
    [
        ({"low": _layers(1), "middle": _layers(1), "high": _layers(1)}, ["high"]),
        ({"stem": _layers(1), "block1": _layers(2), "block2": _layers(2), "norm": nn.LayerNorm(5)}, ["block2", "norm"]),
        ({"block": _layers(2), "out": nn.Linear(5, 5), "norm": nn.LayerNorm(5)}, ["out", "norm"]),
        ({"block": _layers(3)}, None),
        ({"block": _layers(3), "norm": nn.LayerNorm(5)}, None),
    ],
)
def test_blocks_before_the_last_are_frozen_by_minus_one(
    blocks: Mapping[str, nn.Module], trained: Sequence[str] | None
) -> None:
    """What follows the last block of several layers, a normalisation, is trained with it."""
    method, network = FineTune(frozen_blocks=-1), Network(nn.Sequential(OrderedDict(blocks)), nn.Linear(5, 3), 5)
    if trained is None:
        with pytest.raises(SettingsError, match="this backbone has one block"):
            method.check_network(network)
        return
    fitted = replace(method, lr_scale=1.0).fit(classification_task(), network, replace(OPTIONS, training=BUDGET))
    before, after = network.state_dict(), fitted.network.state_dict()
    changed = {
        name.split(".")[1] for name in before if "features" in name and not torch.equal(before[name], after[name])
    }
    assert changed == set(trained)


class TokensFirst(nn.Module):
    """An encoder whose layers read (tokens, examples, width), with as many tokens as there are examples."""

    def __init__(self, n_tokens: int) -> None:
        super().__init__()
        self.n_tokens = n_tokens
        self.embed, self.layer, self.last = nn.Linear(5, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        tokens = self.embed(inputs).expand(self.n_tokens, -1, -1)
        out: torch.Tensor = self.last(self.layer(tokens)).mean(dim=0)
        return out


def test_blocks_without_a_row_for_each_example_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_layers_probe, "FRACTIONS", (1.0,))
    task = classification_task(n_target=30)
    with seeded(0):
        network = Network(TokensFirst(30), nn.Linear(4, 3), 4)
    fitted = AllLayersProbe().fit(task, network, OPTIONS)
    assert fitted.notes["features"] == 4  # those of the last block alone
    assert len(fitted.predict(task.target.test)) == len(task.target.test)


def layer_by_layer(network: Network, task: TransferTask) -> tuple[np.ndarray, np.ndarray]:
    """Both layers of the small network, standardised by the training examples, in training and test."""
    w = [p.detach().double().numpy() for p in network.features.parameters()]
    mean, std = task.target.train.inputs.mean(axis=0), task.target.train.inputs.std(axis=0)
    found = []
    for part in (task.target.train, task.target.test):
        one = np.maximum((part.inputs - mean) / std @ w[0].T + w[1], 0)
        found.append(np.concatenate([one, np.maximum(one @ w[2].T + w[3], 0)], axis=1))
    train, test = found
    scale = np.where(train.std(axis=0) > 1e-6, train.std(axis=0), 1)
    return (train - train.mean(axis=0)) / scale, (test - train.mean(axis=0)) / scale


@pytest.mark.parametrize("fraction", [1.0, 0.4])
@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_the_head_is_the_ridge_on_the_numbers_with_the_largest_weights(
    kind: str, fraction: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_layers_probe, "FRACTIONS", (fraction,))
    task = classification_task(n_target=30) if kind == "classification" else regression_task(n_target=30)
    network = network_for(task, AllLayersProbe())
    train, test = layer_by_layer(network, task)
    labels = task.target.train.labels
    targets = np.eye(3)[labels] - 1 / 3 if kind == "classification" else labels
    kept = np.arange(13)
    if fraction < 1:
        relevance = np.linalg.norm(ridge(train, targets).coef_, axis=0)
        kept = np.sort(np.argsort(-relevance)[:5])
    expected = ridge(train[:, kept], targets).predict(test[:, kept])
    fitted = AllLayersProbe().fit(task, network, OPTIONS)
    assert fitted.outputs(task.target.test).numpy() == pytest.approx(expected, abs=2e-3)
    assert fitted.notes == {"fraction": fraction, "features": len(kept)}


def test_none_of_the_numbers_is_the_linear_probe_bit_for_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_layers_probe, "FRACTIONS", (0.0,))
    for task, network in (
        (images(16), convolutions()),  # too few for folds: ridge regression
        (regression_task(), network_for(regression_task(), LinearProbe())),
    ):
        one, other = (method.fit(task, network, OPTIONS) for method in (AllLayersProbe(), LinearProbe()))
        assert same(weights_of(one.network), weights_of(other.network))
        assert torch.equal(one.outputs(task.target.test), other.outputs(task.target.test))


def test_the_share_is_the_best_over_folds_of_training_examples() -> None:
    task = classification_task(n_target=60)
    noisy = task.target.train.inputs + np.random.default_rng(5).normal(scale=3, size=(60, 5)).astype(np.float32)
    task = task.with_target_train(replace(task.target.train, inputs=noisy))
    network = network_for(task, AllLayersProbe())
    numbers, _ = layer_by_layer(network, task)
    last = network.features(whole(task.target)[0]).detach().double().numpy()
    labels = task.target.train.labels
    wrong = dict.fromkeys(FRACTIONS, 0)
    for fold in folds(task.target.train, 4, seed=stream_seed(3, "held out")):
        targets = np.eye(3)[labels[fold.fit]] - 1 / 3
        for fraction in FRACTIONS:
            seen = last
            if fraction:
                relevance = np.linalg.norm(ridge(numbers[fold.fit], targets).coef_, axis=0)
                seen = numbers[:, np.sort(np.argsort(-relevance)[: max(1, round(13 * fraction))])]
            model = ridge(seen[fold.fit], targets)
            wrong[fraction] += int((model.predict(seen[fold.validate]).argmax(axis=1) != labels[fold.validate]).sum())
    fitted = AllLayersProbe().fit(task, network, OPTIONS)
    assert fitted.notes["fraction"] == min(wrong, key=lambda fraction: wrong[fraction])
    few = task.with_target_train(task.target.train.take(np.arange(15)))  # too few to choose by
    assert AllLayersProbe().fit(few, network, OPTIONS).notes["fraction"] == 0


def test_what_only_a_lower_layer_knows_is_found() -> None:
    """A network whose last block has thrown the labels away: only a probe below it can read them."""
    task = classification_task(n_target=60)
    network = network_for(task, AllLayersProbe())
    *_, last = (layer for layer in network.features.modules() if isinstance(layer, nn.Linear))
    with torch.no_grad():
        last.weight.zero_()
        last.bias.fill_(1.0)
    scores = [
        np.mean(method.fit(task, network, OPTIONS).predict(task.target.test) == task.target.test.labels)
        for method in (LinearProbe(), AllLayersProbe())
    ]
    assert scores[0] < 0.5
    assert scores[1] > 0.8


def test_maps_are_pooled_over_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    task, network = images(24), convolutions()
    monkeypatch.setattr(all_layers_probe, "FRACTIONS", (1.0,))
    finer = AllLayersProbe().fit(task, network, OPTIONS)
    monkeypatch.setattr(all_layers_probe, "POOL", 1)
    fitted = AllLayersProbe().fit(task, network, OPTIONS)
    blocks = len(network.blocks())
    assert blocks > 2
    assert finer.notes["features"] - network.n_features == 4 * (fitted.notes["features"] - network.n_features)
