"""Learners on linear pairs: older closed forms, dense slow paths on drawn data, gradient descent, refusals."""

import math

import numpy as np
import pytest
from scipy import optimize

from transferscope.errors import SettingsError
from transferscope_papers.problems import Covariance, isotropic, power_law_covariance, teachers_apart
from transferscope_papers.theory.fine_tuning import fine_tuning_average, fine_tuning_finite
from transferscope_papers.theory.gaussian_regression import GaussianRegression
from transferscope_papers.theory.learners import FineTuning, Learner, LinearTransfer, Scratch, sweep
from transferscope_papers.theory.linear_pair import LinearPair
from transferscope_papers.theory.linear_scratch import scratch_risk_finite, scratch_risk_ridged
from transferscope_papers.theory.linear_transfer import linear_transfer_risk
from transferscope_papers.theory.ridge import optimal_ridge, ridge_risk

SIZES = np.array([3, 12, 24, 25, 26, 60])
ISOTROPIC = LinearPair.at_angle(25, 0.7, sigma=0.4, source_norm=2.0, target_norm=1.5)


def turned(eigenvalues: np.ndarray, seed: int) -> Covariance:
    d = len(eigenvalues)
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d))).Q
    return Covariance(np.sort(eigenvalues)[::-1].copy(), basis)


def dense(covariance: Covariance) -> np.ndarray:
    basis = np.eye(covariance.d) if covariance.eigenvectors is None else covariance.eigenvectors
    return np.asarray(basis @ np.diag(covariance.eigenvalues) @ basis.T)


def several(d: int, r: int, k: int, *, seed: int, sigma: float = 0.4) -> LinearPair:
    generator = np.random.default_rng(seed)
    source, target = generator.standard_normal((d, r)), generator.standard_normal((d, k)) / math.sqrt(d)
    return LinearPair(source, target, np.full(k, sigma), turned(generator.gamma(2.0, 0.5, d), seed))


def test_for_equal_variances_the_older_closed_forms_come_out() -> None:
    norms = {"source_norm": 2.0, "target_norm": 1.5}
    scratch = scratch_risk_finite(SIZES, 25, sigma=0.4, target_norm=1.5)
    np.testing.assert_allclose(Scratch().risk(ISOTROPIC, SIZES), scratch, rtol=1e-9)
    transfer = linear_transfer_risk(0.7, SIZES, sigma=0.4, target_norm=1.5)
    np.testing.assert_allclose(LinearTransfer(depth=3).risk(ISOTROPIC, SIZES), transfer, rtol=1e-9)
    ridged = ridge_risk(0.3, 0.7, SIZES, sigma=0.4, depth=3, **norms)
    np.testing.assert_allclose(LinearTransfer(ridge=0.3, depth=3).risk(ISOTROPIC, SIZES), ridged, rtol=1e-9)
    tuned = fine_tuning_finite(0.7, SIZES, 25, sigma=0.4, depth=1, **norms).risk
    np.testing.assert_allclose(FineTuning().risk(ISOTROPIC, SIZES), tuned, rtol=1e-9)
    assert all(
        learner.is_exact(ISOTROPIC, SIZES).all() for learner in (Scratch(), LinearTransfer(ridge=0.1), FineTuning())
    )
    best = scratch_risk_ridged(SIZES, 25, sigma=0.4, target_norm=1.5)
    np.testing.assert_allclose(Scratch(ridge="best").risk(ISOTROPIC, SIZES), best, rtol=1e-9)
    found = LinearTransfer(ridge="best", depth=3).ridge_for(ISOTROPIC, SIZES)
    np.testing.assert_allclose(found, optimal_ridge(0.7, SIZES, sigma=0.4, depth=3, **norms), rtol=1e-9)


@pytest.mark.parametrize("learner", [Scratch, LinearTransfer, FineTuning])
def test_settings_go_by_name_because_a_depth_is_no_ridge(learner: type) -> None:
    with pytest.raises(TypeError, match="positional argument"):
        learner(3)


