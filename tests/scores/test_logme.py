from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from transferscope.scores import LogME, TargetView
from transferscope.scores.logme import log_evidence
from transferscope.testing.scores import classes_view, regression_view

RNG = np.random.default_rng(0)
SHAPES = {
    "n > d": RNG.standard_normal((40, 6)) + 1,
    "n < d": RNG.standard_normal((25, 60)),
    "n = d": RNG.standard_normal((20, 20)),
    "rank below both": RNG.standard_normal((30, 4)) @ RNG.standard_normal((4, 50)),
    "dead features": np.hstack([RNG.standard_normal((30, 5)), np.zeros((30, 40))]),
    "repeated features": np.repeat(RNG.standard_normal((30, 3)), 4, axis=1),
    "scales apart": RNG.standard_normal((40, 6)) * 10.0 ** np.arange(-3, 3),
}


def dense(features: np.ndarray, y: np.ndarray, alpha: float, beta: float) -> float:
    """log N(y; 0, I / beta + F F' / alpha) with the n x n covariance written out."""
    covariance = np.eye(len(y)) / beta + features @ features.T / alpha
    mahalanobis = y @ np.linalg.solve(covariance, y)
    return -float(mahalanobis + np.linalg.slogdet(covariance)[1] + len(y) * np.log(2 * np.pi)) / 2


def highest(features: np.ndarray, y: np.ndarray) -> float:
    """Largest dense evidence that Nelder-Mead finds from many starts."""
    scale = (features**2).sum() / len(features)

    def fall(x: np.ndarray) -> float:
        alpha, beta = np.exp(np.clip(x, -25, 25))
        return -dense(features, y, alpha, beta)

    found = []
    for a, b in product((-6, 0, 6), (0, 3, 8)):
        start = np.array([np.log(scale) + a, -np.log(y.var()) + b])
        options = {"xatol": 1e-7, "fatol": 1e-10, "maxiter": 2000}
        found.append(-float(minimize(fall, start, method="Nelder-Mead", options=options).fun))  # type: ignore[call-overload]
    return max(found)


def test_dense_evidence_is_the_density_of_scipy() -> None:
    features, y = SHAPES["n < d"], np.linspace(-1, 1, 25)
    covariance = np.eye(25) / 3 + features @ features.T / 0.7
    assert dense(features, y, 0.7, 3.0) == pytest.approx(multivariate_normal(np.zeros(25), covariance).logpdf(y))


def _targets(features: np.ndarray, kind: str) -> np.ndarray:
    rng = np.random.default_rng(4)
    if kind == "classes":
        return np.eye(3)[np.arange(len(features)) % 3]
    weights = rng.standard_normal((features.shape[1], 2)) / np.sqrt((features**2).sum(axis=1).mean())
    noise: float = {"signal": 0.2, "noise": 5.0}[kind]
    return np.asarray(features @ weights + noise * rng.standard_normal((len(features), 2)))


@pytest.mark.parametrize("kind", ["classes", "signal", "noise"])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_the_dense_evidence_and_nothing_beats_it(shape: str, kind: str) -> None:
    features = SHAPES[shape]
    targets = _targets(features, kind)
    found = log_evidence(features, targets)
    for k, y in enumerate(targets.T):
        if np.isfinite(found.ratio[k]) and found.ratio[k] > 0:
            at = dense(features, y, found.ratio[k] * found.beta[k], found.beta[k])
            assert found.value[k] == pytest.approx(at, abs=1e-6)
        assert found.value[k] == pytest.approx(highest(features, y), abs=1e-5)


def test_published_form_with_its_d_by_d_determinant() -> None:
    """Eq. 2 of the paper, term by term, with all d of the weights, at our alpha and beta and n < d."""
    features, y = SHAPES["n < d"], _targets(SHAPES["n < d"], "signal")[:, 0]
    n, d = features.shape
    found = log_evidence(features, y[:, None])
    beta = float(found.beta[0])
    alpha = float(found.ratio[0]) * beta
    a = alpha * np.eye(d) + beta * features.T @ features
    m = beta * np.linalg.solve(a, features.T @ y)
    published = (
        n / 2 * np.log(beta)
        + d / 2 * np.log(alpha)
        - n / 2 * np.log(2 * np.pi)
        - beta / 2 * ((features @ m - y) ** 2).sum()
        - alpha / 2 * m @ m
        - np.linalg.slogdet(a)[1] / 2
    )
    assert found.value[0] == pytest.approx(published, abs=1e-6)
    assert alpha == pytest.approx((d - alpha * np.trace(np.linalg.inv(a))) / (m @ m), rel=1e-4)  # its fixed point


def test_score_is_the_mean_over_columns_divided_by_n() -> None:
    classes, numbers = classes_view(30, 4, signal=0.5), regression_view(30, 4)
    for view, columns in ((classes, np.eye(3)[classes.labels]), (numbers, numbers.labels)):
        expected = np.mean([highest(view.features, y) for y in columns.T]) / 30
        assert LogME().value(view).value == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("n", [40, 100, 200])
def test_the_case_that_peers_get_wrong(n: int) -> None:
    """They keep min(n, d) of the d weights and count the prior of all: noise at d >> n then rates highest."""
    noise = classes_view(n, 2000, signal=0.0)
    good = classes_view(n, 50, signal=0.3)
    assert LogME().value(noise).value < LogME().value(good).value < 1


def test_classes_do_not_lean_on_each_other() -> None:
    """Peers start the search of a class where the one before ended."""
    view = classes_view(200, 30, n_classes=12, signal=0.3)
    names = np.random.default_rng(2).permutation(12)
    first, second = LogME().value(view).value, LogME().value(replace(view, labels=names[view.labels])).value
    assert second == pytest.approx(first, rel=1e-13)
    columns = np.eye(12)[view.labels]
    together = log_evidence(view.features, columns).value
    alone = [log_evidence(view.features, columns[:, k : k + 1]).value[0] for k in range(12)]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


def test_labels_among_the_features_and_duplicates_of_few_examples_have_no_largest_evidence() -> None:
    view = classes_view(30, 4)
    told = replace(view, features=np.hstack([view.features, np.eye(3)[view.labels]]))
    for one in (told, classes_view(20, 100).take(np.r_[0, np.arange(20)])):
        estimate = LogME().value(one)
        assert (estimate.value, estimate.status) == (np.inf, "unbounded")


def test_a_fit_without_noise_has_its_limit() -> None:
    rng = np.random.default_rng(1)
    features = rng.standard_normal((15, 60))
    y = features @ features.T @ rng.standard_normal(15)  # along the directions of large variance
    estimate = LogME().value(TargetView(features, y[:, None]))
    found = log_evidence(features, y[:, None])
    assert (estimate.status, found.noiseless[0], found.ratio[0], found.beta[0]) == ("ok", True, 0, np.inf)
    gram = features @ features.T
    best_alpha = 15 / (y @ np.linalg.solve(gram, y))
    limit = multivariate_normal(np.zeros(15), gram / best_alpha).logpdf(y)
    assert estimate.value == pytest.approx(limit / 15, abs=1e-9)


def test_features_of_no_use_are_at_the_bound_with_the_empty_model() -> None:
    features = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    labels = np.array([[1.0], [-1], [-1], [1]])  # orthogonal to both features
    estimate = LogME().value(TargetView(features, labels))
    assert estimate.status == "at_bound"
    assert estimate.value == pytest.approx(-0.5 * (1 + np.log(2 * np.pi)))
    assert log_evidence(features, labels).ratio[0] == np.inf
