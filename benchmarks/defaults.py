"""What the default setting of each method loses to one chosen on the target's own labels, over several targets.

    python -m benchmarks.defaults --out runs/defaults [--network lenet] [--targets usps digits ...] [--seeds 3]

Every method is run twice on the same few-shot subsets: as it is, and with the six settings that `compare` tries for it,
chosen by three-fold cross-validation on the target's training examples. The table has tuned minus default on the test
set, in points, with its standard error over seeds, and over targets in the last column. What is done stays in the
folder: an interrupted call goes on, and one with more seeds or targets does the rest.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from transferscope.methods.tuning import search_grid
from transferscope.store import Store
from transferscope.study.frames import read_study
from transferscope.study.run import run_study
from transferscope.study.spec import StudySpec, parse_spec
from transferscope.wording import counted

AIM = 2.0
"""Points that a default may lose."""

PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "usps": ({"data": "usps"}, {"data": "fashion-mnist", "limit": 10_000}),
    "digits": ({"data": "digits"}, {"data": "glyphs?size=16&n_train=8000&n_test=1000"}),
    "svhn": ({"data": "npz:svhn_1083.npz"}, {"data": "mnist", "limit": 10_000}),
    "fashion-mnist": ({"data": "fashion-mnist", "test_limit": 2000}, {"data": "mnist", "limit": 10_000}),
    "cifar10": ({"data": "npz:cifar10_18k.npz", "test_limit": 2000}, {"data": "fashion-mnist", "limit": 10_000}),
}
"""Target and source by name of the target."""

TRAINED = (
    "scratch", "fine-tune", "l2-sp", "wise-ft", "surgical", "bss", "delta", "co-tuning", "distill", "lora", "bitfit",
    "joint", "merlin", "merlin-ft",
)  # fmt: skip
"""Methods whose settings `compare` searches; a soup of fine-tuned networks searches its own."""


def study(
    name: str, given: argparse.Namespace, target: Mapping[str, Any], source: Mapping[str, Any], methods: Sequence[str]
) -> StudySpec:
    """The study of one target: every method as it is, and beside it the same with a search."""
    read = ["grey", f"resize:{given.size}"]
    tables: dict[str, Any] = {
        "name": f"{name}-{given.network.rpartition(':')[2]}",
        "store": str(given.out.absolute() / "defaults.sqlite"),
        "seeds": given.seeds,
        "target": {**target, "transforms": read, "labels": [given.labels]},
        "sources": {"source": {**source, "transforms": read}},
        "recipe": "equal",
        "network": {"name": given.network},
        "pretraining": {"steps": 2000},
        "training": {"steps": given.steps},
        "methods": {name: {} for name in methods} | {f"{name}-tuned": {"method": name} for name in methods},
        "engine": {"workers": given.workers, "keep": "none"},
    }
    plain = parse_spec(tables)
    grids = {f"{name}-tuned": search_grid(plain.methods[name], plain.training) for name in methods}
    grid = {name: {key: list(values) for key, values in axes.items()} for name, axes in grids.items()}
    return parse_spec(tables | {"tuning": {"grid": grid}})


def accuracies(spec: StudySpec, arms: Iterable[str]) -> dict[str, np.ndarray]:
    """Test accuracy in percent, by name of a method: one number for each seed; NaN where a run is missing or failed."""
    with Store.open(spec.store) as store:
        status = run_study(spec, store)
        records = read_study(store, spec.name).records
    if status.failed:
        print(f"{spec.name}: {len(status.failed)} runs failed", file=sys.stderr)
    final = records[records["step"].isna() & (records["part"] == "target_test") & (records["name"] == "accuracy")]
    of_run = {(row.method, row.seed): row.value for row in final.itertuples()}
    return {arm: 100 * np.array([of_run.get((arm, seed), np.nan) for seed in spec.seeds]) for arm in arms}


def losses(spec: StudySpec, methods: Sequence[str]) -> dict[str, np.ndarray]:
    """Tuned minus default in points, by method: one number for each seed."""
    found = accuracies(spec, spec.methods)
    return {name: found[f"{name}-tuned"] - found[name] for name in methods}


def in_words(values: np.ndarray) -> str:
    """Mean and standard error of what is known of some numbers."""
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return "–" if not len(known) else f"{known[0]:+.1f}"
    return f"{known.mean():+.1f} ± {known.std(ddof=1) / np.sqrt(len(known)):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/defaults"))
    parser.add_argument("--network", default="lenet")
    parser.add_argument("--targets", nargs="*", default=list(PAIRS), choices=list(PAIRS))
    parser.add_argument("--methods", nargs="*", default=list(TRAINED), choices=TRAINED)
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--size", type=int, default=16, help="pixels on a side")
    parser.add_argument("--workers", type=int, default=0)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    columns = {
        target: losses(study(target, given, *PAIRS[target], given.methods), given.methods) for target in given.targets
    }
    settings = f"{given.network}, {given.size} pixels, {given.labels} labels, {given.steps} steps"
    print(f"{settings}, {counted(given.seeds, 'seed')}: tuned minus default, points\n")
    print(f"| method | {' | '.join(columns)} | mean over targets |")
    print(f"|---|{'---|' * (len(columns) + 1)}")
    for name in given.methods:
        means = np.array([np.nanmean(column[name]) for column in columns.values()])
        over = "" if np.nanmean(means) <= AIM else f" (above {AIM:g})"
        cells = " | ".join(in_words(column[name]) for column in columns.values())
        print(f"| `{name}` | {cells} | {in_words(means)}{over} |", flush=True)


if __name__ == "__main__":
    main()
