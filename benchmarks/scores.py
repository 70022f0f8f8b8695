"""Scores beside others: LogME beside the published algorithm, nearest neighbours beside scikit-learn.

    python -m benchmarks.scores [--examples N] [--features D] [--classes C] [--repeats R]
    python -m benchmarks.scores --neighbours [--repeats R]
    python -m benchmarks.scores --memory

Processor seconds, the least of several runs in turn.

The published one (You et al. 2021, Algorithm 1, with the singular value decomposition of F done once) iterates alpha
and beta class by class until alpha / beta moves by less than 1e-3, 11 times at most. Both times contain everything from
the arrays to the number; memory is the peak of what NumPy allocates on the way, in a run of its own. Set
OMP_NUM_THREADS to compare on a given number of threads.
"""

import argparse
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from transferscope.scores import Bhattacharyya, HScore, LogME, Neighbours, TargetView
from transferscope.scores.neighbours import neighbour_means
from transferscope.scores.score import Score


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


def timed(work: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """Value, and the least seconds of several runs."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        value = work()
        seconds.append(time.process_time() - start)
    return value, min(seconds)


def peak(work: Callable[[], float]) -> float:
    """Largest memory in MiB that is allocated on the way; LAPACK's own workspace is not seen."""
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 2**20


def made(n: int, d: int, n_classes: int) -> TargetView:
    """Features as after a ReLU, whose classes differ in their means."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(n) % n_classes)
    return TargetView(
        np.maximum(0.3 * rng.standard_normal((n_classes, d))[labels] + rng.standard_normal((n, d)), 0), labels
    )


def found_mean(search: NearestNeighbors, classes: np.ndarray) -> np.ndarray:
    found: np.ndarray = classes[search.kneighbors(return_distance=False)].mean(axis=1)
    return found


def neighbours(repeats: int) -> None:
    """Mean class of the five nearest others of every example, beside `NearestNeighbors(algorithm="brute")`."""
    for n, d in ((1_000, 384), (3_000, 512), (3_000, 1_280), (5_000, 64), (20_000, 128)):
        features, classes = (view := made(n, d, 10)).features, np.eye(10)[view.labels]
        search = NearestNeighbors(n_neighbors=5, algorithm="brute").fit(features)
        theirs, slow = timed(partial(found_mean, search, classes), repeats)
        ours, fast = timed(partial(neighbour_means, features, classes, 5), repeats)
        print(
            f"{n} x {d}: {fast:.4f} s, scikit-learn {slow:.4f} s, {slow / fast:.2f}; {np.abs(ours - theirs).max():.0e}"
        )


def scored(score: Score, features: np.ndarray, labels: np.ndarray) -> float:
    return score.value(TargetView(features, labels)).value


def memory() -> None:
    """What each score allocates for each MiB of features in float32, their copy in float64 included."""
    features, labels = (view := made(10_000, 1_024, 100)).features.astype(np.float32), view.labels
    for score in (LogME(), HScore(), Bhattacharyya(), Neighbours()):
        most = peak(partial(scored, score, features, labels))
        print(f"{score.name}: {most / (features.nbytes / 2**20):.1f} MiB for each MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--features", type=int, default=1_024)
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--neighbours", action="store_true")
    parser.add_argument("--memory", action="store_true")
    arguments = parser.parse_args()
    if arguments.neighbours:
        neighbours(arguments.repeats)
    elif arguments.memory:
        memory()
    else:
        logme(arguments)


def logme(arguments: argparse.Namespace) -> None:
    n, d, n_classes = arguments.examples, arguments.features, arguments.classes
    view = made(n, d, n_classes)
    ways = {
        "transferscope": lambda: LogME().value(view).value,
        "published": lambda: published(view.features, view.labels),
    }
    print(f"LogME of {n} examples, {d} features, {n_classes} classes; least of {arguments.repeats} runs")
    found = {name: timed(work, arguments.repeats) for name, work in ways.items()}
    for name, (value, seconds) in found.items():
        print(f"{name}: {seconds:.2f} s, {peak(ways[name]):.0f} MiB beyond the inputs, value {value:.9f}")
    (ours, fast), (theirs, slow) = found.values()
    print(f"{slow / fast:.1f} x faster; values differ by {abs(ours - theirs):.1e}")


if __name__ == "__main__":
    main()
