"""Races replayed on recorded runs of real networks: what they say and cost beside the full grid, and false alarms.

    python -m benchmarks.race_recorded run --out runs/race      # 24 studies of 10 arms and 12 seeds; resumes
    python -m benchmarks.race_recorded replay --out runs/race --csv race.csv

The settings below were fixed before any of them was run. Truth is the mean over all 12 seeds. A race may use all seeds,
in an order of its own (several orders are replayed); the full grid is the first five of that order. For false alarms
every arm's mean is set to that of training from scratch, so that only the recorded noise is left.
"""

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
from benchmarks.race import GRID, run_race

from transferscope.numerics.racing import RaceRule, standing
from transferscope.store import Store
from transferscope.study.race import Race, RaceSettings
from transferscope.study.run import run_study
from transferscope.study.spec import StudySpec, parse_spec

SEEDS = 12
ORDERS = 20
METHODS = ("linear-probe", "fine-tune", "l2-sp")

TARGETS = {
    "digits": {"data": "digits", "transforms": ["resize:16"]},
    "usps": {"data": "usps"},
    "svhn": {"data": "npz:svhn_1083.npz", "transforms": ["grey", "resize:16"]},
    "cifar10": {"data": "npz:cifar10_18k.npz", "transforms": ["grey", "resize:16"]},
}
_MNIST = {"data": "mnist", "limit": 4000}
SOURCES = {
    "glyphs": {"data": "glyphs?size=16&n_train=4000&n_test=1000"},
    "mnist": {**_MNIST, "transforms": ["resize:16"]},
    "fashion": {"data": "fashion-mnist", "limit": 4000, "transforms": ["resize:16"]},
    "upside-down": {**_MNIST, "transforms": ["resize:16", "upside-down"]},
    "permuted": {**_MNIST, "transforms": ["resize:16", "permuted"]},
    "random-labels": {**_MNIST, "transforms": ["resize:16", "label-noise:1.0"]},
}
SOURCE_SETS = (
    ("glyphs", "mnist", "fashion"),
    ("upside-down", "permuted", "random-labels"),
    ("mnist", "permuted", "fashion"),
)
LABELS = (50, 300)


def specs(out: Path, data: Path) -> list[StudySpec]:
    """The studies: every target, number of labels and set of sources."""
    found = []
    for target, table in TARGETS.items():
        own = {**table, "data": str(table["data"]).replace("npz:", f"npz:{data}/")}
        for labels in LABELS:
            for number, names in enumerate(SOURCE_SETS):
                name = f"{target}-{labels}-{number}"
                tables = {
                    "name": name,
                    "store": str(out / "race.sqlite"),
                    "seeds": SEEDS,
                    "target": {**own, "labels": [labels]},
                    "sources": {source: SOURCES[source] for source in names},
                    "network": {"name": "mlp", "widths": [128]},
                    "pretraining": {"steps": 600},
                    "training": {"steps": 300},
                    "methods": {"scratch": {}, **{method: {} for method in METHODS}},
                    "engine": {"workers": 1, "device": "cpu"},
                }
                found.append(parse_spec(tables))
    return found


def recorded(store: Store, spec: StudySpec) -> tuple[np.ndarray, np.ndarray] | None:
    """Scores (n_arms, n_seeds) in percent and mean seconds by arm; None while runs are missing."""
    cells = [cell.cell for cell in store.cells(spec.name)]
    race = Race(spec.name, cells, seeds=spec.seeds, settings=RaceSettings())
    found = race.scores(store)
    return None if np.isnan(found.scores).any() else (found.scores, found.seconds)