def test_deep_fine_tuning_is_that_of_standard_inputs_whatever_their_common_variance() -> None:
    pair = LinearPair(ISOTROPIC.source, ISOTROPIC.target, 0.4, Covariance(np.full(25, 4.0)))
    truth = fine_tuning_average(0.7, 12, 25, sigma=0.2, source_norm=2.0, target_norm=1.5, depth=3, draws=500).risk.value
    assert float(FineTuning(depth=3, draws=500).risk(pair, 12)) == pytest.approx(4 * truth, rel=1e-9)


def test_linear_transfer_sees_the_angle_between_the_functions() -> None:
    pair = LinearPair.at_angle(8, 1.1, sigma=0.3, covariance=turned(np.geomspace(0.1, 3, 8), 1), target_norm=2.0)
    sigma = dense(pair.inputs)
    sizes = [math.sqrt(v @ sigma @ v) for v in (pair.source, pair.target)]
    assert math.cos(pair.theta) == pytest.approx(pair.source @ sigma @ pair.target / math.prod(sizes))
    truth = linear_transfer_risk(pair.theta, 9, sigma=0.3, target_norm=sizes[1])
    assert float(LinearTransfer().risk(pair, 9)) == pytest.approx(float(truth))
    opposed = LinearPair(pair.source, -pair.target, 0.3, pair.covariance)
    assert opposed.theta == pytest.approx(math.pi - pair.theta)
    assert float(LinearTransfer().risk(opposed, 9)) == pytest.approx(float(truth))


def test_several_outputs_cost_the_trace_of_what_the_features_leave() -> None:
    pair, n = several(9, 3, 2, seed=2), 11
    sigma = dense(pair.inputs)
    cross = pair.source.T @ sigma @ pair.target
    left = pair.target.T @ sigma @ pair.target - cross.T @ np.linalg.inv(pair.source.T @ sigma @ pair.source) @ cross
    truth = np.trace(left) + (np.trace(left) + 2 * 0.4**2) * 3 / (n - 3 - 1)
    assert float(LinearTransfer(depth=4).risk(pair, n)) == pytest.approx(truth)
    assert np.isinf(LinearTransfer().risk(pair, np.array([2, 3, 4]))).all()
    columns = [LinearPair(pair.source, pair.target[:, i], 0.4, pair.covariance) for i in range(2)]
    total = sum(float(Scratch(ridge=0.2).risk(column, n)) for column in columns)
    assert float(Scratch(ridge=0.2).risk(pair, n)) == pytest.approx(total)


@pytest.mark.parametrize(
    ("name", "learner"),
    [
        ("scratch", Scratch()),
        ("scratch, ridge", Scratch(ridge=0.15)),
        ("transfer, ridge", LinearTransfer(ridge=0.15, depth=3)),
        ("transfer, best", LinearTransfer(ridge="best")),
        ("fine-tuning", FineTuning()),
        ("fine-tuning, best", FineTuning(ridge="best")),
    ],
)
def test_theory_agrees_with_drawn_examples_for_unequal_variances(name: str, learner: Learner) -> None:
    """At d = 70 the limit is off by less than the error of 40 draws."""
    one = LinearPair.at_angle(
        70, 0.9, sigma=0.5, covariance=turned(np.geomspace(0.05, 4, 70), 3), generator=np.random.default_rng(4)
    )
    found = sweep({"one": one, "two": several(70, 2, 2, seed=5)}, {name: learner}, [20, 45, 110], draws=40, seed=6)
    assert (found["z"].abs() < 3.5).all(), found
    assert (found["simulation"] / found["theory"] - 1).abs().max() < 0.15


def test_fits_are_those_of_the_normal_equations() -> None:
    pair = several(6, 2, 2, seed=7)
    sample = pair.sample(15, np.random.default_rng(8))
    x, y, eye = sample.inputs, sample.targets, np.eye(6)

    def ridge(inputs: np.ndarray, targets: np.ndarray, lam: float) -> np.ndarray:
        k = inputs.shape[1]
        return np.asarray(np.linalg.inv(inputs.T @ inputs / 15 + lam * np.eye(k)) @ inputs.T @ targets / 15)

    np.testing.assert_allclose(Scratch(ridge=0.3).fit(x, y, pair), ridge(x, y, 0.3))
    np.testing.assert_allclose(Scratch().fit(x, y, pair), ridge(x, y, 0.0))
    left, sizes, _ = np.linalg.svd(pair.source, full_matrices=False)
    features = left @ np.diag(sizes ** (2 / 3))
    np.testing.assert_allclose(
        LinearTransfer(ridge=0.3, depth=3).fit(x, y, pair), features @ ridge(x @ features, y, 0.3)
    )
    pulled = pair.source + ridge(x, y - x @ pair.source, 0.3)
    np.testing.assert_allclose(FineTuning(ridge=0.3).fit(x, y, pair), pulled)
    few = slice(0, 4)
    kept = eye - np.linalg.pinv(x[few]) @ x[few]
    np.testing.assert_allclose(
        FineTuning().fit(x[few], y[few], pair), np.linalg.pinv(x[few]) @ y[few] + kept @ pair.source, atol=1e-12
    )


