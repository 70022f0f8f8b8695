"""Methods that train few of the weights: LoRA and BitFit, each step by hand, merged against unmerged."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from cases_of_methods import BUDGET, blobs, classification_task, network_for
from transferscope.data.task import Dataset, TransferTask
from transferscope.errors import SettingsError
from transferscope.methods import BitFit, FitOptions, LoRA
from transferscope.methods.common import domain
from transferscope.methods.lora import LowRank, merged
from transferscope.methods.target_training import Beginning
from transferscope.models import Network, NetworkSettings, build_network, new_head
from transferscope.models.adapt import adapt
from transferscope.models.network import seeded
from transferscope.training import pixel_scale, stream_seed, to_tensors

ONE_STEP = replace(BUDGET, steps=1, batch_size=64, momentum=0.0, weight_decay=0.0, schedule="constant")
OPTIONS = FitOptions(ONE_STEP, seed=3, device="cpu", curve_examples=0)


def whole(data: Dataset) -> tuple[Tensor, Tensor]:
    tensors = to_tensors(data.train, pixel_scale(data.train))
    batch = tensors.batch(torch.arange(len(tensors)))
    return batch.inputs, batch.labels


def with_target_head(network: Network) -> Network:
    own = network.copy()
    own.head = new_head(network.n_features, 3, seed=stream_seed(3, "target head"))
    return own


def test_the_first_step_of_lora_moves_b_alone_along_the_gradient_of_the_weight() -> None:
    """With B = 0 the gradient of B is (alpha / r) G A^T, where G is that of the weight, and that of A is 0."""
    task, method = classification_task(), LoRA(rank=2, alpha=3.0, lr_scale=0.7)
    network = network_for(task, method)
    own = with_target_head(network)
    inputs, labels = whole(task.target)
    weights = [layer.weight for layer in own.features.modules() if isinstance(layer, nn.Linear)]
    gradients = torch.autograd.grad(F.cross_entropy(own(inputs), labels), weights)
    fitted = method.fit(task, network, OPTIONS).network
    found = [layer.weight for layer in fitted.features.modules() if isinstance(layer, nn.Linear)]
    assert len(found) == 2
    with seeded(stream_seed(3, "low rank")):
        drawn = [nn.Linear(weight.shape[1], 2, bias=False).weight.detach() for weight in weights]
    for weight, gradient, a, after in zip(weights, gradients, drawn, found, strict=True):
        b = -0.7 * ONE_STEP.lr * (3.0 / 2) * gradient @ a.T
        expected = weight + (3.0 / 2) * b @ a
        assert after.detach().numpy() == pytest.approx(expected.detach().numpy(), abs=1e-6)
        assert not torch.equal(after, weight)
    for name, parameter in network.features.named_parameters():
        if name.endswith("bias"):
            assert torch.equal(parameter, fitted.features.get_parameter(name))


class Attention(nn.Module):
    """Torch's own attention between linear layers, with a weight that two layers share."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(5, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)
        self.one = nn.Linear(8, 8)
        self.other = nn.Linear(8, 8)
        self.other.weight = self.one.weight
        self.head = nn.Linear(8, 4)

    def forward(self, inputs: Tensor) -> Tensor:
        tokens = self.embed(torch.stack([inputs, inputs.flip(1)], dim=1))
        mixed = self.norm(tokens + self.attention(tokens, tokens, tokens, need_weights=False)[0])
        out: Tensor = self.head(self.other(F.relu(self.one(mixed.mean(dim=1)))))
        return out


def attention() -> Network:
    with seeded(0):
        return adapt(Attention(), input_shape=(5,))


def convolutions() -> Network:
    return build_network(NetworkSettings("resnet20", (2, 2, 3)), (3, 16, 16), 4, seed=0)


@pytest.mark.parametrize("network", [attention(), convolutions()], ids=["attention", "convolutions"])
def test_merged_weights_compute_what_the_changes_compute(network: Network) -> None:
    own = network.copy().double()
    plain = own.copy()
    images = isinstance(own.features[0], nn.Module) if isinstance(own.features, nn.Sequential) else False
    shape = (6, 3, 16, 16) if images else (6, 5)
    inputs = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    data = blobs(6, 3, seed=0)
    given = replace(data, inputs=inputs.float().numpy())
    begun = Beginning(domain(Dataset("d", given, given), OPTIONS, own), own, own.head)
    LoRA(rank=3).adapt(begun, OPTIONS)
    before = own.eval()(inputs)
    assert torch.allclose(before, plain.eval()(inputs), atol=1e-12)  # B = 0
    changed = 0
    with torch.no_grad(), seeded(1):
        for module in own.modules():
            if isinstance(module, LowRank):
                module.b.normal_(std=0.1)
                changed += 1
    assert changed == (4 if not images else sum(isinstance(one, nn.Conv2d) for one in plain.features.modules()))
    after = own(inputs)
    assert (after - before).abs().max() > 1e-2
    assert torch.allclose(merged(plain, own)(inputs), after, atol=1e-6)
    assert list(plain.state_dict()) == list(network.state_dict())


