"""Racing against closed forms, an ordinary mixture integral, and simulated races whose truth is known."""

import numpy as np
import pytest
from scipy import integrate, stats

from transferscope.errors import SettingsError
from transferscope.numerics.racing import RaceRule, bounds_against, half_width, next_runs, standing

RULE = RaceRule()
NAN = np.nan


def run_to_the_end(full: np.ndarray, rule: RaceRule) -> np.ndarray:
    scores = np.full(full.shape, NAN)
    while not standing(scores, rule).settles("which"):
        runs = list(next_runs(scores, rule, costs=np.ones(len(full))))
        if not runs:
            break
        for run in runs:
            scores[run] = full[run]
    return scores


def test_half_widths_are_those_of_a_t_statistic_mixed_over_normal_effects() -> None:
    """Where the mixture of noncentral t densities over effects reaches 1 / level times the central one."""
    level, ratio = 0.1, 0.25
    for n in (3, 5, 12):
        nu = n + 3
        width = float(half_width(np.array([float(n)]), np.ones(1), level)[0])
        t = width * np.sqrt(n)

        def mixed(effect: float, t: float = t, n: int = n, nu: int = nu) -> float:
            density = stats.norm.pdf(effect, scale=np.sqrt(1 / ratio))
            return float(stats.nct.pdf(t, nu, effect * np.sqrt(n)) * density)

        likelihood = integrate.quad(mixed, -30, 30, limit=400)[0] / stats.t.pdf(t, nu)
        assert likelihood == pytest.approx(1 / level, rel=1e-3)


def test_half_widths_shrink_with_runs_and_grow_with_the_noise_and_the_demand() -> None:
    n = np.arange(1.0, 40.0)
    widths = half_width(n, np.ones(39), 0.05)
    assert np.all(np.diff(widths[np.isfinite(widths)]) < 0)
    assert np.allclose(half_width(n, np.full(39, 2.0), 0.05), 2 * widths)
    assert np.all(half_width(n, np.ones(39), 0.01) >= widths)
    assert np.isinf(half_width(np.zeros(1), np.ones(1), 0.3)).all()


def test_differences_are_paired_and_their_variances_moderated() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4, 6)) + 10 * rng.normal(size=6)  # a large part that all arms of a seed share
    scores[2, 3:] = NAN
    bounds = bounds_against(scores, 0, RULE)
    differences = [scores[k] - scores[0] for k in range(4)]
    kept = [d[np.isfinite(d)] for d in differences]
    assert bounds.mean.tolist() == pytest.approx([np.mean(d) for d in kept])
    squares = [np.sum((d - d.mean()) ** 2) for d in kept]
    pooled = (2 * 1.5**2 + sum(squares[1:])) / (2 + 5 + 2 + 5)
    assert bounds.sd[2] == pytest.approx(np.sqrt((4 * pooled + squares[2]) / (4 + 2)))
    assert bounds.df == 12


def test_every_arm_runs_once_before_any_runs_twice_and_cheap_ones_first() -> None:
    costs = [5.0, 3.0, 1.0, 2.0]
    assert list(next_runs(np.full((4, 3), NAN), RULE, costs=costs)) == [(0, 0), (2, 0), (3, 0), (1, 0)]


def test_nothing_is_said_before_four_degrees_of_freedom() -> None:
    now = standing([[10.0, 10.0], [60.0, 60.0], [61.0, NAN]], RULE)
    assert now.whether == "open"
    assert not now.better.any()
    assert not now.which


def test_a_run_that_failed_is_not_asked_for_again() -> None:
    scores = np.full((3, 2), NAN)
    failed = np.zeros((3, 2), dtype=bool)
    failed[1] = True
    asked = set()
    while runs := list(next_runs(scores, RULE, costs=np.ones(3), failed=failed)):
        asked |= set(runs)
        for run in runs:
            scores[run] = run[0] + 0.1 * run[1]
    assert {arm for arm, _ in asked} == {0, 2}


def test_a_clear_winner_ends_the_race_early_and_is_named() -> None:
    rng = np.random.default_rng(1)
    full = np.array([0.0, 1.0, 12.0, -3.0, 0.5])[:, None] + 0.5 * rng.normal(size=(5, 12))
    scores = run_to_the_end(full, RULE)
    now = standing(scores, RULE)
    assert (now.whether, now.which, now.leader) == ("helps", True, 2)
    assert np.isfinite(scores).sum() <= 15  # of 60


def test_arms_that_do_nothing_end_with_no() -> None:
    rng = np.random.default_rng(2)
    full = np.array([0.0, -8.0, -6.0, -9.0])[:, None] + 0.5 * rng.normal(size=(4, 12))
    now = standing(run_to_the_end(full, RULE), RULE)
    assert (now.whether, now.leader, now.worse.tolist()) == ("no", 0, [False, True, True, True])


def test_the_order_of_the_arms_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    full = rng.normal(size=(6, 12)) + np.array([0, 2, 4, 1, 0, -2.0])[:, None]
    scores = run_to_the_end(full, RULE)
    order = np.array([0, 3, 5, 1, 4, 2])
    now, turned = standing(scores, RULE), standing(scores[order], RULE)
    assert order[turned.leader] == now.leader
    assert turned.alive.tolist() == now.alive[order].tolist()
    assert turned.better.tolist() == now.better[order].tolist()


@pytest.mark.long
@pytest.mark.parametrize("sd", [1.5, 3.0])
def test_without_any_effect_a_race_says_helps_no_more_often_than_its_risk(sd: float) -> None:
    """At the end of 60 races over five arms; the full tables are in docs/results/race.md."""
    rng = np.random.default_rng([4, int(10 * sd)])
    false = 0
    for _ in range(60):
        full = sd / np.sqrt(2) * rng.normal(size=(6, 12))
        false += bool(standing(run_to_the_end(full, RULE), RULE).better.any())
    assert false <= stats.binom.ppf(0.999, 60, 0.05)


@pytest.mark.parametrize(
    "settings", [{"risk": 0.0}, {"risk": 0.6}, {"margin": 0.0}, {"margin": np.inf}, {"prior_sd": -1.0}]
)
def test_a_rule_that_means_nothing_is_refused(settings: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match="expected"):
        RaceRule(**settings)


def test_a_race_of_one_is_refused() -> None:
    with pytest.raises(SettingsError, match="at least one arm"):
        standing([[1.0, 2.0]], RULE)
