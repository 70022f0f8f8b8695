"""Errors over pre-training sizes with the fitted law, its band, and what lies beyond the measured sizes."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from transferscope.report.blocks import Figure
from transferscope.report.figures.scaling_axes import line_sizes, log_axes, mark_extrapolated, new_panels
from transferscope.report.figures.style import drawing
from transferscope.scaling.analysis import Analysis, CurveAnalysis

MOST_PANELS = 9
COLOUR, FORECAST = "#0072b2", "#d55e00"


def draw_curves(analysis: Analysis) -> Figure | None:
    """Points, the fitted law, its 90 % band and the forecasts; None when no curve has two sizes."""
    shown = [curve for curve in analysis.curves if curve.advice is not None][:MOST_PANELS]
    if not shown:
        return None
    with drawing():
        canvas, panels = new_panels(len(shown))
        rows = [_draw(axes, curve, analysis.question.target_error) for axes, curve in zip(panels, shown, strict=True)]
    return Figure(
        name="scaling-curves",
        canvas=canvas,
        data=pd.concat(rows, ignore_index=True),
        caption=(
            "Target error over pre-training size. Dots: measured. Line and band: posterior median and 90 % interval of "
            "D n^-alpha + C. Grey: beyond the measured sizes, with the forecasts of the combination of laws and their "
            "90 % intervals. Dashed: the target error."
        ),
    )


def _draw(axes: Axes, curve: CurveAnalysis, target: float | None) -> pd.DataFrame:
    assert curve.advice is not None
    data, forecast, posterior = curve.observations, curve.advice.forecast, curve.advice.posterior
    n = data.sizes[:, 0]
    line = line_sizes(n[n > 0].min(), forecast.sizes.max())
    drawn = posterior.predict(line)
    low, middle, high = ([posterior.quantile(column, level) for column in drawn.T] for level in (0.05, 0.5, 0.95))
    mark_extrapolated(axes, n.max(), forecast.sizes.max())
    axes.fill_between(line, low, high, color=COLOUR, alpha=0.15, linewidth=0)
    axes.plot(line, middle, color=COLOUR, linewidth=1.4)
    axes.plot(n[n > 0], data.errors[n > 0], "o", color=COLOUR, markersize=4)
    if np.isfinite(forecast.low).all():
        arms = np.stack([forecast.predicted - forecast.low, forecast.high - forecast.predicted])
        axes.errorbar(
            forecast.sizes, forecast.predicted, yerr=np.maximum(arms, 0), fmt="s", color=FORECAST, markersize=3
        )
    if target is not None:
        axes.axhline(target, color=FORECAST, linestyle="--", linewidth=0.9)
    axes.set_title(curve.name)
    log_axes(axes, x_title="Pre-training size n", y_title="Target error")
    measured = pd.DataFrame({"curve": curve.name, "kind": "measured", "n": n, "error": data.errors})
    predicted = pd.DataFrame(
        {
            "curve": curve.name,
            "kind": "forecast",
            "n": forecast.sizes,
            "error": forecast.predicted,
            "low": forecast.low,
            "high": forecast.high,
        }
    )
    return pd.concat([measured, predicted], ignore_index=True)
