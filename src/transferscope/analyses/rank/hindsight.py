"""Regret of choosing sources by scores, from the actual results of transfer."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Shaped
from scipy import stats

from transferscope.analyses.finished_study import Origin, StudyNetworks
from transferscope.analyses.rank.ranking import Choice, Hindsight, Transferred
from transferscope.errors import SettingsError, unknown_name
from transferscope.estimate import Estimate, Interval
from transferscope.numerics.intervals import t_interval
from transferscope.records import HEADLINES
from transferscope.store import RecordColumns, StoredCell
from transferscope.study.cell import MethodRecipe

PREFERRED = ("fine-tune", "l2-sp", "merlin", "linear-probe")
"""Methods for the actual results; the first with results for all candidates is used."""

N_DRAWS = 10_000
"""Number of resampled studies."""

_LEVEL = 0.95

_LEAST = {"r2": -math.inf, "matthews": -1.0}
"""Lowest value of metrics that can be negative; the highest value of all is 1."""


@dataclass(frozen=True)
class Results:
    """The results of one method.

    Attributes:
        measure: "accuracy", "average_precision" or "r2".
        values: On the target test set, by origin, number of labels and seed.
    """

    method: str
    measure: str
    values: Mapping[tuple[Origin, int, int], float]


def results_of(
    cells: Sequence[StoredCell], records: RecordColumns, pretrained: StudyNetworks, *, against: str | None
) -> Results | None:
    """Return the results of every candidate by the first of HEADLINES that was measured.

    Args:
        against: The method by its name in the study; None for the first of `PREFERRED`.

    Returns:
        The results; None when no method of these has any for all candidates.
    """
    final: dict[str, dict[str, float]] = {name: {} for name in HEADLINES}
    for i, name in enumerate(records.name):
        if name in final and records.part[i] == "target_test" and records.step[i] is None:
            final[name][records.key[i]] = float(records.value[i])
    measure = next((name for name in HEADLINES if final[name]), HEADLINES[-1])
    by_method: dict[str, dict[tuple[Origin, int, int], float]] = {}
    kinds: dict[str, str] = {}
    for stored in cells:
        if stored.cell.role != "method" or stored.cell.key not in final[measure]:
            continue
        recipe, labels = MethodRecipe.from_payload(stored.cell.payload), stored.cell.labels
        if recipe.source is not None:
            name, n_target, seed = str(labels["method"]), int(str(labels["n_target"])), int(str(labels["seed"]))
            kinds[name] = recipe.method.name
            by_method.setdefault(name, {})[Origin.of(stored), n_target, seed] = final[measure][stored.cell.key]
    complete = [name for name, outcomes in by_method.items() if {o for o, _, _ in outcomes} >= set(pretrained.names)]
    if against is None:
        preferred = [name for kind in PREFERRED for name in complete if kinds[name] == kind]
        return Results(preferred[0], measure, by_method[preferred[0]]) if preferred else None
    if against not in by_method:
        raise unknown_name("method with results of sources", against, by_method)
    if against not in complete:
        raise SettingsError(
            f"{against} has no result for some of {', '.join(pretrained.names.values())}; compare the scores with "
            f"{' or '.join(complete) or 'no method'} instead"
        )
    return Results(against, measure, by_method[against])


@dataclass(frozen=True)
class SizeCases:
    """The cases of one number of labels.

    Attributes:
        measured: Actual results of transfer, shape (S, C), as a fraction, higher is better; NaN without a result.
        scores: Values of each score, shape (S, C); NaN if there is none.
    """

    n_target: int
    seeds: tuple[int, ...]
    measured: Float64[np.ndarray, "S C"]
    scores: Mapping[str, Float64[np.ndarray, "S C"]]


def hindsight_of(method: str, measure: str, candidates: Sequence[str], sizes: Sequence[SizeCases]) -> Hindsight:
    """Return the regret of each score.

    A case is a number of labels and a seed with a result for all candidates. Its regret is the best result minus that
    of the candidate with the highest score (mean over ties); random choice has the mean over candidates. Intervals
    resample seeds with all their cases. Bootstrap percentiles over few seeds are too close to the mean, so they are
    expanded by

        sqrt(S / (S - 1)) t_{0.975, S - 1} / z_{0.975}

    (the expanded percentile interval, Hesterberg 2015, The American Statistician 69, section 5); one seed has none.
    Intervals are clipped to the range of the metric, or of a difference. Cases with a missing result are left out.

    Args:
        measure: One of `HEADLINES`.
        candidates: Names, C of them, without the random features.
    """
    names = list(dict.fromkeys(name for size in sizes for name in size.scores))
    seeds = np.array([seed for size in sizes for seed in size.seeds])
    measured = np.concatenate([size.measured for size in sizes])
    at_random, widest = measured.max(axis=1) - measured.mean(axis=1), 1.0 - _LEAST.get(measure, 0.0)

    def choice(name: str, regret: Float64[np.ndarray, " cases"], saved: Estimate | None) -> Choice:
        mean = resampled_mean(regret, seeds, low=0.0, high=widest)
        return Choice(name, int(np.isfinite(regret).sum()), mean, saved)

    choices = []
    for name in names:
        values = np.concatenate([size.scores.get(name, np.full_like(size.measured, math.nan)) for size in sizes])
        regret = np.array([_regret(v, m) for v, m in zip(values, measured, strict=True)])
        choices.append(choice(name, regret, resampled_mean(at_random - regret, seeds, low=-widest, high=widest)))
    transferred = tuple(one for size in sizes for one in _transferred(candidates, size, measure))
    return Hindsight(method, measure, transferred, (*choices, choice("", at_random, None)))


def _regret(values: Float64[np.ndarray, " C"], measured: Float64[np.ndarray, " C"]) -> float:
    """Return the regret in one case of picking the highest value; NaN if a value or a result is missing."""
    if not (np.isfinite(values).all() and np.isfinite(measured).all()):
        return math.nan
    return float(measured.max() - measured[values == values.max()].mean())


def resampled_mean(
    values: Float64[np.ndarray, " cases"],
    units: Shaped[np.ndarray, " cases"],
    *,
    low: float = -math.inf,
    high: float = math.inf,
) -> Estimate:
    """Return the mean over cases with the expanded percentile interval of `hindsight_of`, resampling units with their
    cases.

    Args:
        values: One per case; NaN for a case to ignore.
        units: Resampling unit of each case: seed or target.
        low: Smallest possible value of the mean.
        high: Largest possible value.

    Returns:
        The mean; without an interval and with status "too_few" for one unit, "undefined" without a case.
    """
    known = np.isfinite(values)
    values, units = values[known], units[known]
    if not len(values):
        return Estimate.missing("undefined", 0)
    mean, distinct = float(values.mean()), np.unique(units)
    if len(distinct) < 2:
        return Estimate(mean, None, len(values), "too_few")
    belongs = units[None] == distinct[:, None]  # (units, cases)
    sums, counts = belongs @ values, belongs.sum(axis=1)
    drawn = np.random.default_rng(0).integers(0, len(distinct), size=(N_DRAWS, len(distinct)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    unbiased = (means - mean) * math.sqrt(len(distinct) / (len(distinct) - 1))
    upper = (1 + _LEVEL) / 2
    expansion = stats.t.ppf(upper, len(distinct) - 1) / stats.norm.ppf(upper)
    ends = mean + expansion * np.quantile(unbiased, [1 - upper, upper])
    interval = Interval(float(ends[0]), float(ends[1]), _LEVEL).clipped(low, high)
    return Estimate(mean, float(unbiased.std()), len(values), "ok", interval)


def _transferred(candidates: Sequence[str], size: SizeCases, measure: str) -> list[Transferred]:
    """Return means over the seeds that have a result of every candidate, with paired differences."""
    measured = size.measured[np.isfinite(size.measured).all(axis=1)]
    if not len(measured):
        return []
    best, least = int(measured.mean(axis=0).argmax()), _LEAST.get(measure, 0.0)
    return [
        Transferred(
            n_target=size.n_target,
            candidate=name,
            performance=t_interval(measured[:, i]).clipped(least, 1.0),
            behind=None if i == best else t_interval(measured[:, best] - measured[:, i]).clipped(least - 1, 1 - least),
        )
        for i, name in enumerate(candidates)
    ]
