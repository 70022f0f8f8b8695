"""The figures of one network: the loss around it, its gradients and curvature, and maps of features and weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from transferscope.report.figures.style import BASELINE_COLOUR, mark_styles

_LINE = mark_styles(["line"], None)["line"].colour
_DECADES = 7  # of a density below its peak: what the smoothing leaves far from any eigenvalue says nothing
_FINE_SPAN = 1000.0  # largest over smallest value from which tenfold steps alone are labelled
_QUANTILES = "gradient_quantiles/"


def draw_interpolation(canvas: Figure, t: Float[np.ndarray, " T"], loss: Float[np.ndarray, " T"]) -> None:
    """Loss on the line from the network (t = 0) to the start (t = 1), with the chord between its ends."""
    axes = canvas.subplots()
    axes.plot(t[[0, -1]], loss[[0, -1]], "--", color=BASELINE_COLOUR, label="straight between the ends")
    axes.plot(t, loss, "o-", color=_LINE, markersize=3, label="loss")
    axes.set_xlabel("from the network (0) to its start (1)")
    axes.set_ylabel("loss")
    axes.legend()


def draw_density(canvas: Figure, points: Float[np.ndarray, " G"], density: Float[np.ndarray, " G"]) -> None:
    """Spectral density of the Hessian on a logarithmic axis."""
    axes = canvas.subplots()
    top = float(density.max())
    axes.plot(points, np.maximum(density, top * 10.0**-_DECADES), color=_LINE, linewidth=1.2)
    _logarithmic(axes)
    axes.set_ylim(top * 10.0 ** (0.1 - _DECADES), 3 * top)
    axes.set_xlabel("eigenvalue of the Hessian")
    axes.set_ylabel("density")


def draw_gradients(canvas: Figure, arrays: Mapping[str, np.ndarray]) -> None:
    """Distribution over examples of the size of back-propagated gradients, a box for each layer.

    Args:
        arrays: "gradient_quantiles/LAYER": the quantiles 0 %, 1 %, ..., 100 % of one layer.
    """
    axes = canvas.subplots()
    layers = {name.removeprefix(_QUANTILES): q for name, q in arrays.items() if name.startswith(_QUANTILES)}
    least = min((float(q[q > 0].min()) for q in layers.values() if (q > 0).any()), default=1.0)
    boxes = [_box(name, np.maximum(quantiles, least)) for name, quantiles in layers.items()]
    axes.bxp(boxes, showfliers=False, medianprops={"color": _LINE, "linewidth": 1.6})
    _logarithmic(axes)
    axes.tick_params(axis="x", labelrotation=20 if len(boxes) < 8 else 90)
    axes.set_ylabel("gradient norm of an example at the layer")


def draw_descent(
    canvas: Figure, gradient_step: Float[np.ndarray, " T"], fixed_step: Float[np.ndarray, " T"], scale: float
) -> None:
    """Loss along the negative gradient, in both protocols side by side.

    Args:
        gradient_step: Loss after each step of the gradient's size times `scale`.
        fixed_step: Loss after each step of length `scale`; NaN for a zero gradient.
    """
    titles = {"Steps of the gradient's size": gradient_step, "Steps of a fixed length": fixed_step}
    for axes, (title, loss) in zip(canvas.subplots(1, 2, sharey=True), titles.items(), strict=True):
        axes.plot(scale * np.arange(len(loss)), np.where(np.isfinite(loss), loss, np.nan), color=_LINE)
        axes.set_title(title)
        axes.set_xlabel("in units of the gradient" if loss is gradient_step else "distance of the weights")
    canvas.axes[0].set_ylabel("loss")


def _box(name: str, quantiles: Float[np.ndarray, " q"]) -> dict[str, object]:
    low, first, middle, third, high = quantiles[[5, 25, 50, 75, 95]]
    return {"label": name, "whislo": low, "q1": first, "med": middle, "q3": third, "whishi": high}


def _logarithmic(axes: Axes) -> None:
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high > _FINE_SPAN * low else (1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


_LOG_SPAN = 5.0  # largest over smallest loss from which levels are logarithmic
_LEVELS = 14
_EVERY = 3  # level that has a label
_ALONG = "filter norms along random direction"


def draw_landscape(canvas: Figure, axis: Float[np.ndarray, " R"], loss: np.ndarray, *, along: str = _ALONG) -> None:
    """Draw the loss on a line or plane, with a cross at the centre.

    Args:
        loss: Shape (R,) for a line or (R, R) for a plane; points where it is not finite are left white.
        along: What the coordinates count, and along what.
    """
    if loss.ndim == 1:
        _draw_line(canvas, axis, loss, along)
    else:
        _draw_plane(canvas, axis, loss, along)


def _draw_line(canvas: Figure, axis: Float[np.ndarray, " R"], loss: Float[np.ndarray, " R"], along: str) -> None:
    axes = canvas.subplots()
    axes.axvline(0, color=BASELINE_COLOUR, linewidth=0.8)
    axes.plot(axis, np.where(np.isfinite(loss), loss, np.nan), color=_LINE)
    axes.set_xlabel(f"{along} 1")
    axes.set_ylabel("loss")


def _draw_plane(canvas: Figure, axis: Float[np.ndarray, " R"], loss: Float[np.ndarray, "R R"], along: str) -> None:
    axes = canvas.subplots()
    shown = np.ma.masked_invalid(loss.T)  # the first direction to the right
    if shown.count() and shown.min() < shown.max():
        norm, levels = _levels(float(shown.min()), float(shown.max()))
        image = axes.contourf(axis, axis, shown, levels=levels, norm=norm, cmap="viridis_r")
        lines = axes.contour(axis, axis, shown, levels=levels, norm=norm, colors="white", linewidths=0.5, alpha=0.7)
        digits = _digits(levels)
        axes.clabel(lines, levels=levels[_EVERY:-1:_EVERY], fmt=lambda value: f"{value:.{digits}g}", fontsize=7)
        plain = FuncFormatter(lambda value, _: f"{value:.{digits}g}")
        canvas.colorbar(image, ax=axes, label="loss", shrink=0.9, format=plain, ticks=levels[::_EVERY])
    axes.plot(0, 0, "+", color="black", markersize=9)
    axes.set_aspect("equal")
    axes.grid(visible=False)
    axes.set_xlabel(f"{along} 1")
    axes.set_ylabel(f"{along} 2")


def _levels(low: float, high: float) -> tuple[Normalize, np.ndarray]:
    if low > 0 and high > _LOG_SPAN * low:
        levels = np.geomspace(low, high * (1 + 1e-9), _LEVELS)
        return LogNorm(low, high), levels
    return Normalize(low, high), np.linspace(low, high, _LEVELS)


def _digits(levels: np.ndarray) -> int:
    labelled = levels[::_EVERY]
    return 1 + int(np.ceil(np.log10(np.max(np.abs(labelled[1:]) / np.diff(labelled)).clip(min=10))))


NO_SOURCE = "from scratch"
"""What the legend calls networks without a source."""

_SMALLEST, _LARGEST = 3.5, 7.0  # points; marks of the fewest and of the most labels


@dataclass(frozen=True)
class Trajectory:
    """Where a network went on the map.

    Attributes:
        source: What it was pre-trained on; "" for nothing.
        positions: From the earliest snapshot to the end, shape (T, 2), T at least 1; the start first if it is known.
        has_start: Whether the first position is that of the start.
    """

    source: str
    method: str
    n_target: int
    positions: Float[np.ndarray, "T 2"]
    has_start: bool


def draw_weight_map(canvas: Figure, trajectories: Sequence[Trajectory], title: str) -> None:
    """Draw networks by their weights: colour for the source, mark for the method and its size for the labels.

    Marks are hollow at the start.
    """
    axes = canvas.subplots()
    sources = list(dict.fromkeys(one.source for one in trajectories))
    methods = list(dict.fromkeys(one.method for one in trajectories))
    colours = {source: style.colour for source, style in mark_styles(sources, "" if "" in sources else None).items()}
    marks = {method: style.mark for method, style in mark_styles(methods, None).items()}
    counts = sorted({one.n_target for one in trajectories})
    sizes = dict(
        zip(counts, np.linspace(_SMALLEST if len(counts) > 1 else _LARGEST, _LARGEST, len(counts)), strict=True)
    )
    for one in trajectories:
        _draw_trajectory(axes, one, colours[one.source], marks[one.method], float(sizes[one.n_target]))
    _bare(axes, title)
    handles = [Line2D([], [], color=colours[s], linewidth=4, label=s or NO_SOURCE) for s in sources]
    handles += [_mark(marks[m], BASELINE_COLOUR, label=m) for m in methods]
    if len(counts) > 1:
        handles += [_mark("o", BASELINE_COLOUR, label=f"{n:,} labels", size=float(sizes[n])) for n in counts]
    if any(one.has_start for one in trajectories):
        handles.append(_mark("o", "none", label="start"))
    canvas.legend(handles=handles, loc="outside right upper", fontsize="small")


def draw_feature_map(
    canvas: Figure, positions: Float[np.ndarray, "N 2"], labels: Int[np.ndarray, " N"], classes: Sequence[str]
) -> None:
    """Draw examples by their features, coloured by class; a legend for up to ten classes."""
    axes = canvas.subplots()
    few = len(classes) <= 10
    for label in np.unique(labels):
        own = positions[labels == label]
        colour = f"C{label}" if few else None
        axes.plot(own[:, 0], own[:, 1], ".", color=colour, markersize=4, label=classes[label])
    _bare(axes, "Features of the examples (t-SNE)")
    if few:
        canvas.legend(loc="outside right upper", fontsize="small", markerscale=2)


def _draw_trajectory(axes: Axes, one: Trajectory, colour: str, mark: str, size: float) -> None:
    x, y = one.positions.T
    axes.plot(x, y, "-", color=colour, linewidth=0.8, alpha=0.5)
    axes.plot(x[1:-1], y[1:-1], ".", color=colour, markersize=2.5, alpha=0.7)
    if one.has_start:
        axes.plot(x[0], y[0], mark, markerfacecolor="none", markeredgecolor=colour, markersize=5, alpha=0.8)
    axes.plot(x[-1], y[-1], mark, color=colour, markersize=size)


def _mark(mark: str, fill: str, *, label: str, size: float = 6.0) -> Line2D:
    line = Line2D([], [], marker=mark, linestyle="", color=BASELINE_COLOUR, markerfacecolor=fill, label=label)
    line.set_markersize(size)
    return line


def _bare(axes: Axes, title: str) -> None:
    axes.set_title(title)
    axes.spines[:].set_visible(False)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.set_aspect("equal", adjustable="datalim")
