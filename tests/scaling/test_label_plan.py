"""Plans of labels against closed forms: where two power laws cross, the size of an error, pairs of seeds."""

import numpy as np
import pytest

from transferscope.scaling.advice.label_plan import (
    REACH,
    candidate_sizes,
    catch_up,
    draw_curve,
    label_grid,
    labels_for,
    paired,
    seed_correlation,
    unevenness,
)
from transferscope.scaling.observations import Observations, observe

SIZES = np.array([20.0, 40.0, 80.0, 160.0, 320.0, 640.0])


def law(D: float, alpha: float, *, stderr: float | None = None) -> Observations:
    errors = D * SIZES**-alpha
    return observe(SIZES, errors, stderr=None if stderr is None else stderr * errors)


def test_two_power_laws_are_caught_up_where_they_cross() -> None:
    """D n^-a = E n^-b at n = (D / E)^(1 / (a - b)) = (2 / 0.5)^(1 / 0.25) = 256."""
    scratch, transfer = law(2.0, 0.5, stderr=0.01), law(0.5, 0.25, stderr=0.01)
    grid = label_grid([scratch, transfer])
    curves = draw_curve(scratch, grid), draw_curve(transfer, grid)
    found = catch_up(*curves, paired(*curves, 0.0))
    assert found.low <= 256 <= found.high
    assert found.value == pytest.approx(256, rel=0.05)
    assert found.high / found.low < 1.5
    assert (found.smallest, found.limit, found.largest) == pytest.approx((20, REACH * 640, 640))


def test_never_and_already_are_answers() -> None:
    worse, better = law(2.0, 0.4, stderr=0.01), law(1.0, 0.4, stderr=0.01)
    grid = label_grid([worse, better])
    above, below = draw_curve(worse, grid), draw_curve(better, grid)
    never = catch_up(above, below, paired(above, below, 0.0))
    assert (never.value, never.low, never.high) == (np.inf, np.inf, np.inf)
    assert never.beyond > 0.95
    already = catch_up(below, above, paired(below, above, 0.0))
    assert (already.value, already.low, already.high) == (0, 0, 0)
    assert already.already > 0.95
    errors = [np.exp(np.log(2.0) - 0.4 * np.log(SIZES) + 0.1 * np.sin(k + SIZES)) for k in range(9)]
    sure = [labels_for(draw_curve(observe(SIZES, error), grid), 9.0) for error in errors]
    assert all(one.value == 0 and 0.999 < one.already <= 1 for one in sure)


def test_a_margin_moves_the_number() -> None:
    """1.0 n^-0.4 = 2.0 n^-0.4 - 0.1 at n^-0.4 = 0.1, n = 10^2.5 = 316."""
    scratch, transfer = law(2.0, 0.4, stderr=0.005), law(1.0, 0.4, stderr=0.005)
    grid = label_grid([scratch, transfer])
    curves = draw_curve(scratch, grid), draw_curve(transfer, grid)
    found = catch_up(*curves, paired(*curves, 0.0), margin=0.1)
    assert found.value == pytest.approx(10**2.5, rel=0.05)


def test_labels_for_an_error_follow_the_law() -> None:
    """2 n^-0.5 = 0.2 at n = 100, 0.05 at 1,600; 0.5 at 16, before the first size; 0.02 at 10,000, beyond the last."""
    data = law(2.0, 0.5, stderr=0.01)
    curve = draw_curve(data, label_grid([data]))
    inside, ahead = labels_for(curve, 0.2), labels_for(curve, 0.05)
    assert inside.value == pytest.approx(100, rel=0.05)
    assert inside.low <= 100 <= inside.high
    assert ahead.low <= 1600 <= ahead.high
    assert ahead.high / ahead.low > inside.high / inside.low
    assert labels_for(curve, 0.5).value == 0
    assert labels_for(curve, 0.02).value == np.inf


def test_more_labels_bring_what_the_law_says() -> None:
    data = law(2.0, 0.5, stderr=0.01)
    curve = draw_curve(data, label_grid([data]))
    _, gain = curve.fall(100)
    exact = 2 * 640**-0.5 - 2 * 740**-0.5
    assert gain.low <= exact <= gain.high
    assert curve.error_at(160).error == pytest.approx(2 * 160**-0.5, rel=0.02)


def test_fewer_sizes_say_less() -> None:
    full = law(2.0, 0.5, stderr=0.02)
    few = full.take(SIZES <= 80)
    widths = []
    for data in (full, few):
        curve = draw_curve(data, label_grid([data]))
        ahead = curve.error_at(4 * curve.largest).interval
        widths.append(np.log(ahead.high / ahead.low))
    assert widths[1] > 1.5 * widths[0]


def test_a_level_curve_keeps_its_uncertainty() -> None:
    rising = observe(SIZES, 0.2 + 0.02 * np.arange(6), stderr=np.full(6, 0.02))
    curve = draw_curve(rising, label_grid([rising]))
    assert np.isfinite(curve.errors).all()
    assert curve.errors[:, 0].std() > 0.001


def test_seeds_that_move_together_are_correlated() -> None:
    """Three sizes with d = 6 degrees of freedom: 1 * 6 / (6 + 4) for the same deviations, -0.6 for opposite ones."""
    scratch = [np.array([1.0, 1.1, 0.9])] * 3
    same, opposite = [2 * a for a in scratch], [2 - a for a in scratch]
    assert seed_correlation(scratch, same) == pytest.approx(0.6)
    assert seed_correlation(scratch, opposite) == pytest.approx(-0.6)
    assert seed_correlation([np.array([1.0])], [np.array([2.0])]) == 0
    assert seed_correlation(scratch, [np.ones(3)] * 3) == 0
    uneven = [np.array([0.9]), np.array([0.5, 1.5]), np.array([1.0, 2.0, 3.0])]  # sizes need not share as many seeds
    assert seed_correlation(uneven, uneven) == pytest.approx(3 / 7)  # d = 0 + 1 + 2, and d / (d + 4)


