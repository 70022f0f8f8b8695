"""Intervals of label plans on simulated learning curves whose laws are known, beside plain rivals.

Every truth is a pair of laws, training from scratch and transfer, of which the number of labels at which scratch
catches up, the labels for a score and the error at every size are computed by root finding to machine precision.
Measured are seeds with noise in proportion to the error, correlated between the two arms of a seed, and in the
settings "nested" also between the sizes of a seed, as with nested subsets.

    python benchmarks/plan.py [TRUTHS] [--seed N] [--out FILE.csv]
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import optimize

from transferscope.scaling.advice.label_plan import (
    REACH,
    CurveDraws,
    catch_up,
    draw_curve,
    label_grid,
    labels_for,
    paired,
    seed_correlation,
)
from transferscope.scaling.observations import observe

MORE = 100.0


@dataclass(frozen=True)
class Setting:
    """How a truth is measured."""

    name: str
    seeds: int
    sizes: int
    noise: float
    between_arms: float
    between_sizes: float


SETTINGS = (
    Setting("3 seeds, 5 sizes", 3, 5, 0.05, 0.5, 0.0),
    Setting("5 seeds, 4 sizes", 5, 4, 0.05, 0.5, 0.0),
    Setting("2 seeds, 6 sizes", 2, 6, 0.08, 0.0, 0.0),
    Setting("3 seeds, 5 sizes, nested", 3, 5, 0.05, 0.5, 0.5),
    Setting("1 run, 5 sizes", 1, 5, 0.03, 0.0, 0.0),
    Setting("3 seeds, 3 sizes", 3, 3, 0.05, 0.5, 0.0),
)

Curve = Callable[[np.ndarray], np.ndarray]


def truth(rng: np.random.Generator) -> tuple[Curve, Curve]:
    """A pair of falling curves; from scratch with a plateau at chance in half of them, and transfer ahead at first."""
    chance = rng.uniform(0.5, 0.9)
    floor = 0.0 if rng.random() < 0.3 else rng.uniform(0.01, 0.15)
    rate, half = rng.uniform(0.4, 1.3), 10 ** rng.uniform(1.3, 2.7)
    plateau = rng.random() < 0.5

    def scratch(n: np.ndarray) -> np.ndarray:
        if plateau:
            return floor + (chance - floor) / (1 + (n / half) ** rate)
        return floor + (chance - floor) * (1 + n / half) ** -rate

    floor_t = floor + (rng.uniform(0.0, 0.15) if rng.random() < 0.6 else rng.uniform(-0.8, 0.0) * floor)
    half_t, rate_t = half * 10 ** rng.uniform(-1.5, 0.0), rng.uniform(0.3, 1.1)
    top = max(chance * rng.uniform(0.8, 1.0), floor_t + 0.05)

    def transfer(n: np.ndarray) -> np.ndarray:
        return floor_t + (top - floor_t) * (1 + n / half_t) ** -rate_t

    return scratch, transfer


def exact_catch_up(scratch: Curve, transfer: Curve, low: float, high: float) -> float:
    """The last size in [low, high] at which transfer is better: 0 for none, infinite for the end."""
    grid = np.geomspace(low, high, 4000)
    gain = scratch(grid) - transfer(grid)
    if gain[-1] > 0:
        return np.inf
    better = np.flatnonzero(gain > 0)
    if len(better) == 0:
        return 0.0
    i = better[-1]
    return float(optimize.brentq(lambda n: float(scratch(np.array(n)) - transfer(np.array(n))), grid[i], grid[i + 1]))


def exact_labels(curve: Curve, error: float, low: float, high: float) -> float:
    if curve(np.array(low)) <= error:
        return 0.0
    if curve(np.array(high)) > error:
        return np.inf
    return float(optimize.brentq(lambda n: float(curve(np.array(n)) - error), low, high))


def covered(value: float, low: float, high: float) -> bool:
    return low <= value <= high


def one(rng: np.random.Generator, setting: Setting) -> dict[str, float | str | bool]:
    scratch, transfer = truth(rng)
    first = 10 ** rng.uniform(1, 1.7)
    x = np.round(np.geomspace(first, first * 2 ** (setting.sizes - 1 + rng.uniform(-0.3, 1.5)), setting.sizes))
    shape = (setting.seeds, setting.sizes)
    z = rng.standard_normal((2, *shape))
    of_seed = rng.standard_normal((2, setting.seeds, 1))
    z = np.sqrt(1 - setting.between_sizes) * z + np.sqrt(setting.between_sizes) * of_seed
    r = setting.between_arms
    noise = np.stack([z[0], r * z[0] + np.sqrt(1 - r**2) * z[1]])
    y = np.stack([scratch(x), transfer(x)])[:, None] * np.exp(setting.noise * noise)
    mean = y.mean(axis=1)
    stderr: list[np.ndarray | None] = [None, None]
    if setting.seeds > 1:
        for arm in range(2):
            spread = y[arm].std(axis=0, ddof=1) / mean[arm]
            stderr[arm] = np.sqrt((spread**2).mean()) * mean[arm] / np.sqrt(setting.seeds)
    data = [observe(x, mean[arm], stderr=stderr[arm]) for arm in range(2)]
    grid = label_grid(data)
    curves = [draw_curve(one, grid) for one in data]
    columns = [[y[arm][:, j] for j in range(setting.sizes)] for arm in range(2)]
    correlation = seed_correlation(*columns) if setting.seeds > 1 else 0.0
    low, high = float(grid[0]), float(grid[-1])
    found = catch_up(curves[0], curves[1], paired(curves[0], curves[1], correlation))
    unpaired = catch_up(curves[0], curves[1], paired(curves[0], curves[1], 0.0))
    star = exact_catch_up(scratch, transfer, low, high)
    row: dict[str, float | str | bool] = {
        "setting": setting.name,
        "star": star,
        "star_found": found.value,
        "star_low": found.low,
        "star_high": found.high,
        "star_covered": covered(star, found.low, found.high),
        "star_covered_unpaired": covered(star, unpaired.low, unpaired.high),
        "star_width": width(found.low, found.high, low, high),
        "star_width_unpaired": width(unpaired.low, unpaired.high, low, high),
        "largest": x[-1],
        "smallest": x[0],
        "limit": high,
        "star_power": rival(data, grid),
    }
    for arm, curve in ((0, scratch), (1, transfer)):
        name = ("scratch", "transfer")[arm]
        # a score between what the first size reaches and what 8 times the last does
        share = rng.uniform(0.1, 1.05)
        log_n = np.log(x[0]) + share * (np.log(high) - np.log(x[0]))
        wanted = float(curve(np.array(np.exp(log_n))))
        count, exact = labels_for(curves[arm], wanted), exact_labels(curve, wanted, low, high)
        row |= {
            f"labels_{name}": exact,
            f"labels_{name}_found": count.value,
            f"labels_{name}_covered": covered(exact, count.low, count.high),
            f"labels_{name}_width": width(count.low, count.high, low, high),
        }
        row |= gain_row(curves[arm], curve, name)
        for factor in (2.0, 4.0, 8.0):
            estimate = curves[arm].error_at(min(factor * x[-1], high))
            value = float(curve(np.array(factor * x[-1])))
            row[f"error_{name}_x{factor:g}_covered"] = covered(value, estimate.interval.low, estimate.interval.high)
            row[f"error_{name}_x{factor:g}_off"] = abs(estimate.error - value)
            row[f"error_{name}_x{factor:g}_last_off"] = abs(mean[arm][-1] - value)
    return row


def gain_row(draws: CurveDraws, curve: Curve, name: str) -> dict[str, float | bool]:
    gain, interval = draws.fall(MORE)
    n = draws.largest
    value = float(curve(np.array(n)) - curve(np.array(min(n + MORE, draws.sizes[-1]))))
    return {f"more_{name}_covered": covered(value, interval.low, interval.high), f"more_{name}_off": abs(gain - value)}


def rival(data: list, grid: np.ndarray) -> float:
    """The crossing of two plain power laws, straight lines in log error over log labels."""
    lines = [np.polyfit(np.log(one.sizes[:, 0]), np.log(one.errors), 1) for one in data]
    fitted = [np.polyval(line, np.log(grid)) for line in lines]
    better = np.flatnonzero(fitted[0] > fitted[1])
    if len(better) == 0:
        return 0.0
    return np.inf if better[-1] == len(grid) - 1 else float(grid[better[-1]])


def width(low: float, high: float, smallest: float, limit: float) -> float:
    """Length of an interval in doublings, within the sizes that are followed."""
    ends = np.clip([low, high], smallest, limit)
    return float(np.log2(ends[1] / ends[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("truths", nargs="?", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    rows, started = [], time.perf_counter()
    for setting_index, setting in enumerate(SETTINGS):
        rows += [one(np.random.default_rng([asked.seed, setting_index, i]), setting) for i in range(asked.truths)]
        print(f"{setting.name}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
        if asked.out is not None:
            pd.DataFrame(rows).to_csv(asked.out, index=False)
    frame = pd.DataFrame(rows)
    print(f"{asked.truths} truths in each setting, seed {asked.seed}, {REACH:g} times the largest size followed")
    shown = [name for name in frame if name.endswith(("_covered", "_covered_unpaired", "_width", "_width_unpaired"))]
    print(frame.groupby("setting", sort=False)[shown].mean().T.round(3).to_string())
    off = [name for name in frame if name.endswith("_off")]
    print(frame.groupby("setting", sort=False)[off].mean().T.round(4).to_string())
    print(decisions(frame).to_string())


def decisions(frame: pd.DataFrame) -> pd.DataFrame:
    """How often the median and the plain power laws say the right one of already, a number, never; and how far off."""
    rows = {}
    for setting, part in frame.groupby("setting", sort=False):
        kind = np.select([part["star"] == 0, np.isinf(part["star"])], [0, 2], 1)
        row: dict[str, float] = {}
        for name in ("star_found", "star_power"):
            said = np.select([part[name] == 0, np.isinf(part[name])], [0, 2], 1)
            both = (kind == 1) & (said == 1)
            row[f"{name} right kind"] = (said == kind).mean()
            row[f"{name} off (factor, median)"] = 2 ** np.median(np.abs(np.log2(part[name][both] / part["star"][both])))
        row["truths inside"] = (kind == 1).mean()
        inside = part[kind == 1]
        row["covered, truths inside"] = inside["star_covered"].mean()
        measured = inside[inside["star"] <= inside["largest"]]
        row["covered, truths within the measured sizes"] = measured["star_covered"].mean()
        row["covered, truths beyond them"] = inside[inside["star"] > inside["largest"]]["star_covered"].mean()
        rows[setting] = row
    return pd.DataFrame(rows).round(3)


if __name__ == "__main__":
    main()
