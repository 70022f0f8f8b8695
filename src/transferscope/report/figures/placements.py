"""The model beside measured transferability: a panel for each source, a column of marks for each number of labels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from transferscope.analyses.compare.summary import Summary
from transferscope.estimate import Estimate
from transferscope.report.blocks import Figure
from transferscope.report.figures.choice import MOST_SOURCES, evenly_chosen, short, shown_of, tick_name
from transferscope.report.figures.palette import Look, looks
from transferscope.report.figures.style import INK, drawing, new_figure
from transferscope.report.placements import placement_rows
from transferscope.theory.placement_document import KeptPlacement

_PANELS_IN_A_ROW = 3
_APART = 0.22  # between the marks of one number of labels, where there is room for all of them in _ROOM
_ROOM = 0.8
_MOST = 1.0  # variance of the labels; what is larger does not stretch the axis unless it was measured
_TITLE_WIDTH = 28
_MODEL = Look(INK, "D")


def draw_placements(summary: Summary, points: Sequence[KeptPlacement]) -> Figure:
    """The figure."""
    names = list(dict.fromkeys(point.name for point in points))
    sources = evenly_chosen(names, MOST_SOURCES)
    shown = [point for point in points if point.name in sources]
    look = _looks(summary, shown)
    n_columns = min(len(sources), _PANELS_IN_A_ROW)
    n_rows = -(-len(sources) // n_columns)
    scale = _scale(shown)
    with drawing():
        canvas = new_figure(6.4 if n_columns == 1 else min(9.2, 1.0 + 2.9 * n_columns), 0.6 + 2.6 * n_rows)
        grid = canvas.subplots(n_rows, n_columns, sharey=True, squeeze=False)
        for axes, source in zip(grid.flat, sources, strict=False):
            _draw_panel(axes, [point for point in shown if point.name == source], look, scale)
            axes.set_title(f"from {short(source, width=_TITLE_WIDTH)}")
        for spare in grid.flat[len(sources) :]:
            spare.set_visible(False)
        for line in grid:
            line[0].set_ylabel("Transferability\n(variance of the labels)")
        for lowest in grid.flat[max(0, len(sources) - n_columns) : len(sources)]:
            lowest.set_xlabel("Labelled target examples")
        canvas.legend(handles=_handles(look), loc="outside upper left", ncols=4)
    beyond = (
        " What ends at the edge goes on beyond it; a triangle there is a value of the model beyond."
        if scale.cuts
        else ""
    )
    return Figure(
        name="placements",
        canvas=canvas,
        data=placement_rows(points),
        caption=(
            "Transferability that the linear-transfer model says, beside what was measured against training from "
            f"scratch, each with its 95 % interval; above the line transfer helps.{beyond}"
            f"{shown_of('source', sources, names)}"
        ),
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


def _scale(points: Sequence[KeptPlacement]) -> _Scale:
    """Room for every value that was measured, and for all else that is not larger than `_MOST`."""
    measured = [point.placement.measured.value for point in points]
    ranged = [found for point in points for found in (point.placement.modelled, point.placement.measured)]
    ends = [end for found in ranged if found.interval for end in (found.interval.low, found.interval.high)]
    values = [value for value in (*ends, *(found.value for found in ranged)) if not math.isnan(value)]
    kept = [value for value in (*measured, *(v for v in values if abs(v) <= _MOST)) if not math.isnan(value)]
    low, high = min([0.0, *kept]), max([0.0, *kept])
    room = 0.06 * (high - low or 1.0)
    return _Scale(low - room, high + room, any(not low <= value <= high for value in values))


def _looks(summary: Summary, points: Sequence[KeptPlacement]) -> dict[str, Look]:
    """The look of every measured method, as in the other figures."""
    frames = summary.frames
    measured = list(dict.fromkeys(point.placement.method for point in points if point.placement.method))
    known = looks(list(dict.fromkeys([*frames.methods, *measured])), frames.baseline)
    return {method: known[method] for method in measured}


def _draw_panel(axes: Axes, points: Sequence[KeptPlacement], look: dict[str, Look], scale: _Scale) -> None:
    sizes = sorted({point.placement.n_target for point in points})
    apart = min(_APART, _ROOM / (1 + len(look)))
    marks = {"": 0, **{method: 1 + i for i, method in enumerate(look)}}
    for point in points:
        one = point.placement
        places = {name: sizes.index(one.n_target) + apart * (i - len(look) / 2) for name, i in marks.items()}
        _draw_mark(axes, places[""], one.modelled, _MODEL, scale, filled=False)
        if one.method:
            _draw_mark(axes, places[one.method], one.measured, look[one.method], scale, filled=True)
    axes.axhline(0, color=INK, linewidth=0.8, zorder=0.5)
    axes.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
    axes.set_xlim(-0.5, len(sizes) - 0.5)
    axes.set_ylim(scale.low, scale.high)
    axes.grid(axis="x", visible=False)


def _draw_mark(axes: Axes, x: float, found: Estimate, look: Look, scale: _Scale, *, filled: bool) -> None:
    if math.isnan(found.value):
        return
    if found.interval:
        ends = [min(max(end, scale.low), scale.high) for end in (found.interval.low, found.interval.high)]
        axes.plot([x, x], ends, color=look.colour, linewidth=1.8, solid_capstyle="butt")
    value = min(max(found.value, scale.low), scale.high)
    mark = look.mark if value == found.value else "^" if value == scale.high else "v"
    fill = look.colour if filled else "white"
    axes.plot(x, value, mark, color=look.colour, markerfacecolor=fill, markersize=7, clip_on=False)


def _handles(look: dict[str, Look]) -> list[Line2D]:
    model = Line2D([], [], color=INK, marker=_MODEL.mark, markerfacecolor="white", label="Linear model")
    measured = [
        Line2D([], [], color=one.colour, marker=one.mark, label=f"Measured: {tick_name(method)}")
        for method, one in look.items()
    ]
    return [model, *measured]
