"""Profile sets against a dense scan, an independent search, and their coverage."""

from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from scaling.examples import EXACT, SIZES
from transferscope.scaling import fit_law
from transferscope.scaling.laws import LAWS
from transferscope.settings.questions import Loss


def test_the_profile_set_of_alpha_is_that_of_a_dense_scan() -> None:
    y = EXACT * np.exp(2e-4 * np.array([1.0, -1.0, 0.5, -0.5, 1.0, -1.0, 0.3]))
    fit = fit_law(SIZES, y, loss="linear")
    alphas = np.linspace(0.2, 0.8, 601)
    costs = []
    for alpha in alphas:
        design = np.stack([SIZES**-alpha, np.ones(7)], axis=1)
        costs.append(optimize.nnls(design, y)[1] ** 2)
    allowed = min(costs) * (1 + stats.t.ppf(0.975, 4) ** 2 / 4)
    inside = alphas[np.array(costs) <= allowed]
    assert fit.profiles["alpha"].low == pytest.approx(inside[0], abs=0.004)
    assert fit.profiles["alpha"].high == pytest.approx(inside[-1], abs=0.004)
    assert fit.profiles["alpha"].closed


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, np.ndarray, np.ndarray, str]:
    """A law, and a table that may or may not follow it: a noisy power law, with bad rows, or rising."""
    name = draw(st.sampled_from(["power+floor", "additive", "shifted-power", "product", "saturating-power", "full"]))
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    m = draw(st.integers(7, 30))
    x = np.exp(generator.uniform(0, np.log(10.0 ** draw(st.integers(1, 6))), (m, LAWS[name].n_sizes)))
    x *= 10.0 ** generator.integers(0, 10, LAWS[name].n_sizes)
    rates = generator.uniform(0.05, 1.0, x.shape[1])
    rates = -rates if draw(st.booleans()) and draw(st.booleans()) else rates
    y = generator.uniform(0, 1) + ((x / x.min(axis=0)) ** -rates).sum(axis=1)
    y = y * np.exp(10.0 ** draw(st.integers(-4, -1)) * generator.standard_normal(m))
    y[: draw(st.integers(0, 2))] *= 3
    return name, x, y, draw(st.sampled_from(["log", "linear", "huber"]))


@pytest.mark.long
@settings(max_examples=10, deadline=None, derandomize=True)
@given(tables())
def test_a_profile_set_contains_its_estimate_or_says_that_it_was_not_found(
    table: tuple[str, np.ndarray, np.ndarray, str],
) -> None:
    name, x, y, loss = table
    fit = fit_law(x, y, law=name, loss=cast(Loss, loss))
    for parameter, value in zip(fit.law.names, fit.theta, strict=True):
        profile = fit.profiles[parameter]
        if not profile.found:
            assert not profile.closed
            assert fit.estimates[parameter].status == "not_identified"
            continue
        assert profile.low <= value <= profile.high
        if fit.rmse > 1e-9:
            assert not profile.closed or profile.high > profile.low


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_the_sets_of_a_surface_end_where_an_independent_search_says(seed: int) -> None:
    """Sizes like those of language models, where A and alpha lie on a long ridge."""
    generator = np.random.default_rng(seed)
    n, s = np.exp(generator.uniform(np.log(1e8), np.log(1e10), 60)), np.exp(generator.uniform(np.log(1e9), 26.0, 60))
    y = (480 * n**-0.35 + 2000 * s**-0.37 + 1.82) * np.exp(0.005 * generator.standard_normal(60))
    fit = fit_law(np.stack([n, s], axis=1), y, law="additive")

    def least(name: str, value: float) -> float:
        """The cost with one parameter held, from the optimum in steps, in coordinates that do not form a ridge."""
        unit_n, unit_s = np.exp(np.log(n).mean()), np.exp(np.log(s).mean())
        place = fit.law.names.index(name)

        def residuals(u: np.ndarray, held: float) -> np.ndarray:
            alpha, beta, log_a, log_b, floor = np.insert(u, place, 0.0)
            if name == "alpha":
                alpha = held
            if name == "A":
                log_a = np.log(held) - alpha * np.log(unit_n)
            if name == "E":
                floor = held
            value = np.exp(log_a) * (n / unit_n) ** -alpha + np.exp(log_b) * (s / unit_s) ** -beta + floor
            result: np.ndarray = np.log(value) - np.log(y)
            return result

        alpha, beta, a, b, floor = fit.theta
        u = np.array([alpha, beta, np.log(a * unit_n**-alpha), np.log(b * unit_s**-beta), floor])
        start = np.delete(u, place)
        for share in np.linspace(0.05, 1, 20):
            held = fit.theta[place] + share * (value - fit.theta[place])
            start = optimize.least_squares(residuals, start, args=(held,), xtol=1e-14, ftol=1e-14, gtol=1e-14).x
        return float((residuals(start, value) ** 2).sum())

    cost = float((fit.residuals**2).sum())
    allowed = cost * (1 + stats.t.ppf(0.975, 55) ** 2 / 55)
    for name in ("alpha", "A", "E"):
        for end in (fit.profiles[name].low, fit.profiles[name].high):
            assert least(name, end) - cost == pytest.approx(allowed - cost, rel=0.1)


@pytest.mark.slow
def test_huber_sets_cover_the_truth_as_often_as_they_say() -> None:
    """Laplace noise, for which the Huber loss is nearly the likelihood."""
    n = np.repeat(1000.0 * 2.0 ** np.arange(8), 3)
    covered = []
    for seed in range(25):
        noise = 0.01 * np.random.default_rng(seed).laplace(size=len(n))
        fit = fit_law(n, 3.0 * n**-0.5 * np.exp(noise), law="power", loss="huber")
        covered.append(fit.profiles["alpha"].low <= 0.5 <= fit.profiles["alpha"].high)
    assert np.mean(covered) >= 0.85


def test_the_set_of_a_constant_is_the_t_interval_of_its_logarithm() -> None:
    errors = np.array([0.21, 0.19, 0.2, 0.22, 0.18])
    found = fit_law([100, 200, 400, 800, 1600], errors, law="power", fixed={"alpha": 0.0})
    logs = np.log(errors)
    half = stats.t.ppf(0.975, 4) * logs.std(ddof=1) / np.sqrt(5)
    assert found.estimates["D"].value == pytest.approx(np.exp(logs.mean()))
    assert (found.profiles["D"].low, found.profiles["D"].high) == pytest.approx(
        (np.exp(logs.mean() - half), np.exp(logs.mean() + half)), rel=2e-3
    )
