"""Label plans on published linear probes: fitted to few examples per class, scored on all.

    python benchmarks/plan_clip.py FILE.json

FILE is `clip_linear_probes.json` (4,752 linear probes of 12 CLIP models on 21 data sets with 10, 25 and all examples
per class; three learning rates and numbers of epochs). A curve is one model on one data set with the better settings
at each size. With k = 25 (two data sets) a plan has two sizes, and all examples are 20 and 51 times the larger one:
beyond what a plan speaks of, so it is asked here what its curves would say there. With k = 10 alone there is one size,
which a plan refuses; only the last value can be scored.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from transferscope.scaling.advice.label_plan import draw_curve
from transferscope.scaling.observations import observe

ALL_PER_CLASS = {"cifar100": 500, "imagenet1k-unverified": 1281}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=Path)
    frame = pd.read_json(parser.parse_args().table)
    chosen = {
        "best settings at each size": ["dataset", "model_short"],
        "each setting": ["dataset", "model_short", "lr", "epochs"],
    }
    for name, keys in chosen.items():
        best = frame.groupby([*keys, "k"])["lp_acc1"].max().unstack("k")
        print(f"\n{name}")
        one_size = (best[-1] - best[10]).abs()
        print(f"from k = 10: {len(best)} curves, last value off by {100 * one_size.mean():.2f} points on all examples")
        rows = [score(curve, ALL_PER_CLASS[key[0]]) for key, curve in best.dropna().iterrows()]
        print(f"from k = 25: {len(rows)} curves")
        table = pd.DataFrame(rows, index=best.dropna().index)
        print(table.groupby("dataset").mean().round(3).T.to_string())


def score(curve: pd.Series, per_class: int) -> dict[str, float]:
    """Absolute errors in points of accuracy and whether the 90 % interval holds, at all examples per class."""
    sizes, errors = np.array([10.0, 25.0]), 1 - curve[[10, 25]].to_numpy()
    truth = 1 - curve[-1]
    draws = draw_curve(observe(sizes, errors), np.geomspace(10, per_class, 160)).error_at(per_class)
    power = errors[1] * (per_class / 25) ** (np.log(errors[1] / errors[0]) / np.log(2.5))
    return {
        "plan": 100 * abs(draws.error - truth),
        "last value": 100 * abs(errors[1] - truth),
        "plain power law": 100 * abs(power - truth),
        "covered": float(draws.interval.low <= truth <= draws.interval.high),
        "width": 100 * (draws.interval.high - draws.interval.low),
    }


if __name__ == "__main__":
    main()
