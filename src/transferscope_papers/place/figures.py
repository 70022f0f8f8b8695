"""Placements as figures: the model beside what was measured, and the pairs on the diagram of linear transfer."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from transferscope.analyses.compare.summary import Summary
from transferscope.estimate import Estimate
from transferscope.report.blocks import Figure
from transferscope.report.figures.choice import MOST_SOURCES, evenly_chosen, short, shown_of, tick_name
from transferscope.report.figures.style import INK, NARROW, MarkStyle, drawing, mark_styles, new_figure
from transferscope_papers.place.placement import Placement
from transferscope_papers.place.tables import placement_rows
from transferscope_papers.theory.placement import Pair, modelled_transferability

_PANELS_IN_A_ROW = 3
_APART = 0.22  # between the marks of one number of labels, where there is room for all of them in _ROOM
_ROOM = 0.8
_MOST = 1.0  # variance of the labels; what is larger does not stretch the axis unless it was measured
_TITLE_WIDTH = 28
_MODEL = MarkStyle(INK, "D")

_PANEL_INCHES, _BAR_INCHES = (3.8, 3.4), 0.8
_MAP = "RdBu"
_GRID = 161
_LEAST_TOP = 0.3
_LIMIT = 0.5
_KEY_LETTERS, _NARROW_LETTERS = 70, 55
_BAR = "transferability (variance of labels)"
_KEY = "Map: the model. Point: the pair, filled with what was measured. Line: no transfer; broken: ends of the noise."


def draw_placements(summary: Summary, points: Sequence[Placement]) -> Figure:
    """The model beside what was measured: a panel for each source, a column of marks for each number of labels."""
    names = list(dict.fromkeys(point.name for point in points))
    sources = evenly_chosen(names, MOST_SOURCES)
    shown = [point for point in points if point.name in sources]
    styles = _mark_styles(summary, shown)
    scale = _scale(shown)

    def drawn(n_columns: int, width: float, legend_columns: int) -> Canvas:
        n_rows = -(-len(sources) // n_columns)
        canvas = new_figure(width, 0.6 + 2.6 * n_rows)
        grid = canvas.subplots(n_rows, n_columns, sharey=True, squeeze=False)
        for axes, source in zip(grid.flat, sources, strict=False):
            _draw_panel(axes, [point for point in shown if point.name == source], styles, scale)
            axes.set_title(f"from {short(source, width=_TITLE_WIDTH)}")
        for spare in grid.flat[len(sources) :]:
            spare.set_visible(False)
        for line in grid:
            line[0].set_ylabel("Transferability\n(variance of the labels)")
        for lowest in grid.flat[max(0, len(sources) - n_columns) : len(sources)]:
            lowest.set_xlabel("Labelled target examples")
        canvas.legend(handles=_handles(styles), loc="outside upper left", ncols=legend_columns)
        return canvas

    with drawing():
        n_columns = min(len(sources), _PANELS_IN_A_ROW)
        wide = drawn(n_columns, 6.4 if n_columns == 1 else min(9.2, 1.0 + 2.9 * n_columns), 4)
    beyond = (
        " What ends at the edge goes on beyond it; a triangle there is a value of the model beyond."
        if scale.cuts
        else ""
    )
    return Figure(
        name="placements",
        canvas=wide,
        narrow=lambda: drawn(1, NARROW, 1),
        data=placement_rows(points),
        caption=(
            "Transferability that the linear-transfer model says, beside what was measured against training from "
            f"scratch, each with its 95 % interval; above the line transfer helps.{beyond}"
            f"{shown_of('sources', sources, names)}"
        ),
    )


def draw_diagram(pairs: Mapping[str, Pair], points: Sequence[Placement]) -> Figure:
    """Where transfer helps by the model, and where the pairs are: one panel for each source beside the other.

    Blue is positive transferability, red negative; the line is the boundary, broken at the ends of the interval of the
    noise; crosses are the intervals of the pair, and the colour of a point is what was measured (white: nothing).

    Args:
        pairs: Point estimates of the parameters by the name of the source; their share outside does not matter.
        points: The placements, at least one of each source.
    """

    def drawn(n_columns: int, width: float, letters: int) -> Canvas:
        n_rows = -(-len(pairs) // n_columns)
        canvas = new_figure(width, _PANEL_INCHES[1] * n_rows)
        grid = list(canvas.subplots(n_rows, n_columns, squeeze=False).flat)[: len(pairs)]
        images = []
        for axes, (name, pair) in zip(grid, pairs.items(), strict=True):
            own = [point for point in points if point.name == name]
            gamma, share = _ranges(own)
            images.append(_draw_map(axes, _values(pair, gamma, share), gamma, share))
            noise = own[0].noise_level
            ends = (noise.value,) * 2 if noise.interval is None else (noise.interval.low, noise.interval.high)
            low, high = (replace(pair, noise=level**2 / (1 + level**2)) for level in ends)
            for one, style in ((pair, "-"), (low, ":"), (high, "--")):
                _draw_boundary(axes, one, gamma, share, style)
            _draw_points(axes, own)
            axes.set_title(name)
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.set_xlabel("labels per direction of the inputs, n/d")
            axes.set_ylabel("share outside the pretrained features")
            axes.grid(visible=False)
        canvas.colorbar(images[-1], ax=grid, label=_BAR, shrink=0.85)
        canvas.supxlabel(textwrap.fill(_KEY, letters), fontsize="small", x=0.01, ha="left")
        return canvas

    with drawing():
        wide = drawn(len(pairs), _PANEL_INCHES[0] * len(pairs) + _BAR_INCHES, _KEY_LETTERS * len(pairs))
    return Figure(
        name="placement",
        canvas=wide,
        narrow=lambda: drawn(1, NARROW, _NARROW_LETTERS),
        data=placement_rows(points),
        caption=_KEY,
    )


@dataclass(frozen=True, slots=True)
class _Scale:
    """The range of the vertical axis.

    Attributes:
        low: Its lower end.
        high: Its upper end.
        cuts: Whether something lies beyond.
    """

    low: float
    high: float
    cuts: bool


def _scale(points: Sequence[Placement]) -> _Scale:
    """Room for every value that was measured, and for all else that is not larger than `_MOST`."""
    measured = [point.measured.value for point in points]
    ranged = [found for point in points for found in (point.modelled, point.measured)]
    ends = [end for found in ranged if found.interval for end in (found.interval.low, found.interval.high)]
    values = [value for value in (*ends, *(found.value for found in ranged)) if not math.isnan(value)]
    kept = [value for value in (*measured, *(v for v in values if abs(v) <= _MOST)) if not math.isnan(value)]
    low, high = min([0.0, *kept]), max([0.0, *kept])
    room = 0.06 * (high - low or 1.0)
    return _Scale(low - room, high + room, any(not low <= value <= high for value in values))


def _mark_styles(summary: Summary, points: Sequence[Placement]) -> dict[str, MarkStyle]:
    """The style of every measured method, as in the other figures."""
    frames = summary.frames
    measured = list(dict.fromkeys(point.method for point in points if point.method))
    known = mark_styles(list(dict.fromkeys([*frames.methods, *measured])), frames.baseline)
    return {method: known[method] for method in measured}


def _draw_panel(axes: Axes, points: Sequence[Placement], styles: dict[str, MarkStyle], scale: _Scale) -> None:
    sizes = sorted({point.n_target for point in points})
    apart = min(_APART, _ROOM / (1 + len(styles)))
    marks = {"": 0, **{method: 1 + i for i, method in enumerate(styles)}}
    for point in points:
        places = {name: sizes.index(point.n_target) + apart * (i - len(styles) / 2) for name, i in marks.items()}
        _draw_mark(axes, places[""], point.modelled, _MODEL, scale, filled=False)
        if point.method:
            _draw_mark(axes, places[point.method], point.measured, styles[point.method], scale, filled=True)
    axes.axhline(0, color=INK, linewidth=0.8, zorder=0.5)
    axes.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
    axes.set_xlim(-0.5, len(sizes) - 0.5)
    axes.set_ylim(scale.low, scale.high)
    axes.grid(axis="x", visible=False)


def _draw_mark(axes: Axes, x: float, found: Estimate, style: MarkStyle, scale: _Scale, *, filled: bool) -> None:
    if math.isnan(found.value):
        return
    if found.interval:
        ends = [min(max(end, scale.low), scale.high) for end in (found.interval.low, found.interval.high)]
        axes.plot([x, x], ends, color=style.colour, linewidth=1.8, solid_capstyle="butt")
    value = min(max(found.value, scale.low), scale.high)
    mark = style.mark if value == found.value else "^" if value == scale.high else "v"
    fill = style.colour if filled else "white"
    axes.plot(x, value, mark, color=style.colour, markerfacecolor=fill, markersize=7, clip_on=False)


def _handles(styles: dict[str, MarkStyle]) -> list[Line2D]:
    model = Line2D([], [], color=INK, marker=_MODEL.mark, markerfacecolor="white", label="Linear model")
    measured = [
        Line2D([], [], color=one.colour, marker=one.mark, label=f"Measured: {tick_name(method)}")
        for method, one in styles.items()
    ]
    return [model, *measured]


def _ranges(points: Sequence[Placement]) -> tuple[np.ndarray, np.ndarray]:
    gammas = [placement.examples_per_dimension.value for placement in points]
    shares = [one.outside_share for one in points]
    highest = max(share.value if share.interval is None else share.interval.high for share in shares)
    top = min(max(_LEAST_TOP, 1.5 * highest), 1.0)
    return np.geomspace(min([*gammas, 0.5]) / 2, max([*gammas, 2.0]) * 3, _GRID), np.linspace(0, top, _GRID)


def _values(pair: Pair, gamma: np.ndarray, share: np.ndarray) -> np.ndarray:
    there = replace(pair, outside=share[:, None] * pair.signal)
    n = np.maximum(gamma * pair.input_dimension, 1.0)
    return modelled_transferability(there, n[None, :])


def _draw_map(axes: Axes, values: np.ndarray, gamma: np.ndarray, share: np.ndarray) -> QuadMesh:
    shown = np.clip(values, -_LIMIT, _LIMIT)
    return axes.pcolormesh(
        gamma, share, shown, cmap=_MAP, vmin=-_LIMIT, vmax=_LIMIT, rasterized=True, shading="nearest"
    )


def _draw_boundary(axes: Axes, pair: Pair, gamma: np.ndarray, share: np.ndarray, style: str) -> None:
    values = np.clip(_values(pair, gamma, share), -_LIMIT, _LIMIT)
    if values.min() < 0 < values.max():
        axes.contour(gamma, share, values, levels=[0.0], colors=INK, linewidths=1.0, linestyles=style)


def _draw_points(axes: Axes, points: Sequence[Placement]) -> None:
    for placement in {one.n_target: one for one in points}.values():
        x, y = placement.examples_per_dimension, placement.outside_share
        axes.errorbar(x.value, y.value, xerr=_arms(x), yerr=_arms(y), fmt="none", capsize=3, ecolor=INK, zorder=3)
        measured = placement.measured.value if np.isfinite(placement.measured.value) else 0.0
        colour = colormaps[_MAP](0.5 + 0.5 * np.clip(measured / _LIMIT, -1, 1))
        axes.scatter([x.value], [y.value], s=45, color=[colour], edgecolors=INK, linewidths=1.2, zorder=4)
        axes.annotate(
            f"n = {placement.n_target}", (x.value, y.value), xytext=(6, 6), textcoords="offset points", zorder=5
        )


def _arms(ranged: Estimate) -> list[list[float]] | None:
    if ranged.interval is None:
        return None
    return [[ranged.value - ranged.interval.low], [ranged.interval.high - ranged.value]]
