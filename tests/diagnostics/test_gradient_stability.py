import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from diagnostics.subjects import mlp_subject
from transferscope.diagnostics.gradient_stability import GradientStability
from transferscope.diagnostics.subject import Examples, Subject
from transferscope.errors import SettingsError


def test_curves_are_losses_of_networks_moved_along_the_gradient() -> None:
    subject = mlp_subject()
    curves = GradientStability(steps=3, scale=0.5, batch_size=100).curves(subject)
    parameters = list(subject.network.parameters())
    loss = subject.loss(subject.network(subject.examples.inputs), subject.examples.labels)
    gradients = torch.autograd.grad(loss, parameters)
    norm = float(torch.cat([g.reshape(-1) for g in gradients]).norm())
    assert curves.gradient_norm == pytest.approx(norm)
    for found, unit in ((curves.gradient_steps, 1.0), (curves.fixed_steps, 1 / norm)):
        moved = mlp_subject().network
        for t in range(4):
            for own, start, gradient in zip(moved.parameters(), parameters, gradients, strict=True):
                own.data = start.data - t * 0.5 * unit * gradient
            with torch.no_grad():
                expected = subject.loss(moved(subject.examples.inputs), subject.examples.labels)
            assert found[0, t] == pytest.approx(float(expected), rel=1e-10)


def test_variation_is_the_largest_change_with_its_standard_error() -> None:
    diagnostic = GradientStability(steps=20, scale=1.0, n_examples=30, batch_size=10)
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


def test_blocks_limit_the_gradient() -> None:
    whole = GradientStability(steps=2).measure(mlp_subject())["gradient_norm"].value
    head = GradientStability(steps=2, blocks=("head",)).measure(mlp_subject())["gradient_norm"].value
    assert head < whole


def test_settings_out_of_range_are_refused() -> None:
    message = (
        "steps = 0, scale = 0.01, n_examples = 1000, batch_size = 100; expected numbers of at least 1 and a positive "
        "scale"
    )
    with pytest.raises(SettingsError, match=f"^{re.escape(message)}$"):
        replace(GradientStability(), steps=0)
