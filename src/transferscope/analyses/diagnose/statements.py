"""Statements on the diagnostics of a study and of one network; their words are in words.j2."""

from collections.abc import Iterator, Sequence

from transferscope.analyses.diagnose.study import LEAST_NETWORKS, Diagnosis
from transferscope.records import Meaning
from transferscope.statements import Statement, Words, state
from transferscope.wording import number_words

WORDS = Words("transferscope.analyses.diagnose", {"value": number_words})
"""The sentences of words.j2."""


def why(diagnoses: Sequence[Diagnosis], n_target: int) -> Iterator[Statement]:
    """Yield significant correlations with good transfer, as expected and against it."""
    sure = [one for one in diagnoses if one.better and one.meaning.expected]
    for expected in (True, False):
        own = [one for one in sure if (one.better == one.meaning.expected) == expected]
        seen = [one.meaning.lower if one.better == "lower" else one.meaning.higher for one in own]
        if own:
            yield state("seen", n_target=n_target, seen=seen, expected=expected)
    if diagnoses and all(one.correlation is None for one in diagnoses):
        yield state("too few networks", least=LEAST_NETWORKS)


def weights_left_out(meaning: Meaning, names: Sequence[str]) -> Statement:
    """Return the weights that a diagnostic of layers could not read."""
    return state("weights left out", heading=meaning.heading, weights=names)


def limits(meanings: Sequence[Meaning]) -> Iterator[Statement]:
    """Yield the limitations of each diagnostic."""
    for one in meanings:
        if one.limits:
            yield state("limit", heading=one.heading, limits=one.limits)
