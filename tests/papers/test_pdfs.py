"""PDFs of the papers' computed figures."""

from pathlib import Path

import numpy as np
import pytest

from pdfs import HAS_POPPLER, check_pdf
from transferscope.estimate import Estimate
from transferscope.report.save import INCHES
from transferscope_papers.catalogue import FIGURES
from transferscope_papers.draw import drawn_figure
from transferscope_papers.figure import Simulated
from transferscope_papers.looks import arrange


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.skipif(not HAS_POPPLER, reason="pdftoppm and pdftotext render PDFs")
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_as_wide_as_a_paper_with_all_its_words(name: str, tmp_path: Path) -> None:
    figure = FIGURES[name].configured(quick=True, changes={})
    points = [Simulated(point, Estimate(0.3 + 0.1 * np.cos(i), 0.1, 5)) for i, point in enumerate(figure.points())]
    drawn = figure.drawn(points)
    canvas = drawn_figure(drawn.theory, drawn.simulated)
    arrange(canvas)
    check_pdf(canvas, INCHES["column" if len(drawn.theory.panels) == 1 else "text"], tmp_path)
