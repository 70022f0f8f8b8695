"""What to transfer from: what scores said of the study's pretrained networks, beside what transfer gave."""

import math

import pandas as pd

from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.compare.words import change_in_words
from transferscope.errors import StoreError
from transferscope.estimate import Estimate
from transferscope.report.blocks import Block, Cell, Column, Folded, Section, Table, Text
from transferscope.report.figures.ranking import draw_ranking
from transferscope.report.ranking import choice_rows, ranking_rows, transferred_rows
from transferscope.scores.ranking import (
    RANDOM,
    Choice,
    Hindsight,
    Ranking,
    RatedCandidate,
    StudyRanking,
    from_document,
)
from transferscope.wording import capitalised, counted, method_words, probability_words

_TITLE, _SLUG = "What to transfer from", "ranking"


def ranking_section(summary: Summary) -> Section | None:
    """The section; None for a study whose sources were not ranked by `transferscope rank`."""
    if summary.ranking is None:
        return None
    try:
        ranking = from_document(summary.ranking)
    except StoreError as error:  # of another version of the package; the rest of the report stands
        return Section(_TITLE, _SLUG, (Text(f"{capitalised(str(error))}.", "warning"),))
    changed, largest = _changed(summary, ranking), ranking.rankings[-1]
    blocks: list[Block] = [
        *([Text(changed, "warning")] if changed else []),
        Text(" ".join(largest.words)),
        *([Text(" ".join(ranking.words))] if ranking.words else []),
        *ranking_evidence(ranking),
    ]
    return Section(_TITLE, _SLUG, tuple(blocks), files=_files(ranking))


def ranking_evidence(ranking: StudyRanking) -> tuple[Block, ...]:
    """What a ranking rests on, below its sentences: figure, tables, other numbers of labels, limits."""
    largest = ranking.rankings[-1]
    return (
        draw_ranking(largest, ranking.hindsight),
        *ranking_tables(ranking),
        *(_other_size(one, ranking.hindsight) for one in ranking.rankings[:-1]),
        Text(ranking.limits, "note"),
    )


def ranking_tables(ranking: StudyRanking) -> tuple[Table, ...]:
    """The scores at the largest number of labels and, with hindsight, how each would have chosen."""
    scores = scores_table(ranking.rankings[-1], ranking.hindsight)
    return (scores,) if ranking.hindsight is None else (scores, choices_table(ranking.hindsight))


def _changed(summary: Summary, ranking: StudyRanking) -> str:
    return change_in_words(summary.frames, ranking.runs, since="its sources were ranked", again="rank")


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
        f"Scores with {ranking.n_target:,} labels, mean over {seeds} ± standard error; in brackets the chance of being "
        "best",
    )


def _measured_row(ranking: Ranking, hindsight: Hindsight | None) -> list[tuple[Cell, ...]]:
    """What transfer gave; empty when nothing was trained."""
    if hindsight is None:
        return []
    found = {one.candidate: one.performance for one in hindsight.transferred if one.n_target == ranking.n_target}
    what = "accuracy in %" if hindsight.measure == "accuracy" else "R² times 100"
    head = Cell(capitalised(method_words(hindsight.method)), f"measured {what}")
    return [(head, *(_performance(found.get(name)) for name in ranking.candidates))] if found else []


def choices_table(hindsight: Hindsight) -> Table:
    """How every score would have chosen."""
    unit = "accuracy" if hindsight.measure == "accuracy" else "R²"
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


def _other_size(ranking: Ranking, hindsight: Hindsight | None) -> Folded:
    return Folded(
        f"With {ranking.n_target:,} labels", (Text(" ".join(ranking.words)), scores_table(ranking, hindsight))
    )


def _files(ranking: StudyRanking) -> dict[str, pd.DataFrame]:
    tables = {"ranking-scores": ranking_rows(ranking.rankings)}
    if ranking.hindsight is not None:
        tables["ranking-transfer"] = transferred_rows(ranking.hindsight.transferred)
        tables["ranking-choices"] = choice_rows(ranking.hindsight.choices)
    return tables


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
        _points(choice.regret),
        Cell("–") if saved is None else _points(saved, tone=tone),
        Cell(f"{choice.n_right:.3g} of {choice.n_cases}"),
        _number(choice.rank_correlation),
    )


def _points(found: Estimate, *, tone: str = "") -> Cell:
    if math.isnan(found.value):
        return Cell("–")
    shown = Cell(_signless(f"{100 * found.value:.2f}"), _between(found, scale=100.0, digits=2))
    return shown if not tone else Cell(shown.text, shown.detail, tone="positive" if tone == "positive" else "negative")


def _number(found: Estimate) -> Cell:
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
