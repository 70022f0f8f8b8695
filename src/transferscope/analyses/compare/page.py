"""What a comparison says on the page of a study: whether transfer helps, which way, and how many labels it takes."""

from collections.abc import Sequence

from transferscope.analyses.compare.checkpoints import checkpoints_section
from transferscope.analyses.compare.comparison import Comparison
from transferscope.analyses.compare.figures import (
    draw_classes,
    draw_curves,
    draw_differences,
    draw_dots,
    draw_labels,
    draw_seeds,
)
from transferscope.analyses.compare.settings import settings_section
from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.compare.tables import methods_section
from transferscope.analyses.compare.words import best_mean, labels_saved
from transferscope.report.blocks import Figure, Section, Text
from transferscope.report.page import Part


def study_parts(summary: Summary) -> list[Part]:
    """The parts of the page that rest on the comparison alone; how many labels it takes, only if several were tried."""
    return [_whether(summary), _which(summary), *_how_much(summary)]


def _whether(summary: Summary) -> Part:
    verdict = summary.verdict
    said = Section("Verdict", "verdict", tuple(Text(sentence) for sentence in verdict.sentences))
    sections = [said] if said.blocks else []
    sections += _drawn("Against training from scratch", "differences", draw_differences(summary))
    sections += _drawn("Run by run", "seeds", draw_seeds(summary))
    return Part("whether", verdict.headline, tuple(sections))


def _which(summary: Summary) -> Part:
    searched = settings_section(summary.frames)
    sections = [methods_section(summary), *([searched] if searched else [])]
    if len(_by_size(summary)) == 1:
        sections += _drawn("Scores", "scores", draw_dots(summary))
    sections += _drawn("Training curves", "curves", draw_curves(summary))
    sections += _drawn("Errors by class", "classes", draw_classes(summary))
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
