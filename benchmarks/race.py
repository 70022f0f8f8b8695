"""How often a race is wrong, and what it saves against the full grid, on simulated studies.

Every setting is a kind of noise; every study has its own effects. A "cell" is one run of one arm. The full grid is five
runs of every arm, judged by the same rule. Truth is known. With --controls, so many of the arms are no transfer: a
false "beats" is then a way of transfer that is said to beat training from scratch and every control and does not.
With --csv rows are written as they are measured, and those that the file has are not measured again.
"""

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from transferscope.numerics.racing import Question, RaceRule, Standing, next_runs, standing

SEEDS = 12
GRID = 5
CLEAR = 2.0
"""Gains of so many standard deviations of a paired difference are clear; runs for them are counted apart."""
Noise = Callable[[np.random.Generator, int], np.ndarray]
Row = dict[str, str | int | float]


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
WITH_CONTROLS = (*EFFECTS, "best control")


def effects_of(kind: str, rng: np.random.Generator, arms: int, n_controls: int = 0) -> np.ndarray:
    """True scores of all arms relative to the baseline, shape (arms,), in points; the controls are those after it."""
    others = arms - 1 - n_controls
    shift, controls = rng.uniform(2.0, 8.0), np.zeros(n_controls)
    gains = {
        "none": np.zeros(others),
        "one": np.where(np.arange(others) == rng.integers(others), rng.uniform(1.5, 8.0), 0.0),
        "spread": rng.normal(0.0, 3.0, size=others),
        "harm": -np.abs(rng.normal(0.0, 4.0, size=others)),
        "equal gains": np.full(others, shift),
        "best control": np.full(others, shift),
    }[kind]
    if kind == "best control":  # as good as all that transfers
        controls = np.where(np.arange(n_controls) == 0, shift, 0.0)
    elif kind in ("spread", "harm"):
        controls = rng.normal(0.0, 3.0, size=n_controls)
    return np.concatenate([[0.0], controls, gains])


def run_race(
    full: np.ndarray, rule: RaceRule, question: Question, costs: np.ndarray, controls: Sequence[int] = ()
) -> tuple[np.ndarray, int, Standing]:
    """Race until the question is settled or nothing is left.

    Returns:
        The scores with NaN where no run was made, the number of runs when "whether" was settled first (0: never), and
        where the race stands at its end.
    """
    scores = np.full(full.shape, np.nan)
    first = 0
    while True:
        now = standing(scores, rule, controls=controls)
        if now.whether != "open" and not first:
            first = int(np.isfinite(scores).sum())
        if now.settles(question):
            return scores, first, now
        runs = next_runs(scores, rule, costs=costs, controls=controls, question=question)
        if not runs:
            return scores, first, now
        for run in runs:
            scores[run] = full[run]


def judged(end: Standing, effects: np.ndarray, rule: RaceRule, controls: Sequence[int]) -> dict[str, float]:
    """What was said at the end of a race, and whether it is true of the effects; shares of arms that are found."""
    without = [0, *controls]
    transfers = np.delete(np.arange(len(effects)), without)
    bar, best = effects[without].max(), effects.max()
    said = end.better & end.beats_controls
    settled = end.which and end.whether != "open"
    wrong = (end.whether == "helps" and not np.any(effects[said] > bar)) or (
        end.whether == "no" and bool(effects[transfers].max() > bar + rule.margin)
    )
    others = np.arange(len(effects)) != end.leader
    far = np.abs(effects - effects[end.leader]) > rule.margin
    same = others & (effects == effects[end.leader])
    width = end.baseline.half_width(2 * rule.risk)
    level = transfers[~end.better[transfers] & ~end.worse[transfers]]  # as `decide` calls a way "equivalent"
    level = level[np.abs(end.baseline.mean[level]) + width[level] < rule.margin]
    equal = transfers[effects[transfers] == 0]
    return {
        "false_helps": bool(np.any(end.better & (effects <= 0))),
        "false_beats": bool(np.any(said & (effects <= bar))),
        "whether": end.whether != "open",
        "whether_wrong": bool(wrong),
        "which": settled,
        "which_wrong": bool(settled and effects[end.leader] < best - rule.margin),
        "as_good_wrong": bool(np.any(end.equivalent & far)),
        "as_good_found": float(end.equivalent[same].mean()) if same.any() else math.nan,
        "equivalent_wrong": bool(np.any(np.abs(effects[level]) > rule.margin)),
        "equivalent_found": float(np.isin(equal, level).mean()) if len(equal) else math.nan,
    }


