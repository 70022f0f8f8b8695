"""Calibrate the factors of prediction intervals on development curves.

    python benchmarks/scaling_calibrate.py DATA_FOLDER

Prints, for each class of point counts and each level, the split-conformal factor from the development half of the
curves, with the coverage on the development and on the confirmation half. The printed factors are the ones in
`transferscope/scaling/extrapolation/interval.py`. Short curves are the development curves thinned to k sizes.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scaling_curves import TestCurve, benchmark_curves, syn2real_curves, thinned

from transferscope.scaling.extrapolation import extrapolate

LEVELS = (0.5, 0.8, 0.9)
COUNTS = {3: range(3, 8), 8: range(8, 16), 16: range(16, 10**6)}
LEAST_CURVES = 10
SHORTFALL = {3: 0.0, 8: 0.05, 16: 0.05}
"""How far a suite may stay below the level: not at all for the shortest curves, whose families differ most."""


@dataclass(frozen=True)
class Score:
    """|log error| over the scale of the interval at each test point of a curve, and where the curve belongs."""

    suite: str
    development: bool
    n_points: int
    ratios: np.ndarray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    scores = [score(curve) for curve in calibration_curves(data)]
    for least, counts in COUNTS.items():
        members = [one for one in scores if one.n_points in counts]
        for level in LEVELS:
            factor = calibrate([one for one in members if one.development], level, SHORTFALL[least])
            print(f"from {least} points, level {level}: factor {factor:.2f}; coverage (development / confirmation):")
            for suite in sorted({one.suite for one in members}):
                pair = [
                    [one for one in members if one.suite == suite and one.development is half] for half in (True, False)
                ]
                print(f"    {suite:12s} " + " / ".join(f"{coverage(half, factor):.3f} ({len(half)})" for half in pair))


def calibration_curves(data: Path) -> list[TestCurve]:
    full = benchmark_curves(data)
    short = [thinned(curve, k) for curve in full if curve.suite != "nsl_lm" for k in (3, 4, 6, 9, 12)]
    return full + short + syn2real_curves(data, seen=4) + syn2real_curves(data, seen=5)


def score(curve: TestCurve) -> Score:
    result = extrapolate(curve.x, curve.y, at=curve.x_test)
    error = np.abs(np.log(result.predicted) - np.log(curve.y_test))
    return Score(curve.suite, curve.development, len(curve.x), error / np.maximum(result.scale.total(), 1e-12))


def calibrate(scores: list[Score], level: float, shortfall: float) -> float:
    """Least factor whose coverage reaches the level on average over suites with enough curves, and nearly in each."""
    by_suite = {suite: [one for one in scores if one.suite == suite] for suite in {one.suite for one in scores}}
    enough = [members for members in by_suite.values() if len(members) >= LEAST_CURVES]
    for factor in np.arange(0.1, 20.0, 0.01):
        covered = [coverage(members, factor) for members in enough]
        if np.mean(covered) >= level and min(covered) >= level - shortfall:
            return float(factor)
    return float("inf")


def coverage(scores: list[Score], factor: float) -> float:
    return float(np.mean([(one.ratios <= factor).mean() for one in scores])) if scores else float("nan")


if __name__ == "__main__":
    main()
