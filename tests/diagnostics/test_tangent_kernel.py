from dataclasses import replace

import numpy as np
import pytest
import torch

from transferscope.diagnostics.loss_surface import loss_surface
from transferscope.diagnostics.network_state import evaluation_mode
from transferscope.diagnostics.subject import Subject
from transferscope.diagnostics.tangent_kernel import TangentKernel, kernel_alignment, tangent_gram
from transferscope.numerics.ntk import kernel_examples, relu_gram
from transferscope.testing.diagnostics import cnn_subject, mlp_subject


def _naive(subject: Subject, prefix: str) -> np.ndarray:
    """One backward pass for every example and output."""
    subject.network.eval()
    parameters = [p for name, p in subject.network.named_parameters() if name.startswith(prefix)]
    outputs = subject.network(subject.examples.inputs)
    gram = np.zeros((len(outputs), len(outputs)))
    for k in range(outputs.shape[1]):
        rows = [torch.autograd.grad(output, parameters, retain_graph=True) for output in outputs[:, k]]
        matrix = torch.stack([torch.cat([part.reshape(-1) for part in row]) for row in rows]).numpy()
        gram += matrix @ matrix.T
    mean: np.ndarray = gram / outputs.shape[1]
    return mean


@pytest.mark.parametrize("subject", [mlp_subject(11), cnn_subject(11)], ids=["mlp", "cnn"])
@pytest.mark.parametrize("block", ["", "head"])
@pytest.mark.parametrize("memory", [2**30, 2000], ids=["one chunk", "chunks"])
def test_gram_agrees_with_explicit_gradients(subject: Subject, block: str, memory: int) -> None:
    surface = loss_surface(subject, (block,) if block else ())
    with evaluation_mode(subject.network):
        gram = tangent_gram(surface, memory=memory, batch_size=4)
    np.testing.assert_allclose(gram, _naive(subject, block), rtol=1e-9, atol=1e-12)


def test_a_wide_network_has_the_infinite_width_kernel() -> None:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(6, 4, generator=generator, dtype=torch.float64)
    unit = kernel_examples(inputs.numpy(), np.zeros((6, 1))).inputs
    width = 40_000
    first = torch.nn.Linear(4, width, bias=False).double()
    last = torch.nn.Linear(width, 1, bias=False).double()
    first.weight.data = torch.randn(width, 4, generator=generator, dtype=torch.float64)
    last.weight.data = (torch.randint(0, 2, (1, width), generator=generator) * 2 - 1).double() / width**0.5
    network = torch.nn.Sequential(first, torch.nn.ReLU(), last)
    subject = replace(mlp_subject(6), network=network, start=None)
    subject = replace(subject, examples=replace(subject.examples, inputs=torch.from_numpy(unit)))
    gram = tangent_gram(loss_surface(subject, ("0",), outputs_only=True))
    np.testing.assert_allclose(gram, relu_gram(unit), atol=4 * 0.5 / width**0.5)


def test_alignment_of_known_kernels() -> None:
    x = np.random.default_rng(0).standard_normal((8, 3))
    assert kernel_alignment(x @ x.T, 5 * x @ x.T + 7) == pytest.approx(1.0)
    for scale in (1e-20, 1e20):
        assert kernel_alignment(x @ x.T, scale * x @ x.T) == pytest.approx(1.0)
    assert np.isnan(kernel_alignment(x @ x.T, np.ones((8, 8))))


def test_change_from_the_start() -> None:
    subject = mlp_subject()
    same = TangentKernel().measure(replace(subject, start=subject.network))
    assert same["ntk_change"].value == pytest.approx(0.0, abs=1e-12)
    assert TangentKernel().measure(subject)["ntk_change"].value > 0.01
    assert len(TangentKernel().measure(replace(subject, start=None)).records) == 2
