"""Each method's first step against the gradient written out by hand."""

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from torch.nn import functional as F

from cases_of_methods import BUDGET, classification_task, network_for
from methods.by_hand import ONE_STEP, OPTIONS, first_order, images, target_head, whole
from transferscope.data.task import TransferTask
from transferscope.methods import FineTune, FitOptions, Joint, L2Sp, Merlin, MerlinFt, Method, Scratch
from transferscope.methods.inner_head import ridge_head
from transferscope.methods.merlin import MerlinWithoutSource
from transferscope.methods.probe_head import logistic_probe
from transferscope.models import Network, TwoLayerHead, build_network, new_head
from transferscope.models.network import seeded
from transferscope.testing.methods import same, weights_of
from transferscope.training import stream_seed


def heads(network: Network) -> tuple[torch.nn.Linear, torch.nn.Linear]:
    """The target (3 classes) and source (4 classes) head that seed 3 draws."""
    return target_head(network), new_head(network.n_features, 4, seed=stream_seed(3, "source head"))


def after_one_step(network: Network, loss: torch.Tensor, lr: float) -> list[torch.Tensor]:
    parameters = list(network.features.parameters())
    gradients = torch.autograd.grad(loss, parameters)
    return [(p - lr * g).detach() for p, g in zip(parameters, gradients, strict=True)]


def backbone_after(method: Method, task: TransferTask) -> list[torch.Tensor]:
    fitted = method.fit(task, network_for(task, method), OPTIONS)
    return [parameter.detach() for parameter in fitted.network.features.parameters()]


def assert_close(one: list[torch.Tensor], other: list[torch.Tensor]) -> None:
    for a, b in zip(one, other, strict=True):
        assert a.numpy() == pytest.approx(b.numpy(), abs=1e-6)


def test_a_head_of_two_layers_takes_its_first_step_on_a_backbone_that_stays() -> None:
    task = classification_task()
    method = FineTune(hidden_units=5, layer_decay=0.0, lr_scale=0.5)
    network = network_for(task, method)
    with seeded(stream_seed(3, "target head")):
        weights = list(TwoLayerHead(network.n_features, 3, hidden=5).parameters())
    hidden, bias, factor, shift, output, constant = weights
    inputs, labels = whole(task.target)
    units = network.features(inputs).detach() @ hidden.T + bias
    units = (units - units.mean(dim=0)) / (units.var(dim=0, correction=0) + 1e-5).sqrt() * factor + shift
    units = torch.where(units > 0, units, 0.01 * units)
    loss = F.cross_entropy(units @ output.T + constant, labels)
    expected = [w - 0.5 * ONE_STEP.lr * g for w, g in zip(weights, torch.autograd.grad(loss, weights), strict=True)]
    fitted = method.fit(task, network, OPTIONS)
    assert_close([w.detach() for w in fitted.network.head.parameters()], [w.detach() for w in expected])
    assert same(weights_of(fitted.network.under(network.head)), weights_of(network))


def test_a_single_example_trains_a_head_of_two_layers() -> None:
    task = classification_task(n_target=9)
    method = FineTune(hidden_units=5, layer_decay=0.0)
    fitted = method.fit(
        task, network_for(task, method), replace(OPTIONS, training=replace(ONE_STEP, batch_size=8, steps=2))
    )
    assert fitted.status == "max_steps"


def test_joint_training_weighs_both_losses() -> None:
    task, method = classification_task(), Joint(alpha=0.3)
    assert task.source is not None
    network = network_for(task, method)
    target_head, source_head = heads(network)
    (x_t, y_t), (x_s, y_s) = whole(task.target), whole(task.source)
    loss = 0.7 * F.cross_entropy(source_head(network.features(x_s)), y_s)
    loss = loss + 0.3 * F.cross_entropy(target_head(network.features(x_t)), y_t)
    assert_close(backbone_after(method, task), after_one_step(network, loss, ONE_STEP.lr))


