"""Calibrate the factors of prediction intervals on development curves, by number of points and factor of extrapolation.

    python benchmarks/scaling_calibrate.py DATA_FOLDER [--kept FILE]

Every curve is cut at its largest size over 2, 4, 8 and 16, thinned to k of the points that are left, and predicted.
Prints, for each class of point counts, each class of factors and each level, the split-conformal factor from the
development half of the curves, with the coverage on the development and on the confirmation half of each family.
`FACTORS` of `transferscope/scaling/extrapolation.py` are rounded from those of 18 curves of each family, cut at a half
and an eighth; the factors from 16 points on are those of all curves of before. Scores are appended to a file, so that a
run that was stopped goes on where it was.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scaling_curves import (
    TestCurve,
    benchmark_curves,
    language_model_curves,
    simulated_curves,
    syn2real_curves,
    thinned,
)

from transferscope.scaling.extrapolation import extrapolate

LEVELS = (0.9,)
COUNTS = (3, 4, 5, 8, 16)
AHEAD = (1.0, 1.5, 3.0, 6.0)
"""Least points, and least size over the largest seen one, of each class."""
KEPT_POINTS = (3, 4, 6, 9, 12, 10**6)
CUTS = (2, 4, 8, 16)
LEAST_CURVES = 8
SHORTFALL = 0.01
"""How far a family may stay below the level: families that were not seen differ as much as these do."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--kept", type=Path, default=Path("scaling_calibrate.jsonl"))
    arguments = parser.parse_args()
    done = set()
    if arguments.kept.exists():
        done = {tuple(json.loads(line)["key"]) for line in arguments.kept.read_text().splitlines()}
    curves = [*benchmark_curves(arguments.data), *syn2real_curves(arguments.data, seen=4), *simulated_curves()]
    with arguments.kept.open("a") as file:
        for curve in [*curves, *language_model_curves(arguments.data)]:
            for key, part in cuts(curve):
                if key not in done:
                    result = extrapolate(part.x, part.y, at=part.x_test)
                    error = np.abs(np.log(result.predicted) - np.log(part.y_test)) / result.scale
                    row = {"key": key, "family": part.suite, "development": part.development, "points": len(part.x)}
                    ahead = (part.x_test / part.x.max()).round(4).tolist()
                    file.write(json.dumps(row | {"ahead": ahead, "ratios": error.round(5).tolist()}) + "\n")
    rows = [json.loads(line) for line in arguments.kept.read_text().splitlines()]
    report(pd.DataFrame(rows).explode(["ahead", "ratios"]).astype({"ahead": float, "ratios": float}))


def cuts(curve: TestCurve) -> Iterator[tuple[tuple[str, str, int, int], TestCurve]]:
    """The curve seen up to a part of its largest size and thinned; all of its points beyond are predicted."""
    x, y = np.concatenate([curve.x, curve.x_test]), np.concatenate([curve.y, curve.y_test])
    for cut in CUTS:
        seen = x <= x.max() / cut * 1.001
        if len(np.unique(x[seen])) < min(KEPT_POINTS):
            continue
        one = TestCurve(curve.suite, curve.name, x[seen], y[seen], x[~seen], y[~seen], curve.development)
        before = 0
        for k in KEPT_POINTS:
            part = thinned(one, k) if k < len(one.x) else one
            if len(part.x) != before:
                yield (
                    (curve.suite, curve.name, cut, k),
                    TestCurve(curve.suite, curve.name, part.x, part.y, part.x_test, part.y_test, curve.development),
                )
            before = len(part.x)


def report(scores: pd.DataFrame) -> None:
    scores["key"] = scores["key"].map(tuple)
    count = pd.cut(scores["points"], [*COUNTS, np.inf], right=False, labels=COUNTS)
    ahead = pd.cut(scores["ahead"], [*AHEAD, np.inf], right=False, labels=AHEAD)
    for level in LEVELS:
        for (least, beyond), part in scores.groupby([count, ahead], observed=True):
            factor = calibrate(part[part["development"]], level, SHORTFALL)
            print(f"level {level}, from {least} points, from {beyond} times: factor {factor:.2f}")
            for family, own in part.groupby("family"):
                halves = [own[own["development"] == half] for half in (True, False)]
                said = [f"{coverage(half, factor):.3f} ({half['key'].nunique()})" for half in halves]
                print(f"    {family:12s} {' / '.join(said)}")


def calibrate(scores: pd.DataFrame, level: float, shortfall: float) -> float:
    """Least factor whose coverage reaches the level on average over families with enough curves, and nearly in each."""
    families = [own for _, own in scores.groupby("family") if own["key"].nunique() >= LEAST_CURVES]
    for factor in np.geomspace(0.2, 20.0, 461):
        covered = [coverage(own, factor) for own in families]
        if covered and np.mean(covered) >= level and min(covered) >= level - shortfall:
            return float(factor)
    return float("inf")


def coverage(scores: pd.DataFrame, factor: float) -> float:
    """Share of predicted points that are covered, every curve counting the same."""
    return float((scores["ratios"] <= factor).groupby(scores["key"]).mean().mean())


if __name__ == "__main__":
    main()
