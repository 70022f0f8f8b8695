import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import entropy
from sklearn.metrics import mutual_info_score

from transferscope.scores import Leep, Nce, Score, TargetView
from transferscope.testing.scores import classes_view


def leep_in_loops(view: TargetView) -> float:
    theta = view.source_probabilities
    n, n_source = theta.shape
    total: float = 0.0
    for i in range(n):
        expected = 0.0
        for z in range(n_source):
            p_z = sum(theta[j, z] for j in range(n)) / n
            p_yz = sum(theta[j, z] for j in range(n) if view.labels[j] == view.labels[i]) / n
            expected += p_yz / p_z * theta[i, z]
        total += float(np.log(expected))
    return float(total / n)


@pytest.mark.parametrize("signal", [0.0, 0.5, 2.0])
def test_definitions(signal: float) -> None:
    view = classes_view(24, signal=signal)
    assert Leep().value(view).value == pytest.approx(leep_in_loops(view))
    source = view.source_probabilities.argmax(axis=1)
    counts = np.unique(view.labels, return_counts=True)[1]
    conditional = entropy(counts / 24) - mutual_info_score(view.labels, source)  # H(Y | Z) = H(Y) - I(Y; Z)
    assert Nce().value(view).value == pytest.approx(-conditional)


def test_source_classes_that_are_never_predicted_change_nothing() -> None:
    """A peer divides 0 by 0 here."""
    view = classes_view()
    p = view.source_probabilities
    wider = replace(view, source_probabilities=np.insert(p, [0, 2, 5], 0.0, axis=1))
    for score in (Leep(), Nce()):
        assert score.value(wider).value == pytest.approx(score.value(view).value, rel=1e-12)


@pytest.mark.parametrize("score", [Leep(), Nce()])
def test_a_head_that_knows_the_classes_is_perfect_and_one_that_says_nothing_leaves_their_entropy(score: Score) -> None:
    view = classes_view()
    for theta, expected in ((np.eye(3)[view.labels], 0), (np.full((60, 7), 1 / 7), -np.log(3))):
        assert score.value(replace(view, source_probabilities=theta)).value == pytest.approx(expected)


def test_many_classes_take_no_table_of_all_of_them() -> None:
    """A table of examples and classes would be 200 MB, one of both tasks' classes 12 MB."""
    rng, n = np.random.default_rng(0), 10_000
    confident = softmax(rng.standard_normal((n, 600)), axis=1)
    view = TargetView(np.zeros((n, 1)), rng.integers(2500, size=n), confident)
    for score in (Leep(), Nce()):
        tracemalloc.start()
        assert np.isfinite(score.value(view).value)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8e6
