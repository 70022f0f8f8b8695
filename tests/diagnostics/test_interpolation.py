from dataclasses import replace

import numpy as np
import pytest
import torch

from transferscope.diagnostics.interpolation import Interpolation
from transferscope.testing.diagnostics import cnn_subject, mlp_subject


def test_losses_are_those_of_interpolated_networks() -> None:
    subject = cnn_subject()
    assert subject.other is not None
    findings = Interpolation(resolution=5, batch_size=10).measure(subject)
    here, there = subject.network.state_dict(), subject.other.state_dict()
    between = cnn_subject().network.eval()
    losses = []
    for t in np.linspace(0, 1, 5):
        between.load_state_dict({name: torch.lerp(here[name].double(), there[name].double(), t) for name in here})
        with torch.no_grad():
            losses.append(float(subject.loss(between(subject.examples.inputs), subject.examples.labels)))
    np.testing.assert_allclose(findings.arrays["interpolation_loss"], losses, rtol=1e-9)
    chord = np.linspace(losses[0], losses[-1], 5)
    assert findings["loss_barrier"].value == pytest.approx((losses - chord).max(), abs=1e-12)


def test_no_barrier_between_a_network_and_itself() -> None:
    subject = mlp_subject()
    barrier = Interpolation().measure(replace(subject, other=subject.network))["loss_barrier"]
    assert barrier.value == pytest.approx(0.0, abs=1e-12)
