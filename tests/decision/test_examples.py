import numpy as np
import pytest
import statsmodels.api as sm

from transferscope.decision import example_variance
from transferscope.errors import DataError

RNG = np.random.default_rng(3)


def by_analysis_of_variance(gains: np.ndarray) -> float:
    """Between examples less within, of a two-way analysis of variance by hand; gains of shape (seeds, examples)."""
    s, n = gains.shape
    between = s * ((gains.mean(0) - gains.mean()) ** 2).sum() / (n - 1)
    rest = ((gains - gains.mean(0) - gains.mean(1, keepdims=True) + gains.mean()) ** 2).sum() / ((n - 1) * (s - 1))
    return float(max(0.0, between - rest) / s / n)


def test_it_is_the_component_of_a_two_way_analysis_of_variance() -> None:
    scores = 100.0 * (RNG.normal(size=(3, 4, 60)) + RNG.normal(size=(3, 1, 60)) > 0)
    found = example_variance(scores)
    for one in range(3):
        for other in range(3):
            assert found[one, other] == pytest.approx(by_analysis_of_variance(scores[one] - scores[other]))


def test_examples_in_groups_have_the_cluster_robust_variance() -> None:
    groups = np.repeat(np.arange(12), RNG.integers(2, 9, size=12))
    gains = RNG.normal(size=len(groups)) + RNG.normal(size=12)[groups]
    both = np.stack([gains, np.zeros(len(groups))])[:, None]
    model = sm.OLS(gains, np.ones(len(groups))).fit(cov_type="cluster", cov_kwds={"groups": groups})
    assert example_variance(both, groups)[0, 1] == pytest.approx(float(model.bse[0]) ** 2)
    order = RNG.permutation(len(groups))
    np.testing.assert_allclose(example_variance(both[:, :, order], groups[order]), example_variance(both, groups))


def test_runs_that_are_not_known_are_left_out() -> None:
    scores = RNG.normal(size=(3, 3, 40))
    scores[:2, 1], scores[2] = np.nan, np.nan
    found = example_variance(scores)
    assert found[0, 1] == pytest.approx(by_analysis_of_variance((scores[0] - scores[1])[[0, 2]]))
    assert np.isnan(found[2]).all()


def test_too_few_groups_are_refused() -> None:
    with pytest.raises(DataError, match="at least 2"):
        example_variance(np.zeros((2, 2, 5)), np.zeros(5))
    with pytest.raises(DataError, match="groups have shape"):
        example_variance(np.zeros((2, 2, 5)), np.zeros(4))
