"""Figures of a paper, with few arms and many: what can be measured in the drawing."""

import itertools
from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from transferscope import compare
from transferscope.report.blocks import Figure
from transferscope.report.save import INCHES, PaperWidth, drawn_for_paper

PAGE = 9.0
"""Inches of type on a page of most styles."""


def results(n_arms: int, sizes: tuple[int, ...]) -> pd.DataFrame:
    arms = itertools.product(("merlin", "fine-tune", "linear-probe"), ("bert", "a-source-of-a-rather-long-name"))
    with_source = [(f"{arm}-{i}", source) for i in range(4) for arm, source in arms][: n_arms - 2]
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"arm": arm, "source": source, "labels": n, "seed": seed, "accuracy": 0.5 + 0.02 * i + 0.02 * rng.normal()}
        for i, (arm, source) in enumerate([("scratch", None), ("tfidf", None), *with_source])
        for n in sizes
        for seed in range(4)
    )


@cache
def arms_figure(n_arms: int, sizes: tuple[int, ...]) -> Figure:
    return compare(results(n_arms, sizes), without=["scratch", "tfidf"]).page()[0].figures[0]


def texts(canvas: Canvas) -> list[tuple[str, Bbox]]:
    renderer = FigureCanvasAgg(canvas).get_renderer()  # type: ignore[no-untyped-call]
    canvas.draw(renderer)
    beyond = {  # an axis keeps ticks outside its limits and does not draw them
        tick.label1
        for axes in canvas.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in axis.get_major_ticks()
        if not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
    }
    found = [one for one in canvas.findobj(Text) if isinstance(one, Text) and one not in beyond]
    shown = [one for one in found if one.get_visible() and one.get_text()]
    return [(one.get_text(), one.get_window_extent(renderer)) for one in shown]


@pytest.mark.drawn
@pytest.mark.long
@pytest.mark.parametrize("width", ["column", "text"])
@pytest.mark.parametrize(("n_arms", "sizes"), [(3, (50,)), (8, (50, 200)), (20, (50, 200))])
def test_arms_of_a_paper_fit_its_page_and_no_text_covers_another(
    n_arms: int, sizes: tuple[int, ...], width: PaperWidth
) -> None:
    canvas = drawn_for_paper(arms_figure(n_arms, sizes), INCHES[width])
    inches = canvas.get_size_inches()
    assert inches[0] == INCHES[width]
    assert inches[1] <= PAGE
    panels = [axes.get_window_extent() for axes in canvas.axes if axes.get_visible()]
    written = texts(canvas)
    assert len(panels) == len(sizes)
    assert min(panel.width for panel in panels) >= 0.2 * canvas.bbox.width
    for name, box in written:
        assert box.x0 >= -1, name
        assert box.x1 <= canvas.bbox.width + 1, name
    for (name, box), (other, its) in itertools.combinations(written, 2):
        assert not (box.shrunk(0.9, 0.9).overlaps(its.shrunk(0.9, 0.9))), (name, other)