def test_l2_sp_pulls_back_to_the_pretrained_weights_and_not_to_its_own() -> None:
    task = classification_task()
    strong, weak = L2Sp(beta=2.0, lr_scale=1.0), L2Sp(beta=0.0, lr_scale=1.0)
    options = replace(OPTIONS, training=replace(ONE_STEP, steps=2))
    network = network_for(task, strong)
    start = [parameter.detach() for parameter in network.features.parameters()]
    pulled = [p.detach() for p in strong.fit(task, network, options).network.features.parameters()]
    free = [p.detach() for p in weak.fit(task, network, options).network.features.parameters()]
    once = [p.detach() for p in weak.fit(task, network, OPTIONS).network.features.parameters()]
    # In the first step w = w0 and the pull is 0; in the second it is beta (w1 - w0).
    expected = [f - ONE_STEP.lr * 2.0 * (o - s) for f, o, s in zip(free, once, start, strict=True)]
    assert_close(pulled, expected)


def test_merlin_differentiates_through_the_inner_head_and_predicts_by_that_of_all_target_examples() -> None:
    task, method = classification_task(), Merlin(rho=1.5, ridge=0.8, target_batch=64)
    assert task.source is not None
    network = network_for(task, method)
    _, source_head = heads(network)
    (x_s, y_s), (x_t, y_t) = whole(task.source), whole(task.target)
    order = first_order(12)
    features, labels = network.features(x_t)[order], F.one_hot(y_t[order], 3) - 1 / 3
    theta = ridge_head(features[:6], labels[:6], 0.8)
    validation = (features[6:] @ theta - labels[6:]).square().sum() / 6
    loss = F.cross_entropy(source_head(network.features(x_s)), y_s) + 1.5 * validation
    fitted = method.fit(task, network, OPTIONS)
    assert_close([p.detach() for p in fitted.network.features.parameters()], after_one_step(network, loss, ONE_STEP.lr))
    with torch.no_grad():
        theta = ridge_head(fitted.network.features(x_t), F.one_hot(y_t, 3) - 1 / 3, 0.8)
    (weight,) = fitted.network.head.parameters()
    assert weight.detach().numpy() == pytest.approx(theta.T.numpy(), abs=1e-5)


def test_the_ablation_trains_the_head_on_one_half_and_the_features_on_the_other() -> None:
    """Two steps, since the head of the first is the closed form on all examples."""
    task, method = classification_task(n_target=20), MerlinFt(ridge=0.5, inner="none", lr_scale=1.0)
    network = network_for(task, method)
    inputs, labels = whole(task.target)
    now = [parameter.detach() for parameter in network.features.parameters()]
    all_features, targets = network.features(inputs).detach(), F.one_hot(labels, 3) - 1 / 3
    theta = torch.linalg.solve(all_features.T @ all_features + 0.5 * torch.eye(7), all_features.T @ targets)
    for epoch in range(2):
        order = first_order(20, epoch)
        w1, b1, w2, b2 = now = [weight.requires_grad_() for weight in now]
        features = F.relu(F.relu(inputs[order] @ w1.T + b1) @ w2.T + b2)
        missed = features @ theta - targets[order]
        slopes = torch.autograd.grad(missed[10:].square().sum() / 10, now)
        theta = theta - ONE_STEP.lr * 2 / 10 * features[:10].detach().T @ missed[:10].detach()
        now = [(weight - ONE_STEP.lr * slope).detach() for weight, slope in zip(now, slopes, strict=True)]
    fitted = method.fit(task, network, replace(OPTIONS, training=replace(ONE_STEP, steps=2)))
    assert_close([parameter.detach() for parameter in fitted.network.features.parameters()], now)


