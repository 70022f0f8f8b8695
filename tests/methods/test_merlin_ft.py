"""MeRLin-ft over adapters, and its ablation: first steps written out by hand, and what stays as it is."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cases_of_methods import classification_task, network_for
from methods.by_hand import ONE_STEP, OPTIONS, first_order
from transferscope.data.task import TransferTask
from transferscope.methods import MerlinFt
from transferscope.methods.merlin_ft import Bottleneck
from transferscope.models import Network
from transferscope.models.network import seeded
from transferscope.testing.methods import same
from transferscope.training import outputs_of, pixel_scale, stream_seed, to_tensors

PLAIN = replace(ONE_STEP, lr=0.3)
ONE = replace(OPTIONS, training=PLAIN)


def drawn(task: TransferTask, network: Network) -> tuple[Tensor, Tensor, Tensor]:
    """Features in the order of the first batch, its targets e_c - 1/K, and the inputs."""
    tensors = to_tensors(task.target.train, pixel_scale(task.target.train))
    index = first_order(len(tensors))
    targets = F.one_hot(tensors.labels[index], 3).float() - 1 / 3
    return outputs_of(network.features, tensors)[index], targets, tensors.batch(index).inputs


def of_second_half(features: Tensor, targets: Tensor, ridge: float) -> Tensor:
    """L_val of the closed form that the first half gives, without a bias."""
    half = len(features) // 2
    h, y = features[:half], targets[:half]
    theta = torch.linalg.solve(h.T @ h + ridge * torch.eye(h.shape[1]), h.T @ y)
    loss: Tensor = (features[half:] @ theta - targets[half:]).square().sum(dim=1).mean()
    return loss


def layers(module: nn.Module) -> Any:
    """A module whose parts are taken by number."""
    return module


def test_the_first_step_over_a_small_head_is_that_written_by_hand() -> None:
    task = classification_task(n_target=20)
    network = network_for(task, MerlinFt())
    fitted = MerlinFt(adapters="head", ridge=0.5, lr_scale=1.0).fit(task, network, ONE)
    features, targets, _ = drawn(task, network)
    with seeded(stream_seed(3, "adapter")):
        adapter = Bottleneck(network.n_features, 32)
    expected = {name: tensor.clone() for name, tensor in adapter.named_parameters()}
    hidden = torch.relu(features @ adapter.down.weight.T + adapter.down.bias)
    changed = features + hidden @ adapter.up.weight.T + adapter.up.bias
    assert torch.equal(changed, features)  # nothing is changed before the first step
    loss = of_second_half(changed, targets, 0.5)
    gradients = torch.autograd.grad(loss, list(adapter.parameters()))
    found = dict(layers(fitted.network.head)[0].named_parameters())
    for (name, before), gradient in zip(expected.items(), gradients, strict=True):
        assert found[name].detach().numpy() == pytest.approx((before - 0.3 * gradient).detach().numpy(), abs=1e-5)
    assert same(fitted.network.features.state_dict(), network.features.state_dict())


def test_the_ablation_trains_the_head_on_one_half_and_the_features_on_the_other() -> None:
    task = classification_task(n_target=20)
    network = network_for(task, MerlinFt())
    method = MerlinFt(adapters="head", ridge=0.5, inner="none", lr_scale=1.0)
    fitted = method.fit(task, network, ONE)
    features, targets, _ = drawn(task, network)
    with seeded(stream_seed(3, "adapter")):
        adapter = Bottleneck(network.n_features, 32)
    theta = torch.linalg.solve(features.T @ features + 0.5 * torch.eye(features.shape[1]), features.T @ targets)
    loss = (adapter(features[10:]) @ theta - targets[10:]).square().sum(dim=1).mean()
    gradient = torch.autograd.grad(loss, adapter.up.weight)[0]
    found = layers(fitted.network.head)[0].up.weight
    assert found.detach().numpy() == pytest.approx((-0.3 * gradient).numpy(), abs=1e-5)  # B = 0 before
    # the head that predicts is fitted by the same rule as ever
    with torch.no_grad():
        changed = layers(fitted.network.head)[0](features)
    expected = torch.linalg.solve(changed.T @ changed + 0.5 * torch.eye(changed.shape[1]), changed.T @ targets)
    assert layers(fitted.network.head)[1].weight.detach().numpy() == pytest.approx(expected.T.numpy(), abs=1e-4)


def test_the_first_step_over_low_rank_changes_is_that_written_by_hand() -> None:
    """B is zero, so that A has no gradient, and one step changes W by -lr (alpha / r)^2 G A' A."""
    task = classification_task(n_target=20)
    network = network_for(task, MerlinFt())
    fitted = MerlinFt(adapters="lora", ridge=0.5, lr_scale=1.0).fit(task, network, ONE)
    features, targets, inputs = drawn(task, network)
    again = network.features(inputs)
    assert again.detach().numpy() == pytest.approx(features.numpy(), abs=1e-5)
    weights = {name: p for name, p in network.features.named_parameters() if p.ndim == 2}
    gradients = torch.autograd.grad(of_second_half(again, targets, 0.5), list(weights.values()))
    factors: dict[str, Tensor] = {}
    with seeded(stream_seed(3, "low rank")):
        for name, weight in weights.items():
            factors[name] = torch.empty(4, weight.shape[1])
            nn.init.kaiming_uniform_(factors[name], a=5**0.5)
    for (name, before), gradient in zip(weights.items(), gradients, strict=True):
        a = factors[name]
        after = fitted.network.features.state_dict()[name]
        assert after.numpy() == pytest.approx((before - 0.3 * gradient @ a.T @ a).detach().numpy(), abs=1e-5)
        assert not torch.equal(after, before)
    for name, tensor in network.features.state_dict().items():
        if name not in weights:
            assert torch.equal(fitted.network.features.state_dict()[name], tensor)


def test_cached_features_give_what_computing_them_in_every_step_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    task = classification_task(n_target=20)
    method, given = MerlinFt(adapters="head", lr_scale=1.0), replace(ONE, training=replace(PLAIN, steps=5))
    network = network_for(task, method)
    calls: list[int] = []
    hook = network.features.register_forward_hook(lambda *_: calls.append(1))
    cached = method.fit(task, network, given)
    few = len(calls)
    # vectors are not augmented, so that the setting changes nothing but where the features come from
    computed = method.fit(task, network, replace(given, training=replace(given.training, augment="flip-crop")))
    hook.remove()
    assert len(calls) - few >= few + 5
    for name, tensor in cached.network.head.state_dict().items():
        assert tensor.numpy() == pytest.approx(computed.network.head.state_dict()[name].numpy(), abs=1e-5)
