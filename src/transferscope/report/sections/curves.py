"""How the methods trained."""

from transferscope.report.blocks import Section
from transferscope.report.figures.curves import draw_curves
from transferscope.report.results import Summary


def curves_section(summary: Summary) -> Section | None:
    """Training curves; None when the study keeps none."""
    figure = draw_curves(summary)
    return Section("Training curves", "curves", (figure,)) if figure else None
