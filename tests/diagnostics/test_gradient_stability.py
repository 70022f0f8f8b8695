import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from transferscope.diagnostics.curvature import Curvature
from transferscope.diagnostics.gradient_scaling import GradientScaling
from transferscope.diagnostics.gradient_stability import GradientStability
from transferscope.diagnostics.landscape import Landscape
from transferscope.diagnostics.loss_surface import Layout
from transferscope.diagnostics.network_state import BatchNorm
from transferscope.diagnostics.subject import Examples, Subject
from transferscope.errors import SettingsError
from transferscope.testing.diagnostics import mlp_subject


def test_curves_are_losses_of_networks_moved_along_the_gradient() -> None:
    subject = mlp_subject()
    curves = GradientStability(steps=3, batch_size=100).curves(subject)
    parameters = list(subject.network.parameters())
    loss = subject.loss(subject.network(subject.examples.inputs), subject.examples.labels)
    gradients = torch.autograd.grad(loss, parameters)
    norm = float(torch.cat([g.reshape(-1) for g in gradients]).norm())
    assert curves.gradient_norm == pytest.approx(norm)
    for found, unit in ((curves.gradient_steps, 1.0), (curves.fixed_steps, 1 / norm)):
        moved = mlp_subject().network
        for t in range(4):
            for own, start, gradient in zip(moved.parameters(), parameters, gradients, strict=True):
                own.data = start.data - t * 0.01 * unit * gradient
            with torch.no_grad():
                expected = subject.loss(moved(subject.examples.inputs), subject.examples.labels)
            assert found[0, t] == pytest.approx(float(expected), rel=1e-10)


def test_variation_is_the_largest_change_with_its_standard_error() -> None:
    diagnostic = GradientStability(steps=20, n_examples=30, batch_size=10)
    curves, found = diagnostic.curves(mlp_subject()), diagnostic.measure(mlp_subject())
    changes = curves.gradient_steps - curves.gradient_steps[:, :1]
    largest = np.abs(changes.mean(axis=0)).argmax()
    variation = found["loss_variation_gradient_step"]
    assert variation.value == pytest.approx(abs(changes[:, largest].mean()))
    assert variation.stderr == pytest.approx(changes[:, largest].std(ddof=1) / np.sqrt(3))
    assert variation.n == 30


def test_a_zero_gradient_has_no_direction() -> None:
    network = nn.Linear(2, 1, bias=False).double()
    inputs = torch.zeros(4, 2, dtype=torch.float64)
    findings = GradientStability(steps=3).measure(
        Subject(network, Examples(inputs, torch.ones(4, 1).double()), head="")
    )
    assert findings["gradient_norm"].value == 0.0
    assert findings["loss_variation_gradient_step"].value == 0.0
    assert findings["loss_variation_fixed_step"].status == "undefined"


def normalised_subject(*, seen: bool) -> Subject:
    """A network with batch normalisation, which has seen batches or none."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 3)).double()
    inputs, labels = 3 + 5 * torch.randn(40, 4, dtype=torch.float64), torch.arange(40) % 3
    if seen:
        with torch.no_grad():
            network(inputs[:10] + 2)
    return Subject(network.eval(), Examples(inputs, labels), head="3")


def losses_along_the_gradient(subject: Subject, *, training: bool) -> np.ndarray:
    """Losses of two batches of 20, written out with copies of the network."""

    def loss(network: nn.Module, batch: int) -> torch.Tensor:
        rows = slice(20 * batch, 20 * batch + 20)
        return nn.functional.cross_entropy(network(subject.examples.inputs[rows]), subject.examples.labels[rows])

    here = copy.deepcopy(subject.network).train(training)
    gradients = torch.autograd.grad((loss(here, 0) + loss(here, 1)) / 2, list(here.parameters()))
    found = np.zeros((2, 4))
    for t in range(4):
        moved = copy.deepcopy(subject.network).train(training)
        with torch.no_grad():
            for own, gradient in zip(moved.parameters(), gradients, strict=True):
                own.sub_(t * 0.01 * gradient)
            found[:, t] = [float(loss(moved, batch)) for batch in range(2)]
    return found


each_statistic = pytest.mark.parametrize(
    ("seen", "batch_norm", "training"),
    [(True, "running", False), (True, "batch", True), (False, "running", True), (False, "batch", True)],
)


@each_statistic
def test_batch_normalisation_has_the_statistics_that_are_asked_for(
    seen: bool, batch_norm: BatchNorm, training: bool
) -> None:
    """Running means of an initialisation are statistics of nothing, and those of each batch stand in for them."""
    subject = normalised_subject(seen=seen)
    before = copy.deepcopy(subject.network.state_dict())
    diagnostic = GradientStability(steps=3, batch_size=20, batch_norm=batch_norm)
    found = diagnostic.curves(subject).gradient_steps
    np.testing.assert_allclose(found, losses_along_the_gradient(subject, training=training), rtol=1e-10)
    for name, tensor in subject.network.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    norm = subject.network.get_submodule("1")
    assert isinstance(norm, nn.BatchNorm1d)
    assert norm.track_running_stats
    assert not norm.training


def dense_hessian(subject: Subject, *, training: bool) -> np.ndarray:
    """That of the mean loss of two batches of 20, by autograd on the loss of a copy of the network."""
    network = copy.deepcopy(subject.network).train(training)
    parameters = {name: tensor.detach() for name, tensor in network.named_parameters()}
    layout, batches = Layout.of(parameters), [batch.inputs for batch in subject.examples.batches(20)]

    def loss(point: torch.Tensor) -> torch.Tensor:
        outputs = [torch.func.functional_call(network, layout.unflatten(point), (batch,)) for batch in batches]
        return nn.functional.cross_entropy(torch.cat(outputs), subject.examples.labels)

    point = layout.flatten(parameters).requires_grad_()
    (gradient,) = torch.autograd.grad(loss(point), point, create_graph=True)
    return torch.stack([torch.autograd.grad(one, point, retain_graph=True)[0] for one in gradient]).numpy()


@each_statistic
def test_curvature_has_the_statistics_that_are_asked_for(seen: bool, batch_norm: BatchNorm, training: bool) -> None:
    subject = normalised_subject(seen=seen)
    hessian = dense_hessian(normalised_subject(seen=seen), training=training)
    before = copy.deepcopy(subject.network.state_dict())
    top = Curvature(k=3, batch_size=20, batch_norm=batch_norm).spectrum(subject)
    expected = np.linalg.eigvalsh(hessian)[::-1][:3]
    assert [one.value for one in top.eigenvalues] == pytest.approx(expected, rel=1e-3)
    for name, tensor in subject.network.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_a_batch_of_one_has_no_statistics() -> None:
    said = r"^40 examples in batches of 39 leave a batch of one, too few for batch normalisation;"
    for diagnostic in (GradientStability, GradientScaling, Landscape):
        with pytest.raises(SettingsError, match=said):
            diagnostic(batch_size=39, batch_norm="batch").measure(normalised_subject(seen=True))
        diagnostic(batch_size=39).measure(normalised_subject(seen=True))
    small = Landscape(resolution=3, batch_size=20)
    of_batch, running = (
        replace(small, batch_norm=one).measure(normalised_subject(seen=True))["landscape_centre"].value
        for one in ("batch", "running")
    )
    along = [losses_along_the_gradient(normalised_subject(seen=True), training=mode) for mode in (True, False)]
    assert (of_batch, running) == pytest.approx([one[:, 0].mean() for one in along])
