"""How well scores agree with what transfer gave, over several targets: correlations, points lost, what can be said."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64
from scipy import stats

from transferscope.analyses.rank.hindsight import resampled_mean
from transferscope.estimate import Estimate

STATIC_LIST = "static list"
"""The control that knows only how the sources did for other targets."""

SOURCE_ACCURACY = "source accuracy"
"""The control that knows only how well a network does on its own source's test examples."""

PIXELS, UNTRAINED = "raw pixels", "untrained features"
"""Controls that know no trained network: how close the inputs of source and target are, by a distance of kernel means,
as they are or as the network sees them before any training."""

CONTROLS = (STATIC_LIST, SOURCE_ACCURACY, "knn", PIXELS, UNTRAINED)
"""What a score has to beat: these cost next to nothing, and `knn` is the plainest of the scores."""

AT_RANDOM = "picking at random"

LEAST_TARGETS = 3
"""Fewer targets than these have no spread to test anything with."""

N_PERMUTATIONS = 2000

_ERROR = 0.05


@dataclass(frozen=True)
class AuditCase:
    """Sources for one target at one number of labels, all trained by the same method with the same settings.

    Attributes:
        target: Its data set; cases of one target are no independent witnesses.
        n_target: Number of labels.
        sources: Names of the C sources.
        measured: What transfer from each gave, a mean over seeds, shape (C,), as a fraction; higher is better.
        scores: Values of each score and control over S draws of labels, shape (S, C); NaN where there is none.
    """

    target: str
    n_target: int
    sources: tuple[str, ...]
    measured: Float64[np.ndarray, " C"]
    scores: Mapping[str, Float64[np.ndarray, "S C"]]


@dataclass(frozen=True, slots=True)
class Agreement:
    """One score beside what transfer gave; every number is a mean over targets of means over their cases.

    Attributes:
        score: Its name, one of `CONTROLS`, or `AT_RANDOM`.
        n_targets: Targets with a value of every source.
        n_cases: Cases with one.
        spearman: Spearman's correlation of the score with what transfer gave over the sources of a case.
        weighted_tau: The weighted tau of these (Vigna 2015), which counts the first places most.
        lost: The best result minus that of the source it puts first, as a fraction.
        saved: `lost` of picking at random minus its own, paired by target; None for picking at random.
        p_value: That its order has nothing to do with what transfer gave; see `audit_cases`. NaN with fewer than
            `LEAST_TARGETS` targets.
    """

    score: str
    n_targets: int
    n_cases: int
    spearman: Estimate
    weighted_tau: Estimate
    lost: Estimate
    saved: Estimate | None
    p_value: float

    @property
    def agrees(self) -> bool:
        """Whether its order is clearly related to what transfer gave, the right way round."""
        return self.p_value < _ERROR and self.spearman.value > 0


@dataclass(frozen=True)
class Audit:
    """Scores and controls over all targets.

    Attributes:
        agreements: One for each score and control, the highest mean Spearman correlation first, and last `AT_RANDOM`.
        leader: The score or control with the highest correlation of those that clearly agree; None without any.
        beside: For each control but the leader: what it loses minus what the leader loses, paired by target, as a
            fraction; empty without a leader.
    """

    agreements: tuple[Agreement, ...]
    leader: str | None
    beside: Mapping[str, Estimate]


def with_static_list(cases: Sequence[AuditCase]) -> list[AuditCase]:
    """The cases with `STATIC_LIST` among their scores.

    A source is placed by what it gave for the other targets: in a case of C sources the k-th best gets
    (k - 1) / (C - 1), ties the mean of their places; these are averaged over the cases of a target and then over the
    other targets. Sources are matched by name; one that no other target has gets no value.
    """
    return [_listed(case, cases) for case in cases]