def test_pairs_have_the_correlation_of_their_noise() -> None:
    """Posterior residuals of two curves under correlated noise are correlated, so their difference is known better."""
    rng = np.random.default_rng(3)
    noise = 0.05 * rng.standard_normal(6)
    scratch = observe(SIZES, 2.0 * SIZES**-0.5 * np.exp(noise), stderr=0.1 * SIZES**-0.5)
    transfer = observe(SIZES, 0.5 * SIZES**-0.25 * np.exp(noise), stderr=0.025 * SIZES**-0.25)
    grid = label_grid([scratch, transfer])
    curves = draw_curve(scratch, grid), draw_curve(transfer, grid)
    spreads = []
    for correlation in (0.0, 0.8):
        pairs = paired(*curves, correlation)
        assert pairs.weights.sum() == pytest.approx(1)
        ratio = np.log(curves[0].at(100)[pairs.scratch] / curves[1].at(100)[pairs.transfer])
        mean = pairs.weights @ ratio
        spreads.append(np.sqrt(pairs.weights @ (ratio - mean) ** 2))
    assert spreads[1] < 0.75 * spreads[0]


def test_candidates_lie_between_and_beyond() -> None:
    """Geometric means 32 and 113 in two digits, and 1.5, 2 and 4 times 160; 20 and 25 leave no room between them."""
    assert candidate_sizes(np.array([20.0, 25.0, 40.0, 80.0, 160.0])).tolist() == [32, 57, 110, 240, 320, 640]


def test_a_smooth_curve_has_a_width_that_grows_with_the_distance() -> None:
    """A level curve of known noise: the log error scatters by .02 for each doubling beyond the largest size."""
    x = 100.0 * 2.0 ** np.arange(6)
    data = observe(x, np.full(6, 0.2) * np.array([1.0002, 0.9999, 1, 1.0001, 0.9998, 1]), stderr=np.full(6, 1e-5))
    draws = draw_curve(data, label_grid([data]))
    half = [np.log(e.high / e.low) / 2 for e in (draws.error_at(3200.0 * times).interval for times in (2, 4, 7.99))]
    assert half == pytest.approx([1.645 * 0.02 * doublings for doublings in (1, 2, 3)], rel=0.25)


def test_unevenness_is_the_change_of_the_fall_beyond_noise() -> None:
    """Falls of .1, .4 and .2 change by .3 and .2 from doubling to doubling; noise alone by 2 sigma sqrt(3 / pi)."""
    x = 100.0 * 2.0 ** np.arange(4)
    errors = 0.5 * np.exp(-np.cumsum([0.0, 0.1, 0.4, 0.2]))
    assert unevenness(observe(x, errors, stderr=1e-9 * errors)) == pytest.approx(0.25)
    assert unevenness(observe(x, errors, stderr=0.1 * errors)) == pytest.approx(np.sqrt(0.25**2 - 0.04 * 3 / np.pi))
    assert unevenness(observe(x, x**-0.4, stderr=1e-9 * x**-0.4)) == pytest.approx(0, abs=1e-9)
    generator = np.random.default_rng(0)
    noisy = [unevenness(observe(1.05 ** np.arange(400), np.exp(0.05 * generator.standard_normal(400))))]
    noisy.append(unevenness(observe(1.05 ** np.arange(400), 1 + 1e-9 * np.arange(400), stderr=np.full(400, 0.05))))
    assert noisy == pytest.approx([2 * np.sqrt(3 / np.pi) * np.sqrt(0.05**2 - 0.03**2), 0], rel=0.1)


def test_an_uneven_curve_has_a_wider_interval() -> None:
    x = 100.0 * 2.0 ** np.arange(5)
    widths = []
    for falls in ([0.2, 0.2, 0.2, 0.2], [0.05, 0.35, 0.02, 0.38]):
        errors = 0.4 * np.exp(-np.cumsum([0.0, *falls]))
        data = observe(x, errors, stderr=0.002 * errors)
        interval = draw_curve(data, label_grid([data])).error_at(3200).interval
        widths.append(np.log(interval.high / interval.low))
    assert widths[1] > 3 * widths[0]


@pytest.mark.parametrize(
    ("errors", "chance", "may"),
    [
        ([0.9, 0.9, 0.89, 0.9, 0.88], 0.9, True),
        ([0.9, 0.9, 0.89, 0.9, 0.88], None, True),
        ([0.9, 0.8, 0.7, 0.6, 0.5], 0.9, False),
        ([0.2, 0.2, 0.19, 0.2, 0.2], 0.9, False),
        ([2.0, 2.0, 1.99, 2.0, 1.98], None, False),  # a loss
        ([0.5, 0.5, 0.49, 0.5, 0.5], 0.9, False),
    ],
)
def test_a_curve_at_chance_may_take_off(errors: list[float], chance: float | None, may: bool) -> None:
    x = 10.0 * 2.0 ** np.arange(5)
    data = observe(x, errors, stderr=np.full(5, 0.002))
    draws = draw_curve(data, label_grid([data]), chance=chance)
    assert draws.may_take_off == may
    assert not draw_curve(data, label_grid([data]), chance=chance, share=False).may_take_off
    assert (draws.error_at(1279).interval.low < 0.5 * errors[-1]) == may or not may
