from collections import OrderedDict

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from transferscope.diagnostics.gradient_scaling import GradientScaling
from transferscope.diagnostics.subject import Subject
from transferscope.diagnostics.weights import weight_matrices
from transferscope.testing.diagnostics import cnn_subject, mlp_subject, vectors


def _deep(activation: nn.Module) -> nn.Sequential:
    torch.manual_seed(0)
    layers = OrderedDict(a=nn.Linear(5, 6), act=activation, b=nn.Linear(6, 4), act2=nn.Tanh(), head=nn.Linear(4, 3))
    return nn.Sequential(layers).double()


@pytest.mark.parametrize("activation", [nn.Tanh(), nn.ReLU(), nn.ReLU(inplace=True)], ids=["tanh", "relu", "in place"])
def test_ratios_agree_with_explicit_jacobians(activation: nn.Module) -> None:
    network, examples = _deep(activation), vectors()
    layers = GradientScaling(batch_size=7).layers(Subject(network, examples))
    assert list(layers) == ["a", "b", "head"]

    def head_loss(z: Tensor, label: Tensor) -> Tensor:
        return nn.functional.cross_entropy(z[None], label[None])

    def from_a(z: Tensor) -> Tensor:
        out: Tensor = network.b(torch.tanh(z) if isinstance(activation, nn.Tanh) else torch.relu(z))  # type: ignore[operator]
        return out

    def from_b(z: Tensor) -> Tensor:
        out: Tensor = network.head(torch.tanh(z))  # type: ignore[operator]
        return out

    with torch.no_grad():
        z_a = network[0](examples.inputs)
        z_b = torch.stack([from_a(z) for z in z_a])
        z_head = torch.stack([from_b(z) for z in z_b])
    for i in range(len(examples)):
        at_head = torch.func.grad(head_loss)(z_head[i], examples.labels[i])
        at_b = torch.func.jacrev(from_b)(z_b[i]).T @ at_head
        at_a = torch.func.jacrev(from_a)(z_a[i]).T @ at_b
        for name, gradient in (("head", at_head), ("b", at_b), ("a", at_a)):
            assert layers[name].norms[i] == pytest.approx(float(gradient.detach().norm()), rel=1e-10)
    findings = GradientScaling(batch_size=7).measure(Subject(network, examples))
    expected = layers["a"].norms.mean() / layers["b"].norms.mean()
    assert findings["gradient_ratio/b"].value == pytest.approx(expected, rel=1e-12)
    assert findings["gradient_growth"].value == pytest.approx(
        expected, rel=1e-12
    )  # b is the last layer before the head
    quantiles = findings.arrays["gradient_quantiles/b"]
    np.testing.assert_allclose(quantiles, np.percentile(layers["b"].norms, np.arange(101)))
    ratios = [findings[f"gradient_ratio/{name}"].value for name in ("b", "head")]
    assert findings["gradient_ratio_spread"].value == pytest.approx(np.log10(ratios).std(ddof=1))


def test_mean_square_projection_over_all_directions_is_one() -> None:
    for name, layer in GradientScaling().layers(cnn_subject()).items():
        assert np.mean(layer.projections**2) == pytest.approx(1.0), name


def test_projections_are_on_the_singular_vectors_of_all_gradients_together() -> None:
    subject = mlp_subject()
    layer = GradientScaling(batch_size=7).layers(subject)["head"]
    outputs = subject.network(subject.examples.inputs).detach()
    probabilities = outputs.softmax(dim=1)
    gradients = probabilities - nn.functional.one_hot(subject.examples.labels, 3)
    weight = subject.network.get_submodule("head").get_parameter("weight").detach()
    expected = (torch.linalg.svd(gradients).Vh @ weight).norm(dim=1) / (weight.norm() / 3**0.5)
    np.testing.assert_allclose(layer.projections, expected.numpy(), rtol=1e-6)
    np.testing.assert_allclose(layer.norms, gradients.norm(dim=1).numpy(), rtol=1e-10)


def test_gradients_that_vanish_in_a_layer_have_no_spread() -> None:
    network = _deep(nn.Tanh())
    torch.nn.init.zeros_(network.get_submodule("b").get_parameter("weight"))
    findings = GradientScaling().measure(Subject(network, vectors()))
    assert findings["gradient_ratio/b"].value == 0
    assert findings["gradient_ratio_spread"].status == "undefined"


def test_one_layer_has_no_ratio() -> None:
    network = nn.Linear(5, 3).double()
    findings = GradientScaling().measure(Subject(network, vectors()))
    assert findings["gradient_ratio_spread"].status == "too_few"
    assert findings["gradient_growth"].status == "too_few"
    assert list(weight_matrices(network)) == ["weight"]
