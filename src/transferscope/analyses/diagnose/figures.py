"""Figures of one network: loss landscape, loss along the gradient, and gradients of its layers."""

from collections.abc import Callable, Mapping

import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from transferscope.diagnostics.gradient_stability import SCALE
from transferscope.report.figures.style import mark_styles

Arrays = Mapping[str, np.ndarray]
"""The arrays of a diagnostic's findings."""

_LINE = mark_styles(["line"], None)["line"].colour
_FINE_SPAN = 1000.0  # largest over smallest value from which tenfold steps alone are labelled
_QUANTILES = "gradient_quantiles/"


def draw_gradients(canvas: Figure, arrays: Arrays) -> None:
    """Draw the distribution over examples of the size of back-propagated gradients, a box for each layer."""
    axes = canvas.subplots()
    layers = {name.removeprefix(_QUANTILES): q for name, q in arrays.items() if name.startswith(_QUANTILES)}
    least = min((float(q[q > 0].min()) for q in layers.values() if (q > 0).any()), default=1.0)
    boxes = []
    for name, quantiles in layers.items():
        low, first, middle, third, high = np.maximum(quantiles, least)[[5, 25, 50, 75, 95]]
        boxes.append({"label": name, "whislo": low, "q1": first, "med": middle, "q3": third, "whishi": high})
    axes.bxp(boxes, showfliers=False, medianprops={"color": _LINE, "linewidth": 1.6})
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high > _FINE_SPAN * low else (1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", labelrotation=20 if len(boxes) < 8 else 90)
    axes.set_ylabel("gradient norm of an example at the layer")


def draw_descent(canvas: Figure, arrays: Arrays) -> None:
    """Draw the loss along the negative gradient, in both protocols side by side."""
    protocols = (
        ("descent_gradient_step", "Steps of the gradient's size", "in units of the gradient"),
        ("descent_fixed_step", "Steps of a fixed length", "distance of the weights"),
    )
    for axes, (name, title, unit) in zip(canvas.subplots(1, 2, sharey=True), protocols, strict=True):
        loss = arrays[name]
        axes.plot(SCALE * np.arange(len(loss)), np.where(np.isfinite(loss), loss, np.nan), color=_LINE)
        axes.set_title(title)
        axes.set_xlabel(unit)
    canvas.axes[0].set_ylabel("loss")


_LOG_SPAN = 5.0  # largest over smallest loss from which levels are logarithmic
_LEVELS = 14
_EVERY = 3  # level that has a label
_ALONG = "filter norms, direction"  # not longer than the height at a column's width


def draw_landscape(canvas: Figure, arrays: Arrays) -> None:
    """Draw the loss on a plane, with a cross at the centre; non-finite points are white."""
    canvas.set_layout_engine("compressed")  # "constrained" cuts labels off beside an axes of equal aspect
    axes, axis = canvas.subplots(), arrays["landscape_axis"]
    axes.set_xlabel(f"{_ALONG} 1")
    shown = np.ma.masked_invalid(arrays["landscape_loss"].T)  # the first direction to the right
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
    axes.set_ylabel(f"{_ALONG} 2")


def _levels(low: float, high: float) -> tuple[Normalize, np.ndarray]:
    if low > 0 and high > _LOG_SPAN * low:
        return LogNorm(low, high), np.geomspace(low, high * (1 + 1e-9), _LEVELS)
    return Normalize(low, high), np.linspace(low, high, _LEVELS)


def _digits(levels: np.ndarray) -> int:
    labelled = levels[::_EVERY]
    return 1 + int(np.ceil(np.log10(np.max(np.abs(labelled[1:]) / np.diff(labelled)).clip(min=10))))


FIGURES: Mapping[str, tuple[str, Callable[[Figure, Arrays], None], tuple[float, float]]] = {
    "landscape": ("The loss around the network.", draw_landscape, (4.6, 3.6)),
    "gradient-stability": ("The loss along the gradient.", draw_descent, (7.6, 3.4)),
    "gradient-scaling": ("The size of gradients over the examples, from layer to layer.", draw_gradients, (4.6, 3.6)),
}
"""By diagnostic: caption, drawing function, and size in inches."""