class TiedTokens(nn.Module):
    """Words whose embedding is the weight of the layer below the head, as language models tie them."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.one, self.tied = nn.Embedding(6, 5), nn.Linear(5, 5), nn.Linear(5, 6, bias=False)
        self.tied.weight = self.words.weight
        self.head = nn.Linear(6, 3)

    def forward(self, inputs: Float[Tensor, "n 5"]) -> Float[Tensor, "n 3"]:
        words = self.words((inputs.abs() * 3).long().clamp(max=5)).mean(dim=1)
        out: Tensor = self.head(self.tied(F.relu(self.one(words))))
        return out


def test_a_weight_that_an_embedding_shares_stays_as_it_is() -> None:
    with seeded(0):
        network = adapt(TiedTokens(), input_shape=(5,))
    task = classification_task()
    options = replace(OPTIONS, training=replace(ONE_STEP, steps=20, lr=0.1))
    fitted = LoRA().fit(task, network, options).network
    before, after = network.state_dict(), fitted.state_dict()
    moved = {name.removeprefix("features.") for name, old in before.items() if not torch.equal(old, after[name])}
    assert any("one.weight" in name for name in moved)
    assert not any("words" in name or "tied" in name for name in moved)


def test_lora_of_a_transformer_and_of_a_network_with_batch_normalisation_holds_the_rest() -> None:
    images = np.random.default_rng(0).random((12, 3, 16, 16)).astype(np.float32)
    train = replace(blobs(12, 3, seed=0), inputs=images)
    cases = [(convolutions(), TransferTask(Dataset("images", train, train))), (attention(), classification_task())]
    for network, task in cases:
        fitted = LoRA(frozen_blocks=1).fit(task, network, replace(OPTIONS, training=replace(ONE_STEP, steps=3)))
        first = {id(p) for p in network.blocks()[0].parameters()}
        after = fitted.network.features.state_dict()
        weights = dict(network.features.named_parameters(remove_duplicate=False))
        moved = {name for name, old in network.features.state_dict().items() if not torch.equal(old, after[name])}
        assert moved
        for name in moved:
            assert weights[name].ndim > 1
            assert id(weights[name]) not in first
        assert fitted.cost.trained_parameters < sum(p.numel() for p in network.parameters())


def test_bitfit_moves_biases_and_scales_alone() -> None:
    images = np.random.default_rng(0).random((12, 3, 16, 16)).astype(np.float32)
    train = replace(blobs(12, 3, seed=0), inputs=images)
    task = TransferTask(Dataset("images", train, train))
    network = convolutions()
    inputs, labels = whole(task.target)
    own = with_target_head(network).train()
    names = [name for name, p in own.features.named_parameters() if p.ndim == 1]
    loss = F.cross_entropy(own(inputs), labels)
    gradients = torch.autograd.grad(loss, [own.features.get_parameter(name) for name in names])
    fitted = BitFit(lr_scale=0.5).fit(task, network, OPTIONS).network
    for name, gradient in zip(names, gradients, strict=True):
        expected = own.features.get_parameter(name) - 0.5 * ONE_STEP.lr * gradient
        found = fitted.features.get_parameter(name)
        assert found.detach().numpy() == pytest.approx(expected.detach().numpy(), abs=1e-5), name
    for name, parameter in network.features.named_parameters():
        assert (name in names) or torch.equal(parameter, fitted.features.get_parameter(name))


class Recurrent(nn.Module):
    """Neither a layer that lora changes nor a bias before the head."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.LSTM(5, 6, bias=False, batch_first=True)
        self.head = nn.Linear(6, 4)

    def forward(self, inputs: Tensor) -> Tensor:
        out: Tensor = self.head(self.body(inputs[:, None])[0][:, -1])
        return out


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (LoRA(), "^lora changes linear, convolutional and attention layers, and the backbone has none to train; "),
        (BitFit(), "^bitfit trains biases and normalisation layers, and the backbone has none to train; train it with"),
    ],
)
def test_a_network_without_what_they_train_is_refused(method: LoRA | BitFit, said: str) -> None:
    network = adapt(Recurrent(), input_shape=(5,))
    with pytest.raises(SettingsError, match=said):
        method.fit(classification_task(), network, OPTIONS)


@pytest.mark.parametrize("setting", [{"rank": 0}, {"alpha": 0.0}])
def test_ranks_and_factors_out_of_range_are_refused(setting: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match=rf"^{next(iter(setting))} = 0(\.0)? is out of range"):
        LoRA(**setting)  # type: ignore[arg-type]


