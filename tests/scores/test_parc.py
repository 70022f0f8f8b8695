import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.preprocessing import StandardScaler

from transferscope.scores import Parc, TargetView
from transferscope.scores.parc import correlation_with_groups
from transferscope.testing.scores import classes_view


def written_plainly(view: TargetView, n_classes: int) -> float:
    """As the authors describe it: n x n correlation matrices, their upper triangles, Spearman."""
    features = StandardScaler().fit_transform(view.features)
    above = np.triu_indices(len(view), 1)
    of_features = (1 - np.corrcoef(features))[above]
    of_labels = np.round(1 - np.corrcoef(np.eye(n_classes)[view.labels]), 12)[above]
    return float(spearmanr(of_features, of_labels).statistic)


@pytest.mark.parametrize(("n", "d", "n_classes"), [(60, 8, 3), (30, 70, 3), (40, 5, 2), (50, 6, 12), (12, 3, 2)])
def test_definition(n: int, d: int, n_classes: int) -> None:
    view = classes_view(n, d, n_classes, signal=0.5)
    assert Parc().value(view).value == pytest.approx(written_plainly(view, n_classes), abs=1e-9)


def test_rank_correlation_with_ties_is_scipy_s() -> None:
    rng = np.random.default_rng(0)
    for share in (0.1, 0.5, 0.9):
        values, group = rng.integers(0, 8, 200).astype(float), rng.random(200) < share
        expected = spearmanr(values, group).statistic
        assert correlation_with_groups(values.copy(), group) == pytest.approx(expected)


def test_what_does_not_vary_has_no_correlation() -> None:
    assert np.isnan(correlation_with_groups(np.ones(5), np.arange(5) < 2))
    assert np.isnan(correlation_with_groups(np.arange(5.0), np.ones(5, dtype=bool)))


@pytest.mark.parametrize("shape", [(30, 1, 3), (12, 4, 12)], ids=["one feature", "every example its own class"])
def test_what_is_undefined(shape: tuple[int, int, int]) -> None:
    found = Parc().value(classes_view(*shape))
    assert (found.status, np.isnan(found.value)) == ("undefined", True)
