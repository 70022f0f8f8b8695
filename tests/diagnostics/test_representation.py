"""Measures of features: each against loops, closed forms or another library."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, ortho_group
from sklearn.covariance import LedoitWolf

from transferscope.diagnostics.class_separation import variance_ratio
from transferscope.diagnostics.feature_alignment import feature_label_alignment
from transferscope_papers.mikami2021.entropy import negative_entropy

RNG = np.random.default_rng(0)
TALL = RNG.standard_normal((60, 8)) * np.arange(1, 9)
WIDE = RNG.standard_normal((12, 30))


def _naive_variance_ratio(features: np.ndarray, labels: np.ndarray) -> float:
    classes = sorted(set(labels.tolist()))
    means = {c: sum(f for f, y in zip(features, labels, strict=True) if y == c) / sum(labels == c) for c in classes}
    centre = sum(means.values()) / len(classes)
    within = sum(float(((f - means[int(y)]) ** 2).sum()) for f, y in zip(features, labels, strict=True))
    between = sum(float(((mean - centre) ** 2).sum()) for mean in means.values())
    return len(classes) * within / (len(features) * between)


def test_variance_ratio_agrees_with_the_published_value() -> None:
    features = np.array([[0.0, 0], [2, 0], [5, 1], [5, 3], [5, 2], [9, 9]])
    assert variance_ratio(features, np.array([0, 0, 1, 1, 1, 2])) == pytest.approx(0.0260869565, abs=1e-10)


@pytest.mark.parametrize("features", [TALL, WIDE], ids=["n > d", "n < d"])
def test_variance_ratio_agrees_with_loops(features: np.ndarray) -> None:
    labels = np.arange(len(features)) % 5 * 3
    assert variance_ratio(features, labels) == pytest.approx(_naive_variance_ratio(features, labels), rel=1e-12)
    rotation = ortho_group.rvs(features.shape[1], random_state=0)
    moved = 7 * features @ rotation + 100
    assert variance_ratio(moved, labels) == pytest.approx(variance_ratio(features, labels), rel=1e-9)


def test_variance_ratio_needs_two_classes_apart() -> None:
    assert np.isnan(variance_ratio(TALL, np.zeros(60, dtype=np.int64)))
    assert np.isnan(variance_ratio(np.ones((4, 2)), np.array([0, 0, 1, 1])))


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_alignment_agrees_with_published_values(ridge: float) -> None:
    features = np.array([[1.0, 2, 0], [0, 1, -1]])
    expected = {0.0: 1.8333333333, 0.5: 1.2307692308}[ridge]
    found = feature_label_alignment(features, np.array([[1.0], [-1]]), ridge=ridge)
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert found.stderr == 0.0


@pytest.mark.parametrize("features", [TALL, WIDE, np.zeros((5, 3))], ids=["n > m", "n < m", "zero"])
def test_alignment_agrees_with_the_dense_inverse(features: np.ndarray) -> None:
    codes = RNG.standard_normal((len(features), 3))
    inverse = np.linalg.inv(features @ features.T + 0.3 * np.eye(len(features)))
    expected = sum(y @ inverse @ y for y in codes.T)
    assert feature_label_alignment(features, codes, ridge=0.3).value == pytest.approx(expected, rel=1e-10)


def test_alignment_without_ridge_is_unbounded_outside_the_span() -> None:
    for features in (TALL, np.zeros((60, 3))):
        found = feature_label_alignment(features, RNG.standard_normal((60, 1)), ridge=0.0)
        assert (found.value, found.status) == (float("inf"), "unbounded")
    inside = feature_label_alignment(TALL, TALL[:, :1], ridge=0.0)
    assert inside.value == pytest.approx(1.0, rel=1e-9)  # y = H e_1, so y' (H H')^+ y = |e_1|^2


@pytest.mark.parametrize("features", [TALL, WIDE], ids=["n > d", "n < d"])
def test_negative_entropy_agrees_with_scipy(features: np.ndarray) -> None:
    covariance = LedoitWolf().fit(features).covariance_
    expected = -multivariate_normal(cov=covariance).entropy()
    assert negative_entropy(features) == pytest.approx(float(expected), rel=1e-9)
    scaled = negative_entropy(10 * features)
    assert scaled == pytest.approx(negative_entropy(features) - features.shape[1] * np.log(10), rel=1e-9)


def test_negative_entropy_of_constant_features_does_not_exist() -> None:
    assert np.isnan(negative_entropy(np.ones((9, 3))))
