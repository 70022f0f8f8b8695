"""Is the accuracy of training in bfloat16 that of float32? Every trained method in both, on the same labels and seeds.

    python -m benchmarks.precision --out runs/precision [--network lenet] [--targets usps cifar10] [--seeds 5]

The table has bfloat16 minus float32 on the test set, in points, with its 95 % interval over seeds (t), and over all
methods in the last line. What is done stays in the folder: an interrupted call goes on.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.defaults import PAIRS, TRAINED, accuracies
from scipy import stats

from transferscope.study.spec import StudySpec, parse_spec


def study(name: str, precision: str, given: argparse.Namespace) -> StudySpec:
    """The study of one target in one precision; pre-training is in float32 in both, and shared."""
    target, source = PAIRS[name]
    read = ["grey", f"resize:{given.size}"]
    tables: dict[str, Any] = {
        "name": f"{name}-{given.network.rpartition(':')[2]}-{precision}",
        "store": str(given.out.absolute() / "precision.sqlite"),
        "seeds": given.seeds,
        "target": {**target, "transforms": read, "labels": [given.labels]},
        "sources": {"source": {**source, "transforms": read}},
        "recipe": "equal",
        "network": {"name": given.network},
        "pretraining": {"steps": 2000, "precision": "float32"},
        "training": {"steps": given.steps, "precision": precision},
        "methods": {method: {} for method in given.methods},
        "engine": {"workers": given.workers, "keep": "none"},
    }
    return parse_spec(tables)


def in_words(values: np.ndarray) -> str:
    """Mean and 95 % t-interval of what is known of some numbers."""
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return "–"
    half = stats.t.ppf(0.975, len(known) - 1) * known.std(ddof=1) / np.sqrt(len(known))
    return f"{known.mean():+.1f} ({known.mean() - half:+.1f}, {known.mean() + half:+.1f})".replace("-", "−")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/precision"))
    parser.add_argument("--network", default="lenet")
    parser.add_argument("--targets", nargs="*", default=["usps", "cifar10"], choices=list(PAIRS))
    parser.add_argument("--methods", nargs="*", default=list(TRAINED), choices=TRAINED)
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--size", type=int, default=16, help="pixels on a side")
    parser.add_argument("--workers", type=int, default=0)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    columns = {}
    for target in given.targets:
        whole, mixed = (accuracies(study(target, one, given), given.methods) for one in ("float32", "bfloat16"))
        columns[target] = {name: mixed[name] - whole[name] for name in given.methods}
    settings = f"{given.network}, {given.size} pixels, {given.labels} labels, {given.steps} steps, {given.seeds} seeds"
    print(f"{settings}: bfloat16 minus float32, points\n")
    print(f"| method | {' | '.join(columns)} |")
    print(f"|---|{'---|' * len(columns)}")
    for name in given.methods:
        print(f"| `{name}` | {' | '.join(in_words(column[name]) for column in columns.values())} |")
    means = [np.nanmean(np.array(list(column.values())), axis=0) for column in columns.values()]  # of each seed
    print(f"| mean of the methods | {' | '.join(in_words(values) for values in means)} |")


if __name__ == "__main__":
    main()