def test_changes_are_those_of_peft() -> None:
    peft = pytest.importorskip("peft")
    body = nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 7))
    config = peft.LoraConfig(r=2, lora_alpha=3, target_modules=["0", "2"], lora_dropout=0.0)
    theirs = peft.get_peft_model(copy.deepcopy(body), config)
    inputs = torch.randn(4, 5)
    changes = {}
    with torch.no_grad():
        for name in ("0", "2"):
            layer = theirs.base_model.model.get_submodule(name)
            layer.lora_B["default"].weight.normal_()
            own = LowRank(body.get_submodule(name).get_parameter("weight"), rank=2, alpha=3.0)
            own.a.copy_(layer.lora_A["default"].weight)
            own.b.copy_(layer.lora_B["default"].weight)
            changes[name] = own
        for name, change in changes.items():
            weight = body.get_submodule(name).get_parameter("weight")
            weight.copy_(change(weight))
        assert torch.allclose(body(inputs), theirs(inputs), atol=1e-6)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_a_step_on_a_transformer_is_that_of_peft() -> None:
    """Every linear layer of a vision transformer, from the same factors, one step of gradient descent."""
    peft, transformers = pytest.importorskip("peft"), pytest.importorskip("transformers")
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    torch.manual_seed(0)
    model = transformers.ViTModel(transformers.ViTConfig(image_size=16, patch_size=8, **shape), add_pooling_layer=False)
    inputs = torch.randn(3, 3, 16, 16)
    network = adapt(_FirstToken(model), head="none", input_shape=(3, 16, 16))
    own = network.copy().eval()
    data = blobs(4, 3, seed=0)
    given = replace(data, inputs=inputs.repeat(2, 1, 1, 1)[:4].numpy())
    begun = Beginning(domain(Dataset("d", given, given), OPTIONS, own), own, own.head)
    plain = own.copy()
    LoRA(rank=2, alpha=3.0).adapt(begun, OPTIONS)
    config = peft.LoraConfig(r=2, lora_alpha=3, target_modules="all-linear", lora_dropout=0.0)
    theirs = peft.get_peft_model(copy.deepcopy(model), config).eval()
    pairs = []
    for name, layer in theirs.base_model.model.named_modules():
        if not hasattr(layer, "lora_A"):
            continue
        adapted: Any = own.features.get_submodule(f"model.{name}")
        (change,) = adapted.parametrizations["weight"]
        with torch.no_grad():
            layer.lora_B["default"].weight.normal_(std=0.3)
            change.a.copy_(layer.lora_A["default"].weight)
            change.b.copy_(layer.lora_B["default"].weight)
        pairs.append((change, layer))
    assert len(pairs) == 12  # queries, keys, values, output and two layers of each block
    ours, other = own.features(inputs), theirs(inputs).last_hidden_state[:, 0]
    assert torch.allclose(ours, other, atol=1e-5)
    wanted = torch.randn(ours.shape)
    torch.autograd.backward((ours - wanted).square().sum())
    torch.autograd.backward((other - wanted).square().sum())
    for change, layer in pairs:
        for mine, name in ((change.a, "lora_A"), (change.b, "lora_B")):
            gradient = getattr(layer, name)["default"].weight.grad
            assert torch.allclose(mine.grad, gradient, rtol=1e-3, atol=1e-5)
            with torch.no_grad():
                mine -= 0.5 * mine.grad
                getattr(layer, name)["default"].weight.sub_(0.5 * gradient)
    whole = theirs.merge_and_unload().eval()
    assert torch.allclose(merged(plain, own).features(inputs), whole(inputs).last_hidden_state[:, 0], atol=1e-5)


class _FirstToken(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: Tensor) -> Tensor:
        found: Tensor = self.model(inputs).last_hidden_state[:, 0]
        return found


def test_changes_of_convolutions_are_those_of_peft() -> None:
    peft = pytest.importorskip("peft")
    body = nn.Sequential(nn.Conv2d(3, 5, 3, padding=1), nn.ReLU(), nn.Conv2d(5, 4, 3, stride=2))
    theirs = peft.get_peft_model(copy.deepcopy(body), peft.LoraConfig(r=2, lora_alpha=3, target_modules=["0", "2"]))
    for name in ("0", "2"):
        layer, own = theirs.base_model.model.get_submodule(name), body.get_submodule(name)
        weight = own.get_parameter("weight")
        change = LowRank(weight, rank=2, alpha=3.0)
        with torch.no_grad():
            layer.lora_B["default"].weight.normal_()
            change.a.copy_(layer.lora_A["default"].weight.flatten(1))
            change.b.copy_(layer.lora_B["default"].weight.flatten(1))
            weight.copy_(change(weight))
    inputs = torch.randn(2, 3, 8, 8)
    assert torch.allclose(body(inputs), theirs.eval()(inputs), atol=1e-5)