@pytest.mark.parametrize("n", [10.0, 30.0, 80.0])
def test_the_best_ridge_is_that_of_a_search_over_ridges(n: float) -> None:
    generator = np.random.default_rng(9)
    regression = GaussianRegression(np.geomspace(3, 0.01, 30), generator.uniform(0, 1, 30), noise=0.8)
    least = optimize.minimize_scalar(
        lambda x: float(regression.risk(n, math.exp(x))), bounds=(-12, 6), method="bounded", options={"xatol": 1e-6}
    )
    best = float(regression.best_ridge(n))
    assert float(regression.risk(n, best)) == pytest.approx(least.fun, rel=1e-7)
    assert best == pytest.approx(math.exp(least.x), rel=1e-2)


def test_without_noise_or_without_signal_the_best_ridge_is_at_an_end() -> None:
    eigenvalues, ones = np.geomspace(2, 0.1, 10), np.ones(10)
    assert float(GaussianRegression(eigenvalues, ones).best_ridge(20)) == 0
    assert math.isinf(float(GaussianRegression(eigenvalues, 0 * ones, noise=1.0).best_ridge(20)))
    orthogonal = LinearPair(np.eye(4)[0], np.eye(4)[1], 0.2)
    assert math.isinf(float(LinearTransfer(ridge="best").ridge_for(orthogonal, 6)))
    assert float(LinearTransfer(ridge="best").risk(orthogonal, 6)) == pytest.approx(1.0)
    sample = orthogonal.sample(6, np.random.default_rng(0))
    np.testing.assert_array_equal(
        LinearTransfer(ridge="best").fit(sample.inputs, sample.targets, orthogonal), np.zeros(4)
    )


def test_directions_without_variance_count_neither_as_inputs_nor_as_risk() -> None:
    full = LinearPair(np.array([1.0, 2, 1, 5]), np.array([1.0, 0, 2, 7]), 0.3, Covariance(np.array([2.0, 1, 1, 0])))
    part = LinearPair(full.source[:3], full.target[:3], 0.3, Covariance(full.inputs.eigenvalues[:3]))
    for learner in (Scratch(ridge=0.2), FineTuning(), Scratch()):
        np.testing.assert_allclose(learner.risk(full, SIZES), learner.risk(part, SIZES))


@pytest.mark.parametrize("r", [1, 2])
def test_gradient_descent_from_a_small_start_leaves_the_features_of_the_theory_for_any_covariance(r: int) -> None:
    """Three layers of full width on the population loss (1/2) tr (W1 W2 W3 - Theta)' Sigma (W1 W2 W3 - Theta)."""
    generator = np.random.default_rng(10)
    sigma = dense(turned(np.array([2.0, 1.2, 0.7, 0.4]), 11))
    source = np.linalg.qr(generator.standard_normal((4, r))).Q * np.array([1.5, 1.0])[:r]
    one, two, three = (1e-2 * generator.standard_normal(shape) for shape in ((4, 4), (4, 4), (4, r)))
    for _ in range(6000):
        slope = sigma @ (one @ two @ three - source)
        steps = slope @ three.T @ two.T, one.T @ slope @ three.T, two.T @ one.T @ slope
        one, two, three = (layer - 0.05 * step for layer, step in zip((one, two, three), steps, strict=True))
    np.testing.assert_allclose(one @ two @ three, source, atol=1e-5)
    features = LinearTransfer(depth=3).features(LinearPair(source, source, 0.0, turned(np.ones(4), 11)))
    np.testing.assert_allclose(one @ two @ two.T @ one.T, features @ features.T, atol=5e-3)


