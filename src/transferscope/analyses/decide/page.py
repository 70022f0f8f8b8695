"""What a race adds to a page: its verdict, and its place under the first question."""

from transferscope.analyses.decide.figures import draw_race
from transferscope.analyses.decide.result import Decision
from transferscope.analyses.decide.tables import arms_table
from transferscope.analyses.decide.words import LIMITS, headline, sentences
from transferscope.report.blocks import Section, Text
from transferscope.report.page import Part, Verdict


def decision_verdict(decision: Decision) -> Verdict:
    """The recommendation, and what is settled beside it."""
    return Verdict({}, headline(decision), sentences(decision))


def race_section(decision: Decision) -> Section:
    """Figure, table and limits."""
    return Section("The race", "race", (draw_race(decision), arms_table(decision), Text(LIMITS, "note")))


def race_part(decision: Decision) -> Part:
    """What the race says on the page of its study."""
    section = race_section(decision)
    said = Text(" ".join(sentences(decision)))
    return Part("whether", headline(decision), (Section(section.title, section.slug, (said, *section.blocks)),))
