"""The style of figures, a colour and a mark for each method, and how figures become SVG and PDF; no pyplot.

Matplotlib is imported when something is drawn, not for answers in JSON or tables.
"""

import html
import io
import json
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    import matplotlib.artist
    import matplotlib.figure

INK = "#1b1f23"
"""Colour of text and axes; on the page it follows the reader's light or dark setting."""

PAPER = "#ffffff"
"""Colour inside hollow marks; on the page it follows the colour scheme, so that they stay hollow in dark mode."""

ON_PAPER = {"facecolor": PAPER, "edgecolor": "#fefefe", "linewidth": 0.01, "pad": 1.0}
"""A box behind text that lines would cross, which follows the reader's setting as hollow marks do.

Its edge is as good as white: PDF viewers draw a line of any width at least one pixel wide."""

_PIXELS_PER_INCH = 107
_TIP = "tip:"

NARROW = 3.6
"""Width of a figure for phones, in inches."""

QUIET = "#8a9099"
"""Colour of grid lines and other secondary elements."""


@contextmanager
def drawing() -> Iterator[None]:
    """Draw and save in the style of the report; restore matplotlib's settings on exit."""
    import matplotlib as mpl

    with mpl.rc_context(
        {
            "font.family": "sans-serif",
            "font.sans-serif": ["DejaVu Sans"],
            "font.size": 9.0,
            "axes.titlesize": 9.5,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": INK,
            "axes.labelcolor": INK,
            "axes.linewidth": 0.7,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": QUIET,
            "grid.alpha": 0.25,
            "grid.linewidth": 0.6,
            "text.color": INK,
            "text.parse_math": False,  # a class name may hold a dollar sign
            "xtick.color": INK,
            "ytick.color": INK,
            "legend.frameon": False,
            "svg.fonttype": "none",
            "svg.hashsalt": "transferscope",
            "pdf.fonttype": 42,
            "figure.autolayout": False,
            "figure.constrained_layout.use": False,
        }
    ):
        yield


def new_figure(width: float, height: float) -> "matplotlib.figure.Figure":
    """Return an empty figure on a transparent background, in inches; call it within `drawing`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0.0)
    return figure


def tip(artist: "matplotlib.artist.Artist", *texts: str) -> None:
    """Add a tooltip to a mark: one text for all of it, or one for each of its points in order."""
    artist.set_gid(_TIP + quote(json.dumps(texts)))


def to_svg(figure: "matplotlib.figure.Figure") -> str:
    """Return the figure as an SVG document; it is laid out once."""
    buffer = io.StringIO()
    with drawing(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # texts stay texts: a browser has letters of its own
        layout = figure.get_layout_engine()
        if layout is not None:
            layout.execute(figure)
            figure.set_layout_engine(None)
        figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    return _with_tips(buffer.getvalue())


def _with_tips(svg: str) -> str:
    first, *marked = re.split(rf'<g id="{_TIP}([^"]*)">', svg)
    parts = [first]
    for held, rest in zip(marked[::2], marked[1::2], strict=True):
        texts = [f"<title>{html.escape(text)}</title>" for text in json.loads(unquote(held))]
        own, boundary, after = rest.partition('<g id="')
        points, parts_of_own = re.findall(r"<use [^>]*/>", own), [""]
        if len(texts) == 1:
            own = texts[0] + own
        elif len(texts) == len(points):
            for point, title in zip(points, texts, strict=True):
                between, _, own = own.partition(point)
                parts_of_own += [between, f"{point[:-2]}>{title}</use>"]
            own = "".join([*parts_of_own, own])
        parts += ["<g>", own, boundary, after]
    return "".join(parts)


def inline_svg(svg: str, prefix: str, *, width: float) -> str:
    """Return an SVG document as an `<svg>` element for an HTML page.

    Args:
        svg: From `to_svg`.
        prefix: Prefix of all ids, which keeps several figures on one page separate.
        width: Width of the figure in inches, which limits its width on the page.

    Returns:
        The element: without XML header, scaled by its container, text and the inside of hollow marks in the reader's
        colours.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)  # nothing refers to groups
    svg = re.sub(r' (?:d|x|y)="[^"]*"', lambda places: re.sub(r"(\.\d\d)\d+", r"\1", places[0]), svg)
    svg = re.sub(r"\s*\n\s*", "\n", svg)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", svg)
    opening, rest = svg.split(">", maxsplit=1)
    opening = re.sub(r' (?:width|height)="[^"]*"', "", opening)
    svg = f'{opening} style="--natural: {_PIXELS_PER_INCH * width:.0f}px">{rest}'
    svg = re.sub(rf"fill: {PAPER}(?=; stroke: #(?!{PAPER[1:]}))", "fill: var(--paper)", svg)
    return svg.replace(INK, "var(--ink)").strip()


BASELINE_COLOUR = "#7a7a7a"

WITH_SOURCE, WITHOUT = "#0072b2", "#6b7079"
"""Colours of transfer arms and baselines in every figure of a study."""

RECOMMENDED = "*"
"""Marker of the recommended arm in every figure of a study."""

# Every colour has a contrast of at least 3 to 1 on light and on dark paper. The first four are Okabe and Ito's, told
# apart with every common kind of colour blindness.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b98a00", "#7b5cd6")
_ORDERED = ("#7b5cd6", "#a84fc4", "#d14f86", "#cf6a3c", "#b98a00")
_MARKS = ("o", "s", "^", "D", "v", "P")


def ordered_colours(n: int) -> list[str]:
    """Return colours of n ordered values, such as numbers of labels, from the smallest to the largest."""
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    ramp = LinearSegmentedColormap.from_list("ordered", _ORDERED)
    return [to_hex(ramp(i / max(n - 1, 1))) for i in range(n)]


@dataclass(frozen=True, slots=True)
class MarkStyle:
    """A hexadecimal colour and a matplotlib marker of a method."""

    colour: str
    mark: str


_NUMBER = re.compile(r"\d[\d,.]*\d|\d")


def mark_styles(methods: Sequence[str], baseline: str | None) -> dict[str, MarkStyle]:
    """Return the style of every method; the baseline is grey, and after six methods colours repeat with other marks.

    Names that differ only in their last number, such as a size, share a mark and have ordered colours.
    """
    families: dict[str, list[tuple[float, str]]] = {}
    for method in dict.fromkeys(methods):
        if method != baseline:
            *_, last = (None, *_NUMBER.finditer(method))
            family = method if last is None else f"{method[: last.start()]}#{method[last.end() :]}"
            value = 0.0 if last is None else float(last[0].replace(",", "").replace(".", "", last[0].count(".") - 1))
            families.setdefault(family, []).append((value, method))
    n, styles = len(_COLOURS), {}
    for i, own in enumerate(families.values()):
        colours = [_COLOURS[i % n]] if len(own) == 1 else ordered_colours(len(own))
        for colour, (_, method) in zip(colours, sorted(own), strict=True):
            styles[method] = MarkStyle(colour, _MARKS[(i + i // n) % n])
    if baseline is not None:
        styles[baseline] = MarkStyle(BASELINE_COLOUR, "o")
    return styles
