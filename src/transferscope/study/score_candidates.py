"""All scores of all candidates on the same labelled target examples."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from transferscope.errors import DataError
from transferscope.estimate import Estimate, Status
from transferscope.registry import Registry
from transferscope.scores import leave_groups_out
from transferscope.scores.ranking import LeftOut, Ranking, ScoreRanking
from transferscope.scores.score import Score, TargetView
from transferscope.study.candidate import CandidateNetwork, LabelledTarget
from transferscope.study.ranking_words import in_words
from transferscope.study.rate import ScoreValues, rate

N_GROUPS = 20
"""Groups of examples that are left out in turn."""


@dataclass(frozen=True)
class Subset:
    """One few-shot subset of the target and the networks to rate on it.

    Attributes:
        seed: Its seed.
        target: The examples.
        candidates: In the same order in every subset.
    """

    seed: int
    target: LabelledTarget
    candidates: tuple[CandidateNetwork, ...]


@dataclass(frozen=True)
class Chosen:
    """Which scores to use.

    Attributes:
        scores: By name.
        left_out: Those that have nothing to say of such labels.
    """

    scores: Mapping[str, Score]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class Design:
    """How subsets came about.

    Attributes:
        n_target: Examples in each.
        n_pool: Examples that they were drawn from.
        n_subsets: How many there are.
        networks_vary: Whether each has networks of its own.
    """

    n_target: int
    n_pool: int
    n_subsets: int
    networks_vary: bool


@dataclass(frozen=True)
class Ranked:
    """A ranking with the values behind it.

    Attributes:
        ranking: Means over subsets, with uncertainty.
        values: By score, shape (S, C); NaN where there is none.
    """

    ranking: Ranking
    values: Mapping[str, Float64[np.ndarray, "S C"]]


def choose_scores(names: Sequence[str], known: Registry[Score], *, of_classes: bool) -> Chosen:
    """The scores of these names that can look at such labels.

    Args:
        names: Empty for all.
        known: All scores there are.
        of_classes: Whether the labels are classes.

    Raises:
        UnknownNameError: There is no such score.
        DataError: None of them can.
    """
    wanted = {name: known[name] for name in (dict.fromkeys(names) or known.own)}
    kind, words = ("classification", "numbers") if of_classes else ("regression", "classes")
    left_out = tuple(
        LeftOut(name, f"is for labels that are {words}") for name, score in wanted.items() if kind not in score.kinds
    )
    chosen = {name: score for name, score in wanted.items() if kind in score.kinds}
    if not chosen:
        fit = ", ".join(name for name, score in known.items() if kind in score.kinds)
        raise DataError(f"{', '.join(wanted)}: none of these scores is for labels like these; choose among {fit}")
    return Chosen(chosen, left_out)


def rank_subsets(
    candidates: Sequence[str],
    subsets: Iterable[Subset],
    chosen: Chosen,
    design: Design,
    *,
    on_score: Callable[[], None],
) -> Ranked:
    """Rank candidates on one number of labels.

    Args:
        candidates: Their names, those of every subset in this order.
        subsets: One for each seed.
        chosen: The scores.
        design: How the subsets came about.
        on_score: Called after each value of a score.

    Returns:
        The ranking, its words included.

    Raises:
        NetworkError: A candidate gives features that are not finite.
        DataError: No score has a value for two candidates.
    """
    seeds, rows = [], []
    for subset in subsets:
        seeds.append(subset.seed)
        rows.append(_values(subset, chosen.scores, on_score))
    scored = {name: _gathered([row[name] for row in rows], design.n_target) for name in chosen.scores}
    silent = {name: _why_silent(score, scored[name]) for name, score in chosen.scores.items()}
    said = {name: score for name, score in chosen.scores.items() if not silent[name]}
    left_out = (*chosen.left_out, *(LeftOut(name, why) for name, why in silent.items() if why))
    if not said:
        reasons = "; ".join(f"{one.score} {one.why}" for one in left_out)
        raise DataError(f"no score has a value for two candidates: {reasons}")
    overlap = design.n_target / design.n_pool
    rankings = tuple(
        ScoreRanking(
            name,
            score.title,
            rate(candidates, scored[name], overlap=overlap, networks_vary=design.networks_vary),
        )
        for name, score in said.items()
    )
    ranking = Ranking(design.n_target, tuple(seeds), tuple(candidates), rankings, left_out)
    return Ranked(in_words(ranking), {name: scored[name].values for name in said})


@dataclass(frozen=True)
class _Values:
    """One score of the candidates on one subset: estimates, and values without each group."""

    estimates: list[Estimate]
    without: list[np.ndarray]


def _values(subset: Subset, scores: Mapping[str, Score], on_score: Callable[[], None]) -> dict[str, _Values]:
    found: dict[str, _Values] = {name: _Values([], []) for name in scores}
    for candidate in subset.candidates:
        view = subset.target.seen_by(candidate)
        for name, score in scores.items():
            estimate = _value(score, view)
            found[name].estimates.append(estimate)
            found[name].without.append(
                leave_groups_out(score, view, n_groups=N_GROUPS, seed=0) if estimate.usable else np.empty(0)
            )
            on_score()
    return found


def _value(score: Score, view: TargetView) -> Estimate:
    if score.needs == "source_probabilities" and view.source_probabilities is None:
        return Estimate(math.nan, None, len(view), "undefined")
    return score.value(view)


def _gathered(rows: Sequence[_Values], n_examples: int) -> ScoreValues:
    n_groups = max(len(array) for row in rows for array in row.without)
    values = np.array([[one.value if one.usable else math.nan for one in row.estimates] for row in rows])
    without = np.full((*values.shape, n_groups), math.nan)
    for s, row in enumerate(rows):
        for c, array in enumerate(row.without):
            if len(array) == n_groups:
                without[s, c] = array
    return ScoreValues(
        values, without, tuple(map(_worst, zip(*(row.estimates for row in rows), strict=True))), n_examples
    )


def _worst(estimates: tuple[Estimate, ...]) -> Status:
    return next((one.status for one in estimates if not one.usable), "ok")


def _why_silent(score: Score, scored: ScoreValues) -> str:
    """Why a score says nothing; empty when it has a value for two candidates or more."""
    if np.isfinite(scored.values).all(axis=0).sum() >= 2:
        return ""
    if score.needs == "source_probabilities" and "undefined" in scored.status:
        return "reads what a head of source classes says, and fewer than two networks have one"
    if "too_few" in scored.status:
        return f"has too few examples in {scored.n_examples}"
    if "not_identified" in scored.status:
        return f"is not determined by {scored.n_examples} examples of so many features"
    return "has no value for these features"
