"""The family that adds to the loss of fine-tuning: first steps against gradients written out by hand."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cases_of_methods import BUDGET, classification_task, network_for, regression_task
from methods.by_hand import ONE_STEP, OPTIONS, target_head, whole
from transferscope.data.task import Dataset, LabelledSet
from transferscope.errors import DataError
from transferscope.methods import Bss, CoTuning, Delta, Distill, FineTune, L2Sp, Method, bss, check_task
from transferscope.methods.block_outputs import BlockOutput, BlockOutputs
from transferscope.methods.co_tuning import class_relationship
from transferscope.methods.common import domain
from transferscope.methods.delta import block_variances, channel_weights, map_distance
from transferscope.methods.probe_head import ridge_probe
from transferscope.methods.target_training import Beginning
from transferscope.models import NetworkSettings, build_network
from transferscope.models.adapt import adapt
from transferscope.testing.methods import same, weights_of
from transferscope.training import frozen_features


def assert_moved(fitted: nn.Module, before: Sequence[Tensor], gradients: Any, rate: float) -> None:
    for after, old, gradient in zip(fitted.parameters(), before, gradients, strict=True):
        assert after.detach().numpy() == pytest.approx((old - rate * gradient).detach().numpy(), abs=1e-6)


def test_spectral_shrinkage_follows_the_singular_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient of sigma^2 by F is 2 sigma u v^T; that of the cross-entropy is (softmax - one-hot) W / n."""
    monkeypatch.setattr(bss, "K", 2)
    task, method = classification_task(), Bss(eta=0.5, lr_scale=1.0)
    network = network_for(task, method)
    inputs, labels = whole(task.target)
    head, features = target_head(network), network.features(inputs)
    f = features.detach().double().numpy()
    u, s, vt = np.linalg.svd(f, full_matrices=False)
    shrink = sum(2 * s[-i] * np.outer(u[:, -i], vt[-i]) for i in (1, 2))
    weight, bias = (p.detach().double().numpy() for p in head.parameters())
    logits = f @ weight.T + bias
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    of_features = (chances - np.eye(3)[labels]) @ weight / len(f) + 0.5 * shrink
    before = list(network.features.parameters())
    gradients = torch.autograd.grad(features, before, torch.from_numpy(of_features).float())
    fitted = method.fit(task, network, OPTIONS).network
    assert_moved(fitted.features, before, gradients, ONE_STEP.lr)


