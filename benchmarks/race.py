"""How often a race is wrong, and what it saves against the full grid, on simulated studies.

Every setting is a kind of noise; every study has its own effects. A "cell" is one run of one arm. The full grid is five
runs of every arm, judged by the same rule; naive is a t-test at 5 % after every run in turn. Truth is known.
"""

import argparse
import csv
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from transferscope.numerics.racing import Question, RaceRule, Standing, next_runs, standing

SEEDS = 12
GRID = 5
Noise = Callable[[np.random.Generator, int], np.ndarray]


def _normal(sd: float) -> Noise:
    return lambda rng, arms: sd / np.sqrt(2) * rng.normal(size=(arms, SEEDS))


def _control_noisier(rng: np.random.Generator, arms: int) -> np.ndarray:
    noise = 0.9 * rng.normal(size=(arms, SEEDS))
    noise[0] *= 3
    return noise


def _unequal(rng: np.random.Generator, arms: int) -> np.ndarray:
    return np.asarray(np.geomspace(0.5, 4.5, arms)[:, None] / np.sqrt(2) * rng.normal(size=(arms, SEEDS)))


def _skewed(rng: np.random.Generator, arms: int) -> np.ndarray:
    return 1.5 * (1 - rng.exponential(size=(arms, SEEDS)))


def _heavy(rng: np.random.Generator, arms: int) -> np.ndarray:
    return np.asarray(1.5 / np.sqrt(6) * rng.standard_t(3, size=(arms, SEEDS)))


def _shared(rng: np.random.Generator, arms: int) -> np.ndarray:
    return np.asarray(3 * rng.normal(size=SEEDS) + rng.normal(size=(arms, SEEDS)))


def _discrete(rng: np.random.Generator, arms: int) -> np.ndarray:
    return rng.normal(size=(arms, SEEDS)) * 0.4  # rounded to multiples of 1/359 below


NOISES: dict[str, Noise] = {
    "sd 0.5": _normal(0.5),
    "sd 1.5": _normal(1.5),
    "sd 3": _normal(3.0),
    "sd 6": _normal(6.0),
    "control 3 times noisier": _control_noisier,
    "unequal 1 : 9": _unequal,
    "skewed": _skewed,
    "heavy tails": _heavy,
    "shared by seed": _shared,
    "discrete, 359 examples": _discrete,
}
EFFECTS = ("none", "one", "spread", "harm", "equal gains")


def effects_of(kind: str, rng: np.random.Generator, arms: int) -> np.ndarray:
    """True scores of all arms relative to the control, shape (arms,), in points."""
    others = arms - 1
    gains = {
        "none": np.zeros(others),
        "one": np.where(np.arange(others) == rng.integers(others), rng.uniform(1.5, 8.0), 0.0),
        "spread": rng.normal(0.0, 3.0, size=others),
        "harm": -np.abs(rng.normal(0.0, 4.0, size=others)),
        "equal gains": np.full(others, rng.uniform(2.0, 8.0)),
    }[kind]
    return np.concatenate([[0.0], gains])


def run_race(full: np.ndarray, rule: RaceRule, question: Question, costs: np.ndarray) -> tuple[np.ndarray, int]:
    """Race until the question is settled or nothing is left.

    Returns:
        The scores with NaN where no run was made, and the number of runs when "whether" was settled first (0: never).
    """
    scores = np.full(full.shape, np.nan)
    first = 0
    while True:
        now = standing(scores, rule)
        if now.whether != "open" and not first:
            first = int(np.isfinite(scores).sum())
        if now.settles(question):
            return scores, first
        runs = list(next_runs(scores, rule, costs=costs))
        if not runs:
            return scores, first
        for run in runs:
            scores[run] = full[run]


def measure(noise: str, kind: str, arms: int, n_races: int, rule: RaceRule, seed: int) -> dict[str, object]:
    """Race `n_races` studies of one kind and count."""
    rng = np.random.default_rng([seed, arms, sorted(NOISES).index(noise), EFFECTS.index(kind)])
    counts = dict.fromkeys(
        (
            "false_helps",
            "whether",
            "whether_wrong",
            "which",
            "which_wrong",
            "grid_whether",
            "grid_which",
            "lost",
            "differs",
            "grid_wrong",
        ),
        0,
    )
    whether_cells, which_cells = [], []
    for _ in range(n_races):
        effects = effects_of(kind, rng, arms)
        full = effects[:, None] + NOISES[noise](rng, arms)
        if noise.startswith("discrete"):
            full = np.round((70 + full) * 3.59) / 3.59
        costs = rng.uniform(1, 3, size=arms)
        scores, first = run_race(full, rule, "which", costs)
        end, grid = standing(scores, rule), standing(full[:, :GRID], rule)
        best = effects.max()
        counts["false_helps"] += bool(np.any(end.better & (effects <= 0)))
        counts["whether"] += end.whether != "open"
        counts["whether_wrong"] += _whether_wrong(end, effects, rule)
        settled = end.which and end.whether != "open"
        counts["which"] += settled
        counts["which_wrong"] += settled and effects[end.leader] < best - rule.margin
        counts["grid_whether"] += grid.whether != "open"
        counts["grid_which"] += grid.which and grid.whether != "open"
        counts["grid_wrong"] += _whether_wrong(grid, effects, rule)
        if grid.whether != "open":
            counts["lost"] += end.whether == "open"
            counts["differs"] += end.whether not in ("open", grid.whether)
        whether_cells.append((first or np.isfinite(scores).sum()) / (GRID * arms))
        which_cells.append(np.isfinite(scores).sum() / (GRID * arms))
    row: dict[str, object] = {"noise": noise, "effects": kind, "arms": arms - 1, "races": n_races}
    row |= {name: count / n_races for name, count in counts.items()}
    return row | {
        "whether_cells": float(np.median(whether_cells)),
        "which_cells": float(np.median(which_cells)),
    }


def _whether_wrong(now: Standing, effects: np.ndarray, rule: RaceRule) -> bool:
    if now.whether == "helps":
        return not bool(np.any(effects[now.better] > 0))
    return now.whether == "no" and bool(effects.max() > rule.margin)


def main() -> int:
    """Run all settings and print one row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--races", type=int, default=100)
    parser.add_argument("--arms", type=int, nargs="*", default=[5, 16, 40])
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--csv", type=Path)
    wanted = parser.parse_args()
    rows = []
    for arms in wanted.arms:
        for kind in EFFECTS:
            for noise in NOISES:
                row = measure(noise, kind, arms + 1, wanted.races, RaceRule(), wanted.seed)
                rows.append(row)
                cells = " ".join(f"{value:.3f}" if isinstance(value, float) else str(value) for value in row.values())
                print(cells, flush=True)
    if wanted.csv:
        with wanted.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
