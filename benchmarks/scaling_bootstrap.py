"""One fit of a power law with a floor, and 1000 bootstrap draws of it, against SciPy's.

The loop over `curve_fit` begins each draw at the fit of the data, as one would. Single fits take turns with
`least_squares` from (1, 0.5, 0.5), which has no bounds and no grid for its start.
"""

import time
import warnings

import numpy as np
from scipy import optimize

from transferscope.scaling import bootstrap, fit_law

DRAWS, TURNS = 1000, 100


def bootstrap_table() -> str:
    """A small table: seconds, and how far the two answers lie apart."""
    x = 1000 * 2.0 ** np.arange(7)
    y = 0.48 * x**-0.45 + 0.93
    y = y * np.exp(0.001 * np.random.default_rng(0).standard_normal(7))
    fit = fit_law(x, y, loss="linear")
    started = time.process_time()
    drawn = bootstrap(fit, draws=DRAWS, seed=0)
    ours = time.process_time() - started
    started = time.process_time()
    loop = curve_fit_loop(x, drawn.errors, (fit.theta[1], fit.theta[0], fit.theta[2]))
    theirs = time.process_time() - started
    found = np.isfinite(loop).all(axis=1)
    at = np.array([64000.0, 256000.0])
    apart = np.abs(drawn.predict(at)[found] - (loop[found, :1] * at ** -loop[found, 1:2] + loop[found, 2:]))
    return "\n".join(
        [
            f"## {DRAWS} bootstrap draws of the power law with a floor (7 sizes)",
            "",
            "| recipe | process seconds | draws without an answer |",
            "|---|---|---|",
            f"| one batched solve | {ours:.3f} | 0 |",
            f"| loop over curve_fit from the fit of the data | {theirs:.3f} | {(~found).sum()} |",
            "",
            f"{theirs / ours:.0f} times faster; median distance of the predictions {np.median(apart):.1e}.",
            "",
            one_fit(x, y),
        ]
    )


def _law(x: np.ndarray, D: float, a: float, C: float) -> np.ndarray:
    return D * x**-a + C


def one_fit(x: np.ndarray, y: np.ndarray) -> str:
    spent: list[list[float]] = [[], []]
    for _ in range(TURNS):
        began = time.process_time()
        fit_law(x, y, loss="linear")
        between = time.process_time()
        optimize.least_squares(lambda p: _law(x, *p) - y, (1.0, 0.5, 0.5), method="lm")
        spent[0].append(between - began)
        spent[1].append(time.process_time() - between)
    ours, theirs = (1e3 * min(times) for times in spent)
    return f"One fit takes {ours:.2f} ms, least_squares {theirs:.2f} ms: {ours / theirs:.1f} times as long."


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
