"""Fine-tuning: golden values, the scalar equation against Brent's method, solutions on given examples, averages."""

import math

import numpy as np
import pytest
from scipy import optimize

from transferscope_papers.problems import isotropic, teachers_at_angle, two_level
from transferscope_papers.theory.fine_tuning import (
    balanced_root,
    fine_tuned_weights,
    fine_tuning,
    fine_tuning_average,
    fine_tuning_finite,
    printed_transferability,
)
from transferscope_papers.theory.linear_scratch import scratch_risk, scratch_risk_finite

GOLDEN = [
    (0.5, 1, 1, math.pi / 4, 0.5, 1, 1.0000000000, 0.5428932188, 0.2071067812),
    (0.5, 1, 1, math.pi / 4, 0.5, 2, 1.0730274083, 0.5669489527, 0.1830510473),
    (0.5, 1, 1, math.pi / 4, 0.5, 3, 1.1093882927, 0.5809152072, 0.1690847928),
    (0.5, 2, 1, math.pi / 4, 0.5, 3, 0.7959544372, 0.8914373722, -0.1414373722),
    (0.3, 2, 1, math.pi / 3, 0.5, 5, 0.7643019293, 1.3727609858, -0.5656181287),
    (0.5, 1, 1, math.pi / 4, 0.5, math.inf, 1.2247448714, 0.6339745962, 0.1160254038),
]


@pytest.mark.parametrize(("gamma", "s", "tau", "theta", "sigma", "depth", "kappa", "risk", "gain"), GOLDEN)
def test_the_limit_has_its_golden_values(
    gamma: float, s: float, tau: float, theta: float, sigma: float, depth: float, kappa: float, risk: float, gain: float
) -> None:
    result = fine_tuning(theta, gamma, sigma=sigma, source_norm=s, target_norm=tau, depth=depth)
    assert float(result.kappa) == pytest.approx(kappa, abs=1e-10)
    assert float(result.risk) == pytest.approx(risk, abs=1e-10)
    assert float(result.transferability) == pytest.approx(gain, abs=1e-10)


