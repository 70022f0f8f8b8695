"""Errors above the fitted transfer gap, in which the law is a straight line."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from transferscope.report.blocks import Figure
from transferscope.report.figures.scaling_axes import line_sizes, log_axes, new_panels
from transferscope.report.figures.style import drawing
from transferscope.scaling.analysis import Analysis, CurveAnalysis

MOST_PANELS = 9
COLOUR = "#0072b2"


def draw_linearised(analysis: Analysis) -> Figure | None:
    """Error - C over n with the fitted D n^-alpha; None when no curve has a fit with two points above its C."""
    shown = [curve for curve in analysis.curves if _above(curve).sum() > 1][:MOST_PANELS]
    if not shown:
        return None
    with drawing():
        canvas, panels = new_panels(len(shown))
        rows = [_draw(axes, curve) for axes, curve in zip(panels, shown, strict=True)]
    return Figure(
        name="scaling-linearised",
        canvas=canvas,
        data=pd.concat(rows, ignore_index=True),
        caption=(
            "Error above the fitted transfer gap C. The law D n^-alpha + C is a straight line here; points that bend "
            "away from it speak against the law. Points below C are left out. Where the data do not determine C, "
            "another C fits about as well."
        ),
    )


def _above(curve: CurveAnalysis) -> np.ndarray:
    """Which of the points of the fit lie above its C; none without a fit, or where nothing falls."""
    fit = curve.fit
    if fit.status == "too_few" or fit.theta[1] <= 0:
        return np.zeros(len(fit.observations), dtype=bool)
    above: np.ndarray = fit.observations.errors > fit.theta[2]
    return above


def _draw(axes: Axes, curve: CurveAnalysis) -> pd.DataFrame:
    fit, above = curve.fit, _above(curve)
    gap = float(fit.theta[2])
    n, left = fit.observations.sizes[above, 0], fit.observations.errors[above] - gap
    line = line_sizes(float(n.min()), float(n.max()))
    axes.plot(n, left, "o", color=COLOUR, markersize=4)
    axes.plot(line, fit.predict(line) - gap, color=COLOUR, linewidth=1.2)
    axes.set_title(curve.name)
    log_axes(axes, x_title="Pre-training size n", y_title=f"Target error - C  (C = {gap:.3g})", strictly=True)
    return pd.DataFrame({"curve": curve.name, "n": n, "error_above_C": left, "C": gap})
