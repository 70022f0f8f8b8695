import numpy as np
import pytest
import torch
from jaxtyping import Float
from torch import Tensor

from transferscope.numerics.lanczos import EigenPairs, top_eigenpairs


def _symmetric(values: np.ndarray, seed: int = 0) -> Float[Tensor, "n n"]:
    basis, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))
    return torch.from_numpy(basis @ np.diag(values) @ basis.T)


def _top(matrix: Tensor, k: int, *, tolerance: float = 1e-10, **budget: int) -> EigenPairs:
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(len(matrix), generator=generator, dtype=torch.float64).to(matrix)
    return top_eigenpairs(lambda v: [matrix @ v], start, k, generator=generator, tolerance=tolerance, **budget)


@pytest.mark.parametrize("max_basis", [300, 25], ids=["one sweep", "restarts"])
def test_top_eigenpairs_agree_with_dense_decomposition(max_basis: int) -> None:
    matrix = _symmetric(np.random.default_rng(1).standard_normal(300) ** 3)
    pairs = _top(matrix, 8, max_basis=max_basis)
    values, vectors = torch.linalg.eigh(matrix)
    assert pairs.status == "converged"
    torch.testing.assert_close(pairs.values, values.flip(0)[:8], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close((pairs.vectors @ vectors.flip(1)[:, :8]).abs(), torch.eye(8).double(), rtol=0, atol=1e-6)


def test_residuals_are_those_of_the_returned_pairs() -> None:
    matrix = _symmetric(np.linspace(-1, 1, 100))
    pairs = _top(matrix, 5, max_products=30)
    residuals = (pairs.vectors @ matrix - pairs.values[:, None] * pairs.vectors).norm(dim=1)
    assert pairs.status == "max_steps"
    torch.testing.assert_close(pairs.residuals, residuals, rtol=1e-6, atol=1e-12)


def test_vectors_stay_orthogonal_on_an_ill_conditioned_matrix() -> None:
    pairs = _top(_symmetric(np.logspace(6, -6, 120)), 10)
    torch.testing.assert_close(pairs.vectors @ pairs.vectors.T, torch.eye(10).double(), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(12),
        np.full(12, 3.0),
        np.r_[5.0, 2.0, np.zeros(10)],  # of rank two
        np.r_[4.0, 4.0, 1.0, np.full(9, -1.0)],  # repeated
        np.array([3.0, 1.0, -2.0, 0.5]),  # all of a small one
    ],
)
def test_degenerate_and_small_matrices_are_exhausted(values: np.ndarray) -> None:
    pairs = _top(_symmetric(values), 4)
    assert pairs.status == "converged"
    np.testing.assert_allclose(pairs.values.numpy(), np.sort(values)[::-1][:4], atol=1e-10)


def test_single_precision_converges_to_its_own_precision() -> None:
    matrix = _symmetric(np.linspace(0, 10, 200)).float()
    pairs = _top(matrix, 5, tolerance=1e-9, max_products=2000)
    assert pairs.status == "converged"
    np.testing.assert_allclose(pairs.values.numpy(), np.linspace(0, 10, 200)[::-1][:5], rtol=1e-5)


def test_products_that_are_not_finite_end_the_iteration() -> None:
    pairs = _top(torch.full((5, 5), torch.nan).double(), 2)
    assert pairs.status == "non_finite"
    assert pairs.values.isnan().all()


def test_single_precision_is_kept_over_as_many_weights_as_a_network_has() -> None:
    diagonal = torch.rand(1_000_000, generator=torch.Generator().manual_seed(0))
    largest = torch.tensor([70.0, 30.0, 20.0])
    diagonal[:3] = largest
    generator = torch.Generator().manual_seed(1)
    start = torch.randn(len(diagonal), generator=generator)
    pairs = top_eigenpairs(lambda v: [diagonal * v], start, 3, generator=generator, tolerance=1e-4)
    torch.testing.assert_close(pairs.values, largest.double(), rtol=1e-6, atol=0)


@pytest.mark.parametrize("max_basis", [80, 14], ids=["one sweep", "restarts"])
def test_terms_are_the_quadratic_forms_of_the_matrices_in_the_sum(max_basis: int) -> None:
    parts = [_symmetric(np.random.default_rng(seed).standard_normal(80) ** 3, seed) for seed in range(3)]
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(80, generator=generator, dtype=torch.float64)
    pairs = top_eigenpairs(
        lambda v: (part @ v for part in parts), start, 4, generator=generator, tolerance=1e-10, max_basis=max_basis
    )
    forms = torch.stack([(pairs.vectors @ part * pairs.vectors).sum(1) for part in parts])
    torch.testing.assert_close(pairs.values, torch.linalg.eigvalsh(sum(parts)).flip(0)[:4])
    torch.testing.assert_close(pairs.terms, forms, rtol=1e-8, atol=1e-8)
