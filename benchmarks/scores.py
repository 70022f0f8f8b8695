"""LogME of 20,000 examples, 1,024 features and 100 classes, beside the published algorithm on the same arrays.

    python -m benchmarks.scores [--examples N] [--features D] [--classes C] [--repeats R]

The published one (You et al. 2021, Algorithm 1, with the singular value decomposition of F done once) iterates alpha
and beta class by class until alpha / beta moves by less than 1e-3, 11 times at most. Both times contain everything from
the arrays to the number; memory is the peak of what NumPy allocates on the way, in a run of its own. Set
OMP_NUM_THREADS to compare on a given number of threads.
"""

import argparse
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from transferscope.scores import LogME, TargetView


def published(features: np.ndarray, labels: np.ndarray) -> float:
    """Algorithm 1 written from the paper; right for n > d with full rank, which is the case here."""
    n, d = features.shape
    u, singular, _ = np.linalg.svd(features, full_matrices=False)
    s = singular**2
    total = 0.0
    classes = np.unique(labels)
    for c in classes:
        y = (labels == c).astype(np.float64)
        z2 = (u.T @ y) ** 2
        outside = y @ y - z2.sum()
        alpha = beta = 1.0
        for _ in range(11):
            t = alpha / beta
            gamma = (s / (s + t)).sum()
            m2 = (s * z2 / (s + t) ** 2).sum()
            residual = (z2 / (1 + s / t) ** 2).sum() + outside
            alpha, beta = gamma / m2, (n - gamma) / residual
            if abs(alpha / beta - t) / t <= 1e-3:
                break
        log_det = np.log(alpha + beta * s).sum()
        total += n / 2 * np.log(beta / (2 * np.pi)) + d / 2 * np.log(alpha) - log_det / 2
        total -= beta / 2 * residual + alpha / 2 * m2
    return float(total / len(classes) / n)


def timed(work: Callable[[], float], repeats: int) -> tuple[float, float]:
    """Value, and the least seconds of several runs."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        value = work()
        seconds.append(time.perf_counter() - start)
    return value, min(seconds)


def peak(work: Callable[[], float]) -> float:
    """Largest memory in MiB that is allocated on the way; LAPACK's own workspace is not seen."""
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--features", type=int, default=1_024)
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    n, d, n_classes = arguments.examples, arguments.features, arguments.classes
    labels = rng.permutation(np.arange(n) % n_classes)
    features = 0.3 * rng.standard_normal((n_classes, d))[labels] + rng.standard_normal((n, d))
    features = np.maximum(features, 0)  # as after a ReLU
    view = TargetView(features, labels)

    ways = {"transferscope": lambda: LogME().value(view).value, "published": lambda: published(features, labels)}
    print(f"LogME of {n} examples, {d} features, {n_classes} classes; least of {arguments.repeats} runs")
    found = {name: timed(work, arguments.repeats) for name, work in ways.items()}
    for name, (value, seconds) in found.items():
        print(f"{name}: {seconds:.2f} s, {peak(ways[name]):.0f} MiB beyond the inputs, value {value:.9f}")
    (ours, fast), (theirs, slow) = found.values()
    print(f"{slow / fast:.1f} x faster; values differ by {abs(ours - theirs):.1e}")


if __name__ == "__main__":
    main()
