"""Parameters and tokens: closed forms, published numbers, and how often intervals hold."""

import numpy as np
import pytest

from scaling.examples import language_models
from transferscope.scaling import Formula, compute_optimal, fit_surface, forecast_at, observe
from transferscope.scaling.advice.costs import MeasuredCost
from transferscope.scaling.surface import last_budgets, log_distance

HOFFMANN = (0.34, 0.28, 406.4, 410.7, 1.69)
BESIROGLU = (0.3478, 0.3658, 482.01, 2085.43, 1.8172)


def loss(of: tuple[float, ...], n: np.ndarray, d: np.ndarray) -> np.ndarray:
    a, b, A, B, E = of
    return np.asarray(E + A * n**-a + B * d**-b)


def best_n(of: tuple[float, ...], budget: float) -> float:
    """Hoffmann et al. 2022, eq. 4."""
    a, b, A, B, _ = of
    return float((a * A / (b * B)) ** (1 / (a + b)) * (budget / 6) ** (b / (a + b)))


def free_sizes() -> tuple[np.ndarray, np.ndarray]:
    frame = language_models()
    return frame["params"].to_numpy(), frame["tokens"].to_numpy()


def isoflop() -> tuple[np.ndarray, np.ndarray]:
    budgets = np.geomspace(1e18, 1e21, 5)
    n = np.concatenate([np.sqrt(budget / 120) * np.geomspace(0.3, 4, 7) for budget in budgets])
    return n, np.repeat(budgets, 7) / 6 / n


@pytest.mark.parametrize("of", [HOFFMANN, BESIROGLU])
def test_without_noise_the_optimum_is_the_closed_form(of: tuple[float, ...]) -> None:
    n, d = free_sizes()
    surface = fit_surface(n, d, loss(of, n, d), free=True)
    for found in compute_optimal(surface, Formula(), [1e22, 5.88e23]):
        assert found.plan.n == pytest.approx(best_n(of, found.budget), rel=5e-3)
        assert found.plan.cost == pytest.approx(found.budget, rel=1e-9)


def test_published_numbers_of_chinchilla_and_gopher() -> None:
    """Losses of the law of Hoffmann et al. at 70 B on 1.4 T and 280 B on 300 B; exponents .45 of N and .55 of D."""
    n, d = isoflop()
    surface = fit_surface(n, d, loss(HOFFMANN, n, d), free=True)
    chinchilla, gopher = forecast_at(surface, Formula(), 70e9, 1.4e12), forecast_at(surface, Formula(), 280e9, 300e9)
    assert chinchilla.error == pytest.approx(1.936, abs=2e-3)
    assert gopher.error == pytest.approx(1.993, abs=2e-3)
    assert chinchilla.error < gopher.error
    below, inside = (forecast_at(surface, Formula(), n.min() / by, np.median(d)) for by in (4, 0.5))
    assert [one.basis == "beyond" for one in (chinchilla, gopher, below, inside)] == [True, True, True, False]
    budgets = [1e21, 1e24]
    few, many = (one.plan.n for one in compute_optimal(surface, Formula(), budgets))
    assert np.log(many / few) / np.log(budgets[1] / budgets[0]) == pytest.approx(0.28 / 0.62, abs=0.01)


@pytest.mark.parametrize("badly_tuned", [0, 2])
def test_runs_of_the_same_budgets_give_the_best_number_of_parameters(badly_tuned: int) -> None:
    n, d = isoflop()
    noise = np.exp(0.001 * np.random.default_rng(0).standard_normal(len(n)))
    noise[:badly_tuned] *= 1.06
    surface = fit_surface(n, d, loss(BESIROGLU, n, d) * noise, free=True)
    (found,) = compute_optimal(surface, Formula(), [1e23])
    assert found.parameters.low < best_n(BESIROGLU, 1e23) < found.parameters.high
    assert found.plan.n == pytest.approx(best_n(BESIROGLU, 1e23), rel=0.15)


def test_another_cost_moves_the_optimum_as_its_gradient_says() -> None:
    """Where 6 N D + 2e12 N is spent, dL/dN over dL/dD is the ratio of the marginal costs."""
    n, d = free_sizes()
    surface = fit_surface(n, d, loss(BESIROGLU, n, d), free=True)
    (found,) = compute_optimal(surface, Formula("6*N*D + 2e12*N"), [1e22])
    N, D = found.plan.sizes
    a, b, A, B, _ = BESIROGLU
    assert (a * A * N ** (-a - 1)) / (b * B * D ** (-b - 1)) == pytest.approx((6 * D + 2e12) / (6 * N), rel=0.02)
    assert best_n(BESIROGLU, 1e22) > 1.05 * N


@pytest.mark.long
@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.4])
def test_intervals_hold_the_loss_of_larger_budgets(exponent: float) -> None:
    """Nominal 90 %, in 12 noisy tables of a coupled truth each, at 4 to 64 times the largest budget."""
    held = []
    for seed in range(12):
        generator = np.random.default_rng(seed)
        n, d = (frame := language_models(seed, 50))["params"].to_numpy(), frame["tokens"].to_numpy()

        def truth(n: np.ndarray, d: np.ndarray) -> np.ndarray:
            A, B = 482.01 ** (1 / exponent), 2085.43 ** (1 / exponent)
            return np.asarray(1.8 + (A * n ** (-0.35 / exponent) + B * d ** (-0.37 / exponent)) ** exponent)

        surface = fit_surface(n, d, truth(n, d) * np.exp(0.003 * generator.standard_normal(len(n))), free=True)
        for times in (4, 16, 64):
            at = np.sqrt(times * (n * d).max() / 20)
            interval = forecast_at(surface, None, at, 20 * at).interval
            held.append(interval.low <= truth(np.array(at), np.array(20 * at)) <= interval.high)
    assert np.mean(held) >= 0.8


