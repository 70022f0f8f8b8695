"""Scores of features of very different sizes against slow definitions: what is far decides nothing among the rest."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr

from scores.test_bhattacharyya import dense
from scores.test_transrate import by_singular_values
from transferscope.scores import SCORES, TargetView
from transferscope.scores.ridge_probe import RELATIVE_LAMBDAS
from transferscope.testing.scores import classes_view

Definition = Callable[[np.ndarray, np.ndarray], float]


def _knn(features: np.ndarray, labels: np.ndarray) -> float:
    distances = cdist(features, features)
    np.fill_diagonal(distances, np.inf)
    votes = np.eye(labels.max() + 1)[labels[np.argsort(distances, axis=1)[:, :5]]].sum(axis=1)
    leading = votes == votes.max(axis=1, keepdims=True)
    return float((leading[np.arange(len(labels)), labels] / leading.sum(axis=1)).mean())


def _parc(features: np.ndarray, labels: np.ndarray) -> float:
    wide = features.astype(np.longdouble)
    rows = (wide - wide.mean(axis=0)) / wide.std(axis=0)
    rows -= rows.mean(axis=1, keepdims=True)
    rows /= np.sqrt((rows**2).sum(axis=1, keepdims=True))
    first, second = np.triu_indices(len(labels), 1)
    return float(spearmanr(1 - (rows[first] * rows[second]).sum(axis=1), labels[first] != labels[second])[0])


def _ridge(features: np.ndarray, labels: np.ndarray) -> float:
    n, classes = len(labels), np.eye(labels.max() + 1)[labels]
    centred, codes = features - features.mean(axis=0), classes - classes.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    best, least = codes, np.inf
    for scale in RELATIVE_LAMBDAS[::-1]:
        hat = (u * (s**2 / (s**2 + scale * (s**2).mean()))) @ u.T
        residual = (codes - hat @ codes) / (1 - 1 / n - np.diag(hat))[:, None] - codes / (n - 1)
        if (residual**2).sum() < least:
            best, least = codes - residual, float((residual**2).sum())
    predictions = best + classes.mean(axis=0)
    return float((predictions.argmax(axis=1) == labels).mean())


DEFINITIONS: dict[str, Definition] = {
    "knn": _knn,
    "parc": _parc,
    "gbc": lambda features, labels: dense(TargetView(features, labels), "spherical", 8),
    "transrate": by_singular_values,
    "ridge-probe": _ridge,
}


def _one_far(view: TargetView, factor: float) -> TargetView:
    return replace(view, features=view.features * np.where(np.arange(len(view)) == 7, factor, 1.0)[:, None])


def _clusters(view: TargetView, factor: float) -> TargetView:
    return replace(view, features=view.features + factor * (np.arange(len(view)) % 2)[:, None])


def _one_feature(view: TargetView, factor: float) -> TargetView:
    return replace(view, features=view.features * np.where(np.arange(8) == 2, factor, 1.0))


@pytest.mark.parametrize("name", DEFINITIONS)
@pytest.mark.parametrize("factor", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("far", [_one_far, _clusters, _one_feature])
def test_what_is_far_decides_nothing_among_the_rest(
    name: str, factor: float, far: Callable[[TargetView, float], TargetView]
) -> None:
    view = far(classes_view(80, 8, signal=0.7), factor)
    value = SCORES[name].value(view).value
    assert value == pytest.approx(
        DEFINITIONS[name](view.features, view.labels), rel=1e-3
    )  # of singular values by way of a Gram matrix


@pytest.mark.parametrize("factor", [1e9, 1e12])
def test_nearest_neighbours_of_the_rest_do_not_see_one_that_is_very_far(factor: float) -> None:
    view = _one_far(classes_view(80, 8, signal=0.7), factor)
    assert SCORES["knn"].value(view).value == pytest.approx(_knn(view.features, view.labels))
