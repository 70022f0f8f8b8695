"""What linear transfer gained over training from scratch in a study."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from transferscope.estimate import Estimate, Interval
from transferscope.numerics.paired import paired_difference
from transferscope.store import StoredCell
from transferscope.study.cell import MethodRecipe
from transferscope.study.pair_estimates import N_DRAWS, ranged

PROBE = "linear-probe"
"""The method that is linear transfer."""

_SCRATCH = "scratch"


@dataclass(frozen=True)
class Measured:
    """The gain of one linear transfer at one number of labels.

    Attributes:
        method: Name of the linear transfer in the study; "" when it has none.
        n_target: Number of target labels.
        differences: Gains by seed, shape (S,), in units of the variance of the test labels; empty when there is nothing
            to compare.
        scratch: Squared errors of training from scratch by seed, shape (R,), in the same unit; empty when there are
            none.
    """

    method: str
    n_target: int
    differences: Float64[np.ndarray, "S"]
    scratch: Float64[np.ndarray, "R"]

    @property
    def gain(self) -> Estimate:
        """The mean gain with its t-interval over seeds; "too_few" seeds leave it without interval."""
        return over_seeds(self.differences)


def over_seeds(values: Float64[np.ndarray, "S"]) -> Estimate:
    """The mean over seeds with its t-interval; "too_few" for one seed, which leaves it without interval."""
    s = len(values)
    if s == 0:
        return Estimate(math.nan, None, 0, "undefined")
    found = paired_difference(values, np.zeros(s))
    if found.status == "undefined":
        return Estimate(found.mean, 0.0, s, "ok", Interval(found.mean, found.mean))
    if found.interval is None:
        return Estimate(found.mean, None, s, "too_few")
    return Estimate(found.mean, found.sd / math.sqrt(s), s, "ok", found.interval)


def minus_model(values: Float64[np.ndarray, "S"], modelled: float, draws: Float64[np.ndarray, "draws"]) -> Estimate:
    """The mean over seeds minus what a model says, with an interval that holds the uncertainty of both.

    Args:
        values: By seed, shape (S,).
        modelled: The model's value.
        draws: Its possible values, shape (N_DRAWS,).

    Returns:
        The difference; "undefined" where either has no finite value, "too_few" without interval for one seed.
    """
    s = len(values)
    if s == 0 or not math.isfinite(modelled):
        return Estimate(math.nan, None, s, "undefined")
    value = float(values.mean())
    if s == 1:
        return Estimate(value - modelled, None, 1, "too_few")
    stderr = float(values.std(ddof=1)) / math.sqrt(s)
    error = stderr * np.random.default_rng(1).standard_t(s - 1, N_DRAWS)
    return ranged(value - modelled, value + error - draws, n=s)


def measured_transfer(
    cells: Sequence[StoredCell], errors: Mapping[str, Estimate], *, source: str, n_source: int | None
) -> tuple[Measured, ...]:
    """The gains of linear transfer from one source, paired with training from scratch by seed.

    The noise of the labels is in both risks, so that their difference is the difference of excess risks.

    Args:
        cells: Cells of the study that are done.
        errors: From `squared_errors`.
        source: Name of the source.
        n_source: Number of source examples; None for a network from a file.

    Returns:
        One for each linear transfer and number of labels, ascending; without a linear transfer or training from
        scratch, one without differences for each number of labels.
    """
    scratch = _by_place(cells, errors, kind=_SCRATCH)
    probes = _by_place(cells, errors, kind=PROBE, source=source, n_source=n_source)
    names = list(dict.fromkeys(name for name, _ in probes)) or [""]
    return tuple(
        Measured(
            name,
            n,
            _differences(_merged(scratch, n), probes.get((name, n), {})),
            np.array(list(_merged(scratch, n).values()), dtype=np.float64),
        )
        for name in names
        for n in sorted({int(str(stored.cell.labels["n_target"])) for stored in cells if stored.cell.role == "method"})
    )


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


def _merged(scratch: Mapping[tuple[str, int], _Seeds], n_target: int) -> _Seeds:
    """Training from scratch at a number of labels; the first of its variants."""
    return next((seeds for (_, n), seeds in scratch.items() if n == n_target), {})


def _differences(scratch: _Seeds, probe: _Seeds) -> Float64[np.ndarray, "S"]:
    shared = sorted(scratch.keys() & probe.keys())
    return np.array([scratch[seed] - probe[seed] for seed in shared], dtype=np.float64)
