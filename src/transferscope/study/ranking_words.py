"""What a ranking says, in words."""

from collections.abc import Sequence
from dataclasses import replace

from transferscope.scores.ranking import RANDOM, Hindsight, Ranking, ScoreRanking

LIMITS = (
    "A score rates the features as they are, or what the source head says of them, on labelled training examples: it "
    "knows nothing of what training on the target changes, and no test example was read. Different scores are on "
    "different scales, and the values of one say nothing across targets or numbers of labels."
)
"""What no ranking says."""


def in_words(ranking: Ranking) -> Ranking:
    """The ranking with its sentences: who is first, who cannot be told from it, and who beats random features."""
    winners = _winners(ranking)
    sentences = [_first(ranking, winners)]
    if winners:
        sentences += [*_not_told_apart(ranking, winners[0]), *_against_random(ranking)]
    sentences += [f"{one.score} {one.why}, so it is left out." for one in ranking.left_out]
    return replace(ranking, words=tuple(sentences))


def hindsight_in_words(hindsight: Hindsight) -> tuple[str, ...]:
    """How the scores would have chosen."""
    *scores, at_random = hindsight.choices
    if not scores or not at_random.n_cases:
        return ()
    unit = "points of accuracy" if hindsight.measure == "accuracy" else "points of R²"
    least = min(choice.regret.value for choice in scores)
    best = [choice for choice in scores if choice.regret.value == least]
    clear = [choice.score for choice in scores if choice.saved is not None and choice.saved.sign > 0]
    cases = f"{at_random.n_cases} case{'' if at_random.n_cases == 1 else 's'}"
    who = "any score" if len(best) == len(scores) else _listed([choice.score for choice in best], last="or")
    said = [
        f"Held against what {hindsight.method} gave in {cases} (a number of labels and a seed), choosing by {who} "
        f"loses {_points(least)} {unit} against the best "
        f"source on average, and picking at random {_points(at_random.regret.value)}."
    ]
    if at_random.regret.interval is None:
        said.append("With one seed nothing can be said of how much of this is chance.")
    elif clear:
        who = "every score" if len(clear) == len(scores) else _listed(clear)
        said.append(f"Clearly better than picking at random: {who}.")
    else:
        said.append("No score is clearly better than picking at random.")
    worse = [choice.score for choice in scores if choice.saved is not None and choice.saved.sign < 0]
    if worse:
        said.append(f"Clearly worse than picking at random: {_listed(worse)}.")
    return tuple(said)


def _winners(ranking: Ranking) -> list[str]:
    """Candidates by the number of scores they are first by, the most first; only those that are first by some."""
    wins = {name: _wins(ranking, name) for name in ranking.candidates}
    return sorted((name for name in wins if wins[name]), key=lambda name: -wins[name])


def _wins(ranking: Ranking, name: str) -> int:
    return sum(score.of(name).place == 1 for score in ranking.scores)


def _first(ranking: Ranking, winners: Sequence[str]) -> str:
    n_scores = len(ranking.scores)
    drawn = f" ({len(ranking.seeds)} draws)" if len(ranking.seeds) > 1 else ""
    labels = f"With {ranking.n_target:,} labels{drawn} "
    if len(winners) == 1 and n_scores == 1:
        return f"{labels}{winners[0]} is first by {ranking.scores[0].score}."
    counts = [f"{name} by {_wins(ranking, name)}" for name in winners]
    if len(winners) == 1:
        return f"{labels}{winners[0]} is first by all {n_scores} scores."
    if _wins(ranking, winners[0]) == _wins(ranking, winners[1]):
        return f"{labels}the scores disagree: of {n_scores}, {_listed(counts)} are first."
    return f"{labels}{winners[0]} is first by {_wins(ranking, winners[0])} of {n_scores} scores, {_listed(counts[1:])}."


def _not_told_apart(ranking: Ranking, winner: str) -> list[str]:
    """For the scores that put the winner first: whom they cannot tell from it."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for score in ranking.scores:
        if score.of(winner).place == 1 and (unclear := _unclear(score, winner)):
            groups.setdefault(unclear, []).append(score.score)
    return [
        f"{_listed(names)} cannot tell {winner} from {_listed(others, last='or')}." for others, names in groups.items()
    ]


def _unclear(score: ScoreRanking, winner: str) -> tuple[str, ...]:
    """Candidates that a score cannot tell from the winner; random features are spoken of apart."""
    return tuple(
        one.candidate
        for one in score.rated
        if one.candidate not in (winner, RANDOM)
        and (one.place == 1 or (one.behind is not None and one.behind.sign <= 0))
    )


def _against_random(ranking: Ranking) -> list[str]:
    """Which pretrained networks have nothing to offer by which scores."""
    groups: dict[tuple[str, ...], list[str]] = {}
    silent = []
    for name in ranking.candidates:
        rated = [score.of(name) for score in ranking.scores]
        compared = [one.above_random for one in rated if one.above_random is not None]
        unclear = tuple(
            score.score
            for score, one in zip(ranking.scores, rated, strict=True)
            if one.above_random is not None and one.above_random.sign <= 0
        )
        if name != RANDOM and compared and len(unclear) == len(compared):
            silent.append(name)
        elif name != RANDOM and unclear:
            groups.setdefault(unclear, []).append(name)
    said = []
    if silent:
        said.append(f"{_listed(silent)} {_is(silent)} not clearly above {RANDOM} by any score.")
    said += [
        f"{_listed(names)} {_is(names)} not clearly above {RANDOM} by {_listed(scores, last='or')}."
        for scores, names in groups.items()
    ]
    if not said and RANDOM in ranking.candidates:
        said.append(f"Every pretrained network is clearly above {RANDOM} by every score.")
    return said


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _points(share: float) -> str:
    return f"{100 * share:.1f}"


def _listed(items: Sequence[str], *, last: str = "and") -> str:
    return "".join(items) if len(items) <= 1 else f"{', '.join(items[:-1])} {last} {items[-1]}"
