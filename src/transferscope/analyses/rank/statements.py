"""Statements on a ranking; their words are in words.j2."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from transferscope.analyses.rank.ranking import RANDOM, Hindsight, LeftOut, Ranking, StudyRanking, in_order
from transferscope.statements import Statement, Words, state
from transferscope.wording import measure_words

CALLED = 0.9
"""Chance of the highest score from which a network, or several together, are recommended."""

WORDS = Words("transferscope.analyses.rank", {"measure": measure_words, "points": lambda share: f"{100 * share:.1f}"})
"""The sentences of words.j2."""


def answer(ranking: Ranking) -> Statement:
    """Return the recommended network at one number of labels, or the candidates if it is undecided."""
    first, *others = in_order(ranking)
    if first.chance is None:
        return state("no spread", n_target=ranking.n_target, first=first.candidate)
    leading, total = [], 0.0
    for one in (first, *others):
        if total < CALLED and one.chance is not None:
            leading.append((one.candidate, one.chance))
            total += one.chance
    if len(leading) > 1:
        return state("open", n_target=ranking.n_target, leading=leading)
    above = "start with" if first.n_above else "first, not above random"
    kind = "random features" if first.candidate == RANDOM else above
    return state(kind, n_target=ranking.n_target, first=first.candidate, chance=first.chance)


def notes(study: StudyRanking) -> Iterator[Statement]:
    """Yield notes: networks no better than random features, scores left out with the most labels, and regret."""
    ranking = study.rankings[-1]
    names = [one.candidate for one in in_order(ranking) if one.n_above == 0]
    if names and answer(ranking).kind != "random features":
        yield state("not above random", names=names)
    yield from reasons(ranking.left_out)
    if study.hindsight is not None:
        yield from _chosen(study.hindsight)


def reasons(left_out: Sequence[LeftOut]) -> Iterator[Statement]:
    """Yield why scores are left out, grouped by reason."""
    for reason, group in groupby(sorted(left_out, key=lambda one: one.reason), key=lambda one: one.reason):
        yield state("left out", scores=[one.score for one in group], reason=reason)


def _chosen(hindsight: Hindsight) -> Iterator[Statement]:
    *scores, at_random = hindsight.choices
    lost = {one.score: one.regret.value for one in scores if 0 < one.n_cases == at_random.n_cases}
    if not lost:
        return
    least, most = min(lost.values()), max(lost.values())
    yield state(
        "chosen",
        method=hindsight.method,
        measure=hindsight.measure,
        cases=at_random.n_cases,
        best=[name for name, value in lost.items() if value == least],
        least=least,
        worst=[name for name, value in lost.items() if value == most] if most > least else [],
        most=most,
        at_random=at_random.regret.value,
    )
    if at_random.regret.interval is not None:
        better = [one.score for one in scores if one.saved is not None and one.saved.sign > 0]
        yield state("better than random", scores=better)
