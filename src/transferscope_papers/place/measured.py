"""What a study measured: squared errors in the unit of the model, and the gains of linear transfer over scratch."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from transferscope.estimate import Estimate
from transferscope.numerics.intervals import t_interval
from transferscope.store import Store, StoredCell
from transferscope.study.cell import MethodRecipe
from transferscope_papers.place.estimates import Unexplained

PROBE = "linear-probe"
"""The method that is linear transfer."""

_SCRATCH = "scratch"


def squared_errors(store: Store, study: str) -> dict[str, Estimate]:
    """Squared error on the target test set of every cell, by its key.

    Class labels count as codes e_c: a wrong prediction is off by |e_a - e_b|^2 = 2, and the variance of the labels is
    1 - sum_c p_c^2. Regression outputs count by their squared error.

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
        cells: Those of the study that are done.
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


@dataclass(frozen=True)
class Measured:
    """The gain of one linear transfer at one number of labels.

    Attributes:
        method: Name of the linear transfer in the study; "" when it has none.
        differences: Gains by seed, shape (S,), in units of the variance of the test labels; empty when there is nothing
            to compare.
        scratch: Squared errors of training from scratch by seed, shape (R,), in the same unit; empty when there are
            none.
    """

    method: str
    n_target: int
    differences: Float64[np.ndarray, " S"]
    scratch: Float64[np.ndarray, " R"]


def over_seeds(values: Float64[np.ndarray, " S"]) -> Estimate:
    """The mean over seeds with its t-interval; "too_few" for one seed, which leaves it without interval."""
    return t_interval(values) if len(values) else Estimate.missing("undefined", 0)


def measured_transfer(
    cells: Sequence[StoredCell], errors: Mapping[str, Estimate], *, source: str, n_source: int | None
) -> tuple[Measured, ...]:
    """The gains of linear transfer from one source, paired with training from scratch by seed.

    The noise of the labels is in both risks, so that their difference is the difference of excess risks.

    Args:
        cells: Those of the study that are done.
        errors: From `squared_errors`.
        n_source: Source examples; None for a network from a file.

    Returns:
        One for each linear transfer and number of labels, ascending; without a linear transfer or training from
        scratch, one without differences for each number of labels.
    """
    scratch = _by_place(cells, errors, kind=_SCRATCH)
    probes = _by_place(cells, errors, kind=PROBE, source=source, n_source=n_source)
    sizes = sorted({int(str(stored.cell.labels["n_target"])) for stored in cells if stored.cell.role == "method"})

    def measured(name: str, n: int) -> Measured:
        from_scratch = next((seeds for (_, size), seeds in scratch.items() if size == n), {})  # its first variant
        probe = probes.get((name, n), {})
        shared = sorted(from_scratch.keys() & probe.keys())
        differences = np.array([from_scratch[seed] - probe[seed] for seed in shared], dtype=np.float64)
        return Measured(name, n, differences, np.array(list(from_scratch.values()), dtype=np.float64))

    names = list(dict.fromkeys(name for name, _ in probes)) or [""]
    return tuple(measured(name, n) for name in names for n in sizes)


_Seeds = dict[int, float]


def _by_place(
    cells: Sequence[StoredCell],
    errors: Mapping[str, Estimate],
    *,
    kind: str,
    source: str | None = None,
    n_source: int | None = None,
) -> dict[tuple[str, int], _Seeds]:
    """Errors of the methods of a kind by name and number of labels, then by seed."""
    found: dict[tuple[str, int], _Seeds] = {}
    for stored in cells:
        labels, key = stored.cell.labels, stored.cell.key
        if stored.cell.role != "method" or key not in errors or labels.get("pretrain_step") is not None:
            continue
        if MethodRecipe.from_payload(stored.cell.payload).method.name != kind:
            continue
        if source is not None and (
            labels["source"] != source or (n_source is not None and labels["n_source"] != n_source)
        ):
            continue
        place = str(labels["method"]), int(str(labels["n_target"]))
        found.setdefault(place, {})[int(str(labels["seed"]))] = errors[key].value
    return found
