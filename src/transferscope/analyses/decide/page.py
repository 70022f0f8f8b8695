"""What a race adds to a page: its verdict, and its place under the first question."""

from collections.abc import Sequence
from dataclasses import replace

from transferscope.analyses.compare.cautions import cautions
from transferscope.analyses.compare.settings import settings_in_words
from transferscope.analyses.compare.training import (
    baseline_unfinished,
    cut_off_in_words,
    untold_in_words,
    with_what_was_learnt,
)
from transferscope.analyses.compare.words import objective_missing
from transferscope.analyses.decide.figures import draw_race
from transferscope.analyses.decide.result import Decision
from transferscope.analyses.decide.tables import arms_table
from transferscope.analyses.decide.words import LIMITS, headline, held_back, sentences, which_words
from transferscope.numerics.class_measures import is_class_measure
from transferscope.report.blocks import Points, Section, Text
from transferscope.report.page import Part, Verdict
from transferscope.study.frames import StudyFrames


def decision_verdict(decision: Decision, frames: StudyFrames | None = None) -> Verdict:
    """The recommendation and what is settled beside it.

    Args:
        decision: Where the race stands.
        frames: Its runs, which tell what was cut off, which data are shared, and how settings were chosen; None to
            leave that out. Nothing is recommended where training from scratch was cut off.
    """
    if frames is None:
        return Verdict({}, headline(decision), sentences(decision))
    unfinished, others = cut_off_in_words(frames)
    warned = (
        *others,
        *untold_in_words(frames),
        *cautions(frames.study.facts, frames.sizes, by_class=is_class_measure(frames.metric.record)),
        *settings_in_words(frames),
    )
    if unfinished:
        verdict = Verdict({}, unfinished, (*held_back(decision), *warned))
    else:
        lead = decision.transfer if decision.transfer and decision.transfer.call == "better" else None
        owed = objective_missing(lead.arm.method, lead.arm.source, frames) if lead else ""
        said = (*sentences(decision), *([owed] if owed else []))
        verdict = Verdict({}, headline(decision), (*said, *warned))
    return with_what_was_learnt(verdict, frames)


def as_far_as_trained(decision: Decision, frames: StudyFrames) -> Decision:
    """A race without its calls where training from scratch was cut off: differences to it are those of the steps."""
    if not baseline_unfinished(frames):
        return decision
    arms = tuple(
        replace(
            arm,
            call="open" if arm.call in ("better", "worse", "equivalent") else arm.call,
            state="open" if arm.state == "best" else arm.state,
            beats_controls=False,
        )
        for arm in decision.arms
    )
    leader = arms[decision.arms.index(decision.leader)]
    return replace(decision, arms=arms, leader=leader, whether="open", which=False)


def race_section(decision: Decision) -> Section:
    """Figure, table and limits."""
    return Section("The race", "race", (draw_race(decision), arms_table(decision), Text(LIMITS, "note")))


_EVIDENCE = ("settings", "seeds", "curves", "classes", "best")
"""Sections of a comparison that a race keeps; calls of the comparison take the same number of seeds for granted."""


def race_parts(decision: Decision, frames: StudyFrames, comparison: Sequence[Part]) -> list[Part]:
    """What the race says on the page of its study.

    Args:
        decision: Where the race stands.
        frames: Its runs.
        comparison: What a comparison says of the same runs, of which the evidence is kept and no call.
    """
    kept = {
        part.question: tuple(section for section in part.sections if section.slug in _EVIDENCE) for part in comparison
    }
    verdict = decision_verdict(decision, frames)
    said = Points(verdict.sentences)
    race = Section("The race", "race", (said, arms_table(decision), Text(LIMITS, "note")))  # its picture is on top
    whether = Part("whether", verdict.headline, (race, *kept.get("whether", ())))
    evidence = kept.get("which", ())
    which = verdict.headline if cut_off_in_words(frames)[0] else which_words(decision)
    return [whether, Part("which", which, evidence)] if evidence else [whether]