def test_a_sweep_has_a_row_for_everything() -> None:
    problem = teachers_apart(np.array([0.0, 0.5, 0]), source=np.eye(3)[0], covariance=isotropic(3), sigma=0.1)
    pair = LinearPair.of(problem)
    assert pair.theta == pytest.approx(problem.theta)
    learners: dict[str, Learner] = {"scratch": Scratch(), "transfer": LinearTransfer()}
    found = sweep({"p": pair}, learners, [3, 9], draws=5)
    assert found[["pair", "learner", "n"]].to_numpy().tolist() == [["p", name, n] for name in learners for n in (3, 9)]
    assert math.isinf(found["theory"][0])
    assert math.isnan(found["z"][0])
    assert found["draws"].tolist() == [5] * 4
    fits = [
        Scratch().fit(s.inputs, s.targets, pair)
        for s in (pair.sample(9, np.random.default_rng([0, 0, 9, k])) for k in range(5))
    ]
    risks = [float(np.sum((fit - pair.target) ** 2)) for fit in fits]
    assert found["simulation"][1] == pytest.approx(np.mean(risks))
    assert found["stderr"][1] == pytest.approx(np.std(risks, ddof=1) / math.sqrt(5))
    alone = sweep({"p": pair}, learners, [9], draws=0)
    assert alone["simulation"].isna().all()
    power = LinearPair(pair.source, pair.target, 0.1, power_law_covariance(3, exponent=1.0))
    deep = sweep({"p": power}, {"deep": FineTuning(depth=3)}, [2], draws=3, theory=False)
    assert deep["theory"].isna().all()
    assert deep["simulation"].notna().all()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: LinearPair(np.ones(3), np.ones(4)),
            "the source has the shape (3,) and the target (4,); expected (d,) or (d, outputs) with the same d",
        ),
        (
            lambda: LinearPair(np.ones(3), np.ones((3, 2)), np.ones(3)),
            "sigma has the shape (3,); expected one number, or one for each of the 2 outputs of the target",
        ),
        (lambda: LinearPair(np.ones(3), np.ones(3), -0.1), "sigma = -0.1 is out of range; sigma must be at least 0"),
        (lambda: Scratch(ridge="least"), "ridge = 'least' was given; expected a number of at least 0, or 'best'"),
        (
            lambda: FineTuning(depth=2, ridge=0.1),
            "a ridge of 0.1 was asked for with depth = 2; what a pull towards the source comes to is derived for one "
            "layer, so leave the ridge out or give depth=1",
        ),
        (
            lambda: FineTuning(depth=2).risk(several(5, 1, 1, seed=0), 3),
            "the risk of fine-tuning with depth = 2 is derived for one output and inputs of equal variance; give "
            "depth=1, or fit drawn examples (`fit`, or `sweep` with theory=False)",
        ),
        (
            lambda: FineTuning().risk(several(5, 3, 2, seed=0), 3),
            "the source has 3 outputs and the target 2; fine-tuning goes on with the source's head, so give both the "
            "same number, or use LinearTransfer",
        ),
        (
            lambda: LinearTransfer().risk(LinearPair(np.zeros(3), np.ones(3)), 4),
            "the source is 0, so that pre-training leaves no features; give it a teacher",
        ),
        (lambda: Scratch().risk(ISOTROPIC, 0), "n = 0 is out of range; n must be above 0"),
        (lambda: LinearTransfer().risk(ISOTROPIC, math.inf), "n = inf is out of range; n must be finite"),
        (lambda: FineTuning(depth=2).risk(ISOTROPIC, 5.5), "n = 5.5 is out of range; n must be a whole number"),
        (lambda: FineTuning(depth=2).risk(ISOTROPIC, math.inf), "n = inf is out of range; n must be a whole number"),
        (
            lambda: sweep({"p": ISOTROPIC}, {"s": Scratch()}, [5], draws=1),
            "draws = 1 were asked for; a standard error takes at least 2, and 0 is theory alone",
        ),
    ],
)
def test_what_is_not_derived_is_refused_in_a_sentence(ask: object, message: str) -> None:
    assert callable(ask)
    with pytest.raises(SettingsError) as error:
        ask()
    assert str(error.value) == message
