"""What scores say of candidates to transfer from, as plain results and as the document kept with a study.

`study` writes the document and `report` reads it. Numbers are those of
`estimate.as_json`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from transferscope.errors import StoreError
from transferscope.estimate import Estimate, as_json, estimate_from_json
from transferscope.records import FinishedRuns

DOCUMENT = "ranking"
"""Name of the document."""

RANDOM = "random features"
"""The candidate that every ranking has: the network as it is initialised, before any training."""

_FORMAT = 2


@dataclass(frozen=True, slots=True)
class RatedCandidate:
    """What one score says of one candidate.

    Attributes:
        candidate: Its name.
        score: Mean over the seeds; higher is better.
        place: 1 for the best, the same for equal values; None without a value.
        behind: The best minus this one, paired; None for the best, or without a value.
        above_random: This one minus the random features, paired; None for these, or without a value of either.
        probability_best: Chance of being best on other examples (and seeds) of this kind; None without a spread.
    """

    candidate: str
    score: Estimate
    place: int | None
    behind: Estimate | None
    above_random: Estimate | None
    probability_best: float | None


@dataclass(frozen=True, slots=True)
class ScoreRanking:
    """One score over all candidates.

    Attributes:
        score: Its name.
        title: In words.
        rated: In the order of the candidates.
    """

    score: str
    title: str
    rated: tuple[RatedCandidate, ...]

    @property
    def order(self) -> tuple[RatedCandidate, ...]:
        """Those with a value, the best first."""
        return tuple(sorted((one for one in self.rated if one.place is not None), key=lambda one: one.place or 0))

    def of(self, candidate: str) -> RatedCandidate:
        """What it says of a candidate."""
        return next(one for one in self.rated if one.candidate == candidate)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A score that says nothing here.

    Attributes:
        score: Its name.
        why: Half a sentence, as in "needs classes and the labels are numbers".
    """

    score: str
    why: str


@dataclass(frozen=True, slots=True)
class Ranking:
    """What all scores say at one number of labels.

    Attributes:
        n_target: Labelled training examples that were looked at.
        seeds: Seeds of the subsets.
        candidates: Names, the random features last.
        scores: One for each score.
        left_out: Scores that say nothing here.
        words: What it comes to, a sentence each.
    """

    n_target: int
    seeds: tuple[int, ...]
    candidates: tuple[str, ...]
    scores: tuple[ScoreRanking, ...]
    left_out: tuple[LeftOut, ...] = ()
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Transferred:
    """What transfer from one candidate gave.

    Attributes:
        candidate: Its name.
        n_target: Number of target labels.
        performance: Mean over seeds with its t-interval: accuracy, or R² for regression, as a fraction.
        behind: The best mean minus this one, paired by seed; None for the best.
    """

    candidate: str
    n_target: int
    performance: Estimate
    behind: Estimate | None


@dataclass(frozen=True, slots=True)
class Choice:
    """How a score would have chosen, over all cases (a number of labels and a seed).

    Attributes:
        score: Its name; "" for picking at random.
        n_cases: Cases with a value of every candidate.
        n_right: Cases in which it picks the best; for picking at random, the expected number.
        regret: Best minus picked, as a fraction, mean over cases.
        rank_correlation: Kendall's tau-b of the score and what transfer gave, mean over the cases that have one.
        saved: Regret of picking at random minus that of the score, paired by case; None for picking at random.
    """

    score: str
    n_cases: int
    n_right: float
    regret: Estimate
    rank_correlation: Estimate
    saved: Estimate | None


@dataclass(frozen=True, slots=True)
class Hindsight:
    """What transfer really gave, and how the scores would have chosen.

    Attributes:
        method: The method whose results count.
        measure: "accuracy" or "r2".
        transferred: One for each candidate and number of labels.
        choices: One for each score, and last picking at random.
    """

    method: str
    measure: str
    transferred: tuple[Transferred, ...]
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class StudyRanking:
    """What the scores say of a study's pretrained networks, and how they would have chosen.

    Attributes:
        rankings: One for each number of labels, ascending.
        hindsight: None when no method has a result for all candidates.
        words: What it comes to, a sentence each.
        limits: What it does not say.
        runs: What was done of the study when it was made.
    """

    rankings: tuple[Ranking, ...]
    hindsight: Hindsight | None
    words: tuple[str, ...]
    limits: str
    runs: FinishedRuns


def to_document(ranking: StudyRanking) -> dict[str, Any]:
    """The ranking as JSON values."""
    plain: dict[str, Any] = as_json({"format": _FORMAT, **asdict(ranking)})
    return plain


def from_document(document: Mapping[str, Any]) -> StudyRanking:
    """The ranking of a document.

    Raises:
        StoreError: Another version of transferscope wrote it.
    """
    found = document.get("format")
    if found != _FORMAT:
        raise StoreError(
            f"the ranking of the study is kept in format {found}, and this version of transferscope reads format "
            f"{_FORMAT}; run `transferscope rank` again"
        )
    hindsight = document["hindsight"]
    return StudyRanking(
        rankings=tuple(_ranking(one) for one in document["rankings"]),
        hindsight=None if hindsight is None else _hindsight(hindsight),
        words=tuple(document["words"]),
        limits=document["limits"],
        runs=FinishedRuns(**document["runs"]),
    )


def _ranking(found: Mapping[str, Any]) -> Ranking:
    return Ranking(
        n_target=found["n_target"],
        seeds=tuple(found["seeds"]),
        candidates=tuple(found["candidates"]),
        scores=tuple(
            ScoreRanking(one["score"], one["title"], tuple(_rated(candidate) for candidate in one["rated"]))
            for one in found["scores"]
        ),
        left_out=tuple(LeftOut(**one) for one in found["left_out"]),
        words=tuple(found["words"]),
    )


def _rated(found: Mapping[str, Any]) -> RatedCandidate:
    return RatedCandidate(
        candidate=found["candidate"],
        score=estimate_from_json(found["score"]),
        place=found["place"],
        behind=_maybe_estimate(found["behind"]),
        above_random=_maybe_estimate(found["above_random"]),
        probability_best=found["probability_best"],
    )


def _hindsight(found: Mapping[str, Any]) -> Hindsight:
    return Hindsight(
        method=found["method"],
        measure=found["measure"],
        transferred=tuple(
            Transferred(
                one["candidate"],
                one["n_target"],
                estimate_from_json(one["performance"]),
                _maybe_estimate(one["behind"]),
            )
            for one in found["transferred"]
        ),
        choices=tuple(
            Choice(
                one["score"],
                one["n_cases"],
                one["n_right"],
                estimate_from_json(one["regret"]),
                estimate_from_json(one["rank_correlation"]),
                _maybe_estimate(one["saved"]),
            )
            for one in found["choices"]
        ),
    )


def _maybe_estimate(found: Mapping[str, Any] | None) -> Estimate | None:
    return None if found is None else estimate_from_json(found)
