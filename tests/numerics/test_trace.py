from math import inf

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
    found = (density.weights * density.nodes.exp()).sum(1).mean()
    assert float(found) == pytest.approx(float(values.exp().mean()), rel=1e-9)


def test_density_from_random_probes_lies_within_its_standard_error() -> None:
    probe = rademacher(MATRIX[0], torch.Generator().manual_seed(3))
    density = spectral_density(_matvec, probe, n_probes=30, steps=40)
    squares = (density.weights * density.nodes.square()).sum(1)
    stderr = float(squares.std()) / 30**0.5
    assert abs(float(squares.mean()) - float(MATRIX.square().sum()) / 60) < 4 * stderr
    points = torch.linspace(-2, 8, 2001).double()
    assert float(torch.trapezoid(density.at(points, width=0.1), points)) == pytest.approx(1, abs=1e-6)


SPECTRA = {
    "evenly spaced": np.linspace(-1, 1, 400),
    "low rank": np.r_[np.zeros(380), np.linspace(0.1, 1, 20)],
    "even in the logarithm": np.r_[np.logspace(-6, 0, 300), -np.logspace(-6, -1, 100)],
    "a bulk and three more": np.r_[0.02 * np.cos(np.linspace(0, np.pi, 300)), 1, 0.5, 0.3],
    "two beside the edge": np.r_[np.full(200, 0.0099), np.full(200, 0.0101), 1.0],
    "many on the edge": np.r_[np.full(200, 0.01), np.full(200, -0.3), 1.0],
}


@pytest.mark.parametrize("spectrum", SPECTRA.values(), ids=SPECTRA)
@pytest.mark.parametrize("steps", [10, 40])
@pytest.mark.parametrize("rotated", [True, False], ids=["rotated", "diagonal"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["single", "double"])
def test_shares_of_known_spectra_lie_within_their_errors(
    spectrum: np.ndarray, steps: int, rotated: bool, dtype: torch.dtype
) -> None:
    """Of a diagonal matrix all probes see the same measure, so that the spread over them says nothing."""
    n = len(spectrum)
    turn = np.linalg.qr(np.random.default_rng(5).standard_normal((n, n)))[0] if rotated else np.eye(n)
    matrix = torch.from_numpy((turn * spectrum) @ turn.T).to(dtype)
    probe = rademacher(matrix[0], torch.Generator().manual_seed(1))
    density = spectral_density(lambda z: matrix @ z, probe, n_probes=10, steps=steps)
    for low, high in ((-inf, -0.01), (-0.01, 0.01), (0.01, inf), (-inf, inf)):
        exact = ((spectrum >= low) & (spectrum <= high)).mean()
        share = density.share(low, high)
        assert share.stderr is not None
        assert abs(share.value - exact) < 3 * share.stderr + 1e-5


@pytest.mark.parametrize("point", [-0.97, -0.3, 0.0, 0.5])
def test_what_the_steps_leave_open_is_the_christoffel_function(point: float) -> None:
    """Uniform on [-1, 1] by way of a Gauss rule: 1 / sum_(j <= m) p_j(x)^2 with p_j = sqrt(2 j + 1) P_j."""
    nodes, weights = map(torch.from_numpy, np.polynomial.legendre.leggauss(100))
    density = spectral_density(lambda z: nodes * z, lambda: (weights / 2).sqrt(), n_probes=2, steps=12)
    of_degree = np.polynomial.legendre.legvander(np.array([point]), 12)[0]
    assert density.share(point, point).stderr == pytest.approx(1 / ((2 * np.arange(13) + 1) @ of_degree**2), rel=1e-4)
