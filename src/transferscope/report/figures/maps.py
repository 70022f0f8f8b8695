"""Maps in the plane: trained networks by their weights, examples by their features."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from transferscope.report.figures.palette import BASELINE_COLOUR, looks

NO_SOURCE = "from scratch"
"""What the legend calls networks without a source."""

_SMALLEST, _LARGEST = 3.5, 7.0  # points; marks of the fewest and of the most labels


@dataclass(frozen=True)
class Way:
    """Where a network went on the map.

    Attributes:
        source: What it was pre-trained on; "" for nothing.
        method: How it was trained.
        n_target: Number of target labels.
        positions: From the earliest snapshot to the end, shape (T, 2), T at least 1; the start first if it is known.
        has_start: Whether the first position is that of the start.
    """

    source: str
    method: str
    n_target: int
    positions: Float[np.ndarray, "T 2"]
    has_start: bool


def draw_weight_map(canvas: Figure, ways: Sequence[Way], title: str) -> None:
    """Draw networks by their weights: colour for the source, mark for the method and its size for the labels.

    Marks are hollow at the start.

    Args:
        canvas: An empty figure.
        ways: One for each network.
        title: Above the map.
    """
    axes = canvas.subplots()
    sources = list(dict.fromkeys(way.source for way in ways))
    methods = list(dict.fromkeys(way.method for way in ways))
    colours = {source: look.colour for source, look in looks(sources, "" if "" in sources else None).items()}
    marks = {method: look.mark for method, look in looks(methods, None).items()}
    counts = sorted({way.n_target for way in ways})
    sizes = dict(
        zip(counts, np.linspace(_SMALLEST if len(counts) > 1 else _LARGEST, _LARGEST, len(counts)), strict=True)
    )
    for way in ways:
        _draw_way(axes, way, colours[way.source], marks[way.method], float(sizes[way.n_target]))
    _bare(axes, title)
    handles = [Line2D([], [], color=colours[s], linewidth=4, label=s or NO_SOURCE) for s in sources]
    handles += [_mark(marks[m], BASELINE_COLOUR, label=m) for m in methods]
    if len(counts) > 1:
        handles += [_mark("o", BASELINE_COLOUR, label=f"{n:,} labels", size=float(sizes[n])) for n in counts]
    if any(way.has_start for way in ways):
        handles.append(_mark("o", "none", label="start"))
    canvas.legend(handles=handles, loc="outside right upper", fontsize="small")


def draw_feature_map(
    canvas: Figure, positions: Float[np.ndarray, "N 2"], labels: Int[np.ndarray, "N"], classes: Sequence[str]
) -> None:
    """Draw examples by their features, coloured by class; a legend for up to ten classes.

    Args:
        canvas: An empty figure.
        positions: Shape (N, 2).
        labels: Class of each.
        classes: Names of the classes.
    """
    axes = canvas.subplots()
    few = len(classes) <= 10
    for label in np.unique(labels):
        own = positions[labels == label]
        colour = f"C{label}" if few else None
        axes.plot(own[:, 0], own[:, 1], ".", color=colour, markersize=4, label=classes[label])
    _bare(axes, "Features of the examples (t-SNE)")
    if few:
        canvas.legend(loc="outside right upper", fontsize="small", markerscale=2)


def _draw_way(axes: Axes, way: Way, colour: str, mark: str, size: float) -> None:
    x, y = way.positions.T
    axes.plot(x, y, "-", color=colour, linewidth=0.8, alpha=0.5)
    axes.plot(x[1:-1], y[1:-1], ".", color=colour, markersize=2.5, alpha=0.7)
    if way.has_start:
        axes.plot(x[0], y[0], mark, markerfacecolor="none", markeredgecolor=colour, markersize=5, alpha=0.8)
    axes.plot(x[-1], y[-1], mark, color=colour, markersize=size)


def _mark(mark: str, fill: str, *, label: str, size: float = 6.0) -> Line2D:
    line = Line2D([], [], marker=mark, linestyle="", color=BASELINE_COLOUR, markerfacecolor=fill, label=label)
    line.set_markersize(size)
    return line


def _bare(axes: Axes, title: str) -> None:
    """Positions have neither unit nor orientation."""
    axes.set_title(title)
    axes.spines[:].set_visible(False)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.set_aspect("equal", adjustable="datalim")