def measure(noise: str, kind: str, arms: int, n_races: int, rule: RaceRule, seed: int, n_controls: int = 0) -> Row:
    """Race `n_races` studies of one kind and count."""
    rng = np.random.default_rng([seed, arms, sorted(NOISES).index(noise), WITH_CONTROLS.index(kind), n_controls])
    controls = tuple(range(1, 1 + n_controls))
    rows = []
    for _ in range(n_races):
        effects = effects_of(kind, rng, arms, n_controls)
        full = effects[:, None] + NOISES[noise](rng, arms)
        if noise.startswith("discrete"):
            full = np.round((70 + full) * 3.59) / 3.59
        scores, first, end = run_race(full, rule, "which", rng.uniform(1, 3, size=arms), controls)
        grid = standing(full[:, :GRID], rule, controls=controls)
        n_runs = int(np.isfinite(scores).sum())
        shares = (first or n_runs) / (GRID * arms), n_runs / (GRID * arms)
        rest = np.delete(np.arange(arms), [0, *controls])
        sd = np.median(np.std((full - full[0])[rest], axis=1, ddof=1))
        clear = effects[rest].max() - effects[[0, *controls]].max() >= CLEAR * sd
        rows.append(
            judged(end, effects, rule, controls)
            | {
                "clear": clear,
                "clear_whether_cells": shares[0] if clear else math.nan,
                "clear_which_cells": shares[1] if clear else math.nan,
                "grid_whether": grid.whether != "open",
                "grid_which": grid.which and grid.whether != "open",
                "lost": grid.whether != "open" and end.whether == "open",
                "differs": grid.whether != "open" and end.whether not in ("open", grid.whether),
                "whether_cells": shares[0],
                "which_cells": shares[1],
            }
        )
    row: Row = {"noise": noise, "effects": kind, "arms": arms - 1, "controls": n_controls, "races": n_races}
    for name in rows[0]:
        values = [float(one[name]) for one in rows]
        row[name] = float(pd.Series(values).median() if name.endswith("cells") else pd.Series(values).mean())
    return row


def coverage(noise: str, kind: str, arms: int, n_races: int, rule: RaceRule, seed: int) -> dict[str, float]:
    """How often the intervals of gains over the baseline hold the true gain: at the end of a race, and at every look.

    Returns:
        Shares over all arms of all races (at the end), and over races with any interval that was ever wrong (any).
    """
    rng = np.random.default_rng([seed, arms, sorted(NOISES).index(noise), EFFECTS.index(kind), 2])
    inside, ever = [], []
    for _ in range(n_races):
        effects = effects_of(kind, rng, arms)
        full = effects[:, None] + NOISES[noise](rng, arms)
        if noise.startswith("discrete"):
            full = np.round((70 + full) * 3.59) / 3.59
        costs, scores, wrong = rng.uniform(1, 3, size=arms), np.full(full.shape, np.nan), np.zeros(arms, dtype=bool)
        while True:
            now = standing(scores, rule)
            width = now.baseline.half_width(rule.risk)
            known = np.isfinite(width[1:])
            out = np.abs(now.baseline.mean[1:] - effects[1:])[known] > width[1:][known]
            wrong[1:][known] |= out
            runs = [] if now.settles("which") else next_runs(scores, rule, costs=costs)
            if not runs:
                break
            for run in runs:
                scores[run] = full[run]
        inside.append(1 - out.mean())
        ever.append(wrong[1:].mean())
    return {"at the end": float(np.mean(inside)), "ever wrong": float(np.mean(ever))}


def main() -> int:
    """Run all settings and print one row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--races", type=int, default=100)
    parser.add_argument("--arms", type=int, nargs="*", default=[5, 16, 40])
    parser.add_argument("--effects", nargs="*", choices=WITH_CONTROLS, help="All by default.")
    parser.add_argument("--coverage", action="store_true", help="Coverage of the intervals of gains instead.")
    parser.add_argument("--controls", type=int, default=0, help="How many of the arms are controls.")
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--csv", type=Path)
    wanted = parser.parse_args()
    if wanted.coverage:
        for arms in wanted.arms:
            for noise in NOISES:
                found = coverage(noise, "spread", arms + 1, wanted.races, RaceRule(), wanted.seed)
                print(arms, noise, " ".join(f"{name} {value:.3f}" for name, value in found.items()), flush=True)
        return 0
    rows = pd.read_csv(wanted.csv).to_dict("records") if wanted.csv and wanted.csv.exists() else []
    labels = ("noise", "effects", "arms", "controls", "races")
    for arms in wanted.arms:
        for kind in wanted.effects or (WITH_CONTROLS if wanted.controls else EFFECTS):
            for noise in NOISES:
                if not any(
                    [row[name] for name in labels] == [noise, kind, arms, wanted.controls, wanted.races] for row in rows
                ):
                    rows.append(measure(noise, kind, arms + 1, wanted.races, RaceRule(), wanted.seed, wanted.controls))
                    if wanted.csv:
                        pd.DataFrame(rows).to_csv(wanted.csv, index=False)
    found = pd.DataFrame(rows)
    for key, group in found.groupby(list(labels[1:]), sort=False):
        print(*key, group.drop(columns=list(labels)).agg(["mean", "max"]).round(4).T.to_string(), sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