def isoflop_as_published(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """N, D and budgets that are .93 to 1.35 times 6 N D."""
    n, d = isoflop()
    return n, d / generator.uniform(0.93, 1.35, len(n)), 6 * n * d


def test_budgets_that_are_not_six_n_d_are_still_budgets() -> None:
    """N that costs the least of what runs were said to cost; the last budgets are those that were said."""
    n, d, budgets = isoflop_as_published(np.random.default_rng(0))
    surface = fit_surface(n, d, loss(HOFFMANN, n, d), free=True, spent=budgets)
    cost = MeasuredCost.of_runs(np.stack([n, d], axis=1), budgets)
    assert cost.of(n, d) == pytest.approx(budgets, rel=0.4)
    assert np.median(cost.of(n, d) / budgets) == pytest.approx(1, abs=0.02)
    data, said = surface.observations, np.geomspace(1e18, 1e21, 5)
    for place, mask in enumerate(last_budgets(data)):
        assert data.spent[mask].min() == pytest.approx(said[-1 - place])
    for found in compute_optimal(surface, cost, [1e22]):
        assert found.plan.cost == pytest.approx(1e22)
        path = np.geomspace(1e8, 1e12, 2000)
        least = path[loss(HOFFMANN, path, 1e22 / cost.of(path, 1.0)).argmin()]
        assert found.plan.n == pytest.approx(least, rel=0.02)


def test_a_cost_is_read_off_runs() -> None:
    n, d = free_sizes()
    cost = MeasuredCost.of_runs(np.stack([n, d], axis=1), 6 * 1.1 * (n / 1e8) ** -0.05 * n * d)
    assert cost.rate == pytest.approx(-0.05)
    assert cost.of(1e8, 1e9) == pytest.approx(6.6e17)


def test_one_badly_tuned_run_in_thirty_does_not_move_the_default() -> None:
    n, d = isoflop()
    errors = loss(HOFFMANN, n, d)
    errors[[29, 33]] *= 1.08
    truth = loss(HOFFMANN, np.array(70e9), np.array(1.4e12))
    default, squares = (
        forecast_at(fit_surface(n, d, errors, free=True, loss=one), None, 70e9, 1.4e12) for one in (None, "log")
    )
    assert default.error == pytest.approx(truth, rel=2e-3)
    assert abs(np.log(squares.error / truth)) > 5e-3
    assert default.ahead == pytest.approx((70e9 / n.max(), 1.4e12 / d.max()))


def test_intervals_grow_in_proportion_to_the_log_distance() -> None:
    n, d = free_sizes()
    noise = np.exp(0.003 * np.random.default_rng(0).standard_normal(len(n)))
    surface = fit_surface(n, d, loss(HOFFMANN, n, d) * noise, free=True)
    score = next(iter(surface.scores.values()))
    far = [forecast_at(surface, None, n.max() * times, d.max() * times).interval for times in (10, 100, 1000)]
    widths = [np.log(one.high / one.low) for one in far]
    assert widths[0] < widths[1] < widths[2]
    assert log_distance(np.array([[10 * n.max(), d.max()], [n.min(), d.min()]]), np.stack([n, d], 1)) == pytest.approx(
        [np.log(10), 0]
    )
    assert score.last_budget <= score.rate * 10


def test_fits_to_the_larger_budgets_lead_beyond_them() -> None:
    """8e8 tokens that do not count matter least at the largest budgets; forecasts are half of the fits to these."""

    def truth(n: np.ndarray, d: np.ndarray) -> np.ndarray:
        return np.asarray(1.7 + 420 * n**-0.345 + 900 * (d + 8e8) ** -0.31)

    n, d = isoflop()
    surface = fit_surface(n, d, truth(n, d), free=True)
    larger = {tuple(point) for point in np.stack([n, d], 1)[6 * n * d > 2e19]}  # three of the five budgets
    for fit in surface.later.values():
        assert {tuple(point) for point in fit.observations.sizes} == larger
    at = np.array([[1e11, 2e12]])
    alone = np.exp(sum(surface.weights[name] * np.log(fit.predict(at)[0]) for name, fit in surface.fits.items()))
    later = np.exp(sum(surface.weights[name] * np.log(fit.predict(at)[0]) for name, fit in surface.later.items()))
    assert surface.predict(at)[0] == pytest.approx(np.sqrt(alone * later))
    assert sum(weight for _, weight, _ in surface.members) == pytest.approx(1)
    true = truth(*at.T)[0]
    assert abs(later - true) < abs(surface.predict(at)[0] - true) < abs(alone - true)


def test_few_runs_are_fitted_once() -> None:
    n, d = (column[::3] for column in isoflop())
    surface = fit_surface(n, d, loss(HOFFMANN, n, d), free=True)
    assert surface.later == {}
    assert [fit for fit, _, _ in surface.members] == list(surface.fits.values())


@pytest.mark.parametrize("scatter", [False, True])
def test_the_last_budgets_are_left_out_one_two_and_three_at_a_time(scatter: bool) -> None:
    n, d = isoflop_as_published(np.random.default_rng(0))[:2] if scatter else isoflop()
    data = observe(np.stack([n, d], axis=1), loss(HOFFMANN, n, d))
    masks, spent = last_budgets(data), data.sizes.prod(axis=1)
    assert [int(mask.sum()) for mask in masks] == [7, 14, 21]
    assert spent[masks[0]].min() > spent[~masks[0]].max()
