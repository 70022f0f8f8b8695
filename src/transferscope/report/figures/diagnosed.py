"""What the diagnostics of one network saw, as curves."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from transferscope.report.figures.palette import BASELINE_COLOUR, looks

_LINE = looks(["line"], None)["line"].colour
_DECADES = 7  # of a density below its peak: what the smoothing leaves far from any eigenvalue says nothing
_FINE_SPAN = 1000.0  # largest over smallest value from which tenfold steps alone are labelled
_QUANTILES = "gradient_quantiles/"


def draw_interpolation(canvas: Figure, t: Float[np.ndarray, "T"], loss: Float[np.ndarray, "T"]) -> None:
    """Loss on the line from the network (t = 0) to the start (t = 1), with the chord between its ends."""
    axes = canvas.subplots()
    axes.plot(t[[0, -1]], loss[[0, -1]], "--", color=BASELINE_COLOUR, label="straight between the ends")
    axes.plot(t, loss, "o-", color=_LINE, markersize=3, label="loss")
    axes.set_xlabel("from the network (0) to its start (1)")
    axes.set_ylabel("loss")
    axes.legend()


def draw_density(canvas: Figure, points: Float[np.ndarray, "G"], density: Float[np.ndarray, "G"]) -> None:
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
        canvas: An empty figure.
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
    canvas: Figure, gradient_step: Float[np.ndarray, "T"], fixed_step: Float[np.ndarray, "T"], scale: float
) -> None:
    """Loss along the negative gradient, in both protocols side by side.

    Args:
        canvas: An empty figure.
        gradient_step: Loss after each step of the gradient's size times `scale`.
        fixed_step: Loss after each step of length `scale`; NaN for a zero gradient.
        scale: Length of a step.
    """
    titles = {"Steps of the gradient's size": gradient_step, "Steps of a fixed length": fixed_step}
    for axes, (title, loss) in zip(canvas.subplots(1, 2, sharey=True), titles.items(), strict=True):
        axes.plot(scale * np.arange(len(loss)), np.where(np.isfinite(loss), loss, np.nan), color=_LINE)
        axes.set_title(title)
        axes.set_xlabel("in units of the gradient" if loss is gradient_step else "distance of the weights")
    canvas.axes[0].set_ylabel("loss")


def _box(name: str, quantiles: Float[np.ndarray, "q"]) -> dict[str, object]:
    low, first, middle, third, high = quantiles[[5, 25, 50, 75, 95]]
    return {"label": name, "whislo": low, "q1": first, "med": middle, "q3": third, "whishi": high}


def _logarithmic(axes: Axes) -> None:
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high > _FINE_SPAN * low else (1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
