import numpy as np
import pytest

from scaling.examples import GRID, language_models
from transferscope.scaling import Surface, next_surface_run, observe
from transferscope.scaling.advice.budget import forecast_at
from transferscope.scaling.laws import FREE_LAWS, SURFACE_LAWS, law_named
from transferscope.scaling.surface import fit_surface, held_out_score, outliers, varies_freely


@pytest.mark.long
def test_the_law_that_made_the_data_wins() -> None:
    truth = law_named("effective-data").value(GRID, np.array([[0.4, 0.5, 40.0, 9.0, 0.05]]))[0]
    noise = np.exp(0.002 * np.random.default_rng(0).standard_normal(len(GRID)))
    surface = fit_surface(GRID[:, 0], GRID[:, 1], truth * noise)
    assert surface.interpolating == "effective-data"
    assert sum(surface.weights.values()) == pytest.approx(1)
    np.testing.assert_allclose(surface.predict(GRID), truth, rtol=0.2)


@pytest.mark.long
def test_laws_with_and_without_a_value_at_zero_are_scored_on_the_same_points() -> None:
    errors = law_named("full").value(GRID, np.array([[0.4, 0.3, 1.0, 9.0]]))[0]
    n, s = np.concatenate([GRID[:, 0], np.zeros(4)]), np.concatenate([GRID[:, 1], np.unique(GRID[:, 1])])
    wild = observe(np.stack([n, s], axis=1), np.concatenate([errors, [0.9, 0.1, 0.9, 0.1]]))  # unlike the rest at n = 0
    scores = {name: held_out_score(law, wild, "log") for name, law in SURFACE_LAWS.items()}
    assert scores["full"] == held_out_score(law_named("full"), observe(GRID, errors), "log")
    assert Surface({}, scores, {}, wild, ()).interpolating in ("full", "full+floor")


@pytest.mark.long
def test_standard_errors_are_weights_and_an_error_of_zero_counts_as_measured() -> None:
    errors = law_named("product").value(GRID, np.array([[0.2, 0.3, 5.0]]))[0]
    wrong = np.arange(len(GRID)) == 5
    stderr = np.where(wrong, 10.0, 0.001) * errors
    errors[-1] = 0
    surface = fit_surface(GRID[:, 0], GRID[:, 1], np.where(wrong, 2 * errors, errors), stderr=stderr)
    assert surface.fits["product"].theta == pytest.approx([0.2, 0.3, 5.0], rel=1e-3)
    assert surface.least_error == 0
    assert surface.largest == tuple(GRID.max(axis=0))
    assert next_surface_run(surface, target_error=1e-3) is None


@pytest.mark.long
def test_a_table_too_small_to_hold_any_out_is_judged_by_its_fit() -> None:
    n, s = np.array([1.0, 2, 4, 8, 1, 4, 8]) * 1000, np.array([100, 100, 100, 100, 200, 200, 200])
    surface = fit_surface(n, s, [0.3, 0.25, 0.22, 0.2, 1.28, 0.3, 0.15])
    scores = surface.scores
    without = [name for name, score in scores.items() if not np.isfinite(score.leave_s_out)]
    assert without
    assert surface.interpolating not in without or len(without) == len(scores)


def test_runs_without_pretraining_are_part_of_a_table_of_free_sizes() -> None:
    generator = np.random.default_rng(0)
    n, s = np.exp(generator.uniform(5, 10, 40)), np.exp(generator.uniform(4, 9, 40))
    n[:4] = 0

    def truth(n: np.ndarray, s: np.ndarray) -> np.ndarray:
        return np.asarray(0.05 + 2 * (n + 100) ** -0.3 + 1.5 * s**-0.3)

    surface = fit_surface(n, s, truth(n, s))
    assert surface.free
    assert surface.later
    interval = forecast_at(surface, None, 4e4, 1e4).interval
    assert interval.low < truth(np.array(4e4), np.array(1e4)) < interval.high


def test_sizes_on_a_grid_do_not_vary_freely() -> None:
    assert not varies_freely(GRID)
    frame = language_models()
    assert varies_freely(frame[["params", "tokens"]].to_numpy())


def test_noise_alone_is_hardly_ever_called_far_however_few_points_there_are() -> None:
    """A fit of 5 parameters in absolute values goes through 5 of 9 points, beside which the others look far."""
    n, s = (axis.ravel() for axis in np.meshgrid(1e6 * 10.0 ** np.arange(3), 1e6 * 10.0 ** np.arange(3)))
    truth, named = 400 * n**-0.34 + 400 * s**-0.28 + 1.7, 0
    for seed in range(10):
        noisy = truth * np.exp(0.02 * np.random.default_rng(seed).standard_normal(9))
        named += outliers(observe(np.stack([n, s], axis=1), noisy), FREE_LAWS["additive"]) is not None
    assert named <= 2
