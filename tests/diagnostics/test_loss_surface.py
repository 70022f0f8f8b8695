import numpy as np
import pytest
import torch

from transferscope.diagnostics import Curvature, spread_of
from transferscope.diagnostics.loss_surface import batch_shares, mean_over_batches


def test_shares_follow_the_sizes_of_batches() -> None:
    torch.testing.assert_close(batch_shares(25, 10), torch.tensor([0.4, 0.4, 0.2], dtype=torch.float64))
    torch.testing.assert_close(batch_shares(5, 10), torch.ones(1, dtype=torch.float64))


def test_equal_batches_give_the_textbook_standard_error() -> None:
    samples = torch.tensor([1.0, 2.0, 4.0, 7.0], dtype=torch.float64)
    estimate = mean_over_batches(samples, batch_shares(40, 10), 40)
    assert (estimate.value, estimate.n) == (3.5, 40)
    assert estimate.stderr == pytest.approx(float(samples.std()) / 2)
    assert mean_over_batches(torch.ones(1), torch.ones(1), 9).stderr is None
    assert mean_over_batches(torch.tensor([1.0, torch.inf]), torch.ones(2) / 2, 9).status == "non_finite"


def test_standard_errors_of_eigenvalues_cover_with_few_and_ragged_batches() -> None:
    # Linear regression: H is the second moment of the inputs, so the largest eigenvalue is known.
    rng, n, batch_size, deviations = np.random.default_rng(0), 520, 128, np.array([2.0, 1.0, 1.0, 0.5])
    shares, covered, repeats = batch_shares(n, batch_size), 0, 1500
    diagnostic = Curvature(k=1, batch_size=batch_size)
    for _ in range(repeats):
        x = rng.normal(size=(n, 4)) * deviations
        values, vectors = np.linalg.eigh(x.T @ x / n)
        squares = (x @ vectors[:, -1]) ** 2
        samples = torch.tensor([squares[i : i + batch_size].mean() for i in range(0, n, batch_size)])
        estimate = mean_over_batches(samples, shares, n)
        assert estimate.value == pytest.approx(values[-1])
        spread = spread_of(diagnostic, estimate)
        assert (spread.n, spread.over) == (5, "batches")
        covered += spread.interval.low <= 4.0 <= spread.interval.high
    assert 0.93 <= covered / repeats <= 0.97


def test_a_short_last_batch_weighs_as_much_as_its_examples() -> None:
    # One example in 129: the spread between batches of one value each has variance sigma^2 (1/128 + 1).
    rng = np.random.default_rng(1)
    values = rng.normal(size=(4000, 129))
    samples = np.stack([values[:, :128].mean(axis=1), values[:, 128]], axis=1)
    found = [mean_over_batches(torch.from_numpy(s), batch_shares(129, 128), 129).stderr for s in samples]
    assert np.mean(np.square(np.array(found, dtype=float))) == pytest.approx(1 / 129, rel=0.1)
