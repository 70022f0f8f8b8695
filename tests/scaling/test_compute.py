"""Parameters and tokens: closed forms, published numbers, and how often intervals hold."""

import numpy as np
import pytest

from scaling.examples import language_models
from transferscope.scaling import Formula, compute_optimal, fit_surface, forecast_at
from transferscope.scaling.advice.compute import isoflop_minima

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
        assert found.plan.pretrain_size == pytest.approx(best_n(of, found.budget), rel=5e-3)
        assert found.plan.cost == pytest.approx(found.budget, rel=1e-9)
        assert not found.from_minima


def test_published_numbers_of_chinchilla_and_gopher() -> None:
    """Losses of the law of Hoffmann et al. at 70 B on 1.4 T and 280 B on 300 B; exponents .45 of N and .55 of D."""
    n, d = isoflop()
    surface = fit_surface(n, d, loss(HOFFMANN, n, d), free=True)
    chinchilla, gopher = forecast_at(surface, Formula(), 70e9, 1.4e12), forecast_at(surface, Formula(), 280e9, 300e9)
    assert chinchilla.error == pytest.approx(1.936, abs=2e-3)
    assert gopher.error == pytest.approx(1.993, abs=2e-3)
    assert chinchilla.error < gopher.error
    below, inside = (forecast_at(surface, Formula(), n.min() / by, np.median(d)) for by in (4, 0.5))
    assert [one.beyond for one in (chinchilla, gopher, below, inside)] == [True, True, True, False]
    minima = isoflop_minima(surface, Formula())
    assert np.polyfit(np.log(minima[:, 0]), np.log(minima[:, 1]), 1)[0] == pytest.approx(0.28 / 0.62, abs=0.01)


def test_parabolas_through_the_budgets_give_the_best_number_of_parameters() -> None:
    n, d = isoflop()
    noise = np.exp(0.001 * np.random.default_rng(0).standard_normal(len(n)))
    surface = fit_surface(n, d, loss(BESIROGLU, n, d) * noise, free=True)
    (found,) = compute_optimal(surface, Formula(), [1e23])
    assert found.from_minima
    assert found.parameters.low < best_n(BESIROGLU, 1e23) < found.parameters.high
    assert found.plan.pretrain_size == pytest.approx(best_n(BESIROGLU, 1e23), rel=0.3)


def test_another_cost_moves_the_optimum_as_its_gradient_says() -> None:
    """Where 6 N D + 2e12 N is spent, dL/dN over dL/dD is the ratio of the marginal costs."""
    n, d = free_sizes()
    surface = fit_surface(n, d, loss(BESIROGLU, n, d), free=True)
    (found,) = compute_optimal(surface, Formula("6*N*D + 2e12*N"), [1e22])
    N, D = found.plan.pretrain_size, found.plan.finetune_size
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
