"""Telling the shared feature from others: every sample and every half enumerated, for few examples."""

import itertools
import math

import numpy as np
import pytest

from transferscope_papers.theory.feature_recovery import examples_needed, recovery_probability, sufficient_examples


def enumerated_loss(feature: tuple[int, ...], labels: tuple[int, ...]) -> float:
    """The validation loss of a feature in {0, 1}, in the mean over all halves, by least squares."""
    n, losses = len(labels), []
    for fit in itertools.combinations(range(n), n // 2):
        x, y = np.array(feature), np.array(labels)
        check = [i for i in range(n) if i not in fit]
        head = np.linalg.pinv(x[list(fit), None].astype(float)) @ y[list(fit)]
        losses.append(np.mean((x[check] * head[0] - y[check]) ** 2))
    return float(np.mean(losses))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_probability_is_that_of_all_samples_and_halves(n: int) -> None:
    chance, total = {1: 2 / 3, 0: 1 / 3}, {1: 0.0, 2: 0.0, 4: 0.0}
    losses = {
        (x, y): enumerated_loss(x, y)
        for x, y in itertools.product(itertools.product((0, 1), repeat=n), itertools.product((0, 1), repeat=n))
    }
    for labels in itertools.product((0, 1), repeat=n):
        of_labels = math.prod(chance[y] for y in labels)
        worse = sum(
            math.prod(chance[x] for x in feature)
            for feature in itertools.product((0, 1), repeat=n)
            if losses[feature, labels] > losses[labels, labels] + 1e-12
        )
        for k in total:
            total[k] += of_labels * worse ** (k - 1)
    for k, probability in total.items():
        assert float(recovery_probability(n, k)) == pytest.approx(probability, abs=1e-12)


def test_the_examples_needed_grow_by_log_10_over_log_nine_fifths_for_each_power_of_ten() -> None:
    needed = [examples_needed(10.0**power, failure=0.1) for power in (1, 3, 5)]
    steps = np.diff(needed)
    assert np.mean(steps) == pytest.approx(2 * math.log(10) / math.log(9 / 5), abs=0.5)
    assert 1 - float(recovery_probability(20, 1000)) == pytest.approx(999 * (5 / 9) ** 20, rel=0.02)
    assert all(float(recovery_probability(needed[0] - shift, 10)) < 0.9 for shift in (1, 2))


def test_the_proof_asks_for_more_than_enough() -> None:
    assert float(sufficient_examples(2, failure=0.1)) == pytest.approx(18 * math.log(20))
    assert float(sufficient_examples(1e9, failure=0.1)) == pytest.approx(3 * math.log(2e10))
    for k in (2.0, 16.0, 1e6):
        assert examples_needed(k, failure=0.1) < float(sufficient_examples(k, failure=0.1))
