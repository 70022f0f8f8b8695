import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from diagnostics.subjects import cnn_subject, mlp_subject
from diagnostics.test_hessian import dense_hessian
from transferscope.analyses.diagnose import explain
from transferscope.diagnostics.landscape import Landscape
from transferscope.diagnostics.subject import Examples, Subject
from transferscope.errors import NetworkError, SettingsError
from transferscope.estimate import Estimate
from transferscope.records import Record


def _quadratic() -> Subject:
    """A linear network with one filter and squared error: the loss is |A w - b|^2 / n."""
    generator = torch.Generator().manual_seed(0)
    inputs, labels = (torch.randn(50, width, generator=generator, dtype=torch.float64) for width in (4, 1))
    return Subject(nn.Linear(4, 1, bias=False).double(), Examples(inputs, labels), head="")


@pytest.mark.parametrize("dimensions", [1, 2])
def test_rise_of_a_quadratic_loss_is_its_curvature(dimensions: int) -> None:
    subject = _quadratic()
    weights = next(subject.network.parameters()).data
    weights.copy_(torch.linalg.lstsq(subject.examples.inputs, subject.examples.labels).solution.T)  # the minimum
    diagnostic = Landscape(dimensions=1 if dimensions == 1 else 2, resolution=5, radius=0.4)
    findings = diagnostic.measure(subject)
    hessian = 2 * subject.examples.inputs.T @ subject.examples.inputs / 50
    generator = torch.Generator().manual_seed(1)
    draws = torch.randn(dimensions, 1, 4, generator=generator, dtype=torch.float64)
    basis = torch.linalg.qr(draws.flatten(1).T)[0].T * weights.norm()
    rises = [0.5 * c @ basis @ hessian @ basis.T @ c for c in diagnostic.coordinates()]
    loss = findings.arrays["landscape_loss"]
    assert loss.shape == (5,) * dimensions
    np.testing.assert_allclose(loss.reshape(-1) - findings["landscape_centre"].value, rises, atol=1e-12)
    assert findings["landscape_rise"].value == pytest.approx(np.mean(rises))
    assert findings["landscape_highest_rise"].value == pytest.approx(np.max(rises))


def test_eigenvector_directions_rise_with_the_eigenvalues() -> None:
    subject = mlp_subject()
    values, vectors = torch.linalg.eigh(dense_hessian(subject))
    diagnostic = Landscape(directions="eigenvectors", resolution=3, radius=1e-3)
    loss = diagnostic.measure(subject).arrays["landscape_loss"]
    size = torch.cat([p.detach().reshape(-1) for p in subject.network.parameters()]).norm()
    for second, value in zip((loss[0, 1] + loss[2, 1], loss[1, 0] + loss[1, 2]), values.flip(0)[:2], strict=True):
        assert (second - 2 * loss[1, 1]) / (1e-3 * size) ** 2 == pytest.approx(float(value), rel=1e-3)
    assert vectors.shape[0] > 2


def test_centre_at_the_start() -> None:
    subject = mlp_subject()
    assert subject.start is not None
    at_start = Landscape(centre="start", resolution=3).measure(subject)["landscape_centre"]
    expected = subject.loss(subject.start(subject.examples.inputs), subject.examples.labels)
    assert at_start.value == pytest.approx(float(expected.detach()))
    with pytest.raises(NetworkError):
        Landscape(centre="start").measure(replace(subject, start=None))


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


def test_settings_out_of_range_are_refused() -> None:
    message = (
        "resolution = 1, radius = 0.5, n_examples = 1000, batch_size = 100; expected at least 2 points, a positive "
        "radius and at least 1 example"
    )
    with pytest.raises(SettingsError, match=f"^{re.escape(message)}$"):
        Landscape(resolution=1)


def test_the_sentence_says_along_what_the_weights_move() -> None:
    records = [Record("landscape_rise", Estimate(2.0))]
    along_filters = explain(Landscape(radius=0.1), records)
    along_vectors = explain(Landscape(radius=0.1, directions="eigenvectors"), records)
    assert along_filters.startswith("Moving each filter by up to 0.1 times its norm raises the loss by 2 on average.")
    assert along_vectors.startswith(
        "Moving the weights along the sharpest directions by up to 0.1 times their norm raises the loss by 2 on average"
    )
