"""What scores say of candidates to transfer from, as plain results and as the document kept with a study.

`study` writes the document and `report` reads it. A number is a JSON number where JSON has one; "nan" is text, which
`float` reads as well.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from transferscope.errors import StoreError
from transferscope.numerics.intervals import Interval
from transferscope.records import Estimate

DOCUMENT = "ranking"
"""Name of the document."""

RANDOM = "random features"
"""The candidate that every ranking has: the network as it is initialised, before any training."""

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Bounded:
    """A number with its standard error and its 95 % interval.

    Attributes:
        estimate: The number; NaN with a status where there is none.
        interval: None where nothing can be said about the spread.
    """

    estimate: Estimate
    interval: Interval | None = None

    @property
    def value(self) -> float:
        """The number itself."""
        return self.estimate.value

    @property
    def sign(self) -> int:
        """1 or -1 where the interval lies on one side of 0; 0 where that cannot be told."""
        if self.interval is None or not self.interval.excludes(0.0):
            return 0
        return 1 if self.interval.low > 0 else -1


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
    score: Bounded
    place: int | None
    behind: Bounded | None
    above_random: Bounded | None
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
    performance: Bounded
    behind: Bounded | None


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
    regret: Bounded
    rank_correlation: Bounded
    saved: Bounded | None


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
        n_finished: Method cells that were done when it was made.
        digest: Of their keys: equal to that of another moment if nothing has changed since.
    """

    rankings: tuple[Ranking, ...]
    hindsight: Hindsight | None
    words: tuple[str, ...]
    limits: str
    n_finished: int
    digest: str


def to_document(ranking: StudyRanking) -> dict[str, Any]:
    """The ranking as JSON values."""
    plain: dict[str, Any] = _to_json({"format": _FORMAT, **asdict(ranking)})
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
        n_finished=document["n_finished"],
        digest=document["digest"],
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
        score=_bounded(found["score"]),
        place=found["place"],
        behind=_maybe_bounded(found["behind"]),
        above_random=_maybe_bounded(found["above_random"]),
        probability_best=found["probability_best"],
    )


def _hindsight(found: Mapping[str, Any]) -> Hindsight:
    return Hindsight(
        method=found["method"],
        measure=found["measure"],
        transferred=tuple(
            Transferred(one["candidate"], one["n_target"], _bounded(one["performance"]), _maybe_bounded(one["behind"]))
            for one in found["transferred"]
        ),
        choices=tuple(
            Choice(
                one["score"],
                one["n_cases"],
                one["n_right"],
                _bounded(one["regret"]),
                _bounded(one["rank_correlation"]),
                _maybe_bounded(one["saved"]),
            )
            for one in found["choices"]
        ),
    )


def _maybe_bounded(found: Mapping[str, Any] | None) -> Bounded | None:
    return None if found is None else _bounded(found)


def _bounded(found: Mapping[str, Any]) -> Bounded:
    estimate, ends = found["estimate"], found["interval"]
    return Bounded(
        Estimate(float(estimate["value"]), _number(estimate["stderr"]), estimate["n"], estimate["status"]),
        None if ends is None else Interval(float(ends["low"]), float(ends["high"]), float(ends["level"])),
    )


def _number(value: float | str | None) -> float | None:
    return None if value is None else float(value)


def _to_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _to_json(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_json(inner) for inner in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