def audit_cases(cases: Sequence[AuditCase]) -> Audit:
    """How each score agrees with what transfer gave.

    In a case every draw of labels chooses on its own, and is held against the mean over seeds. Draws are averaged in a
    case, cases in a target, and intervals resample targets (`hindsight.resampled_mean`): cases of one target share its
    examples. A score with one value for all sources orders nothing, and its correlation counts as 0.

    A p-value is the larger of two: of a two-sided t-test of the mean Spearman correlation over targets, which asks
    whether another target would agree; and of a permutation test, in which the sources of each target change places
    at random (alike in all of its cases), because few sources in few targets can agree by chance every time. The
    static lists of the targets are made of each other, so that they are made anew after each permutation. All are
    corrected for the number of scores (Holm).

    Args:
        cases: Of two targets at least, each with two sources at least, and with all controls that there are.

    Returns:
        The audit.
    """
    names = list(dict.fromkeys(name for case in cases for name in case.scores))
    targets = list(dict.fromkeys(case.target for case in cases))
    judged = {name: np.array([_judged(case, case.scores.get(name)) for case in cases]) for name in names}
    of_target = np.array([targets.index(case.target) for case in cases])
    means = {name: _target_means(rows, of_target) for name, rows in judged.items()}
    lost_at_random = np.array([case.measured.max() - case.measured.mean() for case in cases])
    corrected = _holm({name: _p_value(cases, name, rows[:, 0], of_target) for name, rows in means.items()})
    units = np.arange(len(targets))
    found = []
    for name, rows in means.items():
        known = np.isfinite(judged[name][:, 2])
        beside = np.where(known, lost_at_random - judged[name][:, 2], np.nan)
        found.append(
            Agreement(
                score=name,
                n_targets=len(set(of_target[known])),
                n_cases=int(known.sum()),
                spearman=resampled_mean(rows[:, 0], units, low=-1.0, high=1.0),
                weighted_tau=resampled_mean(rows[:, 1], units, low=-1.0, high=1.0),
                lost=resampled_mean(rows[:, 2], units, low=0.0),
                saved=resampled_mean(_target_means(beside[:, None], of_target)[:, 0], units),
                p_value=corrected[name],
            )
        )
    found.sort(key=lambda one: -one.spearman.value if one.n_cases else math.inf)
    lost = resampled_mean(_target_means(lost_at_random[:, None], of_target)[:, 0], units, low=0.0)
    none = Estimate(0.0, 0.0, 0)
    at_random = Agreement(AT_RANDOM, len(targets), len(cases), none, none, lost, None, math.nan)
    leader = next((one.score for one in found if one.agrees), None)
    beside_leader = {}
    if leader is not None:
        differences = {name: judged[name][:, 2] - judged[leader][:, 2] for name in CONTROLS if name in judged}
        beside_leader = {
            name: resampled_mean(_target_means(difference[:, None], of_target)[:, 0], units)
            for name, difference in differences.items()
            if name != leader and np.isfinite(difference).any()
        }
    return Audit((*found, at_random), leader, beside_leader)


def _listed(case: AuditCase, cases: Sequence[AuditCase]) -> AuditCase:
    by_target: dict[str, dict[str, list[float]]] = {}
    for other in cases:
        if other.target != case.target:
            places = (stats.rankdata(-other.measured) - 1) / (len(other.sources) - 1)
            for source, place in zip(other.sources, places, strict=True):
                by_target.setdefault(source, {}).setdefault(other.target, []).append(float(place))
    values = [
        -np.mean([np.mean(places) for places in by_target[source].values()]) if source in by_target else math.nan
        for source in case.sources
    ]
    return replace(case, scores={**case.scores, STATIC_LIST: np.array([values], dtype=np.float64)})


def _judged(case: AuditCase, values: Float64[np.ndarray, "S C"] | None) -> list[float]:
    """Spearman, weighted tau and points lost of one case, means over draws; NaN without a value of every source."""
    if values is None or not np.isfinite(values).all():
        return [math.nan] * 3
    rows = [_one_draw(draw, case.measured) for draw in values]
    return [float(mean) for mean in np.mean(rows, axis=0)]


def _one_draw(values: Float64[np.ndarray, " C"], measured: Float64[np.ndarray, " C"]) -> tuple[float, float, float]:
    lost = float(measured.max() - measured[values == values.max()].mean())
    if not np.ptp(measured):
        return math.nan, math.nan, lost
    if not np.ptp(values):
        return 0.0, 0.0, lost
    rho, tau = stats.spearmanr(values, measured).statistic, stats.weightedtau(values, measured).statistic
    return float(rho), float(tau), lost


def _target_means(rows: Float64[np.ndarray, "cases k"], of_target: np.ndarray) -> Float64[np.ndarray, "targets k"]:
    """Means over the cases of a target that have a value."""
    means = np.full((int(of_target.max()) + 1, rows.shape[1]), math.nan)
    for target in range(len(means)):
        for column, values in enumerate(rows[of_target == target].T):
            known = values[np.isfinite(values)]
            means[target, column] = known.mean() if len(known) else math.nan
    return means


