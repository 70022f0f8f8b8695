"""A ranking as tables: rows of numbers for files, and one table for display."""

from collections.abc import Sequence

import pandas as pd

from transferscope.analyses.rank.ranking import RANDOM, Hindsight, RankedNetwork, Ranking, in_order
from transferscope.analyses.result import row_of
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
        [{"n_target": ranking.n_target, **row_of(one)} for ranking in rankings for one in in_order(ranking)]
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
            {"n_target": ranking.n_target, "score": score.score, **row_of(one, "score"), "status": one.score.status}
            for ranking in rankings
            for score in ranking.scores
            for one in score.rated
        ]
    )


def hindsight_rows(hindsight: Hindsight) -> dict[str, pd.DataFrame]:
    """Return the actual results of every candidate, and the regret of every score ("" at random), with intervals."""
    return {
        "transfer": pd.DataFrame([row_of(one, "performance") for one in hindsight.transferred]),
        "choices": pd.DataFrame([row_of(one) for one in hindsight.choices]),
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
    low, high = one.best_place, one.worst_place
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
