"""Table 1 of mikami2021: golden exponents, and the rule against a numerical minimisation of the dominant terms."""

import numpy as np
import pytest

from transferscope_papers.theory.rates import fine_tuning_rates

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


@pytest.mark.parametrize("r0", [0.5, 0.75, 1.0])
@pytest.mark.parametrize("ridge", [1e-4, 0.01, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_the_corrected_terms_of_theorem_2_bound_what_the_ridge_leaves_of_the_source(
    r0: float, ridge: float, seed: int
) -> None:
    """Eq. 46 and 47: the norms of (Sigma + lambda)^-1/2 and (Sigma + lambda)^-1 of phi_0 less its ridge solution.

    The first source is a single eigenfunction with gamma = 0.01: with lambda = 0.01 the first norm is 12.5 for a term
    that is printed as 0.01 at r0 = 1.
    """
    phi = np.random.default_rng(seed).standard_normal(40) if seed else np.eye(40)[9]
    gamma = np.arange(1, 41) ** -2.0
    smooth, left = np.sum(phi**2 / gamma ** (2 * r0)), ridge * phi / (gamma + ridge)
    for power in (1, 2):
        assert ridge ** (2 * r0 - power) * smooth >= np.sum(left**2 / (gamma + ridge) ** power)
