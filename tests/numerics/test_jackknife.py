import numpy as np
import pytest

from transferscope.numerics.jackknife import all_but_one_group, grouped_error, jackknife, ratio_of_means

DATA = np.random.default_rng(0).standard_normal(200)


def test_standard_error_of_a_mean_is_the_textbook_one() -> None:
    estimate = jackknife(lambda index: float(DATA[index].mean()), 39)  # each example is a group
    assert estimate.value == pytest.approx(DATA[:39].mean())
    assert estimate.stderr == pytest.approx(DATA[:39].std(ddof=1) / np.sqrt(39))
    grouped = jackknife(lambda index: float(DATA[index].mean()), 200)
    assert grouped.stderr == pytest.approx(DATA.std(ddof=1) / np.sqrt(200), rel=0.5)


def test_standard_error_of_a_ratio_agrees_with_repeated_sampling() -> None:
    rng = np.random.default_rng(1)

    def ratio(pairs: np.ndarray) -> float:
        return float(pairs[:, 0].sum() / pairs[:, 1].sum())

    draws = rng.uniform(1, 2, (400, 100, 2))
    claimed = [jackknife(lambda i, d=draw: ratio(d[i]), 100).stderr for draw in draws[:50]]  # type: ignore[misc]
    actual = np.std([ratio(draw) for draw in draws])
    assert np.mean([stderr or np.nan for stderr in claimed]) == pytest.approx(actual, rel=0.15)


def test_the_error_of_a_ratio_of_means_is_that_of_repeated_samples() -> None:
    rng = np.random.default_rng(0)
    lower = rng.gamma(4.0, 1.0, (2000, 60))
    upper = 0.5 * lower + rng.gamma(2.0, 1.0, lower.shape)
    found = [ratio_of_means(a, b) for a, b in zip(upper, lower, strict=True)]
    assert np.mean([one.value for one in found]) == pytest.approx(1.0, abs=0.01)
    assert np.mean([one.stderr or np.nan for one in found]) == pytest.approx(
        np.std([one.value for one in found]), rel=0.05
    )
    by_hand = ratio_of_means(
        np.array([1.0, 4.0]), np.array([2.0, 3.0])
    )  # 5 / 5, residuals -1 and 1, whose sd is sqrt 2
    assert (by_hand.value, by_hand.n) == (1.0, 2)
    assert by_hand.stderr == pytest.approx(0.4)
    assert ratio_of_means(np.array([1.0]), np.array([2.0])).stderr is None
    assert ratio_of_means(np.array([1.0, 1.0]), np.array([1.0, -1.0])).status == "undefined"
    assert ratio_of_means(np.array([1.0, np.inf]), np.ones(2)).status == "non_finite"


def test_what_does_not_exist_is_undefined_and_has_no_standard_error_when_a_group_is_needed() -> None:
    assert jackknife(lambda _: float("nan"), 9).status == "undefined"
    assert jackknife(lambda index: float(len(index)), 2).stderr is None
    estimate = jackknife(lambda index: float("nan") if 0 not in index else 1.0, 9)
    assert (estimate.value, estimate.stderr, estimate.status) == (1.0, None, "ok")


@pytest.mark.parametrize(("n", "n_groups"), [(100, 20), (47, 20), (39, 39), (1, 1)])
def test_every_example_is_left_out_once(n: int, n_groups: int) -> None:
    rests = all_but_one_group(n)
    assert len(rests) == n_groups
    left_out = np.concatenate([np.setdiff1d(np.arange(n), rest) for rest in rests])
    np.testing.assert_array_equal(np.sort(left_out), np.arange(n))
    for rest, again in zip(rests, all_but_one_group(n), strict=True):
        np.testing.assert_array_equal(rest, again)
    assert n < 40 or np.diff(left_out[:2]) != 1  # at random, not in their order


def test_error_from_values_without_each_group() -> None:
    means = np.array([np.delete(DATA, i).mean() for i in range(200)])
    assert grouped_error(means) == pytest.approx(DATA.std(ddof=1) / np.sqrt(200))
    assert grouped_error(np.array([1.0])) is None
    assert grouped_error(np.array([1.0, np.nan])) is None
