"""One fit of a power law with a floor, and bootstrap draws of it, against SciPy's: process seconds in turn.

The loop over `curve_fit` begins each draw at the fit of the data, as one would. Single fits take turns with
`least_squares` from (1, 0.5, 0.5), and `curve_fit` from the answer, which have no bounds and no grid for their start.
"""

import time
import warnings

import numpy as np
from scipy import optimize

from transferscope.scaling import bootstrap, fit_law

CASES = ((7, 100), (7, 1_000), (7, 10_000), (20, 1_000))
ONE_FIT = (7, 20, 100, 1_000)
START = (1.0, 0.5, 0.5)
TURNS = 100


def bootstrap_table() -> str:
    """Return a small table of seconds, and how far the two answers lie apart."""
    lines = [
        "## Bootstrap of the power law with a floor",
        "",
        "| sizes | draws | one batched solve, s | loop over curve_fit from the fit of the data, s | ratio | apart |",
        "|---|---|---|---|---|---|",
    ]
    for n_sizes, draws in CASES:
        x, y = made(n_sizes)
        fit = fit_law(x, y, loss="linear")
        ours, theirs = [], []
        for _ in range(3):
            started = time.process_time()
            drawn = bootstrap(fit, draws=draws, seed=0)
            between = time.process_time()
            loop = curve_fit_loop(x, drawn.errors, (fit.theta[1], fit.theta[0], fit.theta[2]))
            theirs.append(time.process_time() - between)
            ours.append(between - started)
        found = np.isfinite(loop).all(axis=1)
        at = np.array([64000.0, 256000.0])
        apart = np.abs(drawn.predict(at)[found] - (loop[found, :1] * at ** -loop[found, 1:2] + loop[found, 2:]))
        seconds = f"{min(ours):.4f} | {min(theirs):.3f} | {min(theirs) / min(ours):.0f}"
        lines.append(f"| {n_sizes} | {draws} | {seconds} | {np.median(apart):.1e} |")
    return "\n".join([*lines, "", one_fit_table()])


def made(n_sizes: int, noise: float = 0.001, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a curve with a little noise."""
    x = 1000 * 2.0 ** np.linspace(0, 6, n_sizes)
    y = 0.48 * x**-0.45 + 0.93
    return x, y * np.exp(noise * np.random.default_rng(seed).standard_normal(n_sizes))


def _law(x: np.ndarray, D: float, a: float, C: float) -> np.ndarray:
    return D * x**-a + C


def one_fit_table() -> str:
    """Return what a fit takes beside SciPy's, from anywhere and from the answer, and how often the first is worse."""
    lines = ["| sizes | fit_law, ms | least_squares | curve_fit | curve_fit from the answer |", "|---|---|---|---|---|"]
    for n_sizes in ONE_FIT:
        x, y = made(n_sizes)
        alpha, D, C = fit_law(x, y, loss="linear").theta
        ways = (
            lambda x=x, y=y: fit_law(x, y, loss="linear"),
            lambda x=x, y=y: optimize.least_squares(lambda p: _law(x, *p) - y, START, method="lm"),
            lambda x=x, y=y: optimize.curve_fit(_law, x, y, p0=START),
            lambda x=x, y=y, p0=(D, alpha, C): optimize.curve_fit(_law, x, y, p0=p0),
        )
        spent = np.zeros((TURNS, len(ways)))
        for turn in range(TURNS):
            for i, way in enumerate(ways):
                began = time.process_time()
                way()
                spent[turn, i] = 1e3 * (time.process_time() - began)
        lines.append(f"| {n_sizes} | " + " | ".join(f"{ms:.2f}" for ms in np.median(spent, axis=0)) + " |")
    curves = [made(7, noise, seed) for noise in (0.001, 0.01, 0.03) for seed in range(100)]
    worse, negative = 0, 0
    for x, y in curves:
        theirs = curve_fit_loop(x, y[None], START)[0]
        ours = fit_law(x, y, loss="linear")
        negative += bool((theirs < 0).any())
        worse += not ((_law(x, *theirs) - y) ** 2).sum() <= (ours.residuals**2).sum() * (1 + 1e-6)
    lines += [
        "",
        f"Of {len(curves)} curves, curve_fit from {START} is worse or fails on {worse}, negative on {negative}.",
    ]
    return "\n".join(lines)


def curve_fit_loop(x: np.ndarray, draws: np.ndarray, start: tuple[float, float, float]) -> np.ndarray:
    answers = np.full((len(draws), 3), np.nan)
    for row, y in enumerate(draws):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                answers[row], _ = optimize.curve_fit(_law, x, y, p0=start)
            except RuntimeError:
                continue
    return answers


if __name__ == "__main__":
    print(bootstrap_table())
