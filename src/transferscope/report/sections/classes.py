"""What the methods get wrong."""

from transferscope.report.blocks import Section
from transferscope.report.figures.classes import draw_classes
from transferscope.report.results import Summary


def classes_section(summary: Summary) -> Section | None:
    """Errors by class; None for a regression or without predictions."""
    figure = draw_classes(summary)
    return Section("Errors by class", "classes", (figure,)) if figure else None
