"""Label plans on real learning curves: pairs of learners on one data set, measured at five sizes, scored on the rest.

    python benchmarks/plan_lcdb.py FILE.csv [--pairs N]

FILE is `scaling/learning_curves.csv`; its suite "lcdb" holds error rates of classical learners over the number of
training examples with standard errors (CC BY 4.0). Of two learners on one data set, the one that is worse at the first
size plays training from scratch. Seen are five sizes, each about twice the last; asked is where the first catches up
with the second within eight times the largest, and the errors at 2, 4 and 8 times. The truth is the measured curve
itself, smoothed over three neighbouring sizes, so that a few crossings are noise of the truth.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from transferscope.scaling.advice.label_plan import REACH, catch_up, draw_curve, label_grid, paired
from transferscope.scaling.observations import observe


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("--pairs", type=int, default=200)
    asked = parser.parse_args()
    frame = pd.read_csv(asked.table)
    frame = frame[frame["suite"] == "lcdb"]
    frame["task"] = frame["curve"].str.split(" ").str[0]
    generator = np.random.default_rng(0)
    rows = []
    for _ in range(20 * asked.pairs):
        task = generator.choice(frame["task"].unique())
        names = frame.loc[frame["task"] == task, "curve"].unique()
        if len(names) < 2 or len(rows) >= asked.pairs:
            continue
        chosen = [frame[frame["curve"] == name].sort_values("x") for name in generator.choice(names, 2, replace=False)]
        row = score(chosen, generator)
        if row is not None:
            rows.append(row)
    table = pd.DataFrame(rows)
    print(f"{len(table)} pairs on {frame['task'].nunique()} data sets")
    print(table.mean(numeric_only=True).round(3).to_string())
    kinds = table.groupby("truth")["covered"].agg(["mean", "count"]).round(3)
    print(kinds.to_string())
    print(pd.crosstab(table["truth"], table["said"]).to_string())


def score(curves: list[pd.DataFrame], generator: np.random.Generator) -> dict[str, float | str] | None:
    """One pair; None where the curves are too short or too flat to ask about."""
    x = np.intersect1d(curves[0]["x"], curves[1]["x"])
    first = 2 ** generator.integers(4, 7)
    wanted = first * 2.0 ** np.arange(5)
    if x.max() < REACH * wanted[-1] or x.min() > first:
        return None
    seen = np.array([x[np.argmin(np.abs(np.log(x / size)))] for size in wanted])
    curves = [curve.set_index("x").loc[x] for curve in curves]
    smooth = [np.exp(np.log(c["y"].clip(1e-4)).rolling(3, center=True, min_periods=1).mean()) for c in curves]
    if any(line.loc[seen[0]] < 1.15 * line.loc[seen[-1]] for line in smooth):
        return None  # nothing is learnt within what is seen
    if smooth[0].loc[seen[0]] < smooth[1].loc[seen[0]]:
        curves, smooth = curves[::-1], smooth[::-1]
    stderr = [curve.loc[seen, "stderr"].clip(1e-4).to_numpy() for curve in curves]
    data = [observe(seen, c.loc[seen, "y"], stderr=s) for c, s in zip(curves, stderr, strict=True)]
    grid = label_grid(data)
    draws = [draw_curve(one, grid) for one in data]
    found = catch_up(*draws, paired(*draws, 0.0))
    inside = x[(x >= seen[0]) & (x <= REACH * seen[-1])]
    ahead = (smooth[0] > smooth[1]).loc[inside].to_numpy()
    star = 0.0 if not ahead.any() else np.inf if ahead[-1] else float(inside[np.flatnonzero(ahead)[-1]])
    step = 1.1  # neighbouring sizes of the truth
    row: dict[str, float | str] = {
        "truth": kind(star),
        "said": kind(found.value),
        "covered": float(found.low / step <= star <= found.high * step),
        "doublings": float(np.diff(np.log2(np.clip([found.low, found.high], grid[0], grid[-1])))[0]),
    }
    for factor in (2.0, 4.0, 8.0):
        size = x[np.argmin(np.abs(np.log(x / (factor * seen[-1]))))]
        for draw, line, curve in zip(draws, smooth, curves, strict=True):
            estimate, truth = draw.error_at(min(size, grid[-1])), float(line.loc[size])
            last = float(curve.loc[seen[-1], "y"])
            slope = np.polyfit(np.log(seen), np.log(curve.loc[seen, "y"].clip(1e-4)), 1)
            power = float(np.exp(np.polyval(slope, np.log(size))))
            for name, value in (("plan", estimate.error), ("last value", last), ("power law", power)):
                key = f"points off at x{factor:g}, {name}"
                row[key] = float(row.get(key, 0.0)) + 50 * abs(value - truth)
            key = f"covered at x{factor:g}"
            row[key] = float(row.get(key, 0.0)) + 0.5 * float(estimate.interval.low <= truth <= estimate.interval.high)
    return row


def kind(n: float) -> str:
    return "already" if n == 0 else "never" if np.isinf(n) else "a number"


if __name__ == "__main__":
    main()
