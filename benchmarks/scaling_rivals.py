"""Ways to extrapolate an error curve that the benchmark compares with."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special, stats

from transferscope.scaling import extrapolate
from transferscope.scaling.laws import law_named
from transferscope.scaling.solve import Effort, Problem, solve


@dataclass(frozen=True)
class Forecast:
    """Predicted errors, with the ends of a 90 % interval where the method has one."""

    predicted: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None


Rival = Callable[[np.ndarray, np.ndarray, np.ndarray], Forecast]
"""(x, y, sizes to predict at) -> forecast. A failure is a RuntimeError, or a forecast that is not finite."""


def ours(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> Forecast:
    result = extrapolate(x, y, at=at)
    return Forecast(result.predicted, result.low, result.high)


def last_value(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> Forecast:
    return Forecast(np.full(len(at), y[-1]))


def one_law(name: str) -> Rival:
    """A law of this package on all points, least squares in log error."""
    law, effort = law_named(name), Effort(n_starts=4, max_steps=100, tolerance=1e-9)

    def forecast(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> Forecast:
        problem = Problem(law, x[:, None], y[None], (y > 0).astype(float)[None])
        return Forecast(law.value(at[:, None], solve(problem, effort).theta)[0])

    return forecast


def power_of_the_last_third(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> Forecast:
    """A straight line in logarithms through the last third of the points, two at least."""
    last = max(2, -(-len(x) // 3))
    line = np.polyfit(np.log(x[-last:]), np.log(np.maximum(y[-last:], 1e-9)), 1)
    return Forecast(np.exp(np.polyval(line, np.log(at))))


def curve_fit_default(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> Forecast:
    """scipy.optimize.curve_fit of D x^-a + C from (1, 0.5, 0), with its covariance as a prediction interval."""

    def law(x: np.ndarray, D: float, a: float, C: float) -> np.ndarray:
        return D * x**-a + C

    (D, a, C), covariance = optimize.curve_fit(law, x, y, p0=(1.0, 0.5, 0.0))
    jacobian = np.stack([at**-a, -D * np.log(at) * at**-a, np.ones_like(at)], axis=1)
    noise = ((y - law(x, D, a, C)) ** 2).sum() / max(len(x) - 3, 1)
    stderr = np.sqrt(np.einsum("ti,ij,tj->t", jacobian, covariance, jacobian) + noise)
    half = stats.t.ppf(0.95, max(len(x) - 3, 1)) * stderr
    predicted = law(at, D, a, C)
    return Forecast(predicted, predicted - half, predicted + half)


def log_huber_multistart(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> Forecast:
    """The recipe of Hoffmann et al. 2022: Huber loss (1e-3) in log error, log-sum-exp form, L-BFGS from a grid."""
    log_x, log_y = np.log(x), np.log(y)

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        log_D, a, log_C = theta
        terms = np.stack([log_D - a * log_x, np.full_like(log_x, log_C)])
        residual = special.logsumexp(terms, axis=0) - log_y
        share = special.softmax(terms, axis=0)
        slope = np.clip(residual, -1e-3, 1e-3)
        loss = special.huber(1e-3, residual).sum()
        return loss, np.array([(slope * share[0]).sum(), -(slope * share[0] * log_x).sum(), (slope * share[1]).sum()])

    grid = itertools.product((-5.0, 0.0, 5.0, 10.0, 20.0), (0.0, 0.25, 0.5, 1.0, 2.0), (-5.0, -2.0, -1.0, -0.5, 0.0))
    runs = [optimize.minimize(objective, start, jac=True, method="L-BFGS-B") for start in grid]
    log_D, a, log_C = min(runs, key=lambda run: run.fun).x
    return Forecast(np.exp(np.logaddexp(log_D - a * np.log(at), log_C)))


RIVALS: dict[str, Rival] = {
    "this package": ours,
    "last value": last_value,
    "M1 (power)": one_law("power"),
    "power, last third": power_of_the_last_third,
    "M2 (power + floor)": one_law("power+floor"),
    "M4 (sigmoid)": one_law("sigmoid"),
    "one break (BNSL)": one_law("broken-power"),
    "curve_fit, defaults": curve_fit_default,
    "log-Huber, 125 starts": log_huber_multistart,
}
