"""Methods and diagnostics on a device that is none: where their tensors lie, in which type, and what waits for it."""

import copy
from collections import Counter
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from cases_of_methods import CASES
from diagnostics.test_contract import SMALL
from fake_device import fake_device
from transferscope.diagnostics import DIAGNOSTICS, Examples, Subject
from transferscope.diagnostics.gradient_stability import GradientStability
from transferscope.methods import FitOptions
from transferscope.testing.diagnostics import cnn_subject, mlp_subject
from transferscope.testing.methods import IMAGE, NETWORKS, MethodCase, weights_of
from transferscope.training import TrainingSettings, choose_device, exact_device
from transferscope.training.checkpoint import CheckpointFile, RunState
from transferscope.training.tensors import random_states, set_random_states

DEVICES = ("mps", "cuda")

pytestmark = pytest.mark.filterwarnings(
    "ignore:at..frobenius_norm is deprecated"
)  # what norm(dim=...) calls of a subclass

IN_EVERY_STEP = {
    "bss": {"cuda", "mps"},  # singular values
    "merlin, unrolled": {"cuda", "mps"},  # the largest eigenvalue, for a step that cannot diverge
    **{
        case: {"cuda", "mps"}  # eigenvalues, for the ridge that is chosen by leave-one-out error
        for case, method in CASES.items()
        if "merlin" in case and vars(method)["ridge"] == "auto" and vars(method)["inner"] == "ridge"
    },
}
"""Where each step waits for the device, because numerics of torch do; on MPS these are solved on the CPU."""


def _fit(case: MethodCase, device: str, steps: int, curve: int) -> tuple[dict[str, torch.Tensor], list[str]]:
    training = TrainingSettings(steps=steps, batch_size=8, lr=0.05)
    options = FitOptions(training, seed=7, device=device, curve_examples=curve)
    with fake_device(device) as here:
        task = case.classification(12)
        fitted = case.method.fit(task, case.start(task), options)
        waits = list(here.waits)
        weights = {name: tensor.cpu() for name, tensor in fitted.network.state_dict().items()}
        assert fitted.predict(task.target.test).shape == (30,)
    return weights, waits


@cache
def _on_cpu(case: str) -> dict[str, torch.Tensor]:
    tried = MethodCase(CASES[case])
    options = FitOptions(TrainingSettings(steps=2, batch_size=8, lr=0.05), seed=7, device="cpu", curve_examples=0)
    return weights_of(tried.fit(tried.classification(12), options).network)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.long) if "," in case else case for case in CASES]
)
def test_a_method_on_a_device(case: str, device: str) -> None:
    """No tensor of another device, no float64 where there is none, no waiting in each step; the numbers of a CPU."""
    tried = MethodCase(CASES[case])
    weights, few = _fit(tried, device, 2, 0)
    _, more = _fit(tried, device, 4, 0)
    waits = Counter(more) - Counter(few)
    assert not waits or device in IN_EVERY_STEP.get(case, set()), waits
    for name, expected in _on_cpu(case).items():  # a closed-form head is as precise as its largest weight
        assert torch.allclose(weights[name], expected, rtol=1e-4, atol=1e-5 * max(0.1, float(expected.abs().max())))


WITHOUT_BATCH_NORM = {"curvature", "gradient-stability", "landscape"}
"""Within vmap and in second derivatives batch normalisation of torch makes tensors by the true device of its inputs."""


@pytest.mark.parametrize("name", sorted(DIAGNOSTICS))
def test_a_diagnostic_on_a_device(name: str) -> None:
    """The numbers of a CPU, on networks of linear layers and of convolutions."""
    diagnostic = DIAGNOSTICS[name](**SMALL.get(name, {}))
    for subject in (mlp_subject(), *([] if name in WITHOUT_BATCH_NORM else [cnn_subject()])):
        expected = diagnostic.measure(subject).records
        with fake_device("cuda"):
            found = diagnostic.measure(on_device(subject, torch.device("cuda", 0))).records
        for one, other in zip(found, expected, strict=True):
            assert one.estimate.value == pytest.approx(other.estimate.value, rel=1e-3, abs=1e-5, nan_ok=True)


