"""Errors beyond the measured sizes of label plans: thinned real curves, and curves that leave chance late.

    python benchmarks/plan_curves.py DATA_FOLDER [--most N] [--others FILE.csv]

Curves of classical learners (LCDB), of few-shot image classification and of fine-tuned language models, cut at 1/8,
1/16 or 1/32 of their largest size and thinned to 3, 4, 5 and 7 sizes a factor of 2 apart, are asked at 2, 4 and 8 times
the largest seen one. The widths of `scaling/advice/label_plan.py` were chosen on those of LCDB, by data set; `--others`
asks the curves of benchmarks/learning_curves.py instead, which chose nothing. Curves that leave chance late are
simulated: sigmoids in log labels whose middle lies at half to 16 times the largest size. Rivals: the last value, and a
power law through the last three points. The others, whose largest size is smaller, are cut at 1/4, 1/8 and 1/16.
"""

import argparse
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from transferscope.scaling.advice.label_plan import draw_curve, label_grid
from transferscope.scaling.observations import observe

SIZES = (3, 4, 5, 7)
CUTS, OTHER_CUTS = (8, 16, 32), (4, 8, 16)
FAMILIES = ("lcdb", "nsl_ic", "language models")
AHEAD = (2, 4, 8)
LATE = 120


@dataclass(frozen=True)
class Curve:
    """One learning curve: what was measured, and what it is held to."""

    family: str
    data_set: str
    x: np.ndarray
    y: np.ndarray
    truth: np.ndarray
    stderr: np.ndarray | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--most", type=int, default=60, help="curves of a family")
    parser.add_argument("--others", type=Path, help="file of benchmarks/learning_curves.py")
    asked = parser.parse_args()
    known = curves(asked.data, asked.most) if asked.others is None else measured(asked.others)
    rows = [row for curve in known for row in score(curve)]
    frame = pd.DataFrame([*rows, *late()])
    frame["gained"] = pd.cut(frame["gained"], [-9, 0.08, 0.2, 0.4, 9], labels=["to 8 %", "to 20 %", "to 40 %", "more"])
    for keys in (["part"], ["family"], ["gained"], ["sizes"], ["part", "gained"]):
        table = frame.groupby([*keys, "ahead"], observed=True)[["held", "above", "off", "last value", "power"]].mean()
        print(table.unstack().round(3).to_string(), "\n")
    print(frame.groupby(["family", "ahead"])["width"].median().unstack().round(3).to_string())


def curves(data: Path, most: int) -> Iterator[Curve]:
    table = pd.read_csv(data / "scaling" / "learning_curves.csv")
    for suite in ("lcdb", "nsl_ic"):
        groups = list(table[table["suite"] == suite].groupby("curve"))
        for place in np.random.default_rng(0).permutation(len(groups))[:most]:
            name, rows = groups[place]
            rows = rows.groupby("x", as_index=False)[["y", "stderr"]].mean()
            logs = np.log(rows["y"].clip(1e-4))
            if suite == "lcdb":  # whose sizes are so near that neighbours tell the truth better than one of them
                logs = logs.rolling(3, center=True, min_periods=1).mean()
            stderr = rows["stderr"].clip(1e-4).to_numpy() if suite == "lcdb" else None
            name = str(name).split(" ")[0].split("_")[0]
            yield Curve(suite, name, rows["x"].to_numpy(), rows["y"].to_numpy(), np.exp(logs.to_numpy()), stderr)
    for task in ("flan", "gigaword", "wmt19"):
        losses = pd.read_csv(data / "results" / f"llm_finetuning_{task}.csv").set_index("config name")
        losses = losses.drop(columns=["0", "size", "family"])
        for name in np.random.default_rng(0).permutation(losses.index)[: most // 3]:
            y = losses.loc[name].to_numpy(float)
            yield Curve("language models", f"{task} {name}", losses.columns.to_numpy(float), y, y, None)


def measured(file: Path) -> Iterator[Curve]:
    for (data_set, learner), rows in pd.read_csv(file).groupby(["data_set", "learner"]):
        x, y, stderr = rows[["x", "y", "stderr"]].to_numpy(float).T
        yield Curve(str(learner), str(data_set), x, y, y.clip(1e-4), stderr.clip(1e-4))


def score(curve: Curve) -> Iterator[dict[str, object]]:
    digest = hashlib.sha256(f"plan/{curve.family}/{curve.data_set}".encode()).digest()
    part = "development" if digest[-1] % 2 == 0 else "confirmation"
    x = curve.x
    chosen = [(sizes, CUTS[(digest[0] + place) % len(CUTS)]) for place, sizes in enumerate(SIZES)]
    for sizes, cut in chosen if curve.family in FAMILIES else product(SIZES, OTHER_CUTS):
        wanted = x.max() / cut / 2.0 ** np.arange(sizes)[::-1]
        seen = np.unique([np.abs(np.log(x / size)).argmin() for size in wanted])
        if wanted[0] < 0.9 * x.min() or len(seen) < sizes or (curve.y[seen] <= 0).any():
            continue
        places = [int(np.abs(np.log(x / (ahead * x[seen[-1]]))).argmin()) for ahead in AHEAD]
        truths = {ahead: (x[place], curve.truth[place]) for ahead, place in zip(AHEAD, places, strict=True)}
        stderr = None if curve.stderr is None else curve.stderr[seen]
        facts = {"part": part, "family": curve.family, "sizes": sizes}
        yield from forecasts(x[seen], curve.y[seen], stderr, truths, facts)


def forecasts(
    x: np.ndarray,
    y: np.ndarray,
    stderr: np.ndarray | None,
    truths: dict[int, tuple[float, float]],
    facts: dict[str, object],
) -> Iterator[dict[str, object]]:
    data = observe(x, y, stderr=stderr)
    draws = draw_curve(data, label_grid([data]))
    line = np.polyfit(np.log(x[-3:]), np.log(y[-3:]), 1)
    for ahead, (size, truth) in truths.items():
        low, middle, high = np.quantile(np.log(draws.at(min(size, draws.sizes[-1]))), [0.05, 0.5, 0.95])
        true = np.log(truth)
        yield facts | {
            "gained": np.log(y[0] / y[-1]),
            "ahead": ahead,
            "held": low <= true <= high,
            "above": true > high,
            "off": abs(middle - true),
            "last value": abs(np.log(y[-1]) - true),
            "power": abs(np.polyval(line, np.log(size)) - true),
            "width": high - low,
        }


def late() -> Iterator[dict[str, object]]:
    """Curves at chance that fall late, as few-shot fine-tuning does, where they have gained under 10 % so far."""
    generator = np.random.default_rng(3)
    for _ in range(LATE):
        chance = 1 - 1 / generator.integers(2, 20)
        floor, middle = chance * generator.uniform(0.05, 0.6), 400 * 2 ** generator.uniform(-1, 4)
        steepness = generator.uniform(1, 4)
        x = 400 / 2.0 ** np.arange(5)[::-1]

        def error(
            n: np.ndarray, c: float = chance, f: float = floor, m: float = middle, a: float = steepness
        ) -> np.ndarray:
            return c - (c - f) / (1 + (m / n) ** a)

        y = error(x) * np.exp(0.02 * generator.standard_normal(5))
        if np.log(y[0] / y[-1]) < 0.1:
            truths = {ahead: (400.0 * ahead, float(error(np.array(400.0 * ahead)))) for ahead in AHEAD}
            yield from forecasts(x, y, 0.02 * y, truths, {"part": "late", "family": "leave chance late", "sizes": 5})


if __name__ == "__main__":
    main()
