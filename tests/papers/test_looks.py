"""Letters and titles, of computed figures and of those from rows and studies."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from transferscope.estimate import Estimate
from transferscope.report.figures.style import ordered_colours
from transferscope_papers.catalogue import FIGURES
from transferscope_papers.draw import colours_of, drawn_figure
from transferscope_papers.figure import Simulated
from transferscope_papers.liu2019.landscapes import _draw, _from_cross, _Map
from transferscope_papers.looks import arrange, letters


def drawn_computed(name: str) -> Figure:
    figure = FIGURES[name].configured(quick=True, changes={})
    points = [Simulated(point, Estimate(0.3 + 0.1 * np.cos(i), 0.1, 5)) for i, point in enumerate(figure.points())]
    drawn = figure.drawn(points)
    canvas = drawn_figure(drawn.theory, drawn.simulated)
    arrange(canvas)
    return canvas


def titles(canvas: Figure) -> list[str]:
    return [axes.get_title(loc="left") or axes.get_title() for axes in canvas.axes if axes.get_label() != "<colorbar>"]


def extents(canvas: Figure) -> list[Bbox]:
    """Where titles are, those of panels and that of the figure."""
    canvas.draw_without_rendering()
    shown = {title for title in (*titles(canvas), canvas.get_suptitle()) if title}
    texts = [text for text in canvas.findobj(Text) if isinstance(text, Text) and text.get_text() in shown]
    return [text.get_window_extent() for text in texts]


def check_titles(canvas: Figure) -> None:
    found = extents(canvas)
    width, height = canvas.bbox.width, canvas.bbox.height
    for box in found:
        assert 0 <= box.x0 < box.x1 <= width
        assert 0 <= box.y0 < box.y1 <= height
    assert not any(one.overlaps(other) for one, other in itertools.combinations(found, 2))


def rows(path: Path) -> Path:
    """A table in the authors' form whose errors obey the law (1) within a few hundredths of a per cent."""
    made = [
        {
            "n_eval": 1,
            "value": 1 - (0.48 * n**-0.5 + gap) * (1 + 0.0003 * np.cos(n)),
            "pretrain.data": n,
            "nparam": 25.0,
            "ptask": ptask,
            "fdata": "coco",
            "ftask": ftask,
            "model": "r50",
            "pscale": "64k",
            "fratio": 1,
            "pdata": "bop",
        }
        for ptask, gap in (("objdet", 0.8), ("semseg", 0.85))
        for ftask in ("objdet", "semseg", "sinclass")
        for n in (1000, 4000, 16_000, 64_000)
    ]
    pd.DataFrame(made).to_csv(path, index=False)
    return path


def test_panels_have_letters_and_bars_are_explained() -> None:
    canvas = drawn_computed("tahir2024-fig1")
    assert [title[:4] for title in titles(canvas)] == ["(a) ", "(b) "]
    assert [text.get_text() for text in canvas.texts] == ["bars: ± 1 s.e."]
    assert letters(1) == ("",)
    assert letters(28)[25:] == ("(z) ", "(aa) ", "(ab) ")


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize("name", ["tahir2024-fig3", "tahir2024-fig4", "shachaf2021-fig1", "liu2019-theorem3"])
def test_titles_end_with_their_panel_and_leave_no_word_alone(name: str) -> None:
    canvas = drawn_computed(name)
    check_titles(canvas)
    for title in titles(canvas):
        lines = title.split("\n")
        assert min(map(len, lines)) >= max(map(len, lines)) / 2
    assert not any(title.split("\n")[0].endswith(("=", "black:")) for title in titles(canvas))


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize("name", ["tahir2024-fine-tuning-sign", "tahir2024-fig5", "merlin2020-random-starts"])
def test_what_bars_are_stands_beside_no_other_text(name: str) -> None:
    canvas = drawn_computed(name)
    canvas.draw_without_rendering()
    (said,) = canvas.texts or [legend.get_title() for legend in canvas.legends]
    assert said.get_text().startswith("bars: ")
    note = said.get_window_extent()
    labels = [axes.xaxis.label.get_window_extent() for axes in canvas.axes]
    legends = [text.get_window_extent() for legend in canvas.legends for text in legend.get_texts()]
    assert not any(note.overlaps(other) for other in (*labels, *legends))


def test_landscapes_are_drawn_from_the_loss_at_the_weights_themselves() -> None:
    """So that two networks of another loss can be seen to vary alike or not."""
    axis = np.linspace(-1, 1, 5)
    plane = axis[:, None] ** 2 - axis
    moved = _from_cross(_Map("from scratch", "start", "head", 0, axis, 7 + plane))
    assert moved.loss == pytest.approx(plane)
    assert moved.loss[2, 2] == 0
    broken = np.where(plane == plane[2, 2], np.inf, plane)
    assert np.isnan(_from_cross(replace(moved, loss=broken)).loss).all()  # no change is known


@pytest.mark.drawn
def test_a_landscape_without_a_finite_loss_is_left_empty() -> None:
    """And leaves the other its scale."""
    axis = np.linspace(-1, 1, 5)
    whole, broken = 2 + axis[:, None] ** 2 + axis**2, np.full((5, 5), np.inf)
    ways, table = ("from scratch", "fine-tune from cifar10"), pd.DataFrame({"at": ["start"]})
    for planes, scale in (([broken, whole], ["0", "2"]), ([broken, broken], ["0", "1e-12"])):
        maps = [_Map(way, "start", "head", 0, axis, plane) for way, plane in zip(ways, planes, strict=True)]
        canvas = _draw(maps, ways, ["head"], "start", table).canvas
        assert [label.get_text() for label in canvas.axes[-1].get_xticklabels()] == scale


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize("n_layers", [1, 6])
def test_landscapes_of_many_layers_and_of_one_have_titles_that_are_whole(n_layers: int) -> None:
    stages = (", ".join(f"stage{i}_block{j}" for j in (1, 2, 3)) for i in (1, 2, 3))
    layers = ["all layers", "stem", *stages, "head"][:n_layers]
    axis, ways = np.linspace(-1, 1, 5), ("from scratch", "fine-tune from cifar10")
    loss = 2 + axis[:, None] ** 2 + axis**2
    maps = [_Map(way, "start", layer, 0, axis, loss) for way in ways for layer in layers]
    canvas = _draw(maps, ways, layers, "start", pd.DataFrame({"at": ["start"]})).canvas
    arrange(canvas)
    assert [title.replace("\n", " ")[4:] for title in titles(canvas)][:n_layers] == layers
    check_titles(canvas)


def test_sizes_have_ordered_colours_and_other_names_their_own() -> None:
    """In the order of the numbers, whatever the order of the names; two are no order."""
    names = ["k = 16", "k = 2", "a bound", "k = 128", "k = 4", "θ = π/8", "3 layers", "θ = 3π/8", "1 layer", "θ = π/4"]
    colours = colours_of(names)
    assert list(colours) == names
    assert [colours[f"k = {k}"] for k in (2, 4, 16, 128)] == ordered_colours(4)
    assert [colours[f"θ = {angle}"] for angle in ("π/8", "π/4", "3π/8")] == ordered_colours(3)
    assert len({colours["a bound"], colours["3 layers"], colours["1 layer"]}) == 3
