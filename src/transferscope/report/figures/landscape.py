"""The loss around a network, as a line or as contours."""

import numpy as np
from jaxtyping import Float
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from transferscope.report.figures.palette import BASELINE_COLOUR, looks

_LOG_SPAN = 5.0  # largest over smallest loss from which levels are logarithmic
_LEVELS = 14
_EVERY = 3  # level that has a label
_ALONG = "filter norms along random direction"
_LINE = looks(["loss"], None)["loss"].colour


def draw_landscape(canvas: Figure, axis: Float[np.ndarray, "R"], loss: np.ndarray, *, along: str = _ALONG) -> None:
    """Draw the loss on a line or plane, with a cross at the centre.

    Args:
        canvas: An empty figure.
        axis: Coordinates of the points on each axis.
        loss: Shape (R,) for a line or (R, R) for a plane; points where it is not finite are left white.
        along: What the coordinates count, and along what.
    """
    if loss.ndim == 1:
        _draw_line(canvas, axis, loss, along)
    else:
        _draw_plane(canvas, axis, loss, along)


def _draw_line(canvas: Figure, axis: Float[np.ndarray, "R"], loss: Float[np.ndarray, "R"], along: str) -> None:
    axes = canvas.subplots()
    axes.axvline(0, color=BASELINE_COLOUR, linewidth=0.8)
    axes.plot(axis, np.where(np.isfinite(loss), loss, np.nan), color=_LINE)
    axes.set_xlabel(f"{along} 1")
    axes.set_ylabel("loss")


def _draw_plane(canvas: Figure, axis: Float[np.ndarray, "R"], loss: Float[np.ndarray, "R R"], along: str) -> None:
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
    """Significant digits that tell labelled levels apart."""
    labelled = levels[::_EVERY]
    return 1 + int(np.ceil(np.log10(np.max(np.abs(labelled[1:]) / np.diff(labelled)).clip(min=10))))
