"""The spectrum of features beside NumPy's singular value decomposition."""

import numpy as np
import pytest

from transferscope.scores.spectrum import spectrum


@pytest.mark.parametrize("shape", [(30, 7), (7, 30), (12, 12), (9, 1), (1, 9), (5, 2)])
@pytest.mark.parametrize("centre", [False, True])
def test_that_of_singular_values(shape: tuple[int, int], centre: bool) -> None:
    generator = np.random.default_rng(0)
    features = generator.standard_normal(shape) + 1
    less = features - features.mean(axis=0) if centre else features
    u, singular, _ = np.linalg.svd(less, full_matrices=False)
    rank = np.linalg.matrix_rank(less)
    found = spectrum(features, centre=centre)
    assert len(found.squares) == rank
    np.testing.assert_allclose(found.squares, (singular[:rank] ** 2)[::-1], rtol=1e-10)
    np.testing.assert_allclose(found.left() @ found.left().T, u[:, :rank] @ u[:, :rank].T, atol=1e-10)
    largest = found.components(2)[:, ::-1]
    np.testing.assert_allclose(np.abs(largest), np.abs(u * singular)[:, : min(2, rank)], atol=1e-10)
    indicators = np.eye(9)[generator.integers(0, 9, shape[0])]  # few that are not 0, and none
    for targets in (indicators, generator.standard_normal((shape[0], 3))):
        expected = np.abs(u[:, :rank].T @ targets)[::-1]
        np.testing.assert_allclose(np.abs(found.coordinates(targets)), expected, atol=1e-10)
