"""What a comparison says on the page of a study: whether transfer helps, which way, and how many labels it takes."""

from collections.abc import Sequence

from transferscope.analyses.compare.best_arm import best_arm_section
from transferscope.analyses.compare.checkpoints import checkpoints_section
from transferscope.analyses.compare.comparison import Comparison, outcome_of
from transferscope.analyses.compare.figures import (
    draw_classes,
    draw_curves,
    draw_differences,
    draw_dots,
    draw_labels,
    draw_overview,
    draw_seeds,
)
from transferscope.analyses.compare.samples import Found
from transferscope.analyses.compare.settings import settings_section
from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.compare.tables import calls_table, methods_section
from transferscope.analyses.compare.verdict import scope_in_words
from transferscope.analyses.compare.words import best_mean, labels_saved, other_methods, outcomes_in_words
from transferscope.report.blocks import Block, Figure, Folded, Points, Section, Text
from transferscope.report.page import Part


def study_parts(summary: Summary, target: Found | None = None) -> list[Part]:
    """The parts of the page that rest on the comparison alone; how many labels it takes, only if several were tried.

    Args:
        summary: What was measured.
        target: The target's data, or why they cannot be read; None where nobody tried.
    """
    return [_whether(summary), _which(summary, target), *_how_much(summary)]


def overview(summary: Summary) -> Figure | None:
    """What every way of transfer gains and takes; None when nothing can be compared with training from scratch."""
    return draw_overview(summary)


def _whether(summary: Summary) -> Part:
    sections = [Section("What is settled, and what is open", "calls", _calls(summary))]
    sections += _drawn("Against training from scratch, seed by seed", "differences", draw_differences(summary))
    sections += _drawn("Run by run", "seeds", draw_seeds(summary))
    outcomes = outcomes_in_words(summary.verdict.outcomes)
    sentence = f"{outcomes} {summary.caveat}".strip() if outcomes else summary.verdict.headline
    return Part("whether", sentence, tuple(sections))


def _calls(summary: Summary) -> tuple[Block, ...]:
    """The calls as a table; what is said of the best, what to do next and what to beware of; how sure calls are.

    The verdict's sentences on the other methods are the table, and the one on the chance of errors is folded away.
    """
    outcomes = [size for size, outcome in summary.verdict.outcomes.items() if outcome != "unfinished baseline"]
    judged = [c for c in summary.comparisons if c.n_target in outcomes and not c.is_control]
    table, scope = calls_table(summary), scope_in_words(judged)
    said = [sentence for sentence in summary.verdict.sentences if sentence != scope]
    if table is not None:
        for size in outcomes:
            group = [c for c in judged if c.n_target == size]
            others = other_methods(group, outcome_of(group), summary.frames.metric) if group else ""
            said = [sentence.removesuffix(others).rstrip() for sentence in said]
    small_print = [Folded("How sure these calls are", (Text(scope),))] if scope else []
    points = [Points(tuple(sentence for sentence in said if sentence))] if any(said) else []
    return (*([table] if table else []), *points, *small_print)


def _which(summary: Summary, target: Found | None) -> Part:
    searched = settings_section(summary.frames)
    sections = [methods_section(summary), *([searched] if searched else [])]
    if len(_by_size(summary)) == 1:
        sections += _drawn("Scores", "scores", draw_dots(summary))
    sections += _drawn("Training curves", "curves", draw_curves(summary))
    sections += _drawn("Errors by class", "classes", draw_classes(summary))
    best = best_arm_section(summary, target)
    sections += [best] if best else []
    largest = max(_by_size(summary).items())[1]
    return Part("which", best_mean(largest, summary.frames.metric), tuple(sections))


def _how_much(summary: Summary) -> list[Part]:
    by_size, checkpoints = _by_size(summary), checkpoints_section(summary)
    sections = [] if checkpoints is None else [checkpoints]
    if len(by_size) > 1:
        sections = [*_drawn("How many labels it takes", "scores", draw_labels(summary)), *sections]
        return [Part("how much", labels_saved(by_size, summary.frames.metric), tuple(sections))]
    if checkpoints is None:
        return []
    sentence, *others = checkpoints.blocks  # the first series, in a sentence
    assert isinstance(sentence, Text)
    rest = Section(checkpoints.title, checkpoints.slug, tuple(others), checkpoints.files)
    return [Part("how much", sentence.text, (rest,))]


def _by_size(summary: Summary) -> dict[int, list[Comparison]]:
    by_size: dict[int, list[Comparison]] = {}
    for comparison in sorted(summary.comparisons, key=lambda c: c.n_target):
        by_size.setdefault(comparison.n_target, []).append(comparison)
    return by_size


def _drawn(title: str, slug: str, figure: Figure | None) -> Sequence[Section]:
    """A section of one figure; nothing where there is none."""
    return [] if figure is None else [Section(title, slug, (figure,))]