def test_merlins_automatic_ridge_is_used_in_training_and_for_prediction() -> None:
    task, method = classification_task(), Merlin(rho=1.5, target_batch=64)
    assert task.source is not None
    network = network_for(task, method)
    _, source_head = heads(network)
    (x_s, y_s), (x_t, y_t) = whole(task.source), whole(task.target)
    order = first_order(12)
    features, labels = network.features(x_t)[order].double(), F.one_hot(y_t[order], 3).double() - 1 / 3
    (fit, left), (y_fit, y_left) = (features[:6], features[6:]), (labels[:6], labels[6:])
    mean, mean_y = fit.mean(dim=0), y_fit.mean(dim=0)
    lam = leave_one_out_ridge(fit.detach(), y_fit)
    x = fit - mean
    theta = torch.linalg.solve(x.T @ x + lam * torch.eye(x.shape[1]), x.T @ (y_fit - mean_y))
    validation = ((left - mean) @ theta + mean_y - y_left).square().sum() / 6
    loss = F.cross_entropy(source_head(network.features(x_s)), y_s) + 1.5 * validation
    fitted = method.fit(task, network, OPTIONS)
    assert_close([p.detach() for p in fitted.network.features.parameters()], after_one_step(network, loss, ONE_STEP.lr))
    with torch.no_grad():
        x, y = fitted.network.features(x_t).double(), F.one_hot(y_t, 3).double() - 1 / 3
        lam = leave_one_out_ridge(x, y)
        model = Ridge(alpha=lam).fit(x.numpy(), y.numpy())
    weight, bias = fitted.network.head.parameters()
    assert weight.detach().numpy() == pytest.approx(model.coef_, abs=1e-4)
    assert bias.detach().numpy() == pytest.approx(model.intercept_, abs=1e-4)


def leave_one_out_ridge(x: torch.Tensor, y: torch.Tensor) -> float:
    """The penalty of a grid with the least error on examples left out one at a time, each time fitted anew."""

    def risk(penalty: float) -> float:
        errors = []
        for i in range(len(x)):
            keep = np.arange(len(x)) != i
            model = Ridge(alpha=penalty).fit(x[keep].numpy(), y[keep].numpy())
            errors.append(np.square(model.predict(x[i : i + 1].numpy()) - y[i].numpy()).sum())
        return float(np.mean(errors))

    scale = float((x - x.mean(dim=0)).square().sum() / len(x))
    return float(min(10.0 ** np.arange(-3, 2, 0.5) * scale, key=risk))


@pytest.mark.parametrize("inner", ["ridge", "unrolled"])
@pytest.mark.parametrize("ridge", ["auto", 1.0])
def test_a_pass_may_end_in_a_batch_of_one(inner: Literal["ridge", "unrolled"], ridge: Literal["auto"] | float) -> None:
    task = classification_task(n_target=9)
    method = MerlinWithoutSource(inner=inner, ridge=ridge, target_batch=8, initial="pretrained", lr_scale=0.1)
    fitted = method.fit(task, network_for(task, method), replace(OPTIONS, training=replace(ONE_STEP, steps=4)))
    assert fitted.status == "max_steps"
    assert np.isfinite(fitted.outputs(task.target.test).numpy()).all()


def test_merlin_notes_how_well_its_inner_heads_generalise() -> None:
    task, method = classification_task(n_target=48), Merlin(target_batch=48)
    options = replace(OPTIONS, training=replace(ONE_STEP, steps=3))
    noise = np.random.default_rng(0).normal(size=task.target.train.inputs.shape).astype(np.float32)
    nonsense = task.with_target_train(replace(task.target.train, inputs=noise))
    assert method.fit(task, network_for(task, method), options).notes["inner_risk"] < 0.5
    assert method.fit(nonsense, network_for(nonsense, method), options).notes["inner_risk"] > 0.95
    constant = replace(method, ridge=1.0)
    assert constant.fit(task, network_for(task, constant), options).notes == {}


