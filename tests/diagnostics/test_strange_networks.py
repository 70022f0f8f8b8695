"""Networks and labels of other kinds: every diagnostic works on them, or refuses in one sentence."""

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations

from diagnostics.test_contract import SMALL
from transferscope.diagnostics import DIAGNOSTICS, Curvature, Examples, GradientScaling, Landscape, Subject, Weights
from transferscope.errors import DataError, NetworkError, SettingsError, TransferscopeError
from transferscope.training import encode, measure, task_loss


def plain(n_outputs: int = 3) -> nn.Sequential:
    layers = OrderedDict(fc=nn.Linear(5, 7), act=nn.Tanh(), head=nn.Linear(7, n_outputs))
    return nn.Sequential(layers)


def normed(normalise: Callable[[nn.Module], object]) -> nn.Module:
    network = plain()
    normalise(network.get_submodule("fc"))
    return network


class Counting(nn.Module):
    """It counts its calls, and keeps a running mean, in evaluation mode too."""

    count: Tensor
    running: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.head = nn.Linear(5, 7), nn.Linear(7, 3)
        self.register_buffer("count", torch.tensor(0))
        self.register_buffer("running", torch.zeros(7))

    def forward(self, inputs: Tensor) -> Tensor:
        self.count += 1
        hidden = torch.tanh(self.fc(inputs)) + 0.01 * self.count
        self.running.mul_(0.9).add_(0.1 * hidden.detach().mean(0))
        outputs: Tensor = self.head(hidden)
        return outputs


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.head = nn.Linear(5, 8), nn.Linear(4, 3)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, inputs: Tensor) -> Tensor:
        words = self.fc(inputs).unflatten(1, (2, 4))
        outputs: Tensor = self.head(self.attention(words, words, words, need_weights=False)[0].mean(1))
        return outputs


