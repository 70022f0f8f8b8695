import numpy as np
import pytest
from scipy import stats

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


def test_a_rising_curve_has_a_flat_posterior() -> None:
    errors = np.linspace(0.2, 0.9, 7)
    posterior = power_posterior(observe(SIZES, errors))
    assert np.isfinite(posterior.predict(SIZES)).all()
    assert np.isfinite(posterior.weights).all()
    assert not posterior.falls
    assert power_posterior(observe(SIZES, EXACT)).falls
    weights = 1 / errors**2
    level = np.average(errors, weights=weights)
    stderr = np.sqrt(weights @ (errors - level) ** 2 / 6 / weights.sum())
    low, middle, high = (posterior.quantile(posterior.C, at) for at in (0.05, 0.5, 0.95))
    assert (middle, high) == pytest.approx((level, level + stats.t.ppf(0.95, 6) * stderr), rel=0.05)
    assert low == errors.min()
    assert posterior.quantile(posterior.alpha, 0.95) > 4 * posterior.quantile(posterior.alpha, 0.05)  # the prior


def test_the_early_half_of_a_long_curve_is_not_read() -> None:
    sizes = 1000 * 2.0 ** np.arange(20)
    errors = 3.0 * sizes**-0.4 + 0.05
    bent = np.where(np.arange(20) < 10, 1.5 * errors, errors)
    np.testing.assert_array_equal(
        power_posterior(observe(sizes, bent)).theta, power_posterior(observe(sizes, errors)).theta
    )


def test_forecasts_from_three_sizes_are_not_sure_of_themselves() -> None:
    """Nominal 90 % at four times the largest size, with three times the noise that the prior is centred on."""
    covered = []
    for seed in range(60):
        noise = np.exp(0.01 * np.random.default_rng(seed).standard_normal(3))
        posterior = power_posterior(observe(SIZES[:3], (3.0 * SIZES[:3] ** -0.4 + 0.05) * noise))
        ahead = posterior.predict(np.array([4 * SIZES[2]]))[:, 0]
        covered.append(
            posterior.quantile(ahead, 0.05) <= 3.0 * (4 * SIZES[2]) ** -0.4 + 0.05 <= posterior.quantile(ahead, 0.95)
        )
    assert np.mean(covered) > 0.75
