from dataclasses import replace

import numpy as np
import pytest

from scores.views import classes_view
from transferscope.numerics.jackknife import jackknife
from transferscope.scores import SCORES, TargetView, grouped_error, leave_groups_out, with_error


@pytest.mark.parametrize("name", SCORES)
def test_value_n_and_status_are_kept(name: str) -> None:
    view = classes_view(90)
    plain, found = SCORES[name].value(view), with_error(SCORES[name], view, n_groups=5)
    assert found.stderr is not None
    assert np.isfinite(found.stderr)
    assert replace(found, stderr=None) == plain


def test_it_is_the_jackknife_of_the_score() -> None:
    view, score = classes_view(90, signal=0.5), SCORES["leep"]
    expected = jackknife(lambda index: score.value(view.take(index)).value, 90)
    assert with_error(score, view).stderr == pytest.approx(expected.stderr)


def test_same_seed_same_error() -> None:
    view, score = classes_view(90, signal=0.5), SCORES["logme"]
    assert with_error(score, view, seed=1) == with_error(score, view, seed=1)
    assert with_error(score, view, seed=1) != with_error(score, view, seed=2)


def _claimed_over_actual(name: str, *, n_claimed: int) -> float:
    """Mean claimed error beside the spread of the values over 200 samples of one task, known to 5 %."""
    score, rng = SCORES[name], np.random.default_rng(0)
    means = rng.standard_normal((3, 4))

    def sample() -> TargetView:
        labels = rng.integers(0, 3, 120)
        logits = rng.standard_normal((120, 4)) + 2 * np.eye(3, 4)[labels]
        p = np.exp(logits)
        return TargetView(means[labels] + rng.standard_normal((120, 4)), labels, p / p.sum(axis=1, keepdims=True))

    claimed = [with_error(score, sample()).stderr or np.nan for _ in range(n_claimed)]
    return float(np.mean(claimed) / np.std([score.value(sample()).value for _ in range(200)]))


@pytest.mark.long
@pytest.mark.parametrize("name", ["logme", "h-score", "leep", "nce", "gbc", "parc"])
def test_errors_agree_with_repeated_sampling(name: str) -> None:
    assert _claimed_over_actual(name, n_claimed=15) == pytest.approx(1, abs=0.25)


@pytest.mark.long
@pytest.mark.parametrize("name", ["knn", "ridge-probe", "transrate"])
def test_errors_of_scores_that_jump_or_drift_are_on_the_wide_side(name: str) -> None:
    assert 1 < _claimed_over_actual(name, n_claimed=30) < 2


def test_networks_on_the_same_examples_share_their_groups() -> None:
    """A network and its copy with a little noise: the error of the difference is far below that of either."""
    view, score = classes_view(200, signal=0.5), SCORES["logme"]
    noise = 0.05 * np.random.default_rng(0).standard_normal(view.features.shape)
    first = leave_groups_out(score, view)
    second = leave_groups_out(score, replace(view, features=view.features + noise))
    error, alone = grouped_error(first - second), with_error(score, view).stderr
    assert first.shape == (20,)
    assert error is not None
    assert alone is not None
    assert 0 < error < alone / 5
    assert grouped_error(first - leave_groups_out(score, view)) == 0


def test_no_error_when_a_group_is_needed() -> None:
    view = classes_view(30)
    lonely = replace(view, labels=np.r_[8, 8, view.labels[2:]])
    found = with_error(SCORES["gbc"], lonely)  # without either of the two there is no variance of their class
    assert np.isfinite(found.value)
    assert found.stderr is None
    assert np.isnan(leave_groups_out(SCORES["gbc"], lonely)).any()


def test_one_example_has_no_groups() -> None:
    assert leave_groups_out(SCORES["logme"], classes_view(1)).shape == (0,)
