import numpy as np
import pytest
import statsmodels.api as sm

from transferscope.errors import DataError
from transferscope.numerics.crossed import (
    PRIOR_DF,
    example_covariance,
    example_noise,
    example_part,
    prior_df,
    seed_part,
)

RNG = np.random.default_rng(3)


def variance_of_test_set(gains: np.ndarray) -> float:
    """Between examples less within, of a two-way analysis of variance by hand; gains of shape (seeds, examples)."""
    s, n = gains.shape
    between = s * ((gains.mean(0) - gains.mean()) ** 2).sum() / (n - 1)
    rest = ((gains - gains.mean(0) - gains.mean(1, keepdims=True) + gains.mean()) ** 2).sum() / ((n - 1) * (s - 1))
    return float(max(0.0, between - rest) / s / n)


def test_the_two_parts_of_a_full_table_add_up_to_the_mean_variance() -> None:
    values = RNG.normal(size=(5, 4))
    part = seed_part(values)
    of_seed = values.mean(axis=0)
    assert part.common == pytest.approx(of_seed.var(ddof=1))
    assert part.own == pytest.approx((values - of_seed).var(axis=1, ddof=1).mean())
    assert part.common + part.own == pytest.approx(values.var(axis=1, ddof=1).mean())
    assert part.common_df == 3


def test_residuals_of_a_table_with_gaps_are_those_of_least_squares() -> None:
    values = RNG.normal(size=(4, 5))
    values[0, 1] = values[2, :2] = values[3, 4] = np.nan
    arm, seed = np.nonzero(~np.isnan(values))
    design = np.column_stack([np.eye(4)[arm], np.eye(5)[seed][:, 1:]])
    fitted = sm.OLS(values[arm, seed], design).fit()
    part = seed_part(values)
    np.testing.assert_allclose(part.residual[arm, seed], fitted.resid, atol=1e-12)
    assert part.own == pytest.approx(fitted.mse_resid * 3 / 4)
    assert part.n_seeds.tolist() == [4, 5, 3, 4]
    assert part.mean[2] == pytest.approx(values[2, 2:].mean())


def test_the_parts_are_those_that_made_the_table() -> None:
    found = []
    for _ in range(300):
        table = 2.0 * RNG.normal(size=4) + RNG.normal(size=(8, 4))
        table[RNG.random(table.shape) < 0.15] = np.nan
        part = seed_part(table)
        found.append((part.common, part.own))
    common, own = np.mean(found, axis=0)
    assert own == pytest.approx(7 / 8, abs=0.06)
    assert common == pytest.approx(4 + 1 / 8, abs=0.6)


@pytest.mark.parametrize(
    ("values", "separable"),
    [
        (np.array([[1.0, 2.0, 4.0]]), False),
        (np.array([[1.0, 2.0, np.nan], [np.nan, 2.0, 3.0]]), False),
        (np.array([[1.0, np.nan], [np.nan, 3.0]]), False),
        (np.array([[1.0, 2.0], [2.0, 5.0]]), True),
    ],
)
def test_one_arm_or_seeds_that_hardly_overlap_cannot_be_split(values: np.ndarray, separable: bool) -> None:
    part = seed_part(values)
    assert part.separable is separable
    assert part.common + part.own == pytest.approx(
        np.nan_to_num(part.variance).sum() / max((part.n_seeds > 1).sum(), 1)
    )


def test_the_scatter_of_variances_is_recovered_from_draws_of_it() -> None:
    rng = np.random.default_rng(8)
    variances = 3.0 / rng.chisquare(3.0, size=2000)
    found = prior_df([seed_part(np.sqrt(variances)[:, None] * rng.normal(size=(2000, 4)))])
    assert found == pytest.approx(3.0, abs=0.4)
    assert prior_df([seed_part(rng.normal(size=(2000, 4)))]) == PRIOR_DF
    assert prior_df([seed_part(rng.normal(size=(1, 4)))]) == PRIOR_DF
    unequal = rng.normal(size=(20, 4)) * np.tile([1.0, 1000.0], 10)[:, None]
    assert prior_df([seed_part(unequal)]) < 4  # the centring spreads the noise of the ten over all


def test_the_diagonal_of_the_examples_is_that_of_single_differences() -> None:
    gains = RNG.integers(-1, 2, size=(4, 3, 60)) + np.arange(60) % 3
    part = example_part(gains, np.ones((3, 4), dtype=bool))
    covariance = example_covariance(part.profiles, np.diag(part.interaction))
    expected = [variance_of_test_set(gains[:, arm].astype(np.float64)) for arm in range(3)]
    np.testing.assert_allclose(np.diag(covariance), expected, rtol=1e-10)


def test_examples_in_groups_have_the_cluster_robust_variance() -> None:
    groups = np.repeat(np.arange(12), RNG.integers(2, 9, size=12))
    gains = RNG.normal(size=(1, 1, len(groups))) + RNG.normal(size=12)[groups]
    part = example_part(gains, np.ones((1, 1), dtype=bool), groups)
    model = sm.OLS(gains[0, 0], np.ones(len(groups))).fit(cov_type="cluster", cov_kwds={"groups": groups})
    assert example_covariance(part.profiles, np.zeros(1))[0, 0] == pytest.approx(float(model.bse[0]) ** 2)
    shuffled = RNG.permutation(len(groups))
    again = example_part(gains[:, :, shuffled], np.ones((1, 1), dtype=bool), groups[shuffled])
    np.testing.assert_allclose(again.profiles, part.profiles, atol=1e-15)


def test_seeds_whose_examples_are_not_known_are_left_out() -> None:
    gains = RNG.normal(size=(3, 2, 40))
    gains[1, 0] = np.nan
    part = example_part(gains, np.array([[True, True, True], [True, True, False]]))
    of_first = gains[[0, 2], 0]
    expected = variance_of_test_set(of_first)
    covariance = example_covariance(part.profiles, np.diag(part.interaction))
    assert covariance[0, 0] == pytest.approx(expected)
    np.testing.assert_allclose(part.profiles[:, 1], (gains[:2, 1].mean(axis=0) - gains[:2, 1].mean()) / 40)
    assert part.known.tolist() == [True, True]


def test_the_noise_of_the_examples_has_their_covariance() -> None:
    covariance = np.array([[2.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 0.0]])
    ((_, drawn),) = example_noise(covariance, 1000, 40_000, 0)
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.06)


def test_noise_in_parts_is_the_same_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    root = np.random.default_rng(0).normal(size=(6, 6))
    ((_, whole),) = example_noise(root @ root.T, 30, 1000, 7)
    monkeypatch.setattr("transferscope.numerics.crossed.MOST_KEPT", 6 * 300)
    places, parts = zip(*example_noise(root @ root.T, 30, 1000, 7), strict=True)
    assert places == (slice(0, 300), slice(300, 600), slice(600, 900), slice(900, 1000))
    np.testing.assert_allclose(np.vstack(parts), whole, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("gains", "groups", "message"),
    [
        (np.full((2, 1, 5), np.inf), None, "NaN or infinite"),
        (np.zeros((2, 1, 5)), np.zeros(5), "at least two groups"),
        (np.zeros((2, 1, 5)), np.arange(4), "groups of shape"),
    ],
)
def test_examples_without_a_spread_are_refused(gains: np.ndarray, groups: np.ndarray | None, message: str) -> None:
    with pytest.raises(DataError, match=message):
        example_part(gains, np.ones((1, 2), dtype=bool), groups)
