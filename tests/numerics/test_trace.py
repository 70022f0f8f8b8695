import numpy as np
import pytest
import torch
from torch import Tensor

from transferscope.numerics.trace import estimate_trace, rademacher, spectral_density

DRAWS = np.random.default_rng(0).standard_normal((60, 60))
MATRIX = torch.from_numpy(DRAWS @ DRAWS.T / 60)


def _matvec(vector: Tensor) -> Tensor:
    return MATRIX @ vector


def test_trace_lies_within_its_standard_error() -> None:
    probe = rademacher(MATRIX[0], torch.Generator().manual_seed(0))
    estimate = estimate_trace(_matvec, probe, tolerance=0.0, max_probes=2000)
    assert estimate.status == "max_steps"
    assert estimate.stderr is not None
    assert abs(estimate.value - float(MATRIX.trace())) < 3 * estimate.stderr
    off_diagonal = MATRIX - torch.diag(MATRIX.diagonal())
    assert estimate.stderr == pytest.approx(float((2 * off_diagonal.square().sum() / 2000).sqrt()), rel=0.1)


def test_tolerance_is_the_error_one_gets() -> None:
    # Stopping on the movement of the running mean, as others do, gives an rms error of 51 % at tolerance 1e-2.
    exact = float(MATRIX.trace())
    errors = []
    for seed in range(40):
        probe = rademacher(MATRIX[0], torch.Generator().manual_seed(seed))
        estimate = estimate_trace(_matvec, probe, tolerance=0.02)
        assert estimate.status == "converged"
        errors.append(estimate.value / exact - 1)
    assert np.sqrt(np.mean(np.square(errors))) < 1.3 * 0.02


def test_diagonal_matrices_need_no_luck() -> None:
    estimate = estimate_trace(lambda z: torch.arange(5.0) * z, rademacher(torch.zeros(5), torch.Generator()))
    assert (estimate.value, estimate.stderr, estimate.n, estimate.status) == (10.0, 0.0, 10, "converged")


def test_products_that_are_not_finite_end_the_estimate() -> None:
    estimate = estimate_trace(lambda z: z / 0, rademacher(torch.zeros(5), torch.Generator()))
    assert (estimate.status, estimate.n) == ("non_finite", 1)


def test_density_from_every_coordinate_is_that_of_the_dense_matrix() -> None:
    coordinates = iter(torch.eye(60).double())
    density = spectral_density(_matvec, lambda: next(coordinates), n_probes=60, steps=60)
    values = torch.linalg.eigvalsh(MATRIX)
    points = torch.linspace(-1, 5, 50).double()
    exact = torch.exp(-0.5 * ((points[:, None] - values) / 0.1) ** 2).mean(1) / (0.1 * np.sqrt(2 * np.pi))
    torch.testing.assert_close(density.at(points, width=0.1), exact, rtol=1e-6, atol=1e-12)
    assert density.mean_of(torch.exp).value == pytest.approx(float(values.exp().mean()), rel=1e-9)


def test_density_from_random_probes_lies_within_its_standard_error() -> None:
    probe = rademacher(MATRIX[0], torch.Generator().manual_seed(3))
    density = spectral_density(_matvec, probe, n_probes=30, steps=40)
    estimate = density.mean_of(lambda nodes: nodes.square())
    assert estimate.stderr is not None
    assert abs(estimate.value - float(MATRIX.square().sum()) / 60) < 4 * estimate.stderr
    points = torch.linspace(-2, 8, 2001).double()
    assert float(torch.trapezoid(density.at(points, width=0.1), points)) == pytest.approx(1, abs=1e-6)
