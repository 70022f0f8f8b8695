"""Table 1 of mikami2021: golden exponents, and the rule against a numerical minimisation of the dominant terms."""

import numpy as np
import pytest

from transferscope.errors import SettingsError
from transferscope.theory.rates import fine_tuning_rates

GOLDEN = [
    (1, 0.5, 2, 0, 0.4, 0.5),
    (1, 0.5, 2, 0.5, 0.2666667, 0.3333333),
    (0.5, 1, 1.2, 0.6, 0.1818182, 0.2666667),
    (0.75, 0.75, 3, 0.45, 0.3506494, 0.4714286),
    (0.9, 0.6, 1.5, 0.9, 0.2736487, 0.075),
]


@pytest.mark.parametrize(("r0", "r1", "xi", "zeta", "alpha", "beta"), GOLDEN)
def test_exponents_have_their_golden_values(
    r0: float, r1: float, xi: float, zeta: float, alpha: float, beta: float
) -> None:
    rates = fine_tuning_rates(r0, r1, xi, zeta=zeta)
    assert float(rates.alpha) == pytest.approx(alpha, abs=1e-7)
    assert float(rates.beta) == pytest.approx(beta, abs=1e-7)


@pytest.mark.parametrize(("r0", "r1", "xi", "zeta"), [golden[:4] for golden in GOLDEN] + [(0.6, 0.8, 2, 0.2)])
def test_the_rule_is_the_best_regularisation_of_the_dominant_terms(
    r0: float, r1: float, xi: float, zeta: float
) -> None:
    def best(log_examples: float, log_error: float) -> float:
        lam = np.linspace(-log_examples, 0, 200_001)  # log lambda_1
        terms = [
            2 * r0 * lam,  # (a0), and (a1) below
            2 * r1 * lam,
            log_error - log_examples - lam,  # (b)
            log_error - 2 * (1 - zeta) * log_examples - 2 * lam,  # (e)
        ]
        return float(np.max(terms, axis=0).min())

    rates = fine_tuning_rates(r0, r1, xi, zeta=zeta)
    slope = (best(400, 0) - best(200, 0)) / 200
    assert slope == pytest.approx(-float(rates.beta), abs=2e-3)
    assert best(400, 1) - best(400, 0) == pytest.approx(float(rates.nu), abs=5e-3)


def test_the_target_exponent_is_continuous_and_the_source_exponent_jumps() -> None:
    edge = 0.75 / 2.5
    rates = fine_tuning_rates(0.75, 0.9, 2, zeta=np.array([edge - 1e-12, edge + 1e-12]))
    assert rates.beta[0] == pytest.approx(rates.beta[1])
    np.testing.assert_allclose(rates.nu, [0.6, 0.75 / 1.75])
    np.testing.assert_array_equal(rates.small_steps, [False, True])


def test_impossible_settings_are_answered_in_a_sentence() -> None:
    with pytest.raises(SettingsError) as caught:
        fine_tuning_rates(0.4, 1, 2)
    assert str(caught.value) == "r0 = 0.4 is out of range; r0 must be between 0.5 and 1"
    with pytest.raises(SettingsError) as caught:
        fine_tuning_rates(0.5, 1, 2, zeta=1)
    assert str(caught.value) == "zeta = 1 is out of range; zeta must be at least 0 and below 1"
