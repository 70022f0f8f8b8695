"""Races replayed on recorded runs of real networks: what they say and cost beside the full grid, and false alarms.

    python -m benchmarks.race_recorded run --out runs/race      # 40 studies of 14 arms and 12 seeds; resumes
    python -m benchmarks.race_recorded replay --out runs/race --csv race.csv

The settings below were fixed before any of them was run. Those of odd number developed the rule, and those of even
number confirm it (race_split.toml). Truth is the mean over all 12 seeds. A race may use all seeds,
in an order of its own (several orders are replayed); the full grid is the first five of that order. For false alarms
every arm's mean is set to that of training from scratch, so that only the recorded noise is left.
"""

import argparse
import csv
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.race import GRID, judged, run_race

from transferscope.numerics.racing import RaceRule, standing
from transferscope.store import Store
from transferscope.study.race import Race, RaceSettings
from transferscope.study.run import run_study
from transferscope.study.spec import StudySpec, parse_spec

SEEDS = 12
ORDERS = 20
METHODS = ("linear-probe", "fine-tune", "l2-sp")
CONTROLS = ("raw", "knn")

TARGETS: dict[str, dict[str, Any]] = {
    "digits": {"data": "digits", "transforms": ["resize:16"]},
    "usps": {"data": "usps"},
    "svhn": {"data": "npz:svhn_1083.npz", "transforms": ["grey", "resize:16"]},
    "cifar10": {"data": "npz:cifar10_18k.npz", "transforms": ["grey", "resize:16"]},
    "fashion": {"data": "fashion-mnist", "transforms": ["resize:16"]},
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
FULL_RATE_TARGETS, FULL_RATE_LABELS = ("usps", "digits", "fashion", "svhn"), (20, 100)
FULL_RATE_SOURCES = (("glyphs", "mnist", "upside-down"), ("mnist", "permuted", "random-labels"))


@dataclass(frozen=True)
class Recorded:
    """A study with all its runs.

    Attributes:
        scores: In percent, shape (n_arms, n_seeds), training from scratch first.
        seconds: Mean time of a run by arm, shape (n_arms,).
        controls: Rows of the controls.
    """

    scores: np.ndarray
    seconds: np.ndarray
    controls: tuple[int, ...]


def specs(out: Path, data: Path) -> list[StudySpec]:
    """The studies: every target, number of labels and set of sources.

    The last sixteen, with fewer labels, a deeper network and fine-tuning at the whole rate, were added so that there
    are more settings in which transfer does much.
    """
    first = [
        (f"{target}-{labels}-{number}", target, labels, names, False)
        for target in ("digits", "usps", "svhn", "cifar10")
        for labels in LABELS
        for number, names in enumerate(SOURCE_SETS)
    ]
    second = [
        (f"{target}-{labels}-full-rate-{number}", target, labels, names, True)
        for target in FULL_RATE_TARGETS
        for labels in FULL_RATE_LABELS
        for number, names in enumerate(FULL_RATE_SOURCES)
    ]
    found = []
    for name, target, labels, names, full_rate in (*first, *second):
        table = TARGETS[target]
        rate = {"lr_scale": 1.0} if full_rate else {}
        methods: dict[str, dict[str, object]] = {name: {} for name in ("scratch", *CONTROLS, *METHODS)}
        methods |= dict.fromkeys(("fine-tune", "l2-sp"), rate)
        tables = {
            "name": name,
            "store": str(out / "race.sqlite"),
            "seeds": SEEDS,
            "target": {**table, "data": table["data"].replace("npz:", f"npz:{data}/"), "labels": [labels]},
            "sources": {source: SOURCES[source] for source in names},
            "network": {"name": "mlp", "widths": [256, 128] if full_rate else [128]},
            "pretraining": {"steps": 600},
            "training": {"steps": 300, "lr": 0.05} if full_rate else {"steps": 300},
            "methods": methods,
            "engine": {"workers": 1, "device": "cpu"},
        }
        found.append(parse_spec(tables))
    return found


def recorded(store: Store, spec: StudySpec, *, with_controls: bool) -> Recorded | None:
    """What a study has given; None while runs are missing."""
    cells = [cell.cell for cell in store.cells(spec.name)]
    if not with_controls:
        cells = [cell for cell in cells if cell.labels["method"] not in CONTROLS]
    race = Race(spec.name, cells, seeds=spec.seeds, settings=RaceSettings(), controls=CONTROLS)
    found = race.scores(store)
    return None if np.isnan(found.scores).any() else Recorded(found.scores, found.seconds, found.controls)


def replay(recorded: Recorded, rng: np.random.Generator, rule: RaceRule) -> dict[str, float]:
    """Race in random orders of the seeds, and count; the truth is the mean over all seeds."""
    scores, controls = recorded.scores, recorded.controls
    truth = scores.mean(axis=1) - scores[0].mean()
    without = [0, *controls]
    transfers = np.delete(np.arange(len(scores)), without)
    bar = without[int(np.argmax(truth[without]))]
    sd = np.std((scores - scores[bar])[transfers], axis=1, ddof=1)
    effect = float((truth[transfers].max() - truth[bar]) / np.median(sd))
    rows = []
    for _ in range(ORDERS):
        full = scores[:, rng.permutation(scores.shape[1])]
        ended, first, end = run_race(full, rule, "which", recorded.seconds, controls)
        grid = standing(full[:, :GRID], rule, controls=controls)
        n_grid, n_runs = GRID * len(scores), int(np.isfinite(ended).sum())
        rows.append(
            judged(end, truth, rule, controls)
            | {
                "grid_whether": grid.whether != "open",
                "lost": grid.whether != "open" and end.whether == "open",
                "differs": grid.whether != "open" and end.whether not in ("open", grid.whether),
                "grid_which": grid.which and grid.whether != "open",
                "points_lost": truth.max() - truth[end.leader],
                "whether_cells": (first or n_runs) / n_grid,
                "which_cells": n_runs / n_grid,
                "effect_over_sd": effect,
            }
        )
    names = [name for name in rows[0] if not name.endswith("_found")]  # no two recorded ways are exactly alike
    return {name: float(np.mean([float(row[name]) for row in rows])) for name in names}


def false_alarms(recorded: Recorded, rng: np.random.Generator, rule: RaceRule, n_races: int) -> tuple[int, int]:
    """Races on the recorded noise alone (seeds drawn with replacement) that say that something beats scratch, and that
    it beats every control as well.
    """
    scores = recorded.scores
    noise = scores - scores.mean(axis=1, keepdims=True) + scores[0].mean()
    noise *= np.sqrt(scores.shape[1] / (scores.shape[1] - 1))
    helps = beats = 0
    for _ in range(n_races):
        drawn = noise[:, rng.integers(scores.shape[1], size=scores.shape[1])]
        _, _, end = run_race(drawn, rule, "which", recorded.seconds, recorded.controls)
        helps += bool(end.better.any())
        beats += end.whether == "helps"
    return helps, beats


def main() -> int:
    """Run the studies, or replay races on what was recorded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("do", choices=("run", "replay"))
    parser.add_argument("--out", type=Path, default=Path("runs/race"))
    parser.add_argument("--data", type=Path, required=True, help="Folder of svhn_1083.npz and cifar10_18k.npz.")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--half", choices=("development", "confirmation", "both"), default="both")
    parser.add_argument("--controls", action="store_true", help="Race the recorded controls as well.")
    wanted = parser.parse_args()
    wanted.out.mkdir(parents=True, exist_ok=True)
    studies, rule = specs(wanted.out, wanted.data), RaceRule()
    with Store.open(str(wanted.out / "race.sqlite")) as store:
        if wanted.do == "run":
            for spec in studies:
                counts = run_study(spec, store).counts
                print(f"{spec.name}: {counts.done} of {counts.total}", flush=True)
            return 0
        split = tomllib.loads((Path(__file__).parent / "race_split.toml").read_text(encoding="utf-8"))
        halves = {half: studies[1::2] if which == "odd" else studies[::2] for half, which in split.items()}
        rng, rows, helps, beats, races = np.random.default_rng(20261122), [], 0, 0, 0
        known = {row.name for row in store.studies()}
        for spec in halves.get(wanted.half, studies):
            found = recorded(store, spec, with_controls=wanted.controls) if spec.name in known else None
            if found is None:
                continue
            rows.append({"study": spec.name, **replay(found, rng, rule)})
            false = false_alarms(found, rng, rule, 25)
            helps, beats, races = helps + false[0], beats + false[1], races + 25
            print(" ".join(f"{v:.3f}" if isinstance(v, float) else str(v) for v in rows[-1].values()), flush=True)
    print(
        f"\n{len(rows)} settings; on recorded noise alone {helps} of {races} said better, {beats} that transfer helps"
    )
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
