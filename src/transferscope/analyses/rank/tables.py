"""A ranking as tables: rows of numbers for files, and one table for a reader."""

import math
from collections.abc import Sequence

import pandas as pd

from transferscope.analyses.rank.ranking import (
    RANDOM,
    Choice,
    Hindsight,
    RankedNetwork,
    Ranking,
    Transferred,
    in_order,
)
from transferscope.estimate import Estimate
from transferscope.report.blocks import Cell, Column, Table
from transferscope.wording import capitalised, counted, measure_words, probability_words


def network_rows(rankings: Sequence[Ranking]) -> pd.DataFrame:
    """Return the rank of every network over all scores.

    Returns:
        One row for each number of labels and candidate, in order: n_target, candidate, chance, best_place, worst_place,
        n_scores, n_above (see `RankedNetwork`); NaN if there is none.
    """
    return pd.DataFrame(
        [
            {
                "n_target": ranking.n_target,
                "candidate": one.candidate,
                "chance": math.nan if one.chance is None else one.chance,
                "best_place": one.places[0] if one.places else math.nan,
                "worst_place": one.places[1] if one.places else math.nan,
                "n_scores": one.n_scores,
                "n_above": math.nan if one.n_above is None else one.n_above,
            }
            for ranking in rankings
            for one in in_order(ranking)
        ]
    )


def ranking_rows(rankings: Sequence[Ranking]) -> pd.DataFrame:
    """Return every value of every score.

    Returns:
        One row for each candidate, score and number of labels: n_target, score, candidate, value, stderr, low, high,
        place, behind (the best minus this one) with its stderr, low and high, above_random with the same, and
        probability_best (of scoring highest on other examples, not of transferring best); NaN if there is none.
    """
    return pd.DataFrame(
        [
            {
                "n_target": ranking.n_target,
                "score": score.score,
                "candidate": one.candidate,
                **_estimate("", one.score),
                "place": math.nan if one.place is None else one.place,
                **_estimate("behind", one.behind),
                **_estimate("above_random", one.above_random),
                "probability_best": math.nan if one.probability_best is None else one.probability_best,
                "status": one.score.status,
            }
            for ranking in rankings
            for score in ranking.scores
            for one in score.rated
        ]
    )


def transferred_rows(transferred: Sequence[Transferred]) -> pd.DataFrame:
    """Return the actual results of every candidate: n_target, candidate, value and behind, each with its interval."""
    return pd.DataFrame(
        [
            {
                "n_target": one.n_target,
                "candidate": one.candidate,
                **_estimate("", one.performance),
                **_estimate("behind", one.behind),
            }
            for one in transferred
        ]
    )


def choice_rows(choices: Sequence[Choice]) -> pd.DataFrame:
    """Return the regret of every score: score ("" at random), n_cases, regret and saved, each with its interval."""
    return pd.DataFrame(
        [
            {
                "score": one.score,
                "n_cases": one.n_cases,
                **_estimate("regret", one.regret),
                **_estimate("saved", one.saved),
            }
            for one in choices
        ]
    )


def _estimate(name: str, estimate: Estimate | None) -> dict[str, float]:
    """Return value, stderr, low and high as columns of this name ("value" for ""); NaN for missing ones."""
    before, known = f"{name}_" if name else "", estimate or Estimate.missing("undefined", 0)
    return {
        name or "value": known.value,
        f"{before}stderr": math.nan if known.stderr is None else known.stderr,
        f"{before}low": known.low,
        f"{before}high": known.high,
    }


def networks_table(ranking: Ranking, hindsight: Hindsight | None) -> Table:
    """Return the networks in their order at one number of labels, with their actual results if known."""
    gave = (
        {}
        if hindsight is None
        else {one.candidate: one.performance for one in hindsight.transferred if one.n_target == ranking.n_target}
    )
    columns = [
        Column("Network", numeric=False),
        Column("Chance", "Of scoring highest on other examples, which is not that of transferring best"),
        Column("Places", "The best and the worst over the scores"),
        Column("Above random features", "Scores by which its 95 % interval excludes that they are as good"),
    ]
    if hindsight is not None and gave:
        what = "R² times 100" if hindsight.measure == "r2" else f"{measure_words(hindsight.measure)} in %"
        columns.append(Column(capitalised(hindsight.method), f"Measured {what}, mean over seeds"))
    rows = tuple(
        (*_standing(one), *([_performance(gave.get(one.candidate))] if gave else [])) for one in in_order(ranking)
    )
    over = f"{counted(len(ranking.scores), 'score')} and {counted(len(ranking.seeds), 'draw')}"
    return Table(tuple(columns), rows, f"The networks with {ranking.n_target:,} labels, over {over}")


def _standing(one: RankedNetwork) -> tuple[Cell, ...]:
    low, high = one.places or (None, None)
    return (
        Cell(one.candidate, tone="baseline" if one.candidate == RANDOM else ""),
        Cell("–") if one.chance is None else Cell(probability_words(one.chance), value=one.chance),
        Cell("–" if low is None else f"{low}" if low == high else f"{low} to {high}", value=low),
        Cell("–") if one.n_above is None else Cell(f"by {one.n_above} of {counted(one.n_scores, 'score')}"),
    )


def _performance(estimate: Estimate | None) -> Cell:
    if estimate is None:
        return Cell("–")
    ends = estimate.interval
    return Cell(f"{100 * estimate.value:.1f}", f"{100 * ends.low:.1f} to {100 * ends.high:.1f}" if ends else "")
