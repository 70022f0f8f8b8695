"""A ranking as tables: rows of numbers for files, and tables for a reader."""

import math
from collections.abc import Sequence

import pandas as pd

from transferscope.analyses.rank.ranking import RANDOM, Choice, Hindsight, Ranking, RatedCandidate, Transferred
from transferscope.estimate import Estimate
from transferscope.report.blocks import Cell, Column, Table
from transferscope.wording import capitalised, counted, measure_words, method_words, probability_words


def ranking_rows(rankings: Sequence[Ranking]) -> pd.DataFrame:
    """Every value of every score.

    Returns:
        One row for each candidate, score and number of labels: n_target, score, candidate, value, stderr, low, high,
        place, behind (the best minus this one) with its stderr, low and high, above_random with the same, and
        probability_best (of scoring highest on other examples, not of transferring best); NaN where there is none.
    """
    return pd.DataFrame(
        [
            {
                "n_target": ranking.n_target,
                "score": score.score,
                "candidate": one.candidate,
                **estimate_columns("", one.score),
                "place": math.nan if one.place is None else one.place,
                **estimate_columns("behind", one.behind),
                **estimate_columns("above_random", one.above_random),
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
                **estimate_columns("", one.performance),
                **estimate_columns("behind", one.behind),
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
                **estimate_columns("regret", one.regret),
                **estimate_columns("rank_correlation", one.rank_correlation),
                **estimate_columns("saved", one.saved),
            }
            for one in choices
        ]
    )


def estimate_columns(name: str, found: Estimate | None) -> dict[str, float]:
    """Its value, stderr, low and high as columns of this name ("value" for ""); NaN for what there is not."""
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


def scores_table(ranking: Ranking, hindsight: Hindsight | None) -> Table:
    """Every candidate by every score at one number of labels, with what transfer from it gave."""
    columns = (
        Column("By", numeric=False),
        *(Column(name, "A network as it is initialised" if name == RANDOM else "") for name in ranking.candidates),
    )
    rows = tuple(
        (Cell(score.score, score.title), *(_rated(score.of(name)) for name in ranking.candidates))
        for score in ranking.scores
    )
    seeds = counted(len(ranking.seeds), "seed")
    return Table(
        columns,
        (*_measured_row(ranking, hindsight), *rows),
        f"Scores with {ranking.n_target:,} labels, mean over {seeds} ± standard error; in brackets the chance of "
        "scoring highest on other examples, which is not that of transferring best: where it was 90 % or more, on "
        "four small targets, 35 of 42 rankings had the best source first",
    )


def _measured_row(ranking: Ranking, hindsight: Hindsight | None) -> list[tuple[Cell, ...]]:
    if hindsight is None:
        return []
    found = {one.candidate: one.performance for one in hindsight.transferred if one.n_target == ranking.n_target}
    what = "R² times 100" if hindsight.measure == "r2" else f"{measure_words(hindsight.measure)} in %"
    head = Cell(capitalised(method_words(hindsight.method)), f"measured {what}")
    return [(head, *(_performance(found.get(name)) for name in ranking.candidates))] if found else []


def choices_table(hindsight: Hindsight) -> Table:
    """How every score would have chosen."""
    unit = measure_words(hindsight.measure)
    columns = (
        Column("Choosing by", numeric=False),
        Column("Points lost", f"Best {unit} minus that of the source it picks, mean over cases, in points"),
        Column("Saved", "Points lost by picking at random minus those lost by this score, paired by case"),
        Column("Picks the best", "Cases in which it puts the best source first"),
        Column("Rank correlation", "Kendall's tau-b of the score and what transfer gave, mean over cases"),
    )
    return Table(
        columns,
        tuple(_choice(choice) for choice in hindsight.choices),
        f"How each score would have chosen, held against what {method_words(hindsight.method)} gave; 95 % intervals "
        "resample seeds",
    )


def _performance(found: Estimate | None) -> Cell:
    return Cell("–") if found is None else Cell(f"{100 * found.value:.1f}", _between(found, scale=100.0, digits=1))


def _rated(one: RatedCandidate) -> Cell:
    if one.place is None:
        return Cell("–")
    stderr = one.score.stderr
    error = "" if stderr is None else f"± {_plain(stderr)}, "
    return Cell(_plain(one.score.value), f"{error}{_place(one)}", tone="best" if one.place == 1 else "")


def _place(one: RatedCandidate) -> str:
    chance = "" if one.probability_best is None else f" ({probability_words(one.probability_best)})"
    return f"no. {one.place}{chance if one.place == 1 else ''}"


def _choice(choice: Choice) -> tuple[Cell, ...]:
    saved = choice.saved
    tone = "" if saved is None or not saved.sign else "positive" if saved.sign > 0 else "negative"
    return (
        Cell(choice.score or "picking at random", tone="" if choice.score else "baseline"),
        points_cell(choice.regret),
        Cell("–") if saved is None else points_cell(saved, tone=tone),
        Cell(f"{choice.n_right:.3g} of {choice.n_cases}"),
        number_cell(choice.rank_correlation),
    )


def points_cell(found: Estimate, *, tone: str = "") -> Cell:
    """A share in points, with its interval."""
    if math.isnan(found.value):
        return Cell("–")
    shown = Cell(_signless(f"{100 * found.value:.2f}"), _between(found, scale=100.0, digits=2))
    return shown if not tone else Cell(shown.text, shown.detail, tone="positive" if tone == "positive" else "negative")


def number_cell(found: Estimate) -> Cell:
    """A number with its interval."""
    if math.isnan(found.value):
        return Cell("–")
    return Cell(_signless(f"{found.value:.2f}"), _between(found, scale=1.0, digits=2))


def _between(found: Estimate, *, scale: float, digits: int) -> str:
    if found.interval is None:
        return ""
    low, high = scale * found.interval.low, scale * found.interval.high
    return f"{_signless(f'{low:.{digits}f}')} to {_signless(f'{high:.{digits}f}')}"


def _plain(value: float) -> str:
    size = abs(value)
    return _signless(f"{value:,.0f}" if size >= 1000 else f"{value:.1f}" if size >= 100 else f"{value:.3g}")


def _signless(text: str) -> str:
    """A number with a real minus, and without one when it is written as zero."""
    return text.lstrip("-") if not text.strip("-0.,") else text.replace("-", "−")
