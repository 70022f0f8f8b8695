"""What a race adds to a page: its verdict, and its place under the first question."""

from collections.abc import Sequence

from transferscope.analyses.decide.figures import draw_race
from transferscope.analyses.decide.result import Decision
from transferscope.analyses.decide.tables import arms_table
from transferscope.analyses.decide.words import LIMITS, headline, sentences, which_words
from transferscope.report.blocks import Points, Section, Text
from transferscope.report.page import Part, Verdict


def decision_verdict(decision: Decision, searched: Sequence[str] = ()) -> Verdict:
    """The recommendation, what is settled beside it, and how the runs chose their settings (`searched`)."""
    return Verdict({}, headline(decision), (*sentences(decision), *searched))


def race_section(decision: Decision) -> Section:
    """Figure, table and limits."""
    return Section("The race", "race", (draw_race(decision), arms_table(decision), Text(LIMITS, "note")))


_EVIDENCE = ("settings", "seeds", "curves", "classes", "best")
"""Sections of a comparison that a race keeps; calls of the comparison take the same number of seeds for granted."""


def race_parts(decision: Decision, comparison: Sequence[Part]) -> list[Part]:
    """What the race says on the page of its study.

    Args:
        decision: Where the race stands.
        comparison: What a comparison says of the same runs, of which the evidence is kept and no call.
    """
    kept = {
        part.question: tuple(section for section in part.sections if section.slug in _EVIDENCE) for part in comparison
    }
    said = Points(sentences(decision))
    race = Section("The race", "race", (said, arms_table(decision), Text(LIMITS, "note")))  # its picture is on top
    whether = Part("whether", headline(decision), (race, *kept.get("whether", ())))
    evidence = kept.get("which", ())
    return [whether, Part("which", which_words(decision), evidence)] if evidence else [whether]
