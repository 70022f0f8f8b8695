from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse.linalg import eigsh

from diagnostics.test_hessian import dense_hessian
from transferscope.diagnostics.curvature import Curvature
from transferscope.diagnostics.diagnostic import spread_of
from transferscope.diagnostics.kernel_distance import KernelDistance
from transferscope.diagnostics.subject import Subject
from transferscope.errors import SettingsError
from transferscope.estimate import Estimate
from transferscope.testing.diagnostics import cnn_subject, mlp_subject


@pytest.mark.parametrize("subject", [mlp_subject(), cnn_subject()], ids=["mlp", "cnn"])
def test_eigenvalues_agree_with_the_dense_hessian(subject: Subject) -> None:
    spectrum = Curvature(k=6, tolerance=1e-8, batch_size=10).spectrum(subject)
    exact = torch.linalg.eigvalsh(dense_hessian(subject)).flip(0)[:6]
    np.testing.assert_allclose([e.value for e in spectrum.eigenvalues], exact.numpy(), rtol=1e-6, atol=1e-12)
    assert {e.status for e in spectrum.eigenvalues} == {"converged"}
    assert {e.n for e in spectrum.eigenvalues} == {len(subject.examples)}


def test_standard_errors_are_of_the_spread_over_batches() -> None:
    subject = mlp_subject(40)
    spectrum = Curvature(k=3, tolerance=1e-8, batch_size=10).spectrum(subject)
    batches = [dense_hessian(replace(subject, examples=batch)).numpy() for batch in subject.examples.batches(10)]
    forms = np.array([[vector @ hessian @ vector for vector in spectrum.vectors] for hessian in batches])
    np.testing.assert_allclose([e.value for e in spectrum.eigenvalues], forms.mean(axis=0), rtol=1e-9)
    found = [e.stderr for e in spectrum.eigenvalues]
    np.testing.assert_allclose(np.array(found, dtype=float), forms.std(axis=0, ddof=1) / 2, rtol=1e-6)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # raised by its dependencies on import
def test_eigenvalues_agree_with_curvlinops() -> None:
    from curvlinops import HessianLinearOperator

    subject = cnn_subject()
    network = subject.network.eval()
    data = [(subject.examples.inputs, subject.examples.labels)]
    parameters = list(network.parameters())
    operator = HessianLinearOperator(network, torch.nn.CrossEntropyLoss(), parameters, data)
    theirs = eigsh(operator.to_scipy(), k=4, which="LA", return_eigenvectors=False)[::-1]
    ours = Curvature(k=4, tolerance=1e-8).measure(subject)
    np.testing.assert_allclose([record.estimate.value for record in ours.records], theirs, rtol=1e-6)


def test_vectors_and_residuals_are_those_of_the_hessian() -> None:
    subject = mlp_subject()
    spectrum = Curvature(k=3, tolerance=1e-10).spectrum(subject)
    hessian = dense_hessian(subject).numpy()
    values = np.array([e.value for e in spectrum.eigenvalues])
    rest = np.linalg.norm(spectrum.vectors @ hessian - values[:, None] * spectrum.vectors, axis=1)
    np.testing.assert_allclose(rest, spectrum.residuals, atol=1e-10)


def test_a_short_budget_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transferscope.diagnostics.curvature.MAX_PRODUCTS", 6)
    spectrum = Curvature(k=3, tolerance=1e-12).spectrum(mlp_subject())
    assert spectrum.n_products == 6
    assert "max_steps" in {e.status for e in spectrum.eigenvalues}


def test_more_eigenvalues_than_parameters_are_refused() -> None:
    with pytest.raises(SettingsError, match="k = 67 is out of range; expected at most 66 "):
        Curvature(k=67).measure(mlp_subject())


def test_weights_that_are_not_finite_are_said() -> None:
    subject = mlp_subject()
    with torch.no_grad():
        next(subject.network.parameters()).fill_(torch.nan)
    assert {record.estimate.status for record in Curvature(k=2).measure(subject).records} == {"non_finite"}


def test_the_interval_of_a_share_holds_shares() -> None:
    interval = spread_of(KernelDistance(), Estimate(0.92, 0.1, 10)).interval
    assert interval.low == pytest.approx(0.92 - 2.262157 * 0.1)
    assert interval.high == 1.0
