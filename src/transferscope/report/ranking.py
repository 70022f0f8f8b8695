"""A ranking of what to transfer from, as tables."""

import math
from collections.abc import Sequence

import pandas as pd

from transferscope.estimate import Estimate
from transferscope.scores.ranking import Choice, Ranking, Transferred


def ranking_rows(rankings: Sequence[Ranking]) -> pd.DataFrame:
    """Every value of every score.

    Returns:
        One row for each candidate, score and number of labels: n_target, score, candidate, value, stderr, low, high,
        place, behind (the best minus this one) with its stderr, low and high, above_random with the same, and
        probability_best; NaN where there is none.
    """
    return pd.DataFrame(
        [
            {
                "n_target": ranking.n_target,
                "score": score.score,
                "candidate": one.candidate,
                **_numbers("", one.score),
                "place": math.nan if one.place is None else one.place,
                **_numbers("behind", one.behind),
                **_numbers("above_random", one.above_random),
                "probability_best": math.nan if one.probability_best is None else one.probability_best,
                "status": one.score.status,
            }
            for ranking in rankings
            for score in ranking.scores
            for one in score.rated
        ]
    )


def transferred_rows(transferred: Sequence[Transferred]) -> pd.DataFrame:
    """What transfer from every candidate gave: n_target, candidate, value and behind, each with its interval."""
    return pd.DataFrame(
        [
            {
                "n_target": one.n_target,
                "candidate": one.candidate,
                **_numbers("", one.performance),
                **_numbers("behind", one.behind),
            }
            for one in transferred
        ]
    )


def choice_rows(choices: Sequence[Choice]) -> pd.DataFrame:
    """How every score would have chosen: score ("" at random), n_cases, n_right, and numbers with intervals."""
    return pd.DataFrame(
        [
            {
                "score": one.score,
                "n_cases": one.n_cases,
                "n_right": one.n_right,
                **_numbers("regret", one.regret),
                **_numbers("rank_correlation", one.rank_correlation),
                **_numbers("saved", one.saved),
            }
            for one in choices
        ]
    )


def _numbers(name: str, found: Estimate | None) -> dict[str, float]:
    before = f"{name}_" if name else ""
    if found is None:
        found_value, stderr, interval = math.nan, None, None
    else:
        found_value, stderr, interval = found.value, found.stderr, found.interval
    return {
        name or "value": found_value,
        f"{before}stderr": math.nan if stderr is None else stderr,
        f"{before}low": interval.low if interval else math.nan,
        f"{before}high": interval.high if interval else math.nan,
    }
