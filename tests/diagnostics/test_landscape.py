from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from transferscope.diagnostics.landscape import Landscape, filter_normalise, random_directions
from transferscope.diagnostics.loss_surface import loss_surface
from transferscope.diagnostics.subject import Examples, Subject
from transferscope.errors import SettingsError
from transferscope.testing.diagnostics import cnn_subject, mlp_subject, vectors


def _quadratic() -> Subject:
    """A linear network with one filter and squared error: the loss is |A w - b|^2 / n."""
    generator = torch.Generator().manual_seed(0)
    inputs, labels = (torch.randn(50, width, generator=generator, dtype=torch.float64) for width in (4, 1))
    return Subject(nn.Linear(4, 1, bias=False).double(), Examples(inputs, labels), head="")


def test_rise_of_a_quadratic_loss_is_its_curvature() -> None:
    subject = _quadratic()
    weights = next(subject.network.parameters()).data
    weights.copy_(torch.linalg.lstsq(subject.examples.inputs, subject.examples.labels).solution.T)  # the minimum
    diagnostic = Landscape(resolution=5, radius=0.4)
    findings = diagnostic.measure(subject)
    hessian = 2 * subject.examples.inputs.T @ subject.examples.inputs / 50
    generator = torch.Generator().manual_seed(1)
    draws = torch.randn(2, 1, 4, generator=generator, dtype=torch.float64)
    basis = torch.linalg.qr(draws.flatten(1).T)[0].T * weights.norm()
    rises = [0.5 * c @ basis @ hessian @ basis.T @ c for c in diagnostic.coordinates()]
    loss = findings.arrays["landscape_loss"]
    assert loss.shape == (5, 5)
    np.testing.assert_allclose(loss.reshape(-1) - findings["landscape_centre"].value, rises, atol=1e-12)
    assert findings["landscape_rise"].value == pytest.approx(np.mean(rises))
    assert findings["landscape_highest_rise"].value == pytest.approx(np.max(rises))


def test_one_layer_moves_and_the_others_stay() -> None:
    whole, head = (Landscape(resolution=3, blocks=blocks).measure(cnn_subject()) for blocks in ((), ("head",)))
    assert whole["landscape_centre"].value == pytest.approx(head["landscape_centre"].value)
    assert whole["landscape_rise"].value != pytest.approx(head["landscape_rise"].value)


def test_standard_error_comes_from_batches_of_the_sample() -> None:
    diagnostic = Landscape(resolution=3, n_examples=30, batch_size=10)
    losses = diagnostic.losses(mlp_subject())
    assert losses.shape == (3, 10)
    rises = losses[:, :-1].mean(axis=1) - losses[:, -1]
    estimate = diagnostic.measure(mlp_subject())["landscape_rise"]
    assert estimate.n == 30
    assert estimate.stderr == pytest.approx(rises.std(ddof=1) / np.sqrt(3))


@pytest.mark.parametrize(
    ("weight", "direction", "expected"),
    [
        ([[[3, 4]], [[0, 2]]], [[[1, 0]], [[6, 8]]], [[[5, 0]], [[1.2, 1.6]]]),  # filters of norms 5 and 2
        ([[3, 4], [0, 0]], [[0, 0], [1, 1]], [[0, 0], [0, 0]]),  # a filter or direction of norm 0
        ([3, -4], [1, 0], [0, 0]),  # a bias, entry by entry, would be set to plus or minus itself
    ],
)
def test_filters_by_hand(weight: list[Any], direction: list[Any], expected: list[Any]) -> None:
    found = filter_normalise(torch.tensor(direction).double(), torch.tensor(weight).double())
    torch.testing.assert_close(found, torch.tensor(expected).double())


def test_directions_have_the_norm_of_each_filter_and_are_orthogonal() -> None:
    surface = loss_surface(cnn_subject())
    generator = torch.Generator().manual_seed(0)
    directions = random_directions(surface, 2, generator=generator)
    parts = surface.layout.unflatten(directions)
    for name in ("conv.weight", "second.weight", "head.weight"):
        sizes = surface.moved[name].flatten(1).norm(dim=1)
        torch.testing.assert_close(parts[name].flatten(2).norm(dim=2), sizes.expand(2, -1))
        torch.testing.assert_close(
            (parts[name][0] * parts[name][1]).flatten(1).sum(1), torch.zeros_like(sizes), atol=1e-12, rtol=0
        )
    assert not parts["norm.weight"].any()


def test_more_directions_than_parameters_are_refused() -> None:
    surface = loss_surface(Subject(nn.Linear(1, 1, bias=False).double(), vectors(n_inputs=1, n_classes=1)))
    with pytest.raises(SettingsError, match="directions = 2 is out of range; expected at most 1,"):
        random_directions(surface, 2, generator=torch.Generator())


def test_a_block_without_filters_is_refused() -> None:
    with pytest.raises(SettingsError, match="all selected parameters are zero"):
        random_directions(loss_surface(cnn_subject(), ("norm",)), 2, generator=torch.Generator())
