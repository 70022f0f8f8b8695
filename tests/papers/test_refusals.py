"""What no theorem, simulation or figure takes is refused in one sentence that names it."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from transferscope.errors import TransferscopeError
from transferscope_papers.catalogue import FIGURES
from transferscope_papers.problems import (
    isotropic,
    power_law_covariance,
    teachers_at_angle,
)
from transferscope_papers.simulate.wide_relu import paired_start
from transferscope_papers.tahir2024.sampled_distance import reduced
from transferscope_papers.theory.feature_recovery import examples_needed, recovery_probability, sufficient_examples
from transferscope_papers.theory.fine_tuning import (
    fine_tuned_weights,
    fine_tuning,
    fine_tuning_average,
    printed_transferability,
)
from transferscope_papers.theory.fine_tuning_bounds import deviation_bound, fine_tuning_bound
from transferscope_papers.theory.gaussian_regression import GaussianRegression
from transferscope_papers.theory.linear_scratch import scratch_risk, scratch_risk_finite
from transferscope_papers.theory.linear_transfer import linear_transfer_risk, linear_transferability
from transferscope_papers.theory.ntk import convergence
from transferscope_papers.theory.quadratic import source_minimum
from transferscope_papers.theory.rates import fine_tuning_rates
from transferscope_papers.theory.relu import PowerLaw, fit_power_law, negative_transfer_size
from transferscope_papers.theory.ridge import ridge_risk
from transferscope_papers.theory.sparsification import remaining_features

ONES, TWO = np.ones(3), np.eye(2)


def settings(name: str, quick: bool = True, **changes: str) -> Callable[[], object]:
    return lambda: FIGURES[name].configured(quick=quick, changes=changes)


CASES: tuple[tuple[str, Callable[[], object]], ...] = (
    ("theta = 4.0 ", lambda: teachers_at_angle(3, theta=4.0)),
    ("d = 1 ", lambda: teachers_at_angle(1, theta=0.0)),
    ("width = 7 ", lambda: paired_start([0], 3, width=7)),
    (
        "need inputs N(0, I)",
        lambda: reduced(teachers_at_angle(3, theta=1.0, covariance=power_law_covariance(3, exponent=1))),
    ),
    ("n = 1 ", lambda: recovery_probability(1, 2)),
    ("failure = 0 ", lambda: examples_needed(2, failure=0)),
    ("k = 1e+30 ", lambda: examples_needed(1e30, failure=0.1)),
    ("k = 0.5 ", lambda: sufficient_examples(0.5, failure=0.1)),
    ("source_norm = 0 ", lambda: fine_tuned_weights(TWO, ONES[:2], np.zeros(2))),
    ("depth = 0.5 ", lambda: fine_tuning(1.0, 0.5, sigma=0, depth=0.5)),
    ("theta = -0.1 ", lambda: printed_transferability(-0.1, 0.5)),
    ("n = 0 ", lambda: fine_tuning_average(1.0, 0, 20, sigma=0.5)),
    ("n = 0, constant = 1.0", lambda: deviation_bound(ONES, 0)),
    ("deviation = -1.0 ", lambda: fine_tuning_bound(ONES, isotropic(3), deviation=-1.0)),
    ("n = 0 ", lambda: GaussianRegression(ONES, ONES).risk(0)),
    ("n = inf ", lambda: GaussianRegression(ONES, ONES).risk(math.inf)),
    ("sigma = nan ", lambda: scratch_risk(0.5, sigma=math.nan)),
    ("gamma = -0.1 ", lambda: linear_transferability(0.1, np.array([0.3, -0.1]), sigma=0)),
    ("theta = 60 ", lambda: linear_transfer_risk(60, 10, sigma=0)),
    ("d = 0 ", lambda: scratch_risk_finite(1, 0, sigma=0)),
    ("depth = 1 ", lambda: ridge_risk(0.1, 1, 9, sigma=0, depth=1)),
    ("rate = 4.1 ", lambda: convergence(TWO, ONES[:2], rate=4.1, steps=[1])),
    ("penalty = -1 ", lambda: source_minimum(-1.0)),
    ("r0 = 0.4 ", lambda: fine_tuning_rates(0.4, 1, 2)),
    ("zeta = 1 ", lambda: fine_tuning_rates(0.5, 1, 2, zeta=1)),
    ("risks above 0 at two sizes", lambda: fit_power_law(ONES[:2], np.array([1.0, 2.0]))),
    ("exponent = 0 ", lambda: negative_transfer_size(0.1, PowerLaw(1.0, 0.0))),
    ("depth = 1 ", lambda: remaining_features(0.1, 10, depth=1, width=10)),
    ("'sigmaa'", settings("tahir2024-fig6", sigmaa="1")),
    ("d = 'many'", settings("tahir2024-fig1", d="many")),
    ("d = '999", settings("tahir2024-fig1", d="9" * 5000)),
    ("d = -3 ", settings("tahir2024-fig3", d="-3")),
    ("seeds = 0 ", settings("tahir2024-fig1", seeds="0")),
    ("seeds = 99999", settings("tahir2024-fig1", seeds="9" * 25)),
    ("sigma = nan ", settings("tahir2024-fig1", sigma="nan")),
    ("sigma = -inf ", settings("tahir2024-fig1", sigma="-inf")),
    ("sigma = 1e300 ", settings("tahir2024-fig1", sigma="1e300")),
    ("head_mean = 0 and head_std = 0 ", settings("tahir2024-fig4", head_mean="0", head_std="0")),
    ("n = 0 ", settings("tahir2024-fig1", d="2")),
    ("2000 GB", settings("tahir2024-fine-tuning-sign", quick=False, d="5000", seeds="10000")),
)


@pytest.mark.parametrize(("seen", "attempt"), CASES, ids=[seen for seen, _ in CASES])
def test_it_is_refused_by_name(seen: str, attempt: Callable[[], object]) -> None:
    with pytest.raises(TransferscopeError) as refused:
        attempt()
    assert seen in str(refused.value)
    assert "\n" not in str(refused.value)
