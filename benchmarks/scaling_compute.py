"""Losses and best sizes at larger budgets of compute, from tables of parameters and tokens.

    python benchmarks/scaling_compute.py DATA_FOLDER

Tables of six simulated truths (the laws of Hoffmann et al., Besiroglu et al. and Kaplan et al., and three with another
coupling exponent), each by budgets (isoFLOP) and with free sizes, with noise of .1 and .4 %, asked at 4, 16 and 64
times the largest budget; and the fine-tuning losses of three families of language models on three tasks, asked on the
points beyond a twelfth of the largest budget. Errors are root mean squares of the log loss.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from transferscope.scaling import Formula, compute_optimal, fit_surface, forecast_at

TRUTHS = {
    "Besiroglu": lambda n, d: 1.8172 + 482.01 * n**-0.3478 + 2085.43 * d**-0.3658,
    "Hoffmann": lambda n, d: 1.69 + 406.4 * n**-0.34 + 410.7 * d**-0.28,
    "Kaplan": lambda n, d: ((8.8e13 / n) ** (0.076 / 0.095) + 5.4e13 / d) ** 0.095,
    "coupled .5": lambda n, d: 1.6 + (3e5 * n**-0.68 + 4e5 * d**-0.66) ** 0.5,
    "coupled .7": lambda n, d: 1.7 + (5e3 * n**-0.5 + 6e3 * d**-0.45) ** 0.7,
    "coupled 1.4": lambda n, d: 1.7 + (80 * n**-0.24 + 200 * d**-0.26) ** 1.4,
}
PER_TRUTH = 4
BEYOND = (4, 16, 64)
FAMILIES = ("Cerebras", "OPT", "GPT2")


@dataclass(frozen=True)
class Table:
    """What was measured, and what is asked, with its answer; the best N of some budgets where it is known."""

    name: str
    measured: np.ndarray
    asked: np.ndarray
    best: dict[float, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    rows = [score(table) for table in [*simulated(), *fine_tuned(parser.parse_args().data / "results")]]
    frame = pd.DataFrame(rows)
    frame["held"] = frame["held"].astype(float)
    print(frame.groupby("name", sort=False).mean().round(4).to_string())
    print(frame.drop(columns="name").mean().round(4).to_string())


def simulated() -> Iterator[Table]:
    generator = np.random.default_rng(1)
    for name, truth in TRUTHS.items():
        for design in ("isoFLOP", "free"):
            for number in range(PER_TRUTH):
                n, d = budgets(generator) if design == "isoFLOP" else free(generator)
                noise = (0.001, 0.004)[number % 2]
                loss = truth(n, d) * np.exp(noise * generator.standard_normal(len(n)))
                largest = float((6 * n * d).max())
                asked = []
                for times in BEYOND:
                    for ratio in (0.4, 1, 2.5):
                        at = np.sqrt(times * largest / 120) * ratio
                        asked.append((at, times * largest / 6 / at))
                at_n, at_d = np.array(asked).T
                path = np.geomspace(1e6, 1e13, 20_000)
                best = {
                    times * largest: float(path[truth(path, times * largest / 6 / path).argmin()]) for times in BEYOND
                }
                yield Table(
                    f"{name}, {design}",
                    np.stack([n, d, loss]),
                    np.stack([at_n, at_d, truth(at_n, at_d)]),
                    best,
                )


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
            seen = rows[0] * rows[1] <= (rows[0] * rows[1]).max() / 12
            yield Table("fine-tuned families", rows[:, seen], rows[:, ~seen], {})


def score(table: Table) -> dict[str, object]:
    surface = fit_surface(*table.measured, free=True)
    sizes, truth = table.asked[:2].T, np.log(table.asked[2])
    found = [forecast_at(surface, None, *map(float, at)) for at in sizes]
    alone = {name: np.log(fit.predict(sizes)) for name, fit in surface.fits.items()}
    held = [one.interval.low <= np.exp(true) <= one.interval.high for one, true in zip(found, truth, strict=True)]
    optima = compute_optimal(surface, Formula(), list(table.best)) if table.best else []
    off = [abs(np.log(one.plan.pretrain_size / table.best[one.budget])) for one in optima]
    return {
        "name": table.name,
        **{name: _rms(values - truth) for name, values in alone.items()},
        "both": _rms(np.log([one.error for one in found]) - truth),
        "held": np.mean(held),
        "log N off": float(np.mean(off)) if off else np.nan,
        "N held": np.mean([one.parameters.low <= table.best[one.budget] <= one.parameters.high for one in optima])
        if off
        else np.nan,
    }


def _rms(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))


if __name__ == "__main__":
    main()
