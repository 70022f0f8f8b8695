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


@pytest.mark.parametrize("epsilon", [1e-4, 1.0])
@pytest.mark.parametrize(("n", "d"), [(60, 8), (30, 70), (30, 12)])
def test_listing_for_classes_of_one_size(n: int, d: int, epsilon: float) -> None:
    view = classes_view(n, d)
    expected = listing(view.features, view.labels, epsilon)
    assert TransRate(epsilon).value(view).value == pytest.approx(expected, rel=1e-9)


def test_classes_count_by_their_size() -> None:
    """Against the class terms repeated for every example."""
    view = classes_view(60, 5).take(np.r_[0:40])
    view = TargetView(view.features, np.where(view.labels == 2, 1, view.labels))
    z = view.features - view.features.mean(axis=0)

    def rate(part: np.ndarray) -> float:
        singular = np.linalg.svd(part, compute_uv=False)
        return float(0.5 * np.log1p(singular**2 / (len(part) * 1e-4)).sum())

    per_example = [rate(z[view.labels == label]) for label in view.labels]
    assert TransRate().value(view).value == pytest.approx(rate(z) - np.mean(per_example), rel=1e-9)


def test_status_tells_of_classes_narrower_than_the_features() -> None:
    assert TransRate().value(classes_view(60, 8)).status == "ok"
    assert TransRate().value(classes_view(60, 20)).status == "not_identified"
