import numpy as np
import pytest
import torch

from transferscope.errors import DataError
from transferscope_papers.simulate.least_squares import from_moments, from_samples, isotropic_population


@pytest.mark.parametrize(("n", "d"), [(3, 7), (7, 3), (5, 5)])
def test_the_minimum_norm_solution_is_the_pseudo_inverse(n: int, d: int) -> None:
    rng = np.random.default_rng(n)
    x, y = rng.standard_normal((4, n, d)), rng.standard_normal((4, n))
    loss = from_samples(torch.from_numpy(x), torch.from_numpy(y))
    for b in range(4):
        np.testing.assert_allclose(loss.minimum_norm()[b].numpy(), np.linalg.pinv(x[b]) @ y[b], atol=1e-8)


def test_repeated_inputs_lower_the_rank() -> None:
    x = torch.tensor([[[1.0, 0, 0], [1, 0, 0], [0, 1, 0]]], dtype=torch.float64)
    loss = from_samples(x, torch.tensor([[1.0, 3.0, 5.0]], dtype=torch.float64))
    assert int((loss.spectrum > 0).sum()) == 2
    np.testing.assert_allclose(loss.minimum_norm()[0].numpy(), [2.0, 5.0, 0.0], atol=1e-12)


def test_the_population_of_isotropic_inputs_is_minimised_by_the_teacher() -> None:
    teacher = torch.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=torch.float64)
    torch.testing.assert_close(isotropic_population(teacher).minimum_norm(), teacher)


def test_rotations_are_undone() -> None:
    rng = np.random.default_rng(0)
    root = torch.from_numpy(rng.standard_normal((2, 4, 4)))
    loss = from_moments(root @ root.mT, torch.zeros(2, 4, dtype=torch.float64))
    matrices = torch.from_numpy(rng.standard_normal((2, 4, 3)))
    torch.testing.assert_close(loss.rotate_back(loss.rotate(matrices)), matrices)
    torch.testing.assert_close(loss.rotate(loss.basis), torch.eye(4).double().expand(2, 4, 4), atol=1e-12, rtol=0)


def test_counts_must_fit_the_rows() -> None:
    with pytest.raises(DataError, match=r"^counts run from 2 to 5; expected 1 to 4 samples$"):
        from_samples(torch.zeros(2, 4, 3).double(), torch.zeros(2, 4).double(), torch.tensor([2, 5]))
