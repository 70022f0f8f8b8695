"""The next run to make, against closed forms of the normal linear model and brute force."""

import numpy as np
import pytest
from scipy import stats

from scaling.examples import GRID, product_surface
from transferscope.scaling import Costs, Surface, next_surface_run
from transferscope.scaling.advice.budget import candidate_runs
from transferscope.scaling.advice.next_run import information, next_run
from transferscope.scaling.laws import law_named

N = 4000
NORMAL = stats.norm.ppf((np.arange(N) + 0.5) / N)
"""A standard normal parameter, by its quantiles."""
EQUAL = np.full(N, 1 / N)


def test_information_is_that_of_a_normal_model() -> None:
    predicted = np.exp(np.stack([0.5 * NORMAL, 0.0 * NORMAL, 2.0 * NORMAL], axis=1))
    shares = information(predicted, 3 * NORMAL + 1, EQUAL, noise=0.5)
    np.testing.assert_allclose(shares, [0.5, 0.0, 4 / 4.25], atol=0.01)  # b^2 / (b^2 + noise^2)


def test_a_draw_with_more_noise_tells_less() -> None:
    predicted = np.exp(NORMAL)[:, None]
    shares = [information(predicted, NORMAL, EQUAL, noise=np.full(N, noise))[0] for noise in (0.1, 1.0)]
    np.testing.assert_allclose(shares, [1 / 1.01, 0.5], atol=0.01)


def test_information_on_a_yes_or_no_agrees_with_simulated_measurements() -> None:
    generator = np.random.default_rng(0)
    log_f, sigma = NORMAL, np.where(NORMAL > 1, 0.6, 0.3)
    hit = (NORMAL**2 < 0.5).astype(float)
    share = information(np.exp(log_f)[:, None], hit, EQUAL, noise=sigma)[0]
    truth = generator.integers(N, size=3000)
    y = log_f[truth] + sigma[truth] * generator.standard_normal(len(truth))
    density = stats.norm.pdf(y[:, None], log_f, sigma)
    chance = density @ hit / density.sum(axis=1)
    removed = 1 - chance * (1 - chance) / hit.var()
    assert abs(share - removed.mean()) < 4 * removed.std() / np.sqrt(len(truth)) + 0.005


def test_a_cheap_run_that_tells_nothing_is_not_chosen() -> None:
    candidates, gains = np.array([[1.0], [2.0], [3.0]]), np.array([0.02, 0.3, 0.5])
    assert next_run(candidates, gains, None).sizes[0] == 3
    assert next_run(candidates, gains, np.array([1.0, 30.0, 100.0])).sizes[0] == 2


SIGMA = 0.02


@pytest.fixture(scope="module")
def surface() -> Surface:
    """Only the product law, log f = log D - alpha log n - beta log s: a normal linear model."""
    exact = law_named("product").value(GRID, np.array([[0.2, 0.3, 5.0]]))[0]
    noise = np.random.default_rng(1).standard_normal(len(GRID))
    return product_surface(exact * np.exp(SIGMA * noise))


def closed_form(runs: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Squared correlation of log y at each run with a linear function of the law, under ordinary least squares."""
    design, rows = _design(GRID), _design(runs)
    covariance = np.linalg.inv(design.T @ design)  # in units of sigma^2
    spread = np.einsum("ri,ij,rj->r", rows, covariance, rows)
    shares: np.ndarray = (rows @ covariance @ at) ** 2 / ((spread + 1) * (at @ covariance @ at))
    return shares


def _design(sizes: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(sizes)), np.log(sizes)])


@pytest.mark.parametrize("costs", [None, Costs(per_pretrain=1.0, per_run=1000.0)])
def test_the_next_run_over_both_sizes_is_that_of_least_squares_by_time_or_cost(
    surface: Surface, costs: Costs | None
) -> None:
    n, s = surface.largest
    found = next_surface_run(surface, target_error=1e-4, costs=costs)
    assert (*found.plan, found.reached) == (100 * n, s, 0.0)
    runs = candidate_runs(surface, most_n=100 * n, most_s=s)
    shares = closed_form(runs, _design(np.array([[100 * n, s]]))[0])
    price = runs.sum(axis=1) if costs is None else runs[:, 0] + 1000
    per_price = np.where(shares >= shares.max() / 4, shares / price, 0)
    place = (runs == found.run.sizes).all(axis=1)
    assert per_price[place] > 0.8 * per_price.max()
    assert found.run.information == pytest.approx(float(shares[place][0]), abs=0.05)
    assert found.run.cost == (None if costs is None else price[place])


@pytest.mark.long
def test_only_new_and_feasible_runs_are_candidates(surface: Surface) -> None:
    n, s = surface.largest
    runs = candidate_runs(surface, most_n=5 * n, most_s=s)
    assert {tuple(run) for run in runs} == {(step * n, size) for step in (2, 4) for size in np.unique(GRID[:, 1])}
    part = product_surface(np.linspace(0.5, 0.1, 15), GRID[:-1])
    assert tuple(candidate_runs(part, most_n=n, most_s=s)[0]) == tuple(GRID[-1])


def test_a_target_that_was_measured_needs_no_run(surface: Surface) -> None:
    assert next_surface_run(surface, target_error=0.9) is None
    assert next_surface_run(surface) is None


def test_a_budget_is_not_spent_on_a_dearer_run(surface: Surface) -> None:
    budget = 150_000.0
    found = next_surface_run(surface, costs=Costs(per_pretrain=1.0, per_label=2.0), budget=budget)
    assert found.run.cost <= budget
    assert found.reached is None
    # the best n is B alpha / (alpha + beta), whose logarithm has this gradient in (log D, -alpha, -beta)
    gradient = np.array([0.0, 1 / 0.5 - 1 / 0.2, 1 / 0.5])
    share = closed_form(np.array([found.run.sizes]), gradient)[0]
    assert found.run.information == pytest.approx(float(share), abs=0.05)