@pytest.mark.parametrize("layer", [nn.RNN, nn.GRU, nn.LSTM])
def test_recurrent_networks_on_a_device(layer: Any) -> None:
    """They cannot be vectorised, and layers of cuDNN have no gradient in evaluation mode."""
    network = Recurrent(layer)
    subject = Subject(network, Examples(torch.randn(6, 4, 3), torch.arange(6) % 2), start=Recurrent(layer))
    diagnostic = GradientStability(steps=2)
    expected = diagnostic.measure(subject).records
    with fake_device("cuda"):
        found = diagnostic.measure(on_device(subject, torch.device("cuda", 0))).records
    assert [one.estimate.value for one in found] == pytest.approx([one.estimate.value for one in expected])


class Recurrent(nn.Module):
    """A recurrent layer under a head."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer, self.head = layer(3, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Outputs of the last place."""
        outputs: torch.Tensor = self.head(self.layer(inputs)[0][:, -1])
        return outputs


def test_diagnostics_are_measured_where_there_is_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert choose_device("mps").type == "mps"
    assert exact_device("mps").type == "cpu"


def on_device(subject: Subject, device: torch.device) -> Subject:
    def moved(value: Any) -> Any:
        if isinstance(value, Examples):
            return Examples(value.inputs.to(device), value.labels.to(device))
        return copy.deepcopy(value).to(device) if isinstance(value, nn.Module) else value

    return replace(subject, **{one.name: moved(getattr(subject, one.name)) for one in fields(subject)})


def test_a_device_is_chosen_by_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert choose_device("auto").type == "cpu"
    for module, name in ((torch.backends.cudnn, "deterministic"), (torch.backends.cudnn, "benchmark")):
        monkeypatch.setattr(module, name, name == "benchmark")
    assert choose_device("cuda").type == "cuda"
    assert torch.backends.cudnn.deterministic
    assert not torch.backends.cudnn.benchmark
    assert not torch.backends.cudnn.allow_tf32
    assert not torch.backends.cuda.matmul.allow_tf32


@pytest.mark.parametrize("device", DEVICES)
def test_a_checkpoint_keeps_the_generator_of_the_device(device: str, tmp_path: Path) -> None:
    with fake_device(device):
        module = nn.Linear(2, 2)
        optimiser = torch.optim.SGD(module.parameters(), lr=0.1)
        file, place = CheckpointFile(tmp_path / "state", "tag"), torch.device(device, 0)
        before = random_states(place)
        assert before.keys() == {"cpu", device}
        file.save(RunState(), module, optimiser, place)
        other = {name: torch.Generator().manual_seed(3).get_state() for name in before}
        set_random_states(other, place)
        assert file.load(module, optimiser, place) is not None
        after = random_states(place)
    assert all(torch.equal(after[name], before[name]) for name in before)


@pytest.mark.long
@pytest.mark.parametrize(
    ("network", "device"),
    [*zip(NETWORKS, DEVICES, strict=True)],
    ids=lambda one: one if isinstance(one, str) else one.name.rpartition(":")[2],
)
@pytest.mark.parametrize("case", CASES)
def test_a_method_on_a_device_with_every_network_and_its_curve(case: str, network: Any, device: str) -> None:
    tried = MethodCase(CASES[case], network=network, input_shape=IMAGE)
    if not tried.takes():
        pytest.skip("it learns from tables")
    _fit(tried, device, 2, 10)


@pytest.mark.parametrize("case", ["merlin", "merlin-ft"])
def test_a_step_of_merlin_waits_once_for_its_ridge(case: str) -> None:
    """For the eigenvalues that choose it."""
    tried = MethodCase(CASES[case])
    waits = Counter(_fit(tried, "cuda", 4, 0)[1]) - Counter(_fit(tried, "cuda", 2, 0)[1])
    assert waits == {"_linalg_eigh": 2}
