"""Finite differences on networks with kinks, against dense Hessians by double backward."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from diagnostics.test_hessian import dense_hessian
from transferscope.diagnostics import Curvature, CurvatureDensity, CurvatureTrace, Diagnostic, Examples, Subject
from transferscope.diagnostics.hessian import Mode
from transferscope.errors import NetworkError


def relu_subject(dtype: torch.dtype, seed: int = 0, *, steps: int = 60) -> Subject:
    """A trained ReLU network (two hidden layers of 12 units) on 150 examples: thousands of kinks near its weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        inputs, labels = torch.randn(150, 8, dtype=torch.float64), torch.randint(0, 3, (150,))
        network = nn.Sequential(nn.Linear(8, 12), nn.ReLU(), nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 3)).double()
    for _ in range(steps):
        loss = nn.functional.cross_entropy(network(inputs), labels)
        for parameter, gradient in zip(
            network.parameters(), torch.autograd.grad(loss, list(network.parameters())), strict=True
        ):
            parameter.data -= 0.3 * gradient
    return Subject(network.to(dtype), Examples(inputs.to(dtype), labels), head="4")


def exact_hessian(subject: Subject) -> Tensor:
    """In float64, of the network as it is rounded to its own precision."""
    examples = Examples(subject.examples.inputs.double(), subject.examples.labels)
    dtype = next(subject.network.parameters()).dtype
    hessian = dense_hessian(replace(subject, network=subject.network.double(), examples=examples))
    subject.network.to(dtype)
    return hessian


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("seed", [0, 1])
def test_eigenvalues_of_relu_networks_are_those_of_the_dense_hessian(dtype: torch.dtype, seed: int) -> None:
    subject = relu_subject(dtype, seed)
    exact = torch.linalg.eigvalsh(exact_hessian(subject)).flip(0)[:3].numpy()
    spectrum = Curvature(k=3, tolerance=1e-5, batch_size=64, mode="finite-difference").spectrum(subject)
    values = np.array([e.value for e in spectrum.eigenvalues])
    np.testing.assert_allclose(values, exact, rtol=1e-5)
    assert {e.status for e in spectrum.eigenvalues} == {"converged"}
    assert (np.abs(values - exact) <= spectrum.residuals + 1e-6 * exact).all()


def test_the_trace_and_the_density_of_a_relu_network_are_the_exact_ones() -> None:
    subject = relu_subject(torch.float64)
    cases: list[CurvatureTrace | CurvatureDensity] = [
        CurvatureTrace(max_probes=12),
        CurvatureDensity(n_probes=2, steps=8),
    ]
    for diagnostic in cases:
        exact = diagnostic.measure(subject)
        near = replace(diagnostic, mode="finite-difference").measure(subject)
        for ours, theirs in zip(near.records, exact.records, strict=True):
            assert ours.estimate.value == pytest.approx(theirs.estimate.value, rel=1e-6, abs=1e-8)
            assert ours.estimate.status == theirs.estimate.status


def test_steps_that_disagree_are_not_called_converged() -> None:
    # Inputs of zero under a bias of zero: every unit sits on its kink, whatever the step.
    network = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)).double()
    nn.init.zeros_(network.get_parameter("0.bias"))
    subject = Subject(network, Examples(torch.zeros(12, 4, dtype=torch.float64), torch.arange(12) % 3), head="2")
    cases: list[Diagnostic] = [
        Curvature(k=2, mode="finite-difference"),
        CurvatureTrace(max_probes=10, mode="finite-difference"),
        CurvatureDensity(n_probes=1, steps=5, mode="finite-difference"),
    ]
    for diagnostic in cases:
        for record in diagnostic.measure(subject).records:
            assert record.estimate.status == "not_identified"
            assert not record.estimate.usable
    top = Curvature(k=1, mode="finite-difference").measure(subject)["hessian_eigenvalue/1"]
    assert top.stderr is not None  # from a single batch: the distance between two steps
    assert top.stderr > 0.1 * abs(top.value)


def test_integer_inputs_stay_indices() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(12, 6), nn.ReLU(), nn.Linear(6, 3)).double()
        words = torch.randint(0, 9, (40, 3))
    subject = Subject(network, Examples(words, torch.arange(40) % 3), head="4")
    exact = torch.linalg.eigvalsh(dense_hessian(subject))[-1]
    modes: tuple[Mode, ...] = ("exact", "finite-difference")
    for mode in modes:
        found = Curvature(k=1, tolerance=1e-6, mode=mode).measure(subject)["hessian_eigenvalue/1"]
        assert found.value == pytest.approx(float(exact), rel=1e-6)


def test_the_advice_of_the_message_can_be_followed() -> None:
    class Fused(nn.Module):
        def forward(self, inputs: Tensor) -> Tensor:
            outputs: Tensor = _ReluOnce.apply(inputs)  # type: ignore[no-untyped-call]
            return outputs

    subject = relu_subject(torch.float64)
    layers = [Fused() if isinstance(layer, nn.ReLU) else layer for layer in subject.network.children()]
    fused = replace(subject, network=nn.Sequential(*layers))
    with pytest.raises(NetworkError, match='use mode = "finite-difference" of curvature'):
        Curvature(k=1).measure(fused)
    found = Curvature(k=1, tolerance=1e-5, mode="finite-difference").measure(fused)["hessian_eigenvalue/1"]
    assert found.value == pytest.approx(float(torch.linalg.eigvalsh(exact_hessian(subject))[-1]), rel=1e-5)
    assert found.status == "converged"


class _ReluOnce(torch.autograd.Function):
    """A ReLU whose backward pass cannot be differentiated, like a kernel of one's own."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor) -> Tensor:
        ctx.save_for_backward(inputs)
        return inputs.clamp_min(0)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (inputs,) = ctx.saved_tensors
        passed: Tensor = gradient * (inputs > 0)
        return passed