def test_outputs_that_the_last_step_made_infinite_are_no_finished_run() -> None:
    task = classification_task()
    options = FitOptions(replace(BUDGET, steps=1, lr=1e30), seed=3, device="cpu", curve_examples=0)
    assert Scratch().fit(task, network_for(task, Scratch()), options).status == "non_finite"


@pytest.mark.parametrize(
    "method",
    [FineTune(frozen_blocks=2, lr_scale=1.0), L2Sp(frozen_blocks=2, lr_scale=1.0), MerlinFt(frozen_blocks=2)],
    ids=lambda method: method.name,
)
def test_frozen_blocks_keep_their_weights_and_their_batch_statistics(method: Method) -> None:
    task = images()
    network = build_network("resnet20", (3, 16, 16), 4, seed=0)
    fitted = method.fit(task, network, OPTIONS)
    for index, (before, after) in enumerate(zip(network.blocks(), fitted.network.blocks(), strict=True)):
        pairs = zip(before.state_dict().items(), after.state_dict().items(), strict=True)
        unchanged = all(torch.equal(old, new) for (_, old), (_, new) in pairs)
        assert unchanged == (index < 2)


def test_more_frozen_blocks_than_there_are_is_refused() -> None:
    task = classification_task()
    with pytest.raises(ValueError, match=r"^frozen_blocks = 9 is out of range; expected at most 2"):
        FineTune(frozen_blocks=9).fit(task, network_for(task, FineTune()), OPTIONS)


@pytest.mark.parametrize("decay", [1.0, 0.5, 0.0])
def test_rates_decay_from_block_to_block_towards_the_input(decay: float) -> None:
    task = classification_task()
    network = network_for(task, FineTune())
    inputs, labels = whole(task.target)
    loss = F.cross_entropy(heads(network)[0](network.features(inputs)), labels)
    lr = 0.5 * ONE_STEP.lr
    rates = [lr * decay ** (2 if decay < 1 else 1), lr * decay]  # of two blocks, each a layer
    gradients = torch.autograd.grad(loss, list(network.features.parameters()))
    expected = [
        (p - rates[i // 2] * g).detach()
        for i, (p, g) in enumerate(zip(network.features.parameters(), gradients, strict=True))
    ]
    assert [len(list(block.parameters())) for block in network.blocks()] == [2, 2]
    assert_close(backbone_after(FineTune(lr_scale=0.5, layer_decay=decay), task), expected)


@pytest.mark.parametrize("wider", [1, 20])
def test_the_logistic_probe_is_at_a_stationary_point_of_its_loss(wider: int) -> None:
    generator = torch.Generator().manual_seed(1)
    features = torch.randn(40, 5 * wider, generator=generator) * torch.tensor([1.0, 10.0, 0.1, 1.0, 2.0] * wider)
    features[:, -1] = features[:, 0]
    labels = torch.randint(3, (40,), generator=generator)
    head, converged = logistic_probe(features, labels, 3, penalty=2.0)
    unit = (features.double() - features.double().mean(0)).square().sum(1).mean().sqrt()
    weight = head.weight.detach().double().requires_grad_()
    logits = features.double() @ weight.T + head.bias.detach()
    loss = F.cross_entropy(logits, labels, reduction="sum") + 0.5 * 2.0 * (weight * unit).square().sum()
    assert converged
    assert float((torch.autograd.grad(loss, weight)[0] / unit).abs().max()) < 0.02


@pytest.mark.parametrize(
    "features", [torch.randn(20, 4, generator=torch.Generator().manual_seed(2)), torch.ones(20, 30)]
)
def test_a_class_that_was_never_seen_is_never_predicted(features: torch.Tensor) -> None:
    labels = torch.arange(20) % 2 * 2  # classes 0 and 2 of 4
    head, _ = logistic_probe(features, labels, 4, penalty=1.0)
    assert set(head(features).argmax(dim=1).tolist()) <= {0, 2}
    assert head(features)[:, [1, 3]].amax() < -60_000
