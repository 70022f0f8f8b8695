from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.decomposition import PCA

from transferscope.scores import Bhattacharyya, TargetView
from transferscope.scores.bhattacharyya import coefficients
from transferscope.testing.scores import classes_view


def dense(view: TargetView, covariance: str, components: int) -> float:
    """The paper's formula with full matrices and scikit-learn's principal components."""
    x = PCA(components).fit_transform(view.features)
    gaussians = []
    for c in np.unique(view.labels):
        part = x[view.labels == c]
        variances = part.var(axis=0)
        matrix = np.diag(variances) if covariance == "diagonal" else variances.mean() * np.eye(components)
        gaussians.append((part.mean(axis=0), matrix))
    total = 0.0
    for i, (mu, s) in enumerate(gaussians):
        for j, (nu, r) in enumerate(gaussians):
            if i != j:
                mean = (s + r) / 2
                logs = [np.linalg.slogdet(matrix)[1] for matrix in (mean, s, r)]
                distance = (mu - nu) @ np.linalg.solve(mean, mu - nu) / 8 + (logs[0] - (logs[1] + logs[2]) / 2) / 2
                total -= np.exp(-distance)
    return total


@pytest.mark.parametrize("covariance", ["spherical", "diagonal"])
@pytest.mark.parametrize(("n", "d", "components"), [(60, 8, 8), (60, 8, 3), (200, 100, 64), (30, 70, 20)])
def test_definition(n: int, d: int, components: int, covariance: Any) -> None:
    view = classes_view(n, d, signal=0.3)
    view = replace(view, features=view.features * np.where(view.labels == 0, 3.0, 1.0)[:, None])  # spreads differ
    found = Bhattacharyya(covariance, components).value(view)
    assert found.value == pytest.approx(dense(view, covariance, components), rel=1e-7)


def test_coefficient_is_the_overlap_integral() -> None:
    """Also where the spreads differ: code in circulation leaves the dimension out of the log determinant."""
    one = quad(lambda x: np.sqrt(norm.pdf(x, 0, 1) * norm.pdf(x, 1.5, 3)), -40, 40)[0]
    found = coefficients(np.array([[0.0, 0, 0], [1.5, 1.5, 1.5]]), np.array([[1.0, 1, 1], [9, 9, 9]]))
    assert found[0, 1] == pytest.approx(one**3)


def test_classes_without_variance() -> None:
    means, none = np.array([[0.0], [0.0], [1.0]]), np.zeros((3, 1))
    np.testing.assert_array_equal(coefficients(means, none), [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(coefficients(means[:2], np.array([[0.0], [1.0]])), np.eye(2))


def test_a_class_with_one_example_is_too_few() -> None:
    view = classes_view()
    estimate = Bhattacharyya().value(replace(view, labels=np.r_[9, view.labels[1:]]))
    assert (estimate.status, estimate.n) == ("too_few", 60)
    assert np.isnan(estimate.value)
