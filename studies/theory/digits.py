"""Table 1 of shachaf2021 on real MNIST: R^2 of three bounds against the test error of fine-tuned linear models.

    TRANSFERSCOPE_DATA=FOLDER python -m studies.theory.digits [--profile toy|quick|full] [--draw 0] [--steps 1000]

FOLDER holds mnist.npz with x_train, y_train, x_test, y_test.
"""

import argparse
import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from transferscope.estimate import Estimate
from transferscope_papers.simulate.digit_pairs import Digits, TableSettings, bound_table

PROFILES = {
    "toy": TableSettings(n_pairs=3, n_samples=2, n_repeats=2, sizes=(10, 30)),
    "quick": TableSettings(n_samples=10, n_repeats=3),
    "full": TableSettings(),
}
PUBLISHED = {
    "theorem 4.2": (0.86, 0.89, 0.84, 0.75, 0.69),
    "bartlett": (0.73, 0.75, 0.74, 0.71, 0.67),
    "distance": (0.69, 0.68, 0.66, 0.64, 0.62),
}
"""At n = 10, 15, 20, 25, 30; Theorem 4.2 with m = 2 and a constant that the paper does not give."""


def read(folder: Path, part: str) -> Digits:
    """MNIST images in [0, 1]."""
    with np.load(folder / "mnist.npz") as arrays:
        images, labels = arrays[f"x_{part}"], arrays[f"y_{part}"]
    return Digits(images.reshape(len(images), -1) / 255, labels.astype(np.int64))


def main() -> None:
    """Print the table of one profile."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", choices=PROFILES, default="toy")
    parser.add_argument("--draw", type=int, default=0, help="which draw of the pairs")
    parser.add_argument("--steps", type=int, default=1000, help="gradient steps of both teachers")
    options = parser.parse_args()
    settings = replace(PROFILES[options.profile], seed=options.draw, pretraining_steps=options.steps)
    folder = Path(os.environ["TRANSFERSCOPE_DATA"])
    table = bound_table(read(folder, "train"), read(folder, "test"), settings)
    print(f"{settings.n_pairs} pairs, {settings.n_samples} samples, {settings.n_repeats} repeats\n")
    print("| bound | " + " | ".join(f"n={n}" for n in settings.sizes) + " |")
    print("|---|" + "---|" * len(settings.sizes))
    for name, estimates in table.r_squared.items():
        print(f"| {name} | " + " | ".join(_cell(estimate) for estimate in estimates) + " |")
    for name, values in PUBLISHED.items():
        print(f"| published: {name} | " + " | ".join(f"{v:.2f}" for v in values[: len(settings.sizes)]) + " |")
    print("| test error | " + " | ".join(f"{error:.3f}" for error in table.test_error) + " |")


def _cell(estimate: Estimate) -> str:
    return f"{estimate.value:.2f} ({estimate.stderr:.2f})" if estimate.stderr is not None else f"{estimate.value:.2f}"


if __name__ == "__main__":
    main()