def replay(scores: np.ndarray, seconds: np.ndarray, rng: np.random.Generator, rule: RaceRule) -> dict[str, float]:
    """Race in random orders of the seeds, and count; the truth is the mean over all seeds."""
    truth = scores.mean(axis=1) - scores[0].mean()
    sd = np.std((scores - scores[0])[1:], axis=1, ddof=1)
    rows = []
    for _ in range(ORDERS):
        full = scores[:, rng.permutation(scores.shape[1])]
        ended, first = run_race(full, rule, "which", seconds)
        end, grid = standing(ended, rule), standing(full[:, :GRID], rule)
        n_grid = GRID * len(scores)
        settled, grid_settled = end.which and end.whether != "open", grid.which and grid.whether != "open"
        wrong = (end.whether == "helps" and not np.any(truth[end.better] > 0)) or (
            end.whether == "no" and truth.max() > rule.margin
        )
        rows.append(
            {
                "grid_whether": grid.whether != "open",
                "whether": end.whether != "open",
                "lost": grid.whether != "open" and end.whether == "open",
                "differs": grid.whether != "open" and end.whether not in ("open", grid.whether),
                "whether_wrong": wrong,
                "grid_which": grid_settled,
                "which": settled,
                "which_wrong": settled and truth[end.leader] < truth.max() - rule.margin,
                "points_lost": truth.max() - truth[end.leader],
                "whether_cells": (first or np.isfinite(ended).sum()) / n_grid,
                "which_cells": np.isfinite(ended).sum() / n_grid,
                "effect_over_sd": float(truth.max() / np.median(sd)),
            }
        )
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def false_alarms(
    scores: np.ndarray, seconds: np.ndarray, rng: np.random.Generator, rule: RaceRule, n_races: int
) -> int:
    """Races on the recorded noise alone (seeds drawn with replacement) that say that something beats scratch."""
    noise = scores - scores.mean(axis=1, keepdims=True) + scores[0].mean()
    noise *= np.sqrt(scores.shape[1] / (scores.shape[1] - 1))
    alarms = 0
    for _ in range(n_races):
        ended, _ = run_race(noise[:, rng.integers(scores.shape[1], size=scores.shape[1])], rule, "which", seconds)
        alarms += bool(standing(ended, rule).better.any())
    return alarms


def main() -> int:
    """Run the studies, or replay races on what was recorded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("do", choices=("run", "replay"))
    parser.add_argument("--out", type=Path, default=Path("runs/race"))
    parser.add_argument("--data", type=Path, required=True, help="Folder of svhn_1083.npz and cifar10_18k.npz.")
    parser.add_argument("--csv", type=Path)
    wanted = parser.parse_args()
    wanted.out.mkdir(parents=True, exist_ok=True)
    studies, rule = specs(wanted.out, wanted.data), RaceRule()
    with Store.open(str(wanted.out / "race.sqlite")) as store:
        if wanted.do == "run":
            for spec in studies:
                counts = run_study(spec, store).counts
                print(f"{spec.name}: {counts.done} of {counts.total}", flush=True)
            return 0
        rng, rows, alarms, races = np.random.default_rng(20261122), [], 0, 0
        known = {row.name for row in store.studies()}
        for spec in studies:
            found = recorded(store, spec) if spec.name in known else None
            if found is None:
                continue
            rows.append({"study": spec.name, **replay(*found, rng, rule)})
            alarms, races = alarms + false_alarms(*found, rng, rule, 25), races + 25
            print(" ".join(f"{v:.3f}" if isinstance(v, float) else str(v) for v in rows[-1].values()), flush=True)
    print(f"\n{len(rows)} settings; false alarms on recorded noise: {alarms} of {races}")
    print(" ".join(f"{name} {np.mean([row[name] for row in rows]):.3f}" for name in list(rows[0])[1:]))
    clear = [row for row in rows if row["effect_over_sd"] >= 2]
    print(
        f"{len(clear)} with effects of two standard deviations or more: median share of the grid's cells for whether "
        f"{np.median([row['whether_cells'] for row in clear]):.2f}, for which "
        f"{np.median([row['which_cells'] for row in clear]):.2f}"
    )
    if wanted.csv:
        with wanted.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
