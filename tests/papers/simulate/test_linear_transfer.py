import math

import numpy as np
import pytest
import torch

from transferscope.estimate import Estimate
from transferscope_papers.problems import LinearTransfer, teachers_at_angle
from transferscope_papers.simulate.agreement import z_score
from transferscope_papers.simulate.deep_linear import end_to_end, train
from transferscope_papers.simulate.descent import DescentSettings
from transferscope_papers.simulate.linear_transfer import (
    TransferBatch,
    draw,
    fine_tuning,
    from_scratch,
    perfectly_pretrained,
    ridge_transfer,
)
from transferscope_papers.simulate.seeds import generator
from transferscope_papers.theory.fine_tuning import fine_tuned_weights, fine_tuning_finite
from transferscope_papers.theory.linear_scratch import scratch_risk_finite
from transferscope_papers.theory.linear_transfer import linear_transfer_risk
from transferscope_papers.theory.ridge import ridge_risk

QUICK = DescentSettings(tolerance=1e-5, movement=0.02)


def repeat(problem: LinearTransfer, n: int, n_seeds: int) -> TransferBatch:
    return draw([problem] * n_seeds, [n] * n_seeds, list(range(n_seeds)))


@pytest.mark.parametrize(("n", "sigma"), [(30, 0.5), (120, 1.0)])
def test_training_from_scratch_has_the_finite_risk_of_tahir2024_theorem_3_6(n: int, sigma: float) -> None:
    batch = repeat(teachers_at_angle(60, theta=0.0, sigma=sigma), n, 60)
    estimate = from_scratch(batch, depth=2, settings=QUICK).means(60)[0]
    assert estimate.status == "converged"
    assert abs(z_score(estimate, float(scratch_risk_finite(n, 60, sigma=sigma)))) < 4


def test_linear_transfer_has_the_risk_of_001_theorem_3_7() -> None:
    batch = repeat(teachers_at_angle(20, theta=math.pi / 4, sigma=0.5), 10, 400)
    frozen = fine_tuning(batch, perfectly_pretrained(batch, depth=2), n_frozen=1, settings=QUICK)
    assert set(frozen.status) == {"converged"}
    estimate = frozen.means(400)[0]
    assert float(linear_transfer_risk(math.pi / 4, 10, sigma=0.5)) == pytest.approx(0.59375)
    assert abs(z_score(estimate, 0.59375)) < 4


@pytest.mark.parametrize(("depth", "source_norm"), [(2, 1.0), (3, 2.0)])
def test_a_ridge_head_has_the_risk_of_001_theorem_3_8(depth: int, source_norm: float) -> None:
    problem = teachers_at_angle(25, theta=math.pi / 6, sigma=0.5, source_norm=source_norm)
    batch = repeat(problem, 20, 600)
    estimate = ridge_transfer(batch, perfectly_pretrained(batch, depth=depth), ridge=0.3).means(600)[0]
    expected = float(ridge_risk(0.3, math.pi / 6, 20, sigma=0.5, source_norm=source_norm, depth=depth))
    assert abs(z_score(estimate, expected)) < 4


@pytest.mark.parametrize(("depth", "source_norm", "sigma"), [(2, 2.0, 0.5), (3, 0.5, 0.5), (3, 1.0, 1.0)])
def test_fine_tuning_ends_at_the_corrected_theorem_for_each_sample(
    depth: int, source_norm: float, sigma: float
) -> None:
    problem = teachers_at_angle(40, theta=math.pi / 4, sigma=sigma, source_norm=source_norm)
    batch = repeat(problem, 20, 4)
    result = train(batch.loss, perfectly_pretrained(batch, depth=depth), DescentSettings())
    assert set(result.status) == {"converged"}
    for seed, beta in enumerate(end_to_end(result.weights).numpy()):
        sample = problem.sample(20, generator(seed))
        limit = fine_tuned_weights(sample.inputs, sample.targets, problem.source.weights, depth=depth).weights
        printed = fine_tuned_weights(sample.inputs, sample.targets, problem.source.weights, depth=1).weights
        assert np.linalg.norm(beta - limit) < 4e-3 * np.linalg.norm(limit)
        assert np.linalg.norm(beta - printed) > 2.5e-2 * np.linalg.norm(limit)


def test_a_network_fine_tuned_at_54_degrees_transfers_negatively_where_tahir2024_prints_a_gain() -> None:
    theta, d, n, n_seeds = math.radians(54), 100, 50, 24
    problem = teachers_at_angle(d, theta=theta, sigma=1.0)
    batch = repeat(problem, n, n_seeds)
    tuned = fine_tuning(batch, perfectly_pretrained(batch, depth=3), settings=DescentSettings(tolerance=1e-5))
    samples = [problem.sample(n, generator(seed)) for seed in range(n_seeds)]
    least = np.stack([np.linalg.pinv(one.inputs) @ one.targets for one in samples])
    scratch = batch.outcomes(torch.from_numpy(least), tuned.status)
    gain = scratch.risk - tuned.risk
    estimate = Estimate(float(gain.mean()), float(gain.std(ddof=1) / math.sqrt(n_seeds)), n_seeds, "converged")
    corrected = float(fine_tuning_finite(theta, n, d, sigma=1.0, depth=3).transferability)
    assert corrected == pytest.approx(-0.112, abs=0.005)
    assert abs(z_score(estimate, corrected)) < 4
    assert z_score(estimate, 0.088) < -3


def test_samples_of_different_sizes_share_a_batch() -> None:
    problem = teachers_at_angle(12, theta=1.0, sigma=0.3)
    batch = draw([problem] * 3, [3, 6, 30], [0, 1, 2])
    assert (batch.loss.spectrum > 0).sum(1).tolist() == [3, 6, 12]
    torch.testing.assert_close(batch.loss.basis.mT @ batch.loss.basis, torch.eye(12).double().expand(3, 12, 12))
    sample = problem.sample(3, generator(0))
    least = torch.from_numpy(np.linalg.pinv(sample.inputs) @ sample.targets)  # where the slope is 0
    slope = batch.loss.spectrum * batch.loss.rotate(least.expand(3, -1)) - batch.loss.cross
    torch.testing.assert_close(slope[0], torch.zeros_like(slope[0]), atol=1e-10, rtol=0)
