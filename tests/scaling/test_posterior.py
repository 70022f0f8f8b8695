import numpy as np
import pytest

from scaling.examples import EXACT, SIZES
from transferscope.scaling import observe
from transferscope.scaling.posterior import power_posterior


def test_draws_follow_the_data() -> None:
    posterior = power_posterior(observe(SIZES, EXACT))
    predicted = posterior.predict(SIZES)
    mean = posterior.weights @ predicted
    np.testing.assert_allclose(mean, EXACT, rtol=0.003)
    assert posterior.weights.sum() == pytest.approx(1)


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    covered = []
    for seed in range(60):
        noise = np.exp(0.003 * np.random.default_rng(seed).standard_normal(7))
        posterior = power_posterior(observe(SIZES, (3.0 * SIZES**-0.4 + 0.3) * noise))
        covered.append(posterior.quantile(posterior.C, 0.05) <= 0.3 <= posterior.quantile(posterior.C, 0.95))
    assert 0.8 <= np.mean(covered) <= 1.0


def test_the_size_for_an_error_inverts_the_law() -> None:
    posterior = power_posterior(observe(SIZES, EXACT))
    size = posterior.size_for(0.94)
    reached = np.isfinite(size) & (size > 0)
    alpha, D, C = posterior.theta[reached].T
    np.testing.assert_allclose(D * size[reached] ** -alpha + C, 0.94, rtol=1e-9)


def test_a_rising_curve_has_a_flat_posterior() -> None:
    posterior = power_posterior(observe(SIZES, np.linspace(0.2, 0.9, 7)))
    assert np.isfinite(posterior.predict(SIZES)).all()
    assert np.isfinite(posterior.weights).all()
