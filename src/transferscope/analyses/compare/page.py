"""What a comparison says on the page of a study: whether transfer helps, which way, and how many labels it takes."""

from collections.abc import Sequence

from transferscope.analyses.compare.best_arm import best_arm_section
from transferscope.analyses.compare.checkpoints import checkpoints_section
from transferscope.analyses.compare.figures import draw_classes, draw_curves, draw_labels, draw_seeds
from transferscope.analyses.compare.samples import Found
from transferscope.analyses.compare.settings import settings_section
from transferscope.analyses.compare.statements import called, labels_saved, notes, settling, which, words_of
from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.compare.tables import methods_section
from transferscope.report.blocks import Figure, Points, Section, Text
from transferscope.report.page import Part
from transferscope.statements import Statement

_OF_WHICH = ("unstable", "unfinished", "untold", "missing")
"""Kinds of statements that say which arms to trust."""


def study_parts(summary: Summary, target: Found | None = None) -> list[Part]:
    """The parts of the page that rest on the comparison alone; how many labels it takes, only if several were tried.

    Args:
        summary: What was measured.
        target: The target's data, or why they cannot be read; None where nobody tried.
    """
    return [_whether(summary), _which(summary, target), *_how_much(summary)]


def _whether(summary: Summary) -> Part:
    said = list(notes(summary.frames, summary.decided))
    evidence = _points(summary, [*(one for one in said if one.kind not in _OF_WHICH)])
    sections = [Section("What is called, and what is not", "calls", evidence)] if evidence else []
    sections += _drawn("Run by run", "seeds", draw_seeds(summary))
    return Part("whether", _first(summary, [called(summary.frames, summary.decided)]), tuple(sections))


def _which(summary: Summary, target: Found | None) -> Part:
    searched = settings_section(summary.frames)
    trust = [one for one in notes(summary.frames, summary.decided) if one.kind in _OF_WHICH]
    sections = [methods_section(summary), *([searched] if searched else [])]
    if blocks := _points(summary, [*which(summary.frames, summary.decided), *trust]):
        sections.insert(0, Section("How sure the choice is", "chances", blocks))
    sections += _drawn("Training curves", "curves", draw_curves(summary))
    sections += _drawn("Errors by class", "classes", draw_classes(summary))
    best = best_arm_section(summary, target)
    sections += [best] if best else []
    return Part("which", _first(summary, list(which(summary.frames, summary.decided))), tuple(sections))


def _how_much(summary: Summary) -> list[Part]:
    checkpoints = checkpoints_section(summary)
    sections = [] if checkpoints is None else [checkpoints]
    saved = labels_saved(summary.frames, summary.decided)
    if saved is not None:
        sections = [*_drawn("How many labels it takes", "scores", draw_labels(summary)), *sections]
        return [Part("how much", words_of(summary.frames.metric).say(saved), tuple(sections))]
    if checkpoints is None:
        return []
    sentence, *others = checkpoints.blocks  # the first series, in a sentence
    assert isinstance(sentence, Text)
    rest = Section(checkpoints.title, checkpoints.slug, tuple(others), checkpoints.files)
    return [Part("how much", sentence.text, (rest,))]


def next_step(summary: Summary) -> tuple[str, str]:
    """What would settle what is open, in a sentence, and the command that does it; "" where nothing would."""
    said = _first(summary, list(settling(summary.frames, summary.decided)))
    if not said:
        return "", ""
    more = next(one.settles.seeds for one in summary.decided.values() if one.settles is not None)
    name = f"{summary.frames.study.name}.toml"
    return f"{said} Write seeds = {len(summary.frames.seeds) + more} into {name}, and", f"transferscope run {name}"


def _points(summary: Summary, statements: Sequence[Statement]) -> tuple[Points, ...]:
    said = words_of(summary.frames.metric).all_of(statements)
    return (Points(said),) if said else ()


def _first(summary: Summary, statements: Sequence[Statement]) -> str:
    """The first of the statements in words; "" for none."""
    return words_of(summary.frames.metric).say(statements[0]) if statements else ""


def _drawn(title: str, slug: str, figure: Figure | None) -> Sequence[Section]:
    """A section of one figure; nothing where there is none."""
    return [] if figure is None else [Section(title, slug, (figure,))]
