"""All scores of all candidates on the same labelled target examples, and their order with its uncertainty."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64

from transferscope.analyses.rank.candidates import CandidateNetwork, LabelledTarget
from transferscope.analyses.rank.ranking import RANDOM, LeftOut, Ranking, RatedCandidate, Reason, ScoreRanking
from transferscope.analyses.rank.statements import WORDS, reasons
from transferscope.data.task import Kind
from transferscope.errors import DataError
from transferscope.estimate import Estimate, Interval, Status
from transferscope.scores import SCORES, leave_groups_out
from transferscope.scores.score import Score, TargetView

N_DRAWS = 10_000
"""Number of draws for intervals and probabilities."""

_LEVEL = 0.95


@dataclass(frozen=True)
class Subset:
    """One few-shot subset of the target and the networks to rank on it, in the same order in every subset."""

    seed: int
    target: LabelledTarget
    candidates: tuple[CandidateNetwork, ...]


@dataclass(frozen=True)
class Chosen:
    """The scores to use; those left out are for labels of another kind."""

    scores: Mapping[str, Score]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class Ranked:
    """A ranking with its values by score, shape (S, C); NaN if there is none."""

    ranking: Ranking
    values: Mapping[str, Float64[np.ndarray, "S C"]]


@dataclass(frozen=True)
class ScoreValues:
    """One score of S subsets (one per seed) and C candidates, each subset the same for all candidates.

    Attributes:
        values: Shape (S, C); NaN if there is none.
        without: Values without each of G groups of examples, shape (S, C, G), the same groups for all candidates.
        status: "ok" or the reason for a missing value, by candidate.
    """

    values: Float64[np.ndarray, "S C"]
    without: Float64[np.ndarray, "S C G"]
    status: tuple[Status, ...]
    n_examples: int


def choose_scores(names: Sequence[str], *, kind: Kind) -> Chosen:
    """Return the scores of these names, or by default all, that support such labels."""
    wanted = {name: SCORES[name] for name in (dict.fromkeys(names) or SCORES.own)}
    if kind in ("segmentation", "dense regression"):
        raise DataError(f"scores do not support a grid of labels ({kind}); use `transferscope compare`")
    others: dict[Kind, Reason] = {
        "classification": "for numbers",
        "regression": "for classes",
        "multi-label": "for one class each",
    }
    other = others[kind]
    left_out = tuple(LeftOut(name, other) for name, score in wanted.items() if kind not in score.kinds)
    chosen = {name: score for name, score in wanted.items() if kind in score.kinds}
    if not chosen:
        fit = ", ".join(name for name, score in SCORES.items() if kind in score.kinds)
        raise DataError(f"the scores {', '.join(wanted)} do not support {kind} labels; choose among {fit}")
    return Chosen(chosen, left_out)


def rank_subsets(
    candidates: Sequence[str],
    subsets: Iterable[Subset],
    chosen: Chosen,
    *,
    n_target: int,
    n_pool: int,
    networks_vary: bool,
    on_score: Callable[[], None],
) -> Ranked:
    """Rank candidates at one number of labels.

    Args:
        candidates: Names of the candidates, in the order of every subset.
        n_target: Number of examples in each subset.
        n_pool: Number of examples from which the subsets were drawn.
        networks_vary: Whether each subset has pretrained networks of its own.
    """
    seeds, rows = [], []
    for subset in subsets:
        seeds.append(subset.seed)
        rows.append(_values(subset, chosen.scores, on_score))
    scored = {name: _gathered([row[name] for row in rows], n_target) for name in chosen.scores}
    why_not = {name: _why_without_value(score, scored[name]) for name, score in chosen.scores.items()}
    left_out = (*chosen.left_out, *(LeftOut(name, reason) for name, reason in why_not.items() if reason))
    rated = {name: score for name, score in chosen.scores.items() if not why_not[name]}
    if not rated:
        why = " ".join(WORDS.all_of(reasons(left_out)))
        raise DataError(f"no score could rate two candidates with {n_target:,} labels. {why}")
    rankings = tuple(
        ScoreRanking(name, rate(candidates, scored[name], overlap=n_target / n_pool, networks_vary=networks_vary))
        for name in rated
    )
    ranking = Ranking(n_target, tuple(seeds), tuple(candidates), rankings, left_out)
    return Ranked(ranking, {name: scored[name].values for name in rated})


_Values = list[tuple[Estimate, np.ndarray]]
"""Of each candidate, one score on one subset, and its values without each group; none of these without a value."""


def _values(subset: Subset, scores: Mapping[str, Score], on_score: Callable[[], None]) -> dict[str, _Values]:
    values: dict[str, _Values] = {name: [] for name in scores}
    for candidate in subset.candidates:
        view = subset.target.view_of(candidate)
        for name, score in scores.items():
            one = value_of(score, view)
            without = leave_groups_out(score, view) if one.usable else np.empty(0)
            values[name].append((one, without))
            on_score()
    return values


def value_of(score: Score, view: TargetView) -> Estimate:
    """Return a score of one candidate; "undefined" if it needs source classes and the network has no such head."""
    if score.needs == "source_probabilities" and view.source_probabilities is None:
        return Estimate.missing("undefined", len(view))
    return score.value(view)


def _gathered(rows: Sequence[_Values], n_examples: int) -> ScoreValues:
    n_groups = max(len(without) for row in rows for _, without in row)
    none = np.full(n_groups, math.nan)
    values = np.array([[one.value if one.usable else math.nan for one, _ in row] for row in rows])
    without = np.array([[array if len(array) == n_groups else none for _, array in row] for row in rows])
    ok: Status = "ok"
    status = tuple(next((one.status for one, _ in own if not one.usable), ok) for own in zip(*rows, strict=True))
    return ScoreValues(values, without, status, n_examples)


def _why_without_value(score: Score, scored: ScoreValues) -> Reason | None:
    """Return why a score is left out; None if it has a value for two candidates or more."""
    if np.isfinite(scored.values).all(axis=0).sum() >= 2:
        return None
    if score.needs == "source_probabilities" and "undefined" in scored.status:
        return "no source head"
    if "too_few" in scored.status:
        return "too few examples"
    return "not determined" if "not_identified" in scored.status else "no value"


@dataclass(frozen=True)
class _Spread:
    """Means over seeds (C,), and their uncertainty: covariance (C, C), draws (N_DRAWS, C); or NaN."""

    means: Float64[np.ndarray, " C"]
    covariance: Float64[np.ndarray, "C C"]
    draws: Float64[np.ndarray, "draws C"]

    def combined(self, weights: Float64[np.ndarray, " C"], n: int) -> Estimate:
        """Return a weighted sum of means, such as a difference; over n examples."""
        chosen = weights != 0
        weights = weights[chosen]
        value, draws = float(self.means[chosen] @ weights), self.draws[:, chosen] @ weights
        if not np.isfinite(draws).all():
            return Estimate(value, None, n)
        variance = float(weights @ self.covariance[np.ix_(chosen, chosen)] @ weights)
        low, high = np.quantile(draws, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
        return Estimate(value, math.sqrt(max(variance, 0.0)), n, "ok", Interval(float(low), float(high), _LEVEL))


def rate(
    candidates: Sequence[str], scored: ScoreValues, *, overlap: float, networks_vary: bool
) -> tuple[RatedCandidate, ...]:
    """Rank candidates by one score, with paired differences.

    Uncertainty has two parts. That of the examples comes from leaving out groups of them (delete-a-group jackknife,
    with the covariance of candidates, so that differences are paired): W for one subset. Subsets of n from N labelled
    examples share n / N of them, so that the mean over S subsets has

        W (n/N + (1 - n/N) / S)

    Among networks of which each seed has its own (the random features always are), the part of the covariance over
    seeds that other examples do not explain, T = [cov over seeds - (1 - n/N) W]_+, adds T / S. Both are estimated from
    few values, which widens the draws of each by sqrt(df / chi^2_df), df = S (G - 1) and S - 1; intervals are quantiles
    of the draws.

    Args:
        candidates: Names, shape (C,); `RANDOM` among them or not.
        overlap: n / N, in (0, 1].
        networks_vary: Whether each seed has pretrained networks of its own.
    """
    vary = np.array([networks_vary or name == RANDOM for name in candidates])
    spread = _spread(scored, vary, overlap=overlap)
    means = spread.means
    has_value = np.isfinite(means)
    best = int(np.nanargmax(means)) if has_value.any() else None
    baseline = candidates.index(RANDOM) if RANDOM in candidates else None
    chances = _chances(spread)
    n, unit = scored.n_examples, np.eye(len(candidates))

    def missing(status: Status) -> Estimate:
        return Estimate.missing("undefined" if status in ("ok", "converged") else status, n)

    def minus(i: int | None, j: int | None) -> Estimate | None:
        if i is None or j is None or i == j or not (has_value[i] and has_value[j]):
            return None
        return spread.combined(unit[i] - unit[j], n)

    return tuple(
        RatedCandidate(
            candidate=name,
            score=spread.combined(unit[i], n) if has_value[i] else missing(scored.status[i]),
            place=1 + int((means > means[i]).sum()) if has_value[i] else None,
            behind=minus(best, i),
            above_random=minus(i, baseline),
            probability_best=chances.get(i),
        )
        for i, name in enumerate(candidates)
    )


def _spread(scored: ScoreValues, vary: Bool[np.ndarray, " C"], *, overlap: float) -> _Spread:
    n_seeds, n_candidates, n_groups = scored.without.shape
    means = scored.values.mean(axis=0)
    usable = np.isfinite(means) & np.isfinite(scored.without).all(axis=(0, 2))
    covariance = np.full((n_candidates, n_candidates), math.nan)
    draws = np.full((N_DRAWS, n_candidates), math.nan)
    if usable.any() and n_groups > 1:
        rng = np.random.default_rng(0)
        deviations = scored.without[:, usable] - scored.without[:, usable].mean(axis=2, keepdims=True)
        w = (n_groups - 1) / n_groups * np.einsum("scg,sdg->cd", deviations, deviations) / n_seeds  # (C, C)
        share = overlap + (1 - overlap) / n_seeds
        total = share * w
        drawn = means[usable] + _draw(rng, w * share, n_seeds * (n_groups - 1))
        own = np.zeros_like(w)
        if n_seeds > 1 and (vary & usable).any():
            among = np.ix_(vary[usable], vary[usable])
            over_seeds = np.atleast_2d(np.cov(scored.values[:, vary & usable].T))
            values, vectors = np.linalg.eigh(over_seeds - (1 - overlap) * w[among])
            own[among] = (vectors * np.maximum(values, 0.0)) @ vectors.T  # its positive part
            total = total + own / n_seeds
            drawn += _draw(rng, own / n_seeds, n_seeds - 1)
        covariance[np.ix_(usable, usable)], draws[:, usable] = total, drawn
    return _Spread(means, covariance, draws)


def _draw(rng: np.random.Generator, covariance: Float64[np.ndarray, "C C"], df: int) -> Float64[np.ndarray, "draws C"]:
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))  # (C, C)
    normal = rng.standard_normal((N_DRAWS, len(values))) @ root.T
    return np.asarray(normal * np.sqrt(df / rng.chisquare(df, size=(N_DRAWS, 1))))


def _chances(spread: _Spread) -> dict[int, float]:
    """Return the probability of being best, if every candidate with a value has a spread."""
    has_value = np.isfinite(spread.means)
    if not has_value.any() or not np.isfinite(spread.draws[:, has_value]).all():
        return {}
    draws = spread.draws[:, has_value]
    is_best = draws >= draws.max(axis=1, keepdims=True) - 1e-12  # those that tie share a draw
    chances = (is_best / is_best.sum(axis=1, keepdims=True)).mean(axis=0)
    return {int(i): float(chance) for i, chance in zip(np.flatnonzero(has_value), chances, strict=True)}