def unseen(inputs: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """P_perp v, by the pseudo-inverse."""
    return np.asarray(vector - np.linalg.pinv(inputs) @ inputs @ vector)


X = np.array([[1.0, 0, 0, 0], [0, 1, 1, 0]])
Y = np.array([2.0, 1.0])
SOURCE = np.array([1.0, 2, 0, 2])


@pytest.mark.parametrize(
    ("depth", "kappa", "weights"),
    [
        (1, 1, [2, 1.5, -0.5, 2]),
        (2, 1.0559684149, [2, 1.5559684149, -0.5559684149, 2.1119368298]),
        (3, 1.0885942577, [2, 1.5885942577, -0.5885942577, 2.1771885155]),
        (4, 1.1103107500, [2, 1.6103107500, -0.6103107500, 2.2206215000]),
        (math.inf, 1.2247448714, [2, 1.7247448714, -0.7247448714, 2.4494897428]),
    ],
)
def test_given_examples_have_their_golden_solutions(depth: float, kappa: float, weights: list[float]) -> None:
    result = fine_tuned_weights(X, Y, SOURCE, depth=depth)
    assert result.kappa == pytest.approx(kappa, abs=1e-10)
    np.testing.assert_allclose(result.weights, weights, atol=1e-10)
    np.testing.assert_allclose(X @ result.weights, Y, atol=1e-12)


@pytest.mark.parametrize("depth", [1, 2, 3, 7.5, 40, 1000])
def test_the_scalar_equation_is_solved(depth: float) -> None:
    for a in (0.0, 1e-12, 0.3, 1.0, 4e5):
        for b in (0.0, 1e-9, 0.5, 0.999, 3.0):
            if a == b == 0:
                continue
            t = float(balanced_root(np.asarray(a), np.asarray(b), np.asarray(float(depth))))
            low, high = max(b, a ** (1 / depth)), b + a ** (1 / depth)
            assert low * (1 - 1e-14) <= t <= high * (1 + 1e-14)
            if a > 0 and b > 0:
                root = optimize.brentq(
                    lambda w, a=a, b=b: (depth - 1) * np.logaddexp(math.log(b), w) + w - math.log(a),
                    -1e5,
                    math.log(a) / depth + 1e-9,
                    xtol=1e-13,
                )
                assert t == pytest.approx(b + math.exp(root), rel=1e-12)


def test_with_as_many_examples_as_inputs_the_source_is_forgotten() -> None:
    generator = np.random.default_rng(1)
    inputs, targets = generator.standard_normal((20, 5)), generator.standard_normal(20)
    for depth in (1, 2, math.inf):
        weights = fine_tuned_weights(inputs, targets, np.ones(5), depth=depth).weights
        np.testing.assert_allclose(weights, np.linalg.lstsq(inputs, targets, rcond=None)[0], atol=1e-10)


@pytest.mark.parametrize(("depth", "source_norm"), [(1, 1.3), (2, 1.0), (3, 0.6), (math.inf, 2.0)])
def test_the_finite_size_formula_is_the_mean_over_examples(depth: float, source_norm: float) -> None:
    generator = np.random.default_rng(3)
    pair = teachers_at_angle(200, theta=0.8, source_norm=source_norm, sigma=0.6, generator=generator)
    risks, kappas = np.empty(40), np.empty(40)
    for i in range(40):
        sample = pair.sample(80, generator)
        result = fine_tuned_weights(sample.inputs, sample.targets, pair.source.weights, depth=depth)
        risks[i], kappas[i] = pair.target.risk(result.weights), result.kappa
    formula = fine_tuning_finite(0.8, 80, 200, sigma=0.6, source_norm=source_norm, depth=depth)
    assert abs(risks.mean() - float(formula.risk)) < 4 * risks.std() / math.sqrt(40)
    assert kappas.mean() == pytest.approx(float(formula.kappa), rel=0.03)


def test_one_layer_with_equal_norms_is_what_the_paper_prints() -> None:
    theta, gamma = np.linspace(0, math.pi, 9)[:, None], np.array([0.1, 0.6, 1.0, 1.7])
    ours = fine_tuning(theta, gamma, sigma=0.4, depth=1).transferability
    np.testing.assert_allclose(ours, printed_transferability(theta, gamma), atol=1e-14)


def test_critical_angles_have_their_golden_values() -> None:
    gamma, depth = np.array([0.2, 0.5, 0.8]), np.array([[2], [3], [math.inf]])
    half = [[59.18, 57.55, 53.05], [58.61, 56.31, 49.95], [55.05, 52.24, 41.41]]
    one = [[57.09, 52.24, 40.79], [55.11, 48.01, 28.58], [41.41, 30.00, 0.00]]
    for sigma, angles in ((0.5, half), (1.0, one)):
        for shift in (-0.006, 0.006):  # degrees; at 0 no angle helps
            theta = np.radians(np.maximum(np.array(angles) + shift, 0.003))
            gain = fine_tuning(theta, gamma, sigma=sigma, depth=depth).transferability
            np.testing.assert_array_equal(gain > 0, (shift < 0) & (np.array(angles) > 0))


def test_risk_is_scratch_less_transferability_and_transfer_ends_at_one() -> None:
    gamma = np.array([0.0, 0.4, 1.0, 1.5])
    result = fine_tuning(1.0, gamma, sigma=0.5, depth=3)
    np.testing.assert_array_equal(result.transferability[2:], [0, 0])
    assert result.risk[2] == math.inf
    np.testing.assert_allclose(
        (result.risk + result.transferability)[[0, 1, 3]], scratch_risk(gamma, sigma=0.5)[[0, 1, 3]]
    )
    finite = fine_tuning_finite(1.0, np.array([9, 30]), 10, sigma=0.5, depth=3)
    assert finite.risk[0] == math.inf
    assert finite.risk[1] == pytest.approx(scratch_risk_finite(30, 10, sigma=0.5).item())


def test_without_data_nothing_changes() -> None:
    result = fine_tuning(0.4, 0.0, sigma=0.5, source_norm=1.5, depth=np.array([1, 2, 5, math.inf]))
    np.testing.assert_allclose(result.kappa, 1)
    np.testing.assert_allclose(result.risk, 1 + 1.5**2 - 2 * 1.5 * math.cos(0.4))


def test_the_risk_of_one_layer_on_given_inputs() -> None:
    generator = np.random.default_rng(4)
    covariance = two_level(40, n_top=4)
    pair = teachers_at_angle(40, theta=0.9, source_norm=0.7, covariance=covariance, generator=generator)
    sample = pair.sample(15, generator)
    weights = fine_tuned_weights(sample.inputs, sample.targets, pair.source.weights, depth=1).weights
    formula = covariance.squared_norm(unseen(sample.inputs, pair.target.weights - pair.source.weights))  # eq. 2
    assert float(formula) == pytest.approx(float(pair.target.risk(weights)), abs=1e-13)


@pytest.mark.parametrize("scale", [0.25, 3.0])
def test_a_rescaled_target_is_solved_by_depth_alone(scale: float) -> None:
    generator = np.random.default_rng(5)
    source, covariance = generator.standard_normal(20), isotropic(20)
    inputs = covariance.sample(4, generator)
    deep = fine_tuned_weights(inputs, inputs @ (scale * source), source, depth=math.inf).weights
    np.testing.assert_allclose(deep, scale * source, atol=1e-10)
    plain = fine_tuned_weights(inputs, inputs @ (scale * source), source, depth=1).weights
    left = (scale - 1) * unseen(inputs, source)  # eq. 8
    assert float(np.sum((plain - scale * source) ** 2)) == pytest.approx(float(left @ left))


def test_the_leading_terms_of_theorem_5_4_are_the_noiseless_limits() -> None:
    """(1 - gamma) ||theta_T - theta_S||^2 of one layer, of endless ones with the source at the norm of the target."""
    theta, gamma = np.linspace(0, math.pi, 5)[:, None], np.array([0.1, 0.5, 0.9])
    for depth, reached in ((1, 1.4), (math.inf, 0.8)):
        limit = fine_tuning(theta, gamma, sigma=0, source_norm=1.4, target_norm=0.8, depth=depth)
        apart = reached**2 + 0.8**2 - 2 * reached * 0.8 * np.cos(theta)
        np.testing.assert_allclose(limit.risk, (1 - gamma) * apart, atol=1e-14)


def test_repeated_inputs_do_not_disturb_the_projection() -> None:
    inputs = np.array([[1.0, 2, 0], [1.0, 2, 0]])
    tuned = fine_tuned_weights(inputs, np.zeros(2), np.array([1.0, 2, 3]), depth=1)
    np.testing.assert_allclose(tuned.weights, [0, 0, 3], atol=1e-14)


@pytest.mark.long
@pytest.mark.parametrize(
    ("d", "n", "theta", "sigma", "s", "tau", "depth"),
    [(20, 4, 1.0, 0.5, 0.5, 1.0, 3), (30, 10, 0.1, 0.0, 1.0, 3.5, 7), (12, 1, 2.0, 0.3, 1.0, 1.0, 2)],
)
def test_the_average_is_that_of_the_theorem_on_drawn_examples(
    d: int, n: int, theta: float, sigma: float, s: float, tau: float, depth: float
) -> None:
    generator = np.random.default_rng(5)
    pair = teachers_at_angle(d, theta=theta, sigma=sigma, source_norm=s, target_norm=tau)
    risks, gains, kappas = [], [], []
    for _ in range(1500):
        sample = pair.sample(n, generator)
        tuned = fine_tuned_weights(sample.inputs, sample.targets, pair.source.weights, depth=depth)
        scratch = np.linalg.lstsq(sample.inputs, sample.targets, rcond=None)[0]
        risks.append(float(pair.target.risk(tuned.weights)))
        gains.append(float(pair.target.risk(scratch)) - risks[-1])
        kappas.append(tuned.kappa)
    average = fine_tuning_average(theta, n, d, sigma=sigma, source_norm=s, target_norm=tau, depth=depth)
    for drawn, found in ((risks, average.risk), (gains, average.transferability), (kappas, average.kappa)):
        assert found.stderr is not None
        error = math.hypot(float(np.std(drawn)) / math.sqrt(len(drawn)), found.stderr)
        assert abs(float(np.mean(drawn)) - found.value) < 4 * error


def test_the_average_of_one_layer_is_the_exact_formula() -> None:
    average = fine_tuning_average(0.8, 7, 25, sigma=0.4, source_norm=2.0, depth=1)
    exact = fine_tuning_finite(0.8, 7, 25, sigma=0.4, source_norm=2.0, depth=1)
    assert average.risk.stderr is not None
    assert average.transferability.stderr is not None
    assert average.kappa.value == 1.0
    assert abs(average.risk.value - float(exact.risk)) < 4 * average.risk.stderr
    assert abs(average.transferability.value - float(exact.transferability)) < 4 * average.transferability.stderr


@pytest.mark.parametrize("depth", [2, 3, math.inf])
def test_the_average_over_large_problems_reaches_the_limit(depth: float) -> None:
    average = fine_tuning_average(math.pi / 4, 20_000, 40_000, sigma=0.5, depth=depth, draws=4000)
    limit = fine_tuning(math.pi / 4, 0.5, sigma=0.5, depth=depth)
    assert abs(average.kappa.value - float(limit.kappa)) < 1e-3
    assert abs(average.risk.value - float(limit.risk)) < 2e-3


def test_on_average_nothing_of_the_source_is_left_with_enough_examples() -> None:
    average = fine_tuning_average(1.0, 30, 20, sigma=0.5, depth=3)
    assert average.transferability.value == 0.0
    assert average.risk.value == pytest.approx(0.25 * 20 / 9)
    assert fine_tuning_average(1.0, 20, 20, sigma=0.5).risk.status == "unbounded"
    assert fine_tuning_average(1.0, 19, 20, sigma=0.5).risk.status == "unbounded"
    assert fine_tuning_average(1.0, 19, 20, sigma=0.0).risk.status == "ok"


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 20])
def test_infinitely_many_layers_have_no_mean_below_three_examples(n: int) -> None:
    """Orthogonal teachers without noise: kappa^2 = tau^2 M_22 / (s^2 M_11), and by symmetry E[M_22 | M_11 = m] is
    (n - m) / (d - 1), so that with M_11 ~ beta(n/2, (d-n)/2) the mean of the transferability is

        -tau^2 / (d - 1) (n (d - 2) / (n - 2) - n - 1 + n / d).
    """
    d, tau = 40, 1.5
    average = fine_tuning_average(math.pi / 2, n, d, sigma=0.0, source_norm=0.7, target_norm=tau, depth=math.inf)
    found = average.transferability
    if n <= 2:
        assert (found.value, found.status) == (-math.inf, "unbounded")
        assert (average.risk.value, average.risk.status) == (math.inf, "unbounded")
        assert average.kappa.status == ("unbounded" if n == 1 else "ok")
        return
    assert found.status == "ok"
    assert (found.stderr is None) == (n <= 4)  # no variance
    if found.stderr is not None:
        exact = -(tau**2) / (d - 1) * (n * (d - 2) / (n - 2) - n - 1 + n / d)
        assert abs(found.value - exact) < 4 * found.stderr
        assert found.value == pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize("depth", [1, 2, 3, math.inf])
@pytest.mark.parametrize("left", [1, 2, 3, 4, 6])
def test_moments_exist_as_the_tail_of_the_noise_lets_them(depth: float, left: int) -> None:
    """1 / chi^2_k has the moments below k/2, with k = d - n + 1 = left + 1; kappa^2 goes as its power (L - 1)/L."""
    average = fine_tuning_average(1.0, 14 - left, 14, sigma=0.5, depth=depth)
    power = 1 - 1 / depth

    def has(moment: float) -> bool:
        return moment < (left + 1) / 2

    assert (average.risk.status == "ok") == (has(1) and has(power))
    assert (average.transferability.status == "ok") == has(power)
    assert (average.risk.stderr is not None) == (has(2) and has(2 * power))
    assert (average.transferability.stderr is not None) == has(2 * power)
    assert average.kappa.stderr is not None or not has(power)


def test_averages_of_parallel_teachers_without_noise_are_finite_at_any_depth() -> None:
    for theta in (0.0, math.pi):
        average = fine_tuning_average(theta, 1, 10, sigma=0.0, target_norm=2.0, depth=math.inf)
        assert average.kappa.value == pytest.approx(2.0)
        assert average.risk.status == "ok"
