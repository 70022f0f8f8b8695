"""Rankings made up for tests."""

import math
from collections.abc import Mapping

from transferscope.analyses.rank.ranking import (
    RANDOM,
    Choice,
    Hindsight,
    Ranking,
    RatedCandidate,
    ScoreRanking,
    StudyRanking,
    Transferred,
)
from transferscope.estimate import Estimate, Interval
from transferscope.records import FinishedRuns

NOTHING = Estimate(math.nan, None, 100, "too_few")


def bounded(value: float, half_width: float = 0.1) -> Estimate:
    """A number with its interval."""
    return Estimate(value, half_width / 2, 100, "ok", Interval(value - half_width, value + half_width))


def score(name: str, values: Mapping[str, float | None], *, half_width: float = 0.1) -> ScoreRanking:
    """A score with these values and intervals of differences this wide; None for no value."""
    known = {candidate: value for candidate, value in values.items() if value is not None}
    best = max(known, key=lambda candidate: known[candidate])
    rated = []
    for candidate, value in values.items():
        if value is None:
            rated.append(RatedCandidate(candidate, NOTHING, None, None, None, None))
            continue
        baseline = known.get(RANDOM)
        above = None if candidate == RANDOM or baseline is None else bounded(value - baseline, half_width)
        behind = None if candidate == best else bounded(known[best] - value, half_width)
        place = 1 + sum(other > value for other in known.values())
        rated.append(
            RatedCandidate(candidate, bounded(value), place, behind, above, 0.9 if candidate == best else 0.05)
        )
    return ScoreRanking(name, tuple(rated))


def ranking(*scores: ScoreRanking, n_target: int = 100) -> Ranking:
    """Those scores over three seeds."""
    names = tuple(one.candidate for one in scores[0].rated)
    return Ranking(n_target, (0, 1, 2), names, scores)


def choice(name: str, regret: float, saved: Estimate | None) -> Choice:
    """How a score would have chosen in 6 cases."""
    return Choice(name, 6, bounded(regret, 0.01), saved)


def hindsight() -> Hindsight:
    """Two sources at 100 labels."""
    return Hindsight(
        "fine-tuning",
        "accuracy",
        (
            Transferred(100, "mnist", bounded(0.9, 0.02), None),
            Transferred(100, "fashion", bounded(0.8), bounded(0.1, 0.05)),
        ),
        (
            choice("logme", 0.01, bounded(0.04, 0.01)),
            choice("leep", 0.07, bounded(-0.02, 0.05)),
            choice("", 0.05, None),
        ),
    )


NO_RUNS = FinishedRuns(0, "")


def study_ranking(runs: FinishedRuns = NO_RUNS) -> StudyRanking:
    """Two sources by two scores, one without a value of one of them, at 50 and 100 labels."""
    scores = (
        score("logme", {"mnist": 0.9, "fashion": 0.5, RANDOM: 0.1}),
        score("leep", {"mnist": -1.0, "fashion": None, RANDOM: -2.0}),
    )
    return StudyRanking(tuple(ranking(*scores, n_target=n) for n in (50, 100)), hindsight(), runs)
