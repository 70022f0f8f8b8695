"""Scores in pictures: against the number of labels, against scratch, and run by run."""

from transferscope.report.blocks import Section
from transferscope.report.figures.differences import draw_differences
from transferscope.report.figures.dots import draw_dots
from transferscope.report.figures.labels import draw_labels
from transferscope.report.figures.seeds import draw_seeds
from transferscope.report.results import Summary


def scores_section(summary: Summary) -> Section:
    """Score against number of labels, or one dot plot when there is one number."""
    several = summary.table["n_target"].nunique() > 1
    title = "How many labels it takes" if several else "Scores"
    return Section(title, "scores", (draw_labels(summary) if several else draw_dots(summary),))


def differences_section(summary: Summary) -> Section | None:
    """Differences to scratch; None without a baseline."""
    figure = draw_differences(summary)
    return Section("Against training from scratch", "differences", (figure,)) if figure else None


def seeds_section(summary: Summary) -> Section:
    """Every run."""
    return Section("Run by run", "seeds", (draw_seeds(summary),))
