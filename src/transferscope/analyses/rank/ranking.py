"""The facts of a ranking: scores of pretrained networks, actual results of transfer, and their storage."""

import math
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter

from transferscope.analyses.kept_document import KeptDocument
from transferscope.estimate import Estimate
from transferscope.records import FinishedRuns

RANDOM = "random features"
"""The candidate in every ranking: the network at initialisation."""

Reason = Literal[
    "for numbers",
    "for classes",
    "for one class each",
    "no source head",
    "too few examples",
    "not determined",
    "no value",
]
"""Reason why a score has no value: labels of another kind; fewer than two networks with a head of source classes; too
few examples; not determined by so few examples; undefined for these features."""


@dataclass(frozen=True, slots=True)
class RatedCandidate:
    """One score of one candidate.

    Attributes:
        score: Mean over the seeds; higher is better.
        place: 1 for the best, the same for equal values; None without a value.
        behind: The best minus this one, paired; None for the best, or without a value.
        above_random: This one minus the random features, paired; None for these, or without a value of either.
        probability_best: Chance of the highest score on other examples (and seeds) of this kind, which is not the
            chance of the best transfer (docs/results/audit.md); None without a spread.
    """

    candidate: str
    score: Estimate
    place: int | None
    behind: Estimate | None
    above_random: Estimate | None
    probability_best: float | None


@dataclass(frozen=True, slots=True)
class ScoreRanking:
    """One score of all candidates, in their order."""

    score: str
    rated: tuple[RatedCandidate, ...]

    def of(self, candidate: str) -> RatedCandidate:
        """Return the score of a candidate."""
        return next(one for one in self.rated if one.candidate == candidate)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A score without a value for two candidates, and the reason."""

    score: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Ranking:
    """All scores at one number of labels.

    Attributes:
        n_target: Number of labelled training examples used by the scores.
        candidates: Names, the random features last.
    """

    n_target: int
    seeds: tuple[int, ...]
    candidates: tuple[str, ...]
    scores: tuple[ScoreRanking, ...]
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class RankedNetwork:
    """The rank of one candidate over all scores.

    Attributes:
        chance: Chance of scoring highest on other examples, in [0, 1]: the mean over the scores with a value and a
            spread for every candidate; None without such a score.
        best_place: Best place over the scores with a value for it, as `worst_place` is the worst; None without one.
        n_scores: Number of scores with a value for it.
        n_above: Number of these in which it is significantly above the random features; None for these.
    """

    candidate: str
    chance: float | None
    best_place: int | None
    worst_place: int | None
    n_scores: int
    n_above: int | None


def in_order(ranking: Ranking) -> tuple[RankedNetwork, ...]:
    """Return the candidates by their chance of scoring highest, ties by their mean place."""
    full = [
        {one.candidate: one.probability_best for one in score.rated if one.probability_best is not None}
        for score in ranking.scores
        if all(one.probability_best is not None for one in score.rated)
    ]

    def standing(name: str) -> tuple[tuple[float, float], RankedNetwork]:
        rated = [one for score in ranking.scores if (one := score.of(name)).place is not None]
        places = [one.place for one in rated if one.place is not None]
        chance = sum(chances[name] for chances in full) / len(full) if full else None
        network = RankedNetwork(
            name,
            chance,
            min(places, default=None),
            max(places, default=None),
            len(rated),
            None
            if name == RANDOM
            else sum(one.above_random is not None and one.above_random.sign > 0 for one in rated),
        )
        return (-(chance or 0.0), sum(places) / len(places) if places else math.inf), network

    return tuple(network for _, network in sorted(map(standing, ranking.candidates), key=lambda one: one[0]))


@dataclass(frozen=True, slots=True)
class Transferred:
    """The actual result of transfer from one candidate.

    Attributes:
        performance: Mean over seeds with its t-interval: accuracy, or R² for regression, as a fraction.
        behind: The best mean minus this one, paired by seed; None for the best.
    """

    n_target: int
    candidate: str
    performance: Estimate
    behind: Estimate | None


@dataclass(frozen=True, slots=True)
class Choice:
    """The regret of a score over all cases (a number of labels and a seed).

    Attributes:
        score: Name of the score; "" for random choice.
        n_cases: Number of cases with a value for every candidate.
        regret: Best minus picked, as a fraction, mean over cases.
        saved: Regret of random choice minus that of the score, paired by case; None for random choice.
    """

    score: str
    n_cases: int
    regret: Estimate
    saved: Estimate | None


@dataclass(frozen=True, slots=True)
class Hindsight:
    """The actual results of transfer, and the regret of the scores.

    Attributes:
        method: Display name of the method.
        measure: "accuracy", "average_precision" or "r2".
        choices: One for each score, and last, random choice.
    """

    method: str
    measure: str
    transferred: tuple[Transferred, ...]
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class StudyRanking:
    """The scores of pretrained networks and, of a study, their regret.

    Attributes:
        rankings: One for each number of labels, ascending.
        hindsight: Actual results; None if no method has a result for all candidates, or networks are from files.
        runs: Runs of the study that existed when the ranking was made; empty for networks from files.
    """

    rankings: tuple[Ranking, ...]
    hindsight: Hindsight | None
    runs: FinishedRuns


KEPT = KeptDocument(TypeAdapter(StudyRanking), 2, "the rankings of the study", "transferscope rank")
"""How rankings are kept with a study."""
