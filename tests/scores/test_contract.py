"""What every score promises, tried on all of them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import ortho_group

from transferscope.errors import DataError
from transferscope.scores import SCORES, Score, TargetView
from transferscope.testing.scores import SCORE_PROMISES, classes_view, regression_view

every_score = pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
of_features = pytest.mark.parametrize(
    "score", [s for s in SCORES.values() if s.needs == "features"], ids=lambda s: s.name
)
for_regression = pytest.mark.parametrize(
    "score", [s for s in SCORES.values() if "regression" in s.kinds], ids=lambda s: s.name
)
SHAPES = {"more examples than features": (60, 8), "fewer": (30, 100)}
every_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)

CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rotated": lambda features: features @ ortho_group.rvs(features.shape[1], random_state=1),
    "scaled": lambda features: 1e4 * features,
    "scaled down": lambda features: 1e-3 * features,
    "shifted": lambda features: features + 10.0,
    "beside dead ones": lambda features: np.hstack([features, np.zeros((len(features), 3))]),
}
DEPENDS = {
    *{("logme", "shifted"), ("transrate", "scaled"), ("transrate", "scaled down"), ("parc", "rotated")},
    ("h-score", "beside dead ones"),  # they count in the mean variance to which it shrinks
}
"""Scores that another form of the same features changes; no other score may."""


def _same(score: Score, first: TargetView, second: TargetView) -> None:
    a, b = score.value(first), score.value(second)
    assert b.value == pytest.approx(a.value, rel=1e-7, abs=1e-9)
    assert b.status == a.status


@every_score
@pytest.mark.parametrize("promise", SCORE_PROMISES)
def test_it_keeps_what_every_score_promises(score: Score, promise: str) -> None:
    SCORE_PROMISES[promise](score)


@of_features
@pytest.mark.parametrize("change", CHANGES)
def test_other_forms_of_the_features_change_only_the_scores_that_depend_on_them(score: Score, change: str) -> None:
    views = [classes_view(*shape) for shape in SHAPES.values()]
    changed = [replace(view, features=CHANGES[change](view.features)) for view in views]
    if (score.name, change) not in DEPENDS:
        for before, after in zip(views, changed, strict=True):
            _same(score, before, after)
    else:
        apart = [
            score.value(after).value - score.value(before).value for before, after in zip(views, changed, strict=True)
        ]
        assert np.abs(apart).max() > 1e-3


def test_transrate_alone_prefers_wide_noise() -> None:
    good, noise = classes_view(100, 20, signal=1.0), classes_view(100, 2000, signal=0.0)
    preferring = {
        s.name for s in SCORES.values() if s.needs == "features" and s.value(noise).value > s.value(good).value
    }
    assert preferring == {"transrate"}


def test_wide_noise_of_confident_source_classes_is_flagged_by_nce() -> None:
    rng = np.random.default_rng(0)
    view = classes_view(100, signal=1.0)
    confident = replace(view, source_probabilities=softmax(30 * rng.standard_normal((100, 2000)), axis=1))
    assert SCORES["nce"].value(confident).value > SCORES["nce"].value(view).value
    assert SCORES["nce"].value(confident).status == "not_identified"
    assert SCORES["nce"].value(view).status == "ok"


@for_regression
@every_shape
def test_regression(score: Score, shape: tuple[int, int]) -> None:
    view = regression_view(*shape)
    _same(score, view, replace(view, labels=view.labels[:, ::-1]))
    constant = np.column_stack([view.labels, np.full(len(view), 3.0)])
    _same(score, view, replace(view, labels=constant))
    assert score.value(replace(view, labels=np.full_like(view.labels, 3.0))).status == "undefined"


@for_regression
def test_labels_that_features_explain_beat_shuffled_ones(score: Score) -> None:
    for seed in range(5):
        view = regression_view(seed=seed)
        shuffled = replace(view, labels=np.random.default_rng(seed).permutation(view.labels))
        assert score.value(view).value > score.value(shuffled).value


@every_score
def test_labels_of_another_kind(score: Score) -> None:
    if "regression" in score.kinds:
        return
    with pytest.raises(DataError, match="needs labels of classification, but the labels are of regression"):
        score.value(replace(regression_view(), source_probabilities=np.ones((60, 1))))


@pytest.mark.parametrize("name", ["leep", "nce"])
def test_no_source_probabilities(name: str) -> None:
    with pytest.raises(DataError, match="needs source_probabilities"):
        SCORES[name].value(replace(classes_view(), source_probabilities=None))


@every_score
def test_the_documentation_has_it(score: Score) -> None:
    page = (Path(__file__).parents[2] / "docs" / "scores.md").read_text()
    assert f"| `{score.name}` |" in page
