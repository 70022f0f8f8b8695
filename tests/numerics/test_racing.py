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
    assert next_runs(np.full((4, 3), NAN), RULE, costs=costs) == [(0, 0), (2, 0), (3, 0), (1, 0)]


def test_controls_and_favourites_come_before_cheap_arms() -> None:
    runs = next_runs(np.full((5, 3), NAN), RULE, costs=[9.0, 1.0, 2.0, 3.0, 4.0], controls=[3], favourites=[4, 2])
    assert [arm for arm, _ in runs] == [0, 3, 4, 2, 1]


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
    assert turned.levels == pytest.approx(now.levels[order])
    assert turned.alive.tolist() == now.alive[order].tolist()
    assert turned.better.tolist() == now.better[order].tolist()


def test_levels_are_least_squares_of_arm_and_seed() -> None:
    """Against a dense design matrix, with the sum of the seeds' parts set to 0 by the smallest solution."""
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(4, 5)) + 5 * rng.normal(size=5)
    scores[1, 3:] = scores[2, 1:4] = NAN
    where = np.argwhere(np.isfinite(scores))
    design = np.zeros((len(where), 9))
    design[np.arange(len(where)), where[:, 0]] = 1
    design[np.arange(len(where)), 4 + where[:, 1]] = 1
    solved = np.linalg.lstsq(design, scores[tuple(where.T)], rcond=None)[0][:4]
    assert np.diff(standing(scores, RULE).levels) == pytest.approx(np.diff(solved))


def test_only_one_run_is_made_where_the_other_arm_has_its_own() -> None:
    """Whether is settled, and the leader has runs that its rival lacks."""
    rng = np.random.default_rng(6)
    full = np.array([0.0, 10.0, 10.0, -20.0, -20.0, -20.0])[:, None] + 0.3 * rng.normal(size=(6, 12))
    scores = np.where(np.arange(12) < np.array([4, 5, 3, 2, 2, 2])[:, None], full, NAN)
    now = standing(scores, RaceRule(margin=0.2))
    assert (now.whether, now.which) == ("helps", False)
    trailing = 2 if now.leader == 1 else 1
    runs = next_runs(scores, RaceRule(margin=0.2), costs=np.ones(6))
    assert runs == [(2, 3)], trailing


def test_a_race_goes_on_until_its_question_is_settled_or_every_run_is_made() -> None:
    """Also where a difference would be large enough and the noise is not yet known well enough to say so."""
    rng = np.random.default_rng(10)
    for _ in range(20):
        full = np.array([0.0, 6.0, 5.9, 5.8, -1, -1, 0, 0, 0])[:, None] + 0.4 * rng.normal(size=(9, 12))
        scores = run_to_the_end(full, RULE)
        assert standing(scores, RULE).whether == "helps"


@pytest.mark.parametrize(
    ("gains", "whether"),
    [
        ({1: 0.0, 2: 12.0}, "helps"),  # a control as good as scratch
        ({1: 12.0, 2: 12.0}, "no"),  # transfer gains what the control gains
        ({1: 20.0, 2: 12.0}, "no"),
    ],
)
def test_transfer_helps_only_where_it_beats_the_control_as_well(gains: dict[int, float], whether: str) -> None:
    rng = np.random.default_rng(7)
    full = np.array([0.0, gains[1], gains[2], -5.0, -5.0])[:, None] + 0.2 * rng.normal(size=(5, 12))
    now = standing(full, RULE, controls=[1])
    assert now.whether == whether
    assert now.better[2]  # than training from scratch, in each case
    assert now.beats_controls.tolist()[:3] == [False, False, whether == "helps"]
    assert not now.better[1]  # a control is never announced


def test_controls_cost_no_level() -> None:
    """An arm beside nine controls needs no wider interval than an arm alone."""
    rng = np.random.default_rng(8)
    full = np.array([0.0, 2.2])[:, None] + 0.5 * rng.normal(size=(2, 8))
    controls = -20 + 0.5 * rng.normal(size=(9, 8))
    with_controls = standing(np.concatenate([full, controls]), RULE, controls=range(2, 11))
    assert standing(full, RULE).better[1]
    assert with_controls.better[1]
    assert with_controls.whether == "helps"


@pytest.mark.long
def test_without_any_effect_no_more_beat_the_controls_than_the_risk_allows() -> None:
    rng = np.random.default_rng(9)
    false = 0
    for _ in range(40):
        full = 1.5 * rng.normal(size=(7, 12))
        scores = np.full(full.shape, NAN)
        while not (now := standing(scores, RULE, controls=[1, 2])).settles("whether"):
            runs = next_runs(scores, RULE, costs=np.ones(7), controls=[1, 2], question="whether")
            if not runs:
                break
            for run in runs:
                scores[run] = full[run]
        false += now.whether == "helps"
    assert false <= stats.binom.ppf(0.999, 40, 0.05)


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
