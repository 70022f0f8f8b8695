import pytest
import torch

from transferscope.diagnostics.over_batches import batch_shares, mean_over_batches


def test_shares_follow_the_sizes_of_batches() -> None:
    torch.testing.assert_close(batch_shares(25, 10), torch.tensor([0.4, 0.4, 0.2], dtype=torch.float64))
    torch.testing.assert_close(batch_shares(5, 10), torch.ones(1, dtype=torch.float64))


def test_equal_batches_give_the_textbook_standard_error() -> None:
    samples = torch.tensor([1.0, 2.0, 4.0, 7.0], dtype=torch.float64)
    estimate = mean_over_batches(samples, batch_shares(40, 10), 40)
    assert (estimate.value, estimate.n) == (3.5, 40)
    assert estimate.stderr == pytest.approx(float(samples.std()) / 2)


def test_one_batch_has_no_standard_error() -> None:
    assert mean_over_batches(torch.ones(1), torch.ones(1), 9).stderr is None


def test_values_that_are_not_finite_are_said() -> None:
    assert mean_over_batches(torch.tensor([1.0, torch.inf]), torch.ones(2) / 2, 9).status == "non_finite"
