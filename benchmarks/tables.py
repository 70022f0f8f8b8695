"""The arms that need no network on tables of the user, beside the same by scikit-learn, written out by hand.

    python -m benchmarks.tables "csv:SOURCE.csv?label=Y" "csv:TARGET.csv?label=Y" [more pairs ...] [--labels 20 50]

Every draw takes other labelled rows and other test rows (2,000 at most) of the target. The tables have R^2, or the area
under the ROC curve of two classes, as mean over draws. The target's columns are read as the source's.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score, roc_auc_score

from transferscope.data.load import load
from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.methods import METHODS, FitOptions
from transferscope.models import build_network
from transferscope.study.read_alike import in_features_of
from transferscope.training import TrainingSettings

ARMS = ("raw", "boosting", "boosting-ridge", "source-boosting", "pooled-boosting", "pooled-boosting-ridge")
MOST_TESTED = 2000

Prediction = Callable[[np.ndarray], np.ndarray]


def ridge(x: np.ndarray, y: np.ndarray) -> Prediction:
    """With the scaling and the penalty that leave-one-out prefers."""
    mean, std = x.mean(axis=0), x.std(axis=0)
    varies, flag = std > 0, ((x == 0) | (x == 1)).all(axis=0)
    found: list[tuple[float, Any, np.ndarray]] = []
    for scale in (std, np.where(flag, 1.0, std), np.ones_like(std)):
        seen = ((x - mean) / np.where(varies, scale, 1))[:, varies]
        model: Any = RidgeCV(np.logspace(-5, 5, 21) * np.square(seen).sum(axis=1).mean()).fit(seen, y)
        found.append((model.best_score_, model, scale))
    _, best, scale = max(found, key=lambda one: one[0])
    return lambda v: best.predict(((v - mean) / np.where(varies, scale, 1))[:, varies])


def boosting(x: np.ndarray, y: np.ndarray, *, classes: bool) -> Prediction:
    """Numbers, or the probability of the second class less a half."""
    settings = {"n_estimators": 100, "learning_rate": 0.1, "max_depth": 3, "random_state": 0}
    if not classes:
        return GradientBoostingRegressor(**settings).fit(x, y).predict
    model: Any = GradientBoostingClassifier(**settings).fit(x, y)
    return lambda v: model.predict_proba(v)[:, 1] - 0.5


def calibrated(s: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Offset and slope with the least leave-one-out error."""
    ways = [lambda a, b: (0.0, 1.0), lambda a, b: (float(np.mean(b - a)), 1.0), lambda a, b: np.polyfit(a, b, 1)[::-1]]

    def error(way: Any) -> float:
        fits = [way(np.delete(s, i), np.delete(y, i)) for i in range(len(s))]
        return float(np.mean([(y[i] - a - b * s[i]) ** 2 for i, (a, b) in enumerate(fits)]))

    offset, slope = min(ways, key=error)(s, y)
    return float(offset), float(slope)


def by_hand(source: LabelledSet, target: LabelledSet, test: np.ndarray) -> dict[str, np.ndarray]:
    """What each arm predicts for the test rows."""
    classes = target.classes is not None
    (x, y), (xs, ys) = ((part.inputs.astype(np.float64), part.labels.reshape(-1)) for part in (target, source))
    linear = ridge(x, y - 0.5 if classes else y)(test)
    grown, of_source = boosting(x, y, classes=classes)(test), boosting(xs, ys, classes=classes)
    offset, slope = (0.0, 1.0) if classes else calibrated(of_source(x), y)
    rows = np.vstack([np.column_stack([x, np.ones(len(x))]), np.column_stack([xs, np.zeros(len(xs))])])
    pooled = boosting(rows, np.concatenate([y, ys if classes else offset + slope * ys]), classes=classes)
    both = pooled(np.column_stack([test, np.ones(len(test))]))
    predicted = (linear, grown, (linear + grown) / 2, offset + slope * of_source(test), both, (linear + both) / 2)
    return dict(zip(ARMS, predicted, strict=True))


def whole(data: Dataset) -> LabelledSet:
    """Training and test rows."""
    parts = (data.train, data.test)
    return replace(
        data.train,
        inputs=np.concatenate([part.inputs for part in parts]),
        labels=np.concatenate([part.labels for part in parts]),
    )


def measure(source: Dataset, target: Dataset, n: int, seed: int) -> dict[str, tuple[float, float, float]]:
    """Score of each arm, the same by hand, and seconds of processor time."""
    rows = np.random.default_rng(seed).permutation(len(whole(target)))
    train, test = (whole(target).take(index) for index in (rows[:n], rows[n : n + MOST_TESTED]))
    task = TransferTask(Dataset(target.name, train, test), Dataset(source.name, whole(source), source.test))
    truth = test.labels.reshape(-1)
    score = r2_score if test.classes is None else roc_auc_score
    expected, found = by_hand(whole(source), train, test.inputs.astype(np.float64)), {}
    network = build_network("linear", train.input_shape, train.n_outputs, seed=0)
    for arm in ARMS:
        started = time.process_time()
        fitted = METHODS[arm]().fit(task, network, FitOptions(TrainingSettings(steps=1), seed=seed, device="cpu"))
        seconds = time.process_time() - started
        outputs = fitted.outputs(test).numpy()
        predicted = outputs[:, 0] if test.classes is None else outputs[:, 1] - outputs[:, 0]
        found[arm] = (float(score(truth, predicted)), float(score(truth, expected[arm])), seconds)
    return found


def main() -> None:
    """Read the command line and print a table for each pair."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--labels", type=int, nargs="+", default=[20, 50])
    parser.add_argument("--draws", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    for source_name, target_name in zip(given.tables[::2], given.tables[1::2], strict=True):
        source = load(source_name)
        target = load(in_features_of(target_name, source_name))
        for n in given.labels:
            draws = [measure(source, target, n, seed) for seed in range(given.draws)]
            means = {arm: np.mean([draw[arm] for draw in draws], axis=0) for arm in ARMS}
            print(f"{target_name} {n} labels: " + ", ".join(
                f"{arm} {own:.3f} ({hand:.3f}; {seconds:.2f} s)" for arm, (own, hand, seconds) in means.items()
            ), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
