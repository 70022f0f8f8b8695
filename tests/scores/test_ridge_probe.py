import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from transferscope.scores import RidgeProbe
from transferscope.scores.ridge_probe import RELATIVE_LAMBDAS
from transferscope.testing.scores import classes_view, regression_view


def refitted(features: np.ndarray, codes: np.ndarray, penalty: float) -> np.ndarray:
    """A ridge fit without each example in turn; its slopes, and the mean code of all for its intercept."""
    n, predictions = len(codes), np.empty(codes.shape)
    for i in range(n):
        rest = np.arange(n) != i
        model = Ridge(alpha=penalty, solver="svd").fit(features[rest], codes[rest])
        predictions[i] = model.predict(features[i : i + 1])[0] - codes[rest].mean(axis=0) + codes.mean(axis=0)
    return predictions


def _best(features: np.ndarray, codes: np.ndarray) -> np.ndarray:
    squares = np.linalg.svd(features - features.mean(axis=0), compute_uv=False) ** 2
    unit = squares[squares > 1e-10 * squares.max()].mean()
    tried = [refitted(features, codes, unit * scale) for scale in RELATIVE_LAMBDAS]
    return min(tried, key=lambda predictions: float(((codes - predictions) ** 2).sum()))


@pytest.mark.parametrize(("n", "d"), [(45, 8), (30, 50), (20, 20)])
@pytest.mark.parametrize("signal", [0.0, 0.3])
def test_classification_is_refitting_without_each_example(n: int, d: int, signal: float) -> None:
    view = classes_view(n, d, signal=signal)
    view = view.take(np.arange(n - 4))  # classes of unequal size
    predictions = _best(view.features, np.eye(3)[view.labels] - 1 / 3)
    expected = np.mean(predictions.argmax(axis=1) == view.labels)
    assert RidgeProbe().value(view).value == pytest.approx(expected)


@pytest.mark.parametrize(("n", "d"), [(40, 8), (25, 50)])
def test_regression_is_refitting_without_each_example(n: int, d: int) -> None:
    view = regression_view(n, d)
    codes = view.labels / view.labels.std(axis=0)
    expected = r2_score(codes, _best(view.features, codes))
    assert RidgeProbe().value(view).value == pytest.approx(expected, rel=1e-6)


def test_units_of_an_output_do_not_matter() -> None:
    view = regression_view()
    other = type(view)(view.features, view.labels * np.array([1000.0, 1.0]) + 7)
    assert RidgeProbe().value(other).value == pytest.approx(RidgeProbe().value(view).value, rel=1e-9)
