import io
import re
from xml.etree import ElementTree

import matplotlib as mpl
import pytest

from transferscope.report.figures.style import (
    BASELINE_COLOUR,
    INK,
    ON_PAPER,
    PAPER,
    drawing,
    inline_svg,
    mark_styles,
    new_figure,
    ordered_colours,
    tip,
    to_svg,
)

pytestmark = pytest.mark.drawn


def test_drawing_leaves_the_settings_of_matplotlib_alone() -> None:
    before = dict(mpl.rcParams)
    _svg("one")
    assert dict(mpl.rcParams) == before


def test_the_same_drawing_gives_the_same_document() -> None:
    assert _svg("one") == _svg("one")


def test_an_inline_figure_keeps_its_ids_to_itself_and_takes_the_ink_of_the_page() -> None:
    svg = inline_svg(_svg("one"), "first", width=2.0)
    ids = set(re.findall(r'\bid="([^"]*)"', svg))
    references = set(re.findall(r'(?:url\(|href=")#([^")]*)', svg))
    assert ids
    assert all(name.startswith("first-") for name in ids)
    assert references <= ids
    opening = svg[: svg.index(">")]
    assert opening.startswith("<svg ")
    assert 'style="--natural: 214px"' in opening
    assert INK not in svg
    assert "var(--ink)" in svg
    assert 'width="' not in opening


def test_hollow_marks_are_filled_with_the_paper_of_the_page() -> None:
    """White inside a coloured outline is no colour of its own: on a dark page it would look filled."""
    with drawing():
        figure = new_figure(2, 1.5)
        axes = figure.subplots()
        axes.plot([0], [0], "o", color="#0072b2", markerfacecolor=PAPER)
        axes.plot([1], [1], "o", color=INK, markerfacecolor="white")
        axes.text(0, 1, "white text", color="white")
    drawn = to_svg(figure)
    assert drawn.count("fill: #ffffff; stroke: ") == 2
    svg = inline_svg(drawn, "any", width=2.0)
    assert svg.count("fill: var(--paper); stroke: ") == 2
    assert svg.count("#ffffff") == drawn.count("#ffffff") - 2  # white text on a dark ground stays white


def test_a_box_behind_text_has_no_edge_that_a_pdf_would_show() -> None:
    """PDF viewers draw every line at least a pixel wide: boxes of INK were black frames on paper."""
    with drawing(), mpl.rc_context({"pdf.compression": 0}):
        figure = new_figure(2, 1.5)
        figure.text(0.1, 0.5, "a heading", bbox=ON_PAPER)
        file = io.BytesIO()
        figure.savefig(file, format="pdf")
    content = file.getvalue().decode("latin-1")
    strokes = re.findall(r"([\d.]+) [\d.]+ [\d.]+ RG|([\d.]+) G\b", content)
    assert strokes  # the box is drawn with an edge, whose colour is as good as white
    assert all(float(rgb or grey) > 0.99 for rgb, grey in strokes)


def test_text_is_escaped_and_no_formula() -> None:
    svg = _svg("<script>a && b</script> $x$")
    assert "&lt;script&gt;a &amp;&amp; b&lt;/script&gt; $x$" in svg


def test_letters_that_the_font_lacks_are_left_to_the_browser_without_a_warning() -> None:
    assert "微调" in _svg("微调")


def _svg(title: str) -> str:
    with drawing():
        figure = new_figure(2, 1.5)
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], "o-")
        axes.set_title(title)
    return to_svg(figure)


def test_tips_become_titles_of_marks_whatever_they_say() -> None:
    with drawing():
        figure = new_figure(2, 2)
        axes = figure.subplots()
        (line,) = axes.plot([0, 1], [0, 1])
        (points,) = axes.plot([0, 1, 2], [0, 1, 2], "o")
        tip(line, "a line <b> \"quoted\" & 'so'")
        tip(points, "first", "second − 1 %", "third")
    svg = to_svg(figure)
    assert "<title>a line &lt;b&gt; &quot;quoted&quot; &amp; &#x27;so&#x27;</title>" in svg
    assert re.findall(r"<use [^>]*><title>(.*?)</title></use>", svg) == ["first", "second − 1 %", "third"]
    assert "tip:" not in svg
    ElementTree.fromstring(svg)


def test_every_method_has_its_own_look() -> None:
    methods = ["scratch", *(f"m{i}" for i in range(12))]
    found = mark_styles(methods, "scratch")
    assert len({(styles.colour, styles.mark) for styles in found.values()}) == len(methods)
    assert found["scratch"].colour == BASELINE_COLOUR


def test_a_baseline_does_not_shift_the_colours() -> None:
    assert mark_styles(["scratch", "joint"], "scratch")["joint"] == mark_styles(["joint"], None)["joint"]


def test_sizes_have_ordered_colours_and_the_mark_of_their_kind() -> None:
    names = ["scratch", "probe (1,000)", "tune (30)", "probe (300)", "tune (3)", "probe (3,000)", "joint"]
    found = mark_styles(names, "scratch")
    assert [found[f"probe ({n})"].colour for n in ("300", "1,000", "3,000")] == ordered_colours(3)
    assert [found[f"tune ({n})"].colour for n in (3, 30)] == ordered_colours(2)
    assert len({found[name].mark for name in names if name.startswith("probe")}) == 1
    assert found["probe (300)"].mark != found["tune (3)"].mark
    assert len({(style.colour, style.mark) for style in found.values()}) == len(names)