class Scaled(nn.Module):
    """A temperature that is learnt: a parameter without dimensions, as CLIP has."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.head, self.scale = nn.Linear(5, 7), nn.Linear(7, 3), nn.Parameter(torch.tensor(1.5))

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.scale * self.head(torch.tanh(self.fc(inputs)))
        return outputs


jit: Any = torch.jit  # not annotated
X = torch.randn(24, 5, generator=torch.Generator().manual_seed(0))
Y = torch.arange(24) % 3
NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "weight norm": lambda: normed(parametrizations.weight_norm),
    "spectral norm": lambda: normed(parametrizations.spectral_norm),
    "orthogonal": lambda: normed(parametrizations.orthogonal),
    "counting": Counting,
    "attention": Attention,
    "scaled": Scaled,
    "bfloat16": lambda: plain().bfloat16(),
    "scripted": lambda: cast(nn.Module, jit.script(plain())),
    "traced": lambda: cast(nn.Module, jit.trace(plain(), X[:2])),
}
LABELS = {"int32": Y.int(), "uint8": Y.to(torch.uint8), "bool": Y > 0, "column": Y[:, None], "too large": Y + 1}


def subject_of(network: Callable[[], nn.Module], labels: Tensor = Y) -> Subject:
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of torch.jit
        torch.manual_seed(0)
        made, start = network(), network()
    examples = Examples(X.to(next(made.parameters()).dtype), labels)
    return Subject(made, examples, start=start, source=examples)


def answers(name: str, subject: Subject) -> bool:
    """Whether a diagnostic measures something, rather than refusing with a package error."""
    diagnostic = DIAGNOSTICS[name](**SMALL.get(name, {}))
    try:
        assert diagnostic.measure(subject).records
    except TransferscopeError:
        return False
    return True


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:There is a performance drop")  # of torch, for a Jacobian of an orthogonal layer
@pytest.mark.parametrize("name", sorted(DIAGNOSTICS))
def test_every_diagnostic_works_or_refuses_in_a_sentence(name: str) -> None:
    works = {kind: answers(name, subject_of(network)) for kind, network in NETWORKS.items()}
    works |= {kind: answers(name, subject_of(plain, labels)) for kind, labels in LABELS.items()}
    expected = {"weight norm", "spectral norm", "orthogonal", "attention", "scaled", "bfloat16", "int32"}
    expected |= {"uint8", "bool"}
    assert expected <= {kind for kind, worked in works.items() if worked}


def test_what_a_forward_pass_counts_does_not_leak_from_one_measurement_to_the_next() -> None:
    subject = subject_of(Counting)
    first, second = (Landscape(resolution=3).measure(subject).arrays["landscape_loss"] for _ in range(2))
    np.testing.assert_array_equal(first, second)
    centre = Landscape(resolution=3).measure(subject)["landscape_centre"].value
    assert first[1, 1] == pytest.approx(centre, rel=1e-6)


def test_parametrised_layers_move_by_the_weight_that_they_multiply_with() -> None:
    subject = subject_of(NETWORKS["weight norm"])
    assert isinstance(subject.network, nn.Sequential)
    assert isinstance(subject.start, nn.Sequential)
    found = Weights().measure(subject)
    for layer in ("fc", "head"):
        ours, theirs = (
            cast(Tensor, net.get_submodule(layer).weight).detach() for net in (subject.network, subject.start)
        )
        assert found[f"weight_deviation/{layer}"].value == pytest.approx(float((ours - theirs).norm()) / np.sqrt(24))


def test_half_precision_is_measured_in_single_precision() -> None:
    half = subject_of(NETWORKS["bfloat16"])
    whole = Subject(half.network.float(), Examples(half.examples.inputs.float(), Y))
    expected = Curvature(k=2).measure(whole)
    half.network.bfloat16()
    for ours, theirs in zip(Curvature(k=2).measure(half).records, expected.records, strict=True):
        assert ours.estimate.value == pytest.approx(theirs.estimate.value, rel=1e-5)


def test_attention_that_gradient_scaling_leaves_out_is_named() -> None:
    left_out = GradientScaling().measure(subject_of(Attention)).left_out
    assert left_out[:2] == ("attention.in_proj_weight", "attention.out_proj.weight")
    assert GradientScaling().measure(subject_of(plain)).left_out == ()


# Shapes of targets against outputs.

TARGETS = torch.randn(24, generator=torch.Generator().manual_seed(1))


def test_one_number_for_each_example_is_one_target_for_each() -> None:
    for labels in (TARGETS, TARGETS[:, None]):
        subject = subject_of(lambda: plain(1), labels)
        with torch.no_grad():
            expected = float((subject.network(X)[:, 0] - TARGETS).square().mean())
        found = Landscape(resolution=2).measure(subject)["landscape_centre"]
        assert found.value == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("shape", [(24,), (24, 1), (24, 2), (24, 4), (24, 3, 1)])
def test_numbers_of_another_shape_than_the_outputs_are_refused(shape: tuple[int, ...]) -> None:
    subject = subject_of(plain, torch.zeros(shape))
    message = rf"^labels have shape \({', '.join(['8', *map(str, shape[1:])])},?\) .*\(8, 3\)"
    with pytest.raises(DataError, match=message):
        Landscape(resolution=2).measure(subject)


@pytest.mark.parametrize(
    "loss",
    [
        nn.functional.mse_loss,
        nn.MSELoss(),
        lambda outputs, labels: (outputs - labels).square().mean(),
        lambda outputs, labels: (outputs[:, 0] - labels).square().sum(),
    ],
    ids=["function", "module", "own, broadcast", "a sum"],
)
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_a_loss_that_is_no_mean_over_examples_is_refused(loss: Callable[[Tensor, Tensor], Tensor]) -> None:
    subject = subject_of(lambda: plain(1), TARGETS)
    wrong = Subject(subject.network, subject.examples, loss=loss)
    with pytest.raises(SettingsError, match="mean over examples"):
        Landscape(resolution=2).measure(wrong)
    right = Subject(subject.network, Examples(X, TARGETS[:, None]), loss=nn.MSELoss())
    assert Landscape(resolution=2).measure(right)["landscape_centre"].usable


@pytest.mark.parametrize("shape", [(6,), (6, 3), (1, 1)])
def test_training_and_its_measures_refuse_targets_of_another_shape(shape: tuple[int, ...]) -> None:
    outputs, targets = torch.zeros(6, 1), torch.ones(shape)
    refusals: list[Callable[[], object]] = [
        lambda: task_loss(outputs, targets),
        lambda: measure(outputs, targets, part="target_test"),
        lambda: encode(targets, 1),
    ]
    for refused in refusals[: 3 if shape != (1, 1) else 2]:
        with pytest.raises(DataError, match="targets have shape"):
            refused()


def test_inputs_that_the_network_cannot_read_are_refused() -> None:
    with pytest.raises(NetworkError, match=r"^the network fails on inputs of shape \(8, 5\) and type torch.int64 "):
        Curvature(k=1).measure(Subject(plain(), Examples(torch.ones(24, 5).long(), Y)))