@pytest.mark.parametrize(
    ("shape", "k", "expected"),
    [((6, 4), 1, 1.4111606394503857), ((6, 4), 3, 15.666838159775757), ((3, 8), 2, 8.15713144158277)],
)
def test_spectral_shrinkage_is_that_of_the_authors_library(
    shape: tuple[int, int], k: int, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers of `BatchSpectralShrinkage` in thuml/Transfer-Learning-Library, commit c4aa59e, on the same matrices."""
    draws = np.random.default_rng(20190)
    features = {(6, 4): draws.normal(size=(6, 4)), (3, 8): draws.normal(size=(3, 8))}[shape]
    network = network_for(classification_task(), Bss())
    monkeypatch.setattr(bss, "K", k)
    added = Bss(eta=0.1).regulariser(network)(torch.tensor(2.0), torch.from_numpy(features))
    assert added.item() == pytest.approx(2.0 + 0.1 * expected, rel=1e-6)


def test_map_distances_are_those_of_the_authors_library() -> None:
    """`AttentionBehavioralRegularization`, c4aa59e: half the sum over a batch; its weights sum to 1, ours to C."""
    draws = np.random.default_rng(20190)
    draws.normal(size=6 * 4 + 3 * 8)
    anchors, outputs = (torch.from_numpy(draws.normal(size=(5, 3, 4, 2))) for _ in range(2))
    weights = torch.tensor([0.5, 0.2, 0.3], dtype=torch.float64)
    found = map_distance([BlockOutput(outputs)], [BlockOutput(anchors)], 3 * weights)
    assert 0.5 * 5 * found.item() == pytest.approx(16.0841943893679, rel=1e-6)


def test_co_tuning_relates_classes_as_the_authors_library_does() -> None:
    """`Relationship.get_category_relationship` and `CoTuningLoss`, commit c4aa59e."""
    draws = np.random.default_rng(20190)
    draws.normal(size=6 * 4 + 3 * 8 + 2 * 5 * 3 * 4 * 2)
    chances, labels = torch.from_numpy(draws.dirichlet(np.ones(4), size=7)), torch.tensor([0, 2, 1, 1, 0, 2, 2])
    found = class_relationship(chances, labels, 3)
    expected = [
        [0.2604144394820284, 0.02900705729209732, 0.2961939285527573, 0.41438457467311707],
        [0.13625899653052542, 0.4910786078054541, 0.1610050547373434, 0.21165734092667704],
        [0.22506057528311965, 0.38861800545262626, 0.23262782944063218, 0.15369358982362194],
    ]
    assert found.numpy() == pytest.approx(np.array(expected), rel=1e-6)
    logits = torch.from_numpy(draws.normal(size=(7, 4)))
    assert F.cross_entropy(logits, found[labels]).item() == pytest.approx(1.8430127289981868, rel=1e-6)


def test_without_a_penalty_they_are_fine_tuning() -> None:
    task = classification_task()
    network = network_for(task, FineTune())
    tuned = weights_of(FineTune().fit(task, network, replace(OPTIONS, training=BUDGET)).network)
    without: list[Method] = [Bss(eta=0.0), CoTuning(trade_off=0.0), Distill(beta=0.0)]
    for method in without:
        fitted = method.fit(task, network, replace(OPTIONS, training=BUDGET)).network
        for name, value in weights_of(fitted).items():
            assert value.numpy() == pytest.approx(tuned[name].numpy(), abs=1e-6), (method.name, name)
    decayed = weights_of(L2Sp(beta=0.0).fit(task, network, replace(OPTIONS, training=BUDGET)).network)
    free = Delta(beta=0.0).fit(task, network, replace(OPTIONS, training=BUDGET)).network
    for name, value in weights_of(free).items():
        assert value.numpy() == pytest.approx(decayed[name].numpy(), abs=1e-6)


@pytest.mark.parametrize("attention", ["none", "removal"])
def test_two_steps_of_delta_are_those_written_out_layer_by_layer(
    attention: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Delta, "alpha", 0.2)
    task, method = classification_task(), Delta(beta=0.8, attention=attention, lr_scale=1.0)
    network = network_for(task, method)
    inputs, labels = whole(task.target)
    start = [p.detach().clone() for p in network.features.parameters()]
    head = [p.detach().clone() for p in target_head(network).parameters()]
    weigh = [torch.ones(6), torch.ones(7)]
    if attention == "removal":
        begun = Beginning(domain(task.target, OPTIONS, network), network.copy(), network.head)
        weigh = list(channel_weights(begun).values())
        assert [float(one.sum()) for one in weigh] == pytest.approx([6, 7], abs=1e-4)

    def layers(weights: list[Tensor]) -> tuple[Tensor, Tensor]:
        one = F.relu(inputs @ weights[0].T + weights[1])
        return one, F.relu(one @ weights[2].T + weights[3])

    anchors = layers(start)
    scales = [np.var(one.numpy(), axis=0).sum() for one in anchors]
    now = [*start, *head]
    for _ in range(2):
        now = [p.clone().requires_grad_() for p in now]
        maps = layers(now[:4])
        loss = F.cross_entropy(maps[1] @ now[4].T + now[5], labels)
        for own, anchor, a, scale in zip(maps, anchors, weigh, scales, strict=True):
            loss = loss + 0.4 * (a * (own - anchor).square()).sum() / len(inputs) / scale
        loss = loss + 0.1 * (now[4].square().sum() + now[5].square().sum())
        gradients = torch.autograd.grad(loss, now)
        now = [(p - ONE_STEP.lr * g).detach() for p, g in zip(now, gradients, strict=True)]
    fitted = method.fit(task, network, replace(OPTIONS, training=replace(ONE_STEP, steps=2))).network
    for after, expected in zip(fitted.parameters(), now, strict=True):
        assert after.detach().numpy() == pytest.approx(expected.numpy(), abs=1e-6)


def test_a_block_that_gives_the_same_for_all_is_held_in_units_of_its_square() -> None:
    task = classification_task()
    network = network_for(task, Delta())
    first, second = (layer for layer in network.features.modules() if isinstance(layer, nn.Linear))
    with torch.no_grad():
        first.weight.mul_(1e-8)  # what varies is lost beside the bias, but for rounding
        first.bias.fill_(3.0)
        second.weight.zero_()
        second.bias.fill_(-1.0)  # behind a ReLU: nothing
    found = list(block_variances(Beginning(domain(task.target, OPTIONS, network), network, network.head)).values())
    assert [float(one) for one in found] == pytest.approx([6 * 9.0, 1.0], rel=1e-4)


class Counted(nn.Linear):
    """A layer that counts its passes."""

    n_passes = 0

    def forward(self, inputs: Tensor) -> Tensor:
        self.n_passes += 1
        return super().forward(inputs)


class InPlace(nn.Module):
    """Blocks whose outputs are changed in place, one of which is read again later."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two, self.three = Counted(5, 6), Counted(6, 6), Counted(6, 4)
        self.head = nn.Linear(4, 3)

    def forward(self, inputs: Tensor) -> Tensor:
        first = F.silu(self.one(inputs), inplace=True)
        second = self.two(first).add_(first).sin_()
        out: Tensor = self.head(self.three(second).mul_(2))
        return out


@pytest.mark.parametrize("frozen", [0, 1, 2])
def test_channels_are_weighed_by_passes_that_begin_behind_their_block(frozen: int) -> None:
    """With the weights that whole passes give."""
    task, network = classification_task(n_target=24), adapt(InPlace(), input_shape=(5,))
    begun = Beginning(domain(task.target, OPTIONS, network), network.copy(), network.head)
    blocks = begun.own.named_blocks()
    for block in list(blocks.values())[:frozen]:
        block.requires_grad_(False)
    layers = [block for block in blocks.values() if isinstance(block, Counted)]
    before = [layer.n_passes for layer in layers]
    found = channel_weights(begun)
    assert list(found) == ["one", "two", "three"][frozen:]
    taken = [layer.n_passes - n for layer, n in zip(layers, before, strict=True)]
    assert taken == [2, 2 + 6 * (frozen == 0), 2 + 6 * (2 - frozen)]  # that of the probe, and the remembered one

    inputs, labels = whole(task.target)
    probe = ridge_probe(frozen_features(begun.own, begun.target.train), begun.target.train.labels, 3)
    one, two, three = blocks.values()

    def loss(less_first: Tensor, less_second: Tensor, less_third: Tensor) -> Tensor:
        first = F.silu(one(inputs))  # the next block alone is given it without the channel
        second = torch.sin(two(first * less_first) + first) * less_second
        return F.cross_entropy(probe(three(second) * 2 * less_third), labels)

    sizes = [6, 6, 4]
    with torch.no_grad():
        for place, name in list(enumerate(blocks))[frozen:]:
            grown = []
            for channel in range(sizes[place]):
                masks = [torch.ones(size) for size in sizes]
                masks[place][channel] = 0
                grown.append(loss(*masks) - loss(*(torch.ones(size) for size in sizes)))
            growth = torch.stack(grown)
            expected = sizes[place] * (growth / growth.std(correction=0)).softmax(dim=0)
            assert found[name].numpy() == pytest.approx(expected.numpy(), rel=1e-3)


class Twice(nn.Module):
    """A block that runs twice, as when the two texts of a pair are read apart."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two, self.three = Counted(5, 6), Counted(6, 6), Counted(6, 4)
        self.head = nn.Linear(4, 3)

    def forward(self, inputs: Tensor) -> Tensor:
        out: Tensor = self.head(self.three(self.two(self.two(self.one(inputs)).relu())))
        return out


def test_a_block_that_runs_twice_is_never_left_out() -> None:
    task, network = classification_task(n_target=24), adapt(Twice(), input_shape=(5,))
    begun = Beginning(domain(task.target, OPTIONS, network), network.copy(), network.head)
    found = channel_weights(begun)
    inputs, labels = whole(task.target)
    probe = ridge_probe(frozen_features(begun.own, begun.target.train), begun.target.train.labels, 3)
    one, two, three = begun.own.named_blocks().values()

    def loss(less: Tensor) -> Tensor:
        """Without a channel of what reaches the second block, which is so in both of its runs."""
        return F.cross_entropy(probe(three(two(two(one(inputs) * less).relu() * less))), labels)

    with torch.no_grad():
        grown = torch.stack([loss(torch.ones(6) - torch.eye(6)[channel]) for channel in range(6)]) - loss(torch.ones(6))
        expected = 6 * (grown / grown.std(correction=0)).softmax(dim=0)
    assert found["one"].numpy() == pytest.approx(expected.numpy(), rel=1e-3)


def test_blocks_that_are_not_trained_take_no_part_in_the_training_of_delta() -> None:
    """Their distances are 0 and have no gradient: `attention` cannot matter where only the head is trained."""
    task = classification_task()
    fits = []
    for attention in ("removal", "none"):
        method = Delta(frozen_blocks=2, attention=attention)
        fits.append(weights_of(method.fit(task, network_for(task, method), OPTIONS).network))
    assert same(*fits)


def test_outputs_of_blocks_are_what_reaches_the_next() -> None:
    network = build_network(NetworkSettings("lenet", (2, 3, 5)), (1, 16, 16), 4, seed=0).eval()
    inputs = torch.randn(3, 1, 16, 16, generator=torch.Generator().manual_seed(0))
    assert isinstance(network.features, nn.Sequential)
    children = dict(network.features.named_children())
    blocks = list(network.named_blocks())
    expected, current = {}, inputs
    before = {after: name for name, after in pairwise(blocks)}
    for name, child in children.items():
        if name in before:
            expected[before[name]] = current
        current = child(current)
    expected[blocks[-1]] = current
    outputs = BlockOutputs(network)
    with outputs.watched():
        found = outputs.of(inputs)
    assert list(found) == blocks == list(expected)
    for name, (output,) in found.items():
        assert torch.equal(output.values, expected[name])
    assert not any(module._forward_pre_hooks for module in network.modules())


def test_co_tuning_teaches_the_source_head_what_classes_look_like_to_it() -> None:
    task, method = classification_task(), CoTuning(trade_off=0.7, lr_scale=0.5)
    network = network_for(task, method)
    inputs, labels = whole(task.target)
    with torch.no_grad():
        logits = network(inputs).double().numpy()
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    relation = np.stack([chances[labels.numpy() == label].mean(axis=0) for label in range(3)])
    assert relation.sum(axis=1) == pytest.approx(np.ones(3))
    features, source_head = network.features(inputs), network.head
    spread = source_head(features).log_softmax(dim=1)
    of_source = -(torch.from_numpy(relation[labels.numpy()]).float() * spread).sum(dim=1).mean()
    loss = F.cross_entropy(target_head(network)(features), labels) + 0.7 * of_source
    before = [*network.features.parameters(), *source_head.parameters()]
    gradients = torch.autograd.grad(loss, before)
    fitted = method.fit(task, network, OPTIONS)
    assert fitted.source_head is not None
    both = nn.ModuleList([fitted.network.features, fitted.source_head])
    assert_moved(both, before, gradients, 0.5 * ONE_STEP.lr)


def test_a_class_without_an_example_is_related_as_all_are() -> None:
    chances = torch.tensor([[0.6, 0.4], [0.2, 0.8], [0.1, 0.9]])
    found = class_relationship(chances, torch.tensor([0, 0, 2]), 3)
    assert found.numpy() == pytest.approx(np.array([[0.4, 0.6], [0.3, 0.7], [0.1, 0.9]]))


def test_co_tuning_refuses_what_has_no_classes() -> None:
    numbers, task = regression_task(), classification_task()
    several = LabelledSet(np.ones((3, 5), np.float32), np.eye(3, dtype=np.bool_), ("a", "b", "c"))
    tagged = Dataset("tagged", several, several)
    for target, source, said in (
        (numbers.target, task.source, "target is regression"),
        (task.target, numbers.source, "source is regression"),
        (task.target, None, "the source is a network without data"),
        (tagged, tagged, "tagged is multi-label"),
    ):
        with pytest.raises(DataError, match=said):
            check_task(CoTuning(), target, source)
    with pytest.raises(DataError, match="target is regression"):
        CoTuning().fit(numbers, network_for(numbers, CoTuning()), OPTIONS)


def test_distillation_pulls_features_to_those_of_the_teacher() -> None:
    task, method = classification_task(), Distill(beta=0.6, lr_scale=1.0)
    network = network_for(task, method)
    inputs, labels = whole(task.target)
    taught = network.features(inputs).detach()
    features = network.features(inputs)
    scale = (taught - taught.mean(dim=0)).square().sum() / len(taught)
    loss = F.cross_entropy(target_head(network)(features), labels)
    loss = loss + 0.6 * (features - taught).square().sum() / len(taught) / scale
    before = list(network.features.parameters())
    fitted = method.fit(task, network, OPTIONS)
    assert_moved(fitted.network.features, before, torch.autograd.grad(loss, before), ONE_STEP.lr)
