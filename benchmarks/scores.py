"""Scores and probes beside others: LogME beside three libraries, neighbours and linear models beside scikit-learn.

    python -m benchmarks.scores [--thuml LogME.py] [--tllib logme.py] [--repeats R]
    python -m benchmarks.scores --neighbours [--repeats R]
    python -m benchmarks.scores --probes [--repeats R]
    python -m benchmarks.scores --memory

Processor seconds, the least of several runs in turn, from the arrays to the number. Libraries compared: the files
LogME.py of github.com/thuml/LogME at 56551ca and tllib/ranking/logme.py of thuml/Transfer-Learning-Library at c4aa59e,
both of which need numba (0.68.1), and transformer-ranker 0.2.0, where it is installed. Memory is the peak of what NumPy
allocates. Set OMP_NUM_THREADS to compare on a given number of threads.
"""

import argparse
import importlib.util
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import torch
from scipy.linalg import blas, eigvalsh
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.neighbors import NearestNeighbors

from transferscope.methods.probe_head import logistic_probe
from transferscope.methods.ridge_fit import ridge_fit
from transferscope.scores import Bhattacharyya, HScore, LogME, Neighbours, TargetView
from transferscope.scores.neighbours import neighbour_means
from transferscope.scores.score import Score


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
        ours, theirs = in_turn(
            repeats, partial(neighbour_means, features, classes, 5), partial(found_mean, search, classes)
        )
        told(f"neighbours, {n} x {d}", ours[1], theirs[1], f"values differ by {np.abs(ours[0] - theirs[0]).max():.0e}")


def probes(repeats: int) -> None:
    """Ridge and logistic probes beside `RidgeCV` and `LogisticRegression` with the same penalties, in turn."""
    for n, d in ((200, 84), (600, 1_280), (1_000, 512), (3_000, 500)):
        features, targets = (view := made(n, d, 10)).features.astype(np.float32), np.eye(10)[view.labels]
        wide = features.astype(float)
        penalties = np.logspace(-5, 5, 21)
        alphas = penalties * np.square(wide - wide.mean(axis=0)).sum(axis=1).mean()
        ours, theirs = in_turn(
            repeats,
            partial(ridge_fit, torch.from_numpy(features), targets, penalties),
            partial(RidgeCV(alphas).fit, wide, targets),
        )
        off = np.abs(ours[0][0] - theirs[0].coef_).max() / np.abs(theirs[0].coef_).max()
        told(f"ridge, {n} x {d}", ours[1], theirs[1], f"coefficients differ by {off:.0e} of the largest")
    for n, d, n_classes in ((100, 384, 4), (100, 1_280, 10), (300, 1_280, 10), (200, 5_000, 6)):
        view = made(n, d, n_classes)
        features = view.features.astype(np.float32)
        wide, labels = features.astype(float), torch.from_numpy(view.labels)
        variance = np.square(wide - wide.mean(axis=0)).sum(axis=1).mean()
        model = LogisticRegression(C=1 / (0.01 * variance), max_iter=10_000)
        ours, theirs = in_turn(
            repeats,
            partial(logistic_probe, torch.from_numpy(features), labels, n_classes, penalty=0.01),
            partial(model.fit, wide, view.labels),
        )
        same = (ours[0][0](torch.from_numpy(features)).argmax(1).numpy() == theirs[0].predict(wide)).mean()
        told(f"logistic, {n} x {d}, {n_classes} classes", ours[1], theirs[1], f"{same:.3f} of predictions agree")


def in_turn(repeats: int, *ways: Callable[[], Any]) -> list[tuple[Any, float]]:
    """Return the value of each way, and its least seconds."""
    runs = [[timed(way, 1) for way in ways] for _ in range(repeats)]
    return [(column[0][0], min(seconds for _, seconds in column)) for column in zip(*runs, strict=True)]


def told(what: str, ours: float, theirs: float, agreement: str) -> None:
    print(f"{what}: {ours:.4f} s, scikit-learn {sklearn.__version__} {theirs:.4f} s, {theirs / ours:.2f}; {agreement}")


def scored(score: Score, features: np.ndarray, labels: np.ndarray) -> float:
    return score.value(TargetView(features, labels)).value


def memory() -> None:
    """What each score allocates for each MiB of features in float32, their copy in float64 included."""
    features, labels = (view := made(10_000, 1_024, 100)).features.astype(np.float32), view.labels
    for score in (LogME(), HScore(), Bhattacharyya(), Neighbours()):
        most = peak(partial(scored, score, features, labels))
        print(f"{score.name}: {most / (features.nbytes / 2**20):.1f} MiB for each MiB")


def opened(path: Path) -> Any:
    """Return a library of one file."""
    spec = importlib.util.spec_from_file_location(f"peer_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def logme(arguments: argparse.Namespace) -> None:
    """LogME of three libraries, at four sizes; they are wrong where there are fewer examples than features."""
    theirs: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {}
    if arguments.thuml is not None:
        thuml = opened(arguments.thuml)
        theirs["thuml/LogME"] = lambda f, y: float(thuml.LogME().fit(f, y))
    if arguments.tllib is not None:
        theirs["TLlib"] = opened(arguments.tllib).log_maximum_evidence
    if importlib.util.find_spec("transformer_ranker") is not None:
        from transformer_ranker.estimators.logme import LogME as Ranker

        theirs["TransformerRanker"] = lambda f, y: float(Ranker().fit(torch.from_numpy(f), torch.from_numpy(y)))
    for n, d, n_classes in ((10_000, 1_024, 100), (30_000, 384, 50), (3_000, 512, 10), (500, 1_280, 10)):
        features, labels = (view := made(n, d, n_classes)).features, view.labels
        ways = {"transferscope": lambda view=view: LogME().value(view).value}
        ways |= {name: partial(way, features, labels) for name, way in theirs.items()}
        found: dict[str, list[tuple[Any, float]]] = {name: [] for name in ways}
        for _ in range(arguments.repeats):
            for name, way in ways.items():
                found[name].append(timed(way, 1))
        ours = min(seconds for _, seconds in found["transferscope"])
        smaller = np.asfortranarray(features.T if n > d else features)
        gram = timed(partial(blas.dsyrk, 1.0, smaller), arguments.repeats)[1]
        values = timed(partial(eigvalsh, smaller @ smaller.T), arguments.repeats)[1]
        print(f"{n} x {d}, {n_classes} classes (half a Gram matrix {gram:.4f} s, its eigenvalues {values:.4f}):")
        for name, runs in found.items():
            least = min(seconds for _, seconds in runs)
            print(f"  {name}: {least:.4f} s, {least / ours:.2f}; value {runs[0][0]:.6f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--thuml", type=Path)
    parser.add_argument("--tllib", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--neighbours", action="store_true")
    parser.add_argument("--probes", action="store_true")
    parser.add_argument("--memory", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.neighbours:
        neighbours(arguments.repeats)
    elif arguments.probes:
        probes(arguments.repeats)
    elif arguments.memory:
        memory()
    else:
        logme(arguments)


if __name__ == "__main__":
    main()
