"""What a ranking says, in sentences."""

from collections.abc import Sequence

from transferscope.analyses.rank.ranking import RANDOM, Hindsight, LeftOut, Ranking, ScoreRanking
from transferscope.wording import counted, listed, measure_words

LIMITS = (
    "A score rates the features as they are, or what the source head says of them, on labelled training examples: it "
    "knows nothing of what training on the target changes, and no test example was read. Different scores are on "
    "different scales, and the values of one say nothing across targets or numbers of labels."
)
"""What to keep in mind with every ranking."""

NOTHING_MEASURED = (
    "Nothing was measured to hold the scores against: that takes one of fine-tune, l2-sp, merlin and linear-probe, or "
    "--against METHOD, with results from every source."
)
"""For a study of several sources without hindsight."""


def in_words(ranking: Ranking) -> tuple[str, ...]:
    """Who is first, who cannot be told from it, who beats random features, and which scores have no value."""
    wins = {name: sum(score.of(name).place == 1 for score in ranking.scores) for name in ranking.candidates}
    winners = sorted((name for name in wins if wins[name]), key=lambda name: -wins[name])
    return (
        _first(ranking, {name: wins[name] for name in winners}),
        *_not_distinguished(ranking, winners[0]),
        *_against_random(ranking),
        *(f"{left_out_in_words(one, ranking.n_target)}, so it is left out." for one in ranking.left_out),
    )


def left_out_in_words(left_out: LeftOut, n_examples: int) -> str:
    """Why a score has no value, as in "leep is for labels that are classes"."""
    why = {
        "for numbers": "is for labels that are numbers",
        "for classes": "is for labels that are classes",
        "for one class each": "is for one class of each example, and here each has several labels",
        "no source head": "reads what a head of source classes says, and fewer than two networks have one",
        "too few examples": f"has too few examples in {n_examples}",
        "not determined": f"is not determined by {n_examples} examples of so many features",
        "no value": "has no value for these features",
    }
    return f"{left_out.score} {why[left_out.reason]}"


def hindsight_in_words(hindsight: Hindsight) -> tuple[str, ...]:
    """How the scores would have chosen."""
    *scores, at_random = hindsight.choices
    if not scores or not at_random.n_cases:
        return ()
    unit = f"points of {measure_words(hindsight.measure)}"
    least = min(choice.regret.value for choice in scores)
    best = [choice.score for choice in scores if choice.regret.value == least]
    who = "any score" if len(best) == len(scores) else listed(best, last="or")
    said = [
        f"Held against what {hindsight.method} gave in {counted(at_random.n_cases, 'case')} (a number of labels and a "
        f"seed), choosing by {who} loses {100 * least:.1f} {unit} against the best source on average, and picking at "
        f"random {100 * at_random.regret.value:.1f}."
    ]
    clear = [choice.score for choice in scores if choice.saved is not None and choice.saved.sign > 0]
    if at_random.regret.interval is None:
        said.append("With one seed nothing can be said of how much of this is chance.")
    elif clear:
        who = "every score" if len(clear) == len(scores) else listed(clear)
        said.append(f"Clearly better than picking at random: {who}.")
    else:
        said.append("No score is clearly better than picking at random.")
    worse = [choice.score for choice in scores if choice.saved is not None and choice.saved.sign < 0]
    if worse:
        said.append(f"Clearly worse than picking at random: {listed(worse)}.")
    return tuple(said)


def _first(ranking: Ranking, wins: dict[str, int]) -> str:
    """Who is first by how many scores; `wins` has the winner by most scores first."""
    n_scores = len(ranking.scores)
    drawn = f" ({len(ranking.seeds)} draws)" if len(ranking.seeds) > 1 else ""
    labels = f"With {ranking.n_target:,} labels{drawn} "
    (first, most), *others = wins.items()
    if not others:
        return f"{labels}{first} is first by {ranking.scores[0].score if n_scores == 1 else f'all {n_scores} scores'}."
    counts = [f"{name} by {n}" for name, n in others]
    if others[0][1] == most:
        return f"{labels}the scores disagree: of {n_scores}, {listed([f'{first} by {most}', *counts])} are first."
    return f"{labels}{first} is first by {most} of {n_scores} scores, {listed(counts)}."


def _not_distinguished(ranking: Ranking, winner: str) -> list[str]:
    """For the scores that put the winner first: whom they cannot tell from it; random features are said elsewhere."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for score in ranking.scores:
        unclear = tuple(
            one.candidate
            for one in score.rated
            if one.candidate not in (winner, RANDOM)
            and (one.place == 1 or (one.behind is not None and one.behind.sign <= 0))
        )
        if score.of(winner).place == 1 and unclear:
            groups.setdefault(unclear, []).append(score.score)
    return [
        f"{listed(names)} cannot tell {winner} from {listed(others, last='or')}." for others, names in groups.items()
    ]


def _against_random(ranking: Ranking) -> list[str]:
    by_all: list[str] = []
    by_some: dict[tuple[str, ...], list[str]] = {}
    for name in ranking.candidates:
        compared = {score.score: above for score in ranking.scores if (above := _above_random(score, name)) is not None}
        unclear = tuple(score for score, above in compared.items() if not above)
        if name != RANDOM and unclear:
            names = by_all if len(unclear) == len(compared) else by_some.setdefault(unclear, [])
            names.append(name)
    said = [f"{listed(by_all)} {_is(by_all)} not clearly above {RANDOM} by any score."] if by_all else []
    said += [
        f"{listed(names)} {_is(names)} not clearly above {RANDOM} by {listed(scores, last='or')}."
        for scores, names in by_some.items()
    ]
    if not said and RANDOM in ranking.candidates:
        said.append(f"Every pretrained network is clearly above {RANDOM} by every score.")
    return said


def _above_random(score: ScoreRanking, name: str) -> bool | None:
    above = score.of(name).above_random
    return None if above is None else above.sign > 0


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