def _p_value(
    cases: Sequence[AuditCase], name: str, of_targets: Float64[np.ndarray, " targets"], of_target: np.ndarray
) -> float:
    """The larger p-value of the two tests of `audit_cases`, before it is corrected."""
    known = of_targets[np.isfinite(of_targets)]
    if len(known) < LEAST_TARGETS:
        return math.nan
    over_targets = float(stats.ttest_1samp(known, 0.0).pvalue) if np.ptp(known) else float(not known[0])
    own = [
        (case, index) for case, index in zip(cases, of_target.tolist(), strict=True) if np.isfinite(of_targets[index])
    ]
    drawn = _permuted(own)
    if name == STATIC_LIST:
        scored = _permuted_lists(drawn)
    else:
        scored = [
            np.mean([_standard_ranks(draw[:, None]) for draw in case.scores.get(name, np.empty((0, 0)))], axis=0)
            for case, _, _ in drawn
        ]
    rows: dict[int, list[np.ndarray]] = {}
    for (case, index, measured), score in zip(drawn, scored, strict=True):
        if np.ndim(score) == 2 and np.isfinite(case.scores[name]).all() and np.ptp(case.measured):
            rows.setdefault(index, []).append((score * _standard_ranks(measured)).sum(axis=0))
    total = np.sum([np.mean(found, axis=0) for found in rows.values()], axis=0)
    reached = np.abs(total) >= abs(known.sum()) - 1e-9
    return max(over_targets, (1 + int(reached.sum())) / (1 + N_PERMUTATIONS))


def _permuted(
    cases: Sequence[tuple[AuditCase, int]],
) -> list[tuple[AuditCase, int, Float64[np.ndarray, "C R"]]]:
    """What transfer gave with the sources of each target in R random orders, the same in all cases of a target."""
    rng = np.random.default_rng(0)
    order: dict[tuple[int, str], np.ndarray] = {}
    found = []
    for case, index in cases:
        keys = [(index, source) for source in case.sources]
        for key in keys:
            if key not in order:
                order[key] = rng.random(N_PERMUTATIONS)
        places = np.argsort([order[key] for key in keys], axis=0)
        found.append((case, index, case.measured[places]))
    return found


def _permuted_lists(
    drawn: Sequence[tuple[AuditCase, int, Float64[np.ndarray, "C R"]]],
) -> list[Float64[np.ndarray, "C R"]]:
    """Standard ranks of the static list of each case, made of what was drawn for the other targets."""
    by_source: dict[str, dict[int, list[np.ndarray]]] = {}
    for case, index, measured in drawn:
        places = (stats.rankdata(-measured, axis=0) - 1) / (len(case.sources) - 1)
        for source, place in zip(case.sources, places, strict=True):
            by_source.setdefault(source, {}).setdefault(index, []).append(place)
    means = {name: {i: np.mean(rows, axis=0) for i, rows in found.items()} for name, found in by_source.items()}
    nothing = np.full(N_PERMUTATIONS, math.nan)
    return [
        _standard_ranks(
            np.array(
                [
                    -np.mean([row for i, row in means[source].items() if i != index] or [nothing], axis=0)
                    for source in case.sources
                ]
            )
        )
        for case, index, _ in drawn
    ]


def _standard_ranks(values: Float64[np.ndarray, "C R"]) -> Float64[np.ndarray, "C R"]:
    """Ranks in each column around 0 with sum of squares 1, whose products sum to Spearman's correlation; 0 for ties."""
    ranks = stats.rankdata(np.round(values, 12), axis=0) - (len(values) + 1) / 2
    norms = np.linalg.norm(ranks, axis=0)
    standard: np.ndarray = ranks / np.where(norms > 0, norms, 1.0)
    return standard


def _holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Adjusted p-values (Holm 1979); those that are NaN stay so and do not count."""
    known = sorted((name for name, p in p_values.items() if math.isfinite(p)), key=lambda name: p_values[name])
    adjusted, largest = dict(p_values), 0.0
    for place, name in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - place) * p_values[name]))
        adjusted[name] = largest
    return adjusted
