"""Table 1 of mikami2021: golden exponents, and the rule against a numerical minimisation of the dominant terms."""

import math

import numpy as np
import pytest

from transferscope_papers.problems import power_law_transfer
from transferscope_papers.problems.power_law import PowerLawTarget, PowerLawTransfer
from transferscope_papers.theory.rates import fine_tuning_bound, fine_tuning_rates

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


def test_the_full_bound_has_its_terms_by_hand() -> None:
    pair = power_law_transfer(3, r0=0.5, r1=1.0, xi=2.0)
    found = fine_tuning_bound(
        pair, 9, r0=0.5, r1=1.0, ridge=0.25, rate=0.01, source_error=0.1, constants=(1, 2, 3, 4, 5)
    )
    gamma, a = np.array([1, 1 / 4, 1 / 9]), np.array([1, 2**-1.5, 3**-1.5]) / math.sqrt(1 + 1 / 8 + 1 / 27)
    b = pair.target.coefficients - a
    np.testing.assert_allclose(pair.source.coefficients, a)
    smooth = np.sum(a**2 / gamma)
    assert float(found.source_bias) == pytest.approx(0.25 * smooth)
    assert float(found.added_bias) == pytest.approx(2 * 0.25**2 * np.sum(b**2 / gamma**2))
    rkhs = np.sum(b**2 / gamma)
    assert float(found.initial) == pytest.approx(0.3 * (0.1 * (1 + smooth) / 0.25 + smooth + rkhs))
    step = 4 / 0.1**2 * (0.1 * (1 + smooth) / 0.25**2 + 4 * smooth + rkhs / 0.25)
    assert float(found.step) == pytest.approx(step)
    norm = np.sum((a + b) ** 2 / gamma)
    assert float(found.variance) == pytest.approx(0.5 * (1 + 25 * norm) * np.sum(gamma / (gamma + 0.25)))
    parts = (found.source_bias, found.added_bias, found.initial, found.step, found.variance)
    assert float(found.total) == pytest.approx(float(sum(parts)))


@pytest.mark.parametrize("r0", [0.5, 0.75, 1.0])
@pytest.mark.parametrize("ridge", [1e-4, 0.01, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_the_terms_of_the_source_bound_what_the_ridge_leaves_of_it(r0: float, ridge: float, seed: int) -> None:
    """Eq. 46 and 47 bound the norms of (Sigma + lambda)^-1/2 and (Sigma + lambda)^-1 of phi_0 less its ridge solution.

    The first source is a single eigenfunction with gamma = 0.01: with lambda = 0.01 the first norm is 12.5 for a term
    that is printed as 0.01 at r0 = 1.
    """
    coefficients = np.random.default_rng(seed).standard_normal(40) if seed else np.eye(40)[9]
    one = PowerLawTarget(xi=2.0, coefficients=coefficients)
    pair = PowerLawTransfer(source=one, target=one)
    found = fine_tuning_bound(pair, 1, r0=r0, r1=1.0, ridge=ridge, rate=0.01, source_error=0.0)
    left = ridge * coefficients / (one.eigenvalues + ridge)
    assert float(found.initial) * 2 >= np.sum(left**2 / (one.eigenvalues + ridge))
    assert float(found.step) * (2 * 0.01) ** 2 >= np.sum(left**2 / (one.eigenvalues + ridge) ** 2)


def test_with_the_regularisation_of_table_1_the_bound_falls_at_its_rate() -> None:
    """The two biases have exactly the rate of the table, and no other term is slower in the limit."""
    pair = power_law_transfer(3000, r0=0.75, r1=0.75, xi=2.0)
    rates = fine_tuning_rates(0.75, 0.75, 2.0)
    n = np.array([1e5, 1e6])
    found = fine_tuning_bound(pair, n, r0=0.75, r1=0.75, ridge=n ** -float(rates.ridge), rate=0.04, source_error=0.0)
    for bias in (found.source_bias, found.added_bias):
        assert -np.diff(np.log10(bias))[0] == pytest.approx(float(rates.beta))
    for term in (found.initial, found.step, found.variance):
        assert -np.diff(np.log10(term))[0] > float(rates.beta)
