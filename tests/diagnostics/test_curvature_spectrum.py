"""Trace and density of the Hessian against the dense matrix."""

import numpy as np
import pytest
import torch

from diagnostics.test_hessian import dense_hessian
from transferscope.diagnostics.curvature import Curvature
from transferscope.diagnostics.curvature_density import CurvatureDensity
from transferscope.diagnostics.curvature_trace import CurvatureTrace
from transferscope.diagnostics.diagnostic import Diagnostic, spread_of
from transferscope.diagnostics.subject import Subject
from transferscope.estimate import Estimate
from transferscope.testing.diagnostics import cnn_subject, mlp_subject


@pytest.mark.parametrize("subject", [mlp_subject(), cnn_subject()], ids=["mlp", "cnn"])
def test_trace_lies_within_its_standard_error(subject: Subject) -> None:
    trace = CurvatureTrace(tolerance=0.1, max_probes=1000).measure(subject)["hessian_trace"]
    assert trace.status == "converged"
    assert trace.stderr is not None
    assert abs(trace.value - float(dense_hessian(subject).trace())) < 4 * trace.stderr


@pytest.mark.parametrize(
    "subject", [mlp_subject(), pytest.param(cnn_subject(), marks=pytest.mark.long)], ids=["mlp", "cnn"]
)
def test_density_is_that_of_the_dense_eigenvalues(subject: Subject) -> None:
    values = torch.linalg.eigvalsh(dense_hessian(subject))
    findings = CurvatureDensity(n_probes=12, steps=60).measure(subject)
    edge = 0.01 * float(values.abs().max())
    for name, exact in (
        ("hessian_negative_share", (values < -edge).double().mean()),
        ("hessian_flat_share", (values.abs() <= edge).double().mean()),
    ):
        share = findings[name]
        assert share.stderr is not None
        assert abs(share.value - float(exact)) < 5 * share.stderr + 1e-12
    points, density = findings.arrays["hessian_density_points"], findings.arrays["hessian_density"]
    assert np.trapezoid(density, points) == pytest.approx(1.0, abs=1e-3)
    assert points[0] < float(values.min()) < float(values.max()) < points[-1]


@pytest.mark.parametrize("diagnostic", [Curvature(k=2), CurvatureTrace(), CurvatureDensity()], ids=lambda one: one.name)
def test_weights_that_are_not_finite_are_said(diagnostic: Diagnostic) -> None:
    subject = mlp_subject()
    with torch.no_grad():
        next(subject.network.parameters()).fill_(torch.nan)
    assert {record.estimate.status for record in diagnostic.measure(subject).records} == {"non_finite"}


def test_the_interval_of_a_share_holds_shares() -> None:
    interval = spread_of(CurvatureDensity(), Estimate(0.92, 0.1, 10)).interval
    assert interval is not None
    assert interval.low == pytest.approx(0.92 - 2.262157 * 0.1)
    assert interval.high == 1.0
