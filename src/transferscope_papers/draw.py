"""Drawing a figure of theory and simulation with matplotlib: maps, lines, points with error bars."""

import itertools
import math
import re
from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation
from scipy.special import ndtr
from scipy.stats import binomtest

from transferscope.estimate import Estimate
from transferscope.report.figures.style import drawing, new_figure, ordered_colours
from transferscope.report.save import INCHES
from transferscope_papers.figure import TRANSFERABILITY, Curve, Diagram, Panel, Simulated, Theory

COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#555555",
    "#999933",
    "#000000",
    "#882255",
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p", "<", ">")
_MAP = "RdBu"
_NAMES_INSIDE = 5
_QUIET = "#555555"
_FEW_POWERS = 100
_BESIDE_INCHES = 0.04
_ONE_SIGMA = float(2 * ndtr(1.0) - 1)
"""Level of an interval of one standard error on each side: 68 %."""


COLUMN_INCHES, TEXT_INCHES = INCHES["column"], INCHES["text"]
_ROW_INCHES = 2.9


def drawn_figure(theory: Theory, simulated: Sequence[Simulated]) -> Figure:
    """Return the figure at the width of a paper: a single panel as wide as a column, others two in a row.

    Args:
        simulated: Points with their estimates; error bars are one standard error.
    """
    n = len(theory.panels)
    n_rows = -(-n // 2)
    with drawing():
        canvas = new_figure(COLUMN_INCHES if n == 1 else TEXT_INCHES, _ROW_INCHES * n_rows)
        _draw(canvas, theory, simulated, canvas.subplots(n_rows, min(n, 2), squeeze=False))
    return canvas


def colours_of(series: Sequence[str]) -> dict[str, str]:
    """Return a colour for each series; three or more that differ in one number have ordered colours."""
    alike: dict[str, list[tuple[float, str]]] = {}
    for name in series:
        kind = _NUMBER.sub("#", name, count=1).replace("layers", "layer")
        alike.setdefault(kind, []).append((_number(name), name))
    colours: dict[str, str] = {}
    several = itertools.cycle(COLOURS)
    for own in alike.values():
        names = [name for _, name in sorted(own)] if len(own) > 2 else [name for _, name in own]
        ordered = ordered_colours(len(own)) if len(own) > 2 else [next(several) for _ in own]
        colours.update(zip(names, ordered, strict=True))
    return {name: colours[name] for name in series}


_NUMBER = re.compile(r"(?:\d+\.?\d*)?π(?:/\d+)?|\d+\.?\d*")


def _number(name: str) -> float:
    found = _NUMBER.search(name)
    if found is None:
        return math.nan
    above, _, below = found[0].partition("/")
    return float(above.rstrip("π") or 1) * (math.pi if "π" in above else 1) / float(below or 1)


def _draw(canvas: Figure, theory: Theory, simulated: Sequence[Simulated], places: np.ndarray) -> None:
    grid = list(places.flat[: len(theory.panels)])
    for spare in places.flat[len(theory.panels) :]:
        spare.set_visible(False)
    note = ""
    if any(item.point.y is None and item.estimate.stderr for item in simulated):
        note = "bars: ± 1 s.e." + ", of shares Wilson's interval" * any(panel.shares for panel in theory.panels)
    series = dict.fromkeys([curve.series for curve in theory.curves] + [item.point.series for item in simulated])
    colours = colours_of(list(series))
    image, mapped, shows = None, [], TRANSFERABILITY
    for axes, panel in zip(grid, theory.panels, strict=True):
        _label(axes, panel)
        for diagram in theory.diagrams:
            if diagram.panel == panel.name:
                image, shows = _draw_map(axes, diagram), diagram.shows
        for curve in theory.curves:
            if curve.panel == panel.name:
                _draw_curve(axes, curve, colours[curve.series])
        own = [item for item in simulated if item.point.panel == panel.name]
        lined = {curve.series for curve in theory.curves if curve.panel == panel.name}
        _draw_points(axes, panel, own, colours, lined)
        if any(diagram.panel == panel.name for diagram in theory.diagrams) or any(i.point.y is not None for i in own):
            mapped.append(axes)
    _add_legends(canvas, grid, note)
    if image is not None:
        canvas.colorbar(image, ax=mapped, label=shows, fraction=0.06, pad=0.02)


def _add_legends(canvas: Figure, grid: Sequence[Axes], note: str) -> None:
    """Add a legend to each panel if names are few, else one below all panels; the note is below either."""
    named = {name: handle for axes in grid for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    if len(named) > _NAMES_INSIDE:
        own = canvas.legend(
            named.values(),
            named.keys(),
            loc="outside lower center",
            ncols=min(2, len(grid)),
            fontsize="small",
            title=note,
            title_fontproperties={"size": "x-small"},
        )
        own.get_title().set_color(_QUIET)
        return
    if note:
        canvas.supxlabel(note, x=1.0, ha="right", fontsize="x-small", color=_QUIET)  # the layout reserves its space
    for axes in grid:
        if axes.get_legend_handles_labels()[1]:
            axes.legend(fontsize="small")


def _label(axes: Axes, panel: Panel) -> None:
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    for is_log, set_scale, axis, limits in (
        (panel.x_log, axes.set_xscale, axes.xaxis, axes.get_xlim),
        (panel.y_log, axes.set_yscale, axes.yaxis, axes.get_ylim),
    ):
        if is_log:
            set_scale("log")
            axis.set_major_formatter(_plain)
            axis.set_minor_formatter(_between_powers(limits))
    if panel.y_limits is not None:
        axes.set_ylim(*panel.y_limits)


def _plain(value: float, position: float) -> str:
    """Return tick labels without mathematical markup, which a style may switch off."""
    return f"{value:g}"


def _between_powers(limits: Callable[[], tuple[float, float]]) -> Callable[[float, float], str]:
    """Return labels between the powers of ten, at 2 and 5, if the axis spans less than two of them."""

    def label(value: float, position: float) -> str:
        low, high = limits()
        return _plain(value, position) if f"{value:.0e}"[0] in "25" and high < _FEW_POWERS * low else ""

    return label


def _draw_map(axes: Axes, diagram: Diagram) -> QuadMesh:
    is_matrix, limit = diagram.shows != TRANSFERABILITY, diagram.limit
    shown = diagram.values if is_matrix else np.clip(diagram.values, -limit, limit)
    image = axes.pcolormesh(
        diagram.x,
        diagram.y,
        shown,
        shading="nearest",
        cmap=diagram.colours if is_matrix else _MAP,
        vmin=0.0 if is_matrix else -limit,
        vmax=limit,
        rasterized=True,
    )
    axes.grid(visible=False)
    if is_matrix:
        axes.set_aspect("equal")
        axes.invert_yaxis()
    elif shown.min() < 0 < shown.max():
        axes.contour(diagram.x, diagram.y, shown, levels=[0.0], colors="#222222", linewidths=0.8)
    return image


def _draw_curve(axes: Axes, curve: Curve, colour: str) -> None:
    y = np.where(np.isfinite(curve.y), curve.y, np.nan)
    label = "_" if curve.dashed and _has_label(axes, curve.series) else curve.series
    axes.plot(curve.x, y, "--" if curve.dashed else "-", color=colour, linewidth=1.4, label=label)


def _has_label(axes: Axes, series: str) -> bool:
    return series in axes.get_legend_handles_labels()[1]


def _draw_points(
    axes: Axes, panel: Panel, simulated: Sequence[Simulated], colours: dict[str, str], lined: set[str]
) -> None:
    """Draw points with error bars; series without a line are shifted sideways, so that equal means stay visible."""
    beside = [series for series in dict.fromkeys(item.point.series for item in simulated) if series not in lined]
    in_maps = [(item.point.x, item.point.y, item.estimate.value) for item in simulated if item.point.y is not None]
    markers = {series: _MARKERS[i % len(_MARKERS)] for i, series in enumerate(colours)}
    for item in simulated:
        if item.point.y is None and np.isfinite(item.estimate.value):
            filled = colours[item.point.series] if item.estimate.usable else "none"
            named = _has_label(axes, item.point.series)
            place = beside.index(item.point.series) - (len(beside) - 1) / 2 if item.point.series in beside else 0.0
            shift = ScaledTranslation(place * _BESIDE_INCHES, 0, axes.figure.dpi_scale_trans)
            bar = _bar(item.estimate, share=panel.shares)
            axes.errorbar(
                item.point.x,
                item.estimate.value,
                yerr=None if item.estimate.stderr is None else bar,
                fmt=markers[item.point.series],
                markersize=4,
                capsize=2,
                color=colours[item.point.series],
                markerfacecolor=filled,
                label="_" if named else item.point.series,
                transform=axes.transData + shift,
            )
            ends = item.estimate.value + np.array([[-1], [1]]) * bar  # autoscaling ignores shifted points
            axes.update_datalim([(item.point.x, end) for end in ends.ravel()])
    axes.autoscale_view()
    if in_maps:
        axes.grid(visible=False)
        x, y, values = zip(*in_maps, strict=True)
        axes.scatter(x, y, c=values, cmap=_MAP, vmin=-1, vmax=1, marker="s", s=60, edgecolors="#8a9099", linewidths=0.5)


def _bar(mean: Estimate, *, share: bool) -> np.ndarray:
    """Return the lengths of the error bar of a mean, shape (2, 1): one standard error, 0 if unknown.

    For a share of n trials it is Wilson's interval of the same level, within 0 and 1.
    """
    if not share:
        return np.full((2, 1), mean.stderr or 0.0)
    interval = binomtest(round(mean.value * mean.n), mean.n).proportion_ci(_ONE_SIGMA, method="wilson")
    return np.array([[mean.value - interval.low], [interval.high - mean.value]])
