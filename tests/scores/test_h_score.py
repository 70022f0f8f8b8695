from dataclasses import replace

import numpy as np
import pytest
from sklearn.covariance import LedoitWolf, ledoit_wolf_shrinkage

from transferscope.scores import HScore, TargetView
from transferscope.scores.h_score import ledoit_wolf
from transferscope.scores.spectrum import centred, spectrum
from transferscope.testing.scores import classes_view


def written_plainly(view: TargetView, covariance: np.ndarray, factor: float) -> float:
    """factor * tr(covariance^-1 cov(E[f | y])), the mean features of its class standing in for each example."""
    means = np.array([view.features[view.labels == label].mean(axis=0) for label in view.labels])
    return factor * float(np.trace(np.linalg.pinv(covariance, rcond=1e-10) @ np.cov(means.T, bias=True)))


@pytest.mark.parametrize(("n", "d"), [(60, 8), (30, 50), (20, 20), (12, 300)])
def test_definitions(n: int, d: int) -> None:
    view = classes_view(n, d, signal=0.4)
    view = replace(view, features=view.features * np.linspace(0.1, 3, d))
    plain = written_plainly(view, np.cov(view.features.T, bias=True), 1.0)
    assert HScore(shrinkage=False).value(view).value == pytest.approx(plain, rel=1e-8)
    fitted = LedoitWolf().fit(view.features)
    shrunk = written_plainly(view, fitted.covariance_, 1 - fitted.shrinkage_)
    assert HScore().value(view).value == pytest.approx(shrunk, rel=1e-8)


def test_equal_variances_shrink_completely_or_not_at_all() -> None:
    features = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    assert ledoit_wolf(spectrum(features, centre=True)) == ledoit_wolf_shrinkage(features) == 0


def test_plain_one_is_at_its_maximum_for_noise_with_n_below_d() -> None:
    noise = classes_view(50, 200, n_classes=5, signal=0.0)
    assert HScore(shrinkage=False).value(noise).value == pytest.approx(4.0)
    assert HScore().value(noise).value < 1


def test_features_that_do_not_vary_are_exactly_0_once_centred() -> None:
    features = np.column_stack([np.full(3, 0.1), np.arange(3.0)])
    assert features.mean(axis=0)[0] != 0.1  # 0.1 + 0.1 + 0.1 is not 0.3
    assert not centred(features)[:, 0].any()
