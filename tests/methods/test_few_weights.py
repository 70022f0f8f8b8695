"""Methods that train few of the weights: LoRA and BitFit, each step by hand, merged against unmerged."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from cases_of_methods import classification_task, network_for
from methods.by_hand import ONE_STEP, OPTIONS, convolutions, images, target_head, whole
from text_encoders import texts
from transferscope.errors import SettingsError
from transferscope.methods import BitFit, LoRA
from transferscope.methods.lora import LowRank, merged
from transferscope.models import Network, new_head
from transferscope.models.adapt import adapt
from transferscope.models.network import seeded
from transferscope.training import pixel_scale, stream_seed, to_tensors


def with_target_head(network: Network) -> Network:
    own = network.copy()
    own.head = target_head(network)
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


def bert(transformers: Any) -> Network:
    """A small BERT without dropout, whose text is the mean of its tokens."""
    config = transformers.BertConfig(
        vocab_size=12, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16, pad_token_id=0,
        max_position_embeddings=16, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.5,
    )  # fmt: skip
    with seeded(0):
        return adapt(transformers.BertModel(config, add_pooling_layer=False), "none", input_shape=(2, 9))


@pytest.mark.filterwarnings("ignore")  # of transformers and peft
def test_the_first_step_of_lora_is_that_of_peft(transformers: Any) -> None:
    """r = 2, alpha = 5 on queries and values, from the same draws of A: the merged weights after a step of SGD."""
    peft = pytest.importorskip("peft")
    task, network = texts(), bert(transformers)
    method = LoRA(lr_scale=0.7, rank=2, alpha=5.0, targets="query-value")
    own = network.copy()
    own.head = new_head(8, 4, seed=stream_seed(3, "target head"))
    settings = peft.LoraConfig(r=2, lora_alpha=5, target_modules=["query", "value"])
    changed = peft.get_peft_model(own.features.get_submodule("module"), settings)
    factors = [parameter for parameter in changed.parameters() if parameter.requires_grad]
    with seeded(stream_seed(3, "low rank")):
        for factor in factors[::2]:
            factor.data = nn.Linear(8, 2, bias=False).weight.data
    batch = to_tensors(task.target.train, pixel_scale(task.target.train)).batch(torch.arange(21))
    loss = F.cross_entropy(own(batch.inputs), batch.labels)
    with torch.no_grad():
        for factor, gradient in zip(factors, torch.autograd.grad(loss, factors), strict=True):
            factor -= 0.7 * ONE_STEP.lr * gradient
    expected = changed.merge_and_unload().state_dict()
    found = method.fit(task, network, OPTIONS).network.features.get_submodule("module").state_dict()
    before = network.features.get_submodule("module").state_dict()
    assert found.keys() == expected.keys()
    for name, weight in found.items():
        torch.testing.assert_close(weight, expected[name], rtol=0, atol=1e-6)
        is_changed = "query.weight" in name or "value.weight" in name
        assert torch.equal(weight, before[name]) != is_changed, name


def test_what_a_change_does_not_read_is_drawn_for_each_example_and_not_read_by_the_weight() -> None:
    torch.manual_seed(0)
    layer, inputs = nn.Linear(200, 3), torch.ones(2, 200)
    change = LowRank(layer.weight, rank=1, alpha=2.0, dropout=0.25)
    nn.init.ones_(change.a)
    nn.init.ones_(change.b)
    made = change.change(inputs) / 2  # how much of 200 is read, over the three quarters that are kept
    assert made.shape == (2, 3)
    assert torch.equal(made[:, 0], made[:, 1])
    assert made[0, 0] != made[1, 0]
    assert ((made - 200).abs() < 4 * (200 * 0.25 / 0.75) ** 0.5).all()
    assert torch.equal(change.eval().change(inputs), torch.full((2, 3), 400.0))
    assert torch.equal(change.train()(layer.weight), layer.weight + 2)


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


@pytest.mark.parametrize("network", [attention(), convolutions()], ids=["attention", "convolutions"])
def test_merged_weights_compute_what_the_changes_compute(network: Network) -> None:
    own = network.copy().double()
    plain = own.copy()
    of_images = isinstance(own.features[0], nn.Module) if isinstance(own.features, nn.Sequential) else False
    shape = (6, 3, 16, 16) if of_images else (6, 5)
    inputs = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    LoRA(rank=3).adapt(own, OPTIONS)
    before = own.eval()(inputs)
    assert torch.allclose(before, plain.eval()(inputs), atol=1e-12)  # B = 0
    changed = 0
    with torch.no_grad(), seeded(1):
        for module in own.modules():
            if isinstance(module, LowRank):
                module.b.normal_(std=0.1)
                changed += 1
    assert changed == (4 if not of_images else sum(isinstance(one, nn.Conv2d) for one in plain.features.modules()))
    after = own(inputs)
    assert (after - before).abs().max() > 1e-2
    assert torch.allclose(merged(plain, own)(inputs), after, atol=1e-6)
    assert list(plain.state_dict()) == list(network.state_dict())


def test_layers_of_queries_and_values_are_changed_where_there_are_any(transformers: Any) -> None:
    def changed(network: Network, method: LoRA) -> set[str]:
        own = network.copy()
        method.adapt(own, OPTIONS)
        return {
            name.partition(".parametrizations.")[0] for name, one in own.named_modules() if isinstance(one, LowRank)
        }

    of_bert = changed(bert(transformers), LoRA(targets="auto"))
    layers = [f"features.module.encoder.layer.{i}.attention.self" for i in (0, 1)]
    assert of_bert == {f"{layer}.{name}" for layer in layers for name in ("query", "value")}
    assert changed(attention(), LoRA(targets="auto")) == {"features.attention"}
    one, all_of_it = network_for(classification_task(), LoRA()), LoRA()
    assert changed(one, LoRA(targets="auto")) == changed(one, all_of_it) != set()


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
    cases = [(convolutions(), images()), (attention(), classification_task())]
    for network, task in cases:
        fitted = LoRA(rank=2).fit(task, network, replace(OPTIONS, training=replace(ONE_STEP, steps=3)))
        after = fitted.network.features.state_dict()
        weights = dict(network.features.named_parameters(remove_duplicate=False))
        moved = {name for name, old in network.features.state_dict().items() if not torch.equal(old, after[name])}
        assert moved
        for name in moved:
            assert weights[name].ndim > 1
        assert fitted.cost.trained_parameters < sum(p.numel() for p in network.parameters())


def test_bitfit_moves_biases_and_scales_alone() -> None:
    task, network = images(), convolutions()
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
        (LoRA(), "^lora changes linear, convolutional and attention layers, but the backbone has none; "),
        (LoRA(targets="query-value"), '^targets = "query-value", but no layer of the backbone is named'),
        (BitFit(), "^bitfit trains biases and normalisation layers, but the backbone has none; use"),
    ],
)
def test_a_network_without_what_they_train_is_refused(method: LoRA | BitFit, said: str) -> None:
    network = adapt(Recurrent(), input_shape=(5,))
    with pytest.raises(SettingsError, match=said):
        method.fit(classification_task(), network, OPTIONS)
