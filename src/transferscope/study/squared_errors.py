"""Squared errors of a study's trained networks, in units of the variance of the target's labels."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from transferscope.estimate import Estimate
from transferscope.store import Store, StoredCell
from transferscope.study.pair_estimates import Unexplained


def squared_errors(store: Store, study: str) -> dict[str, Estimate]:
    """Squared error on the target test set of every cell, by its key.

    Class labels count as codes e_c: a wrong prediction is off by |e_a - e_b|^2 = 2, and the variance of the labels is
    1 - sum_c p_c^2. Regression outputs count by their squared error.

    Args:
        store: The store.
        study: Name of the study.

    Returns:
        Errors in units of the variance of the test labels, with standard errors over test examples; empty when the
        study keeps no test labels or they do not vary.
    """
    labels, columns = store.study_array(study, "target_test_labels"), store.records(study)
    if labels is None:
        return {}
    shares = np.unique(labels, return_counts=True)[1] / len(labels)
    variances = {"accuracy": 1 - float((shares**2).sum()), "mse": float(labels.var(axis=0).mean())}
    found = {}
    for i, name in enumerate(columns.name):
        if columns.step[i] is not None or columns.part[i] != "target_test" or not variances.get(name, 0) > 1e-12:
            continue
        value, stderr = float(columns.value[i]), float(columns.stderr[i])
        error, factor = (1 - value, 2 / variances[name]) if name == "accuracy" else (value, 1 / variances[name])
        known = None if math.isnan(stderr) else factor * stderr
        found[columns.key[i]] = Estimate(factor * error, known, int(columns.n[i]), columns.status[i])
    return found


def best_trained(cells: Sequence[StoredCell], errors: Mapping[str, Estimate]) -> Unexplained | None:
    """What the best method of a study leaves unexplained with its most labels: an upper bound of the noise.

    Args:
        cells: Cells of the study that are done.
        errors: From `squared_errors`.

    Returns:
        The mean over seeds, and how it fell since the next smaller number of labels, as if by halving; None when there
        are no errors.
    """
    groups: dict[tuple[object, ...], dict[int, list[Estimate]]] = {}
    for stored in cells:
        labels, error = stored.cell.labels, errors.get(stored.cell.key)
        if stored.cell.role == "method" and error is not None and math.isfinite(error.value):
            place = labels["method"], labels["source"], labels["n_source"]
            groups.setdefault(place, {}).setdefault(int(str(labels["n_target"])), []).append(error)
    largest = max((max(sizes) for sizes in groups.values()), default=0)
    candidates = [_learning_curve(sizes) for sizes in groups.values() if largest in sizes]
    return min(candidates, key=lambda found: found.share.value) if candidates else None


def _learning_curve(sizes: Mapping[int, Sequence[Estimate]]) -> Unexplained:
    last, *before = sorted(sizes, reverse=True)
    at_last = [error.value for error in sizes[last]]
    value = float(np.mean(at_last))
    over_examples = float(np.mean([(error.stderr or 0.0) ** 2 for error in sizes[last]]))
    over_seeds = float(np.var(at_last, ddof=1)) / len(at_last) if len(at_last) > 1 else 0.0
    fell = 0.0
    if before:
        gained = float(np.mean([error.value for error in sizes[before[0]]])) - value
        fell = max(gained, 0.0) / (last / before[0] - 1)
    return Unexplained(Estimate(value, math.sqrt(over_examples + over_seeds), len(at_last)), fell)
