"""Losses and best sizes at larger budgets of compute, from tables of parameters and tokens, beside rival recipes.

    python benchmarks/scaling_compute.py DATA_FOLDER [--per N] [--seed N] [--truths SET] [--beyond]

Tables of simulated truths (the laws of Hoffmann et al., Besiroglu et al., Kaplan et al., and others), each by budgets
(isoFLOP) and with free sizes, with noise of .1 and .4 %, and 0, 4 or 10 % of badly tuned runs (1 to 12 % too high). In
half of the tables by budgets the budget is a column and 6 N D is .93 to 1.35 times it. Asked are the loss at 4, 16 and
64 times the largest budget and the best N; and in every table its own last one, two and three budgets from the others,
unless `--beyond` is given, which leaves out least squares, too.
The fine-tuning losses of three families of language models on three tasks are asked beyond a twelfth of the largest
budget. Weights and widths were chosen on the truths of "development" (which were fresh once, and joined when the laws
missed them); others confirm, and four fresh ones, three of them outside of the laws that are fitted, were written after
every default and asked once.

Rivals: the recipe of Hoffmann et al. (their law, Huber loss of log loss), least squares of log loss with all laws, and
for N a line through the minima of parabolas over the runs of each budget, and the optimum of the law of Hoffmann et al.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from transferscope.scaling import Formula, Surface, compute_optimal, fit_surface, forecast_at
from transferscope.scaling.advice.costs import MeasuredCost
from transferscope.scaling.surface import budgets as budgets_of
from transferscope.scaling.surface import last_budgets

TRUTHS = {
    "Besiroglu": lambda n, d: 1.8172 + 482.01 * n**-0.3478 + 2085.43 * d**-0.3658,
    "Hoffmann": lambda n, d: 1.69 + 406.4 * n**-0.34 + 410.7 * d**-0.28,
    "Kaplan": lambda n, d: ((8.8e13 / n) ** (0.076 / 0.095) + 5.4e13 / d) ** 0.095,
    "coupled .5": lambda n, d: 1.6 + (3e5 * n**-0.68 + 4e5 * d**-0.66) ** 0.5,
    "coupled .7": lambda n, d: 1.7 + (5e3 * n**-0.5 + 6e3 * d**-0.45) ** 0.7,
    "coupled 1.4": lambda n, d: 1.7 + (80 * n**-0.24 + 200 * d**-0.26) ** 1.4,
    "steep N": lambda n, d: 1.55 + 1100 * n**-0.39 + 190 * d**-0.24,
    "coupled .85": lambda n, d: 1.85 + (2000 * n**-0.42 + 3500 * d**-0.41) ** 0.85,
    "offset N": lambda n, d: 1.6 + 300 * (n + 2e7) ** -0.33 + 520 * d**-0.29,  # parameters that were not counted
    # n without parameters of embeddings, by Pearce and Song 2024
    "embeddings": lambda n, d: 1.82 + 482 * (n + 47491 * n ** (1 / 3)) ** -0.348 + 2085 * d**-0.366,
    "two rates": lambda n, d: 1.65 + 250 * n**-0.32 + 4e4 * n**-0.62 + 430 * d**-0.28,
    "offset D": lambda n, d: 1.7 + 420 * n**-0.345 + 900 * (d + 8e8) ** -0.31,
    "coupled 1.2": lambda n, d: 1.8 + (150 * n**-0.29 + 300 * d**-0.29) ** 1.2,
    "offset both": lambda n, d: 1.7 + 380 * (n + 3e7) ** -0.335 + 700 * (d + 4e8) ** -0.305,
    "shallow": lambda n, d: 1.5 + 45 * n**-0.2 + 70 * d**-0.19,
    "too large": lambda n, d: 1.75 + 400 * n**-0.34 + 450 * d**-0.285 + 0.02 * (20 * n / d) ** 0.5,  # for its tokens
    "two rates of D": lambda n, d: 1.7 + 410 * n**-0.34 + 300 * d**-0.26 + 5e5 * d**-0.62,
    "bent N": lambda n, d: 1.65 + 300 * n**-0.3 * (1 + n / 1e9) ** -0.08 + 500 * d**-0.29,
    "slow D": lambda n, d: 0.9 + 420 * n**-0.34 + 8 / np.log(d / 1e6),
    "repeated data": lambda n, d: 1.7 + 400 * n**-0.34 + 420 * (2e12 * (1 - np.exp(-d / 2e12))) ** -0.28,
    "steep D": lambda n, d: 1.8 + 250 * n**-0.3 + 3e4 * d**-0.47,
    "joint": lambda n, d: 1.65 + 380 * n**-0.33 + 300 * d**-0.27 + 40 * (n * d) ** -0.15,
    "flattening D": lambda n, d: 1.75 + 420 * n**-0.345 + 500 * d**-0.29 * (1 + d / 5e10) ** 0.06,
    "step in N": lambda n, d: 1.5 + 400 * n**-0.33 + 480 * d**-0.285 + 0.15 / (1 + (n / 2e9) ** 0.5),
    "coupled .1": lambda n, d: ((2e13 / n) ** 0.9 + 2e13 / d) ** 0.1,
    "product": lambda n, d: 1.75 + 350 * n**-0.34 + 600 * d**-0.3 + 6e3 * n**-0.28 * d**-0.2,
}
DEVELOPMENT = (
    *("Hoffmann", "Kaplan", "coupled .5", "offset N", "offset D", "two rates", "offset both", "shallow", "too large"),
    *("two rates of D", "bent N", "slow D", "repeated data", "steep D"),
)
FRESH = ("joint", "flattening D", "step in N", "coupled .1")
BEYOND = (4, 16, 64)
BAD = (0.0, 0.04, 0.1)
FAMILIES = ("Cerebras", "OPT", "GPT2")


@dataclass(frozen=True)
class Table:
    """What was measured, and what is asked, with its answer; the best N of some budgets where it is known."""

    facts: dict[str, object]
    measured: np.ndarray
    spent: np.ndarray | None
    asked: np.ndarray
    best: dict[float, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--per", type=int, default=2, help="tables of each truth, design and share of bad runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--truths", choices=["development", "confirmation", "fresh"])
    parser.add_argument("--beyond", action="store_true", help="no more than is asked beyond the largest budget")
    asked = parser.parse_args()
    sets = {
        name: "development" if name in DEVELOPMENT else "fresh" if name in FRESH else "confirmation" for name in TRUTHS
    }
    names = [name for name in TRUTHS if asked.truths in (None, sets[name])]
    known = [] if asked.truths == "fresh" else fine_tuned(asked.data / "results")
    tables = [*simulated(names, asked.per, asked.seed), *known]
    frame = pd.DataFrame([row for table in tables for row in score(table, beyond=asked.beyond)])
    losses, own, sizes = (frame[frame["what"] == what] for what in ("loss", "own budgets", "N"))
    losses = losses.assign(part=losses["truth"].replace(sets))
    for keys in (["recipe"], ["recipe", "bad"], ["recipe", "times"], ["recipe", "part"], ["recipe", "truth", "design"]):
        print(
            losses.groupby(keys, sort=False).apply(summary, include_groups=False).unstack(0).round(4).to_string(), "\n"
        )
    if len(own):
        left_out = own.groupby(["recipe", "left_out"]).apply(summary, include_groups=False)
        print(left_out.unstack(0).round(4).to_string(), "\n")
    for keys in (["recipe", "column"], ["recipe", "design"], ["recipe", "bad"], ["recipe", "truth"]):
        print(sizes.groupby(keys).apply(summary, include_groups=False).unstack(0).round(3).to_string(), "\n")


def summary(rows: pd.DataFrame) -> pd.Series:
    """Root mean square error, share of intervals that hold, and their median half width, in logarithms."""
    held, half = rows["held"].astype(float), rows["half"].astype(float)
    off = float(np.sqrt(np.mean(rows["off"].astype(float) ** 2)))
    return pd.Series({"off": off, "held": held.mean(), "half": half.median(), "n": len(rows)})


def simulated(names: list[str], per: int, seed: int) -> Iterator[Table]:
    for place, name in enumerate(names):
        truth = TRUTHS[name]
        for kind, design in enumerate(("isoFLOP", "free")):
            for share in BAD:
                for number in range(per):
                    generator = np.random.default_rng([seed, place, kind, int(100 * share), number])
                    n, d = budgets(generator) if design == "isoFLOP" else free(generator)
                    spent = None
                    if design == "isoFLOP" and number % 2:  # budgets that are not 6 N D, as in published runs
                        spent = 6 * n * d
                        d = d / np.clip(
                            0.95 + 0.3 * (n.min() / n) ** 0.5 * generator.uniform(0.5, 1.5, len(n)), 0.93, 1.35
                        )
                    noise = (0.001, 0.004)[number // 2 % 2]
                    loss = truth(n, d) * np.exp(noise * generator.standard_normal(len(n)))
                    bad = generator.choice(len(n), round(share * len(n)), replace=False)
                    loss[bad] *= np.exp(generator.uniform(0.01, 0.12, len(bad)))
                    largest = float((6 * n * d).max() if spent is None else spent.max())
                    asked = [
                        (at, times * largest / 6 / at, times)
                        for times in BEYOND
                        for at in np.sqrt(times * largest / 120) * np.array([0.4, 1, 2.5])
                    ]
                    at_n, at_d, times = np.array(asked).T
                    path = np.geomspace(1e6, 1e13, 20_000)
                    factor = 1.0 if spent is None else MeasuredCost.of_runs(np.stack([n, d], 1), spent)
                    best = {}
                    for budget in (times * largest for times in (1, *BEYOND)):
                        tokens = budget / (6 * path) if factor == 1.0 else budget / factor.of(path, 1.0)
                        best[budget] = float(path[truth(path, tokens).argmin()])
                    facts = {"truth": name, "design": design, "bad": share, "column": spent is not None}
                    measured = np.stack([n, d, loss])
                    yield Table(facts, measured, spent, np.stack([at_n, at_d, truth(at_n, at_d), times]), best)


def budgets(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    rows = []
    for budget in np.geomspace(1e18, 1e20, generator.integers(3, 6)):
        best = np.sqrt(budget / 120)
        rows += [(best * f, budget / 6 / (best * f)) for f in np.geomspace(0.15, 6, generator.integers(5, 9))]
    n, d = np.array(rows).T
    return n, d


def free(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    m = generator.integers(20, 80)
    n = np.exp(generator.uniform(np.log(3e7), np.log(3e9), m))
    return n, n * np.exp(generator.uniform(np.log(3), np.log(150), m))


def fine_tuned(folder: Path) -> Iterator[Table]:
    for task in ("flan", "gigaword", "wmt19"):
        frame = pd.read_csv(folder / f"llm_finetuning_{task}.csv")
        frame = frame[~frame["config name"].str.contains("mGPT")]
        sizes = [column for column in frame.columns[1:-2] if float(column) >= 6400]
        for family in FAMILIES:
            own = frame[frame["family"] == family].melt(["size"], sizes, "tokens", "loss").astype(float)
            rows = own[["size", "tokens", "loss"]].to_numpy().T
            compute = rows[0] * rows[1]
            seen = compute <= compute.max() / 12
            asked = np.concatenate([rows[:, ~seen], [np.ones((~seen).sum())]])
            facts = {"truth": "fine-tuned families", "design": f"{family} {task}", "bad": np.nan, "column": False}
            yield Table(facts, rows[:, seen], None, asked, {})


def score(table: Table, *, beyond: bool) -> Iterator[dict[str, object]]:
    n, d, loss = table.measured
    default = fit_surface(n, d, loss, free=True, spent=table.spent)
    surfaces = {"default": default}
    if not beyond:
        surfaces["least squares"] = fit_surface(n, d, loss, free=True, spent=table.spent, loss="log")
    yield from losses(table.facts | {"what": "loss"}, surfaces, table.asked)
    data = default.observations
    for left_out, last in enumerate([] if beyond else last_budgets(data), 1):
        part, rest = data.take(~last), data.take(last)
        if part.n_distinct >= 12:
            seen = fit_surface(*part.sizes.T, part.errors, free=True, spent=part.spent)
            facts = table.facts | {"what": "own budgets", "left_out": left_out}
            yield from losses(facts, {"default": seen}, np.stack([*rest.sizes.T, rest.errors, np.zeros(len(rest))]))
    if not table.best:
        return
    costs = Formula() if data.spent is None else MeasuredCost.of_runs(data.sizes, data.spent)
    for one in compute_optimal(default, costs, list(table.best)):
        truth = table.best[one.budget]
        held = one.parameters.low <= truth <= one.parameters.high
        half = np.log(one.parameters.high / one.parameters.low) / 2
        off = {"default": np.log(one.plan.n / truth)} | rivals_of_n(table, default, one.budget, truth)
        for recipe, value in off.items():
            own = {"held": held, "half": half} if recipe == "default" else {"held": np.nan, "half": np.nan}
            yield table.facts | {"what": "N", "recipe": recipe, "off": value, **own}


def losses(facts: dict[str, object], surfaces: dict[str, Surface], asked: np.ndarray) -> Iterator[dict[str, object]]:
    sizes, truth = asked[:2].T, np.log(asked[2])
    for recipe, surface in surfaces.items():
        for at, true, times in zip(sizes, truth, asked[3], strict=True):
            one = forecast_at(surface, None, *map(float, at))
            assert one.interval is not None
            low, high = np.log([one.interval.low, one.interval.high])
            found = {"off": np.log(one.error) - true, "held": low <= true <= high, "half": (high - low) / 2}
            yield facts | {"recipe": recipe, "times": times, **found}
        if recipe == "default":
            alone = np.log(surface.fits["additive"].predict(sizes)) - truth
            for off, times in zip(alone, asked[3], strict=True):
                yield facts | {"recipe": "Hoffmann", "times": times, "off": off, "held": np.nan, "half": np.nan}


def rivals_of_n(table: Table, surface: Surface, budget: float, truth: float) -> dict[str, float]:
    """A line through the minima of parabolas over budgets, and the optimum of Hoffmann's law, in closed form."""
    n, d, loss = table.measured
    compute = 6 * n * d if table.spent is None else table.spent
    minima = []
    for rows in budgets_of(compute):
        if len(rows) > 3:
            a, b, _ = np.polyfit(np.log(n[rows]), np.log(loss[rows]), 2)
            if a > 0 and n[rows].min() <= np.exp(-b / (2 * a)) <= n[rows].max():
                minima.append((np.log(compute[rows]).mean(), -b / (2 * a)))
    found = {}
    if len(minima) > 1:
        found["parabolas"] = float(np.polyval(np.polyfit(*np.array(minima).T, 1), np.log(budget)) - np.log(truth))
    alpha, beta, A, B, _ = surface.fits["additive"].theta
    if min(A, B) > 0:
        scale = (alpha * A / (beta * B)) ** (1 / (alpha + beta))
        found["Hoffmann"] = float(np.log(scale * (budget / 6) ** (beta / (alpha + beta)) / truth))
    return found


if __name__ == "__main__":
    main()
