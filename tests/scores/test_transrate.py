import numpy as np
import pytest

from transferscope.scores import TargetView, TransRate
from transferscope.testing.scores import classes_view


def listing(z: np.ndarray, y: np.ndarray, eps: float) -> float:
    """The paper's listing: d x d determinants and the plain mean over classes."""

    def rate(part: np.ndarray) -> float:
        n, d = part.shape
        return float(0.5 * np.linalg.slogdet(np.eye(d) + part.T @ part / (n * eps))[1])

    z = z - z.mean(axis=0)
    return rate(z) - float(np.mean([rate(z[y == c]) for c in np.unique(y)]))


def by_singular_values(features: np.ndarray, labels: np.ndarray) -> float:
    """At the published distortion, the class terms by their size."""
    centred = features - features.mean(axis=0)

    def rate(z: np.ndarray) -> float:
        return float(np.log1p(np.linalg.svd(z, compute_uv=False) ** 2 / (len(z) * 1e-4)).sum()) / 2

    within = [float((labels == c).mean()) * rate(centred[labels == c]) for c in np.unique(labels)]
    return rate(centred) - sum(within)


@pytest.mark.parametrize("epsilon", [1e-4, 1.0])
@pytest.mark.parametrize(("n", "d"), [(60, 8), (30, 70), (30, 12)])
def test_listing_for_classes_of_one_size(n: int, d: int, epsilon: float) -> None:
    view = classes_view(n, d)
    expected = listing(view.features, view.labels, epsilon)
    assert TransRate(epsilon).value(view).value == pytest.approx(expected, rel=1e-9)


def test_classes_count_by_their_size() -> None:
    view = classes_view(60, 5).take(np.r_[0:40])
    view = TargetView(view.features, np.where(view.labels == 2, 1, view.labels))
    assert TransRate().value(view).value == pytest.approx(by_singular_values(view.features, view.labels), rel=1e-9)


def test_status_tells_of_classes_narrower_than_the_features() -> None:
    assert TransRate().value(classes_view(60, 8)).status == "ok"
    assert TransRate().value(classes_view(60, 20)).status == "not_identified"
