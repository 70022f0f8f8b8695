"""What the forecast would have said before, from fewer points."""

import pandas as pd

from transferscope.report.blocks import Figure
from transferscope.report.figures.scaling_axes import add_legend, log_axes, new_panels, series_looks
from transferscope.report.figures.style import QUIET, drawing
from transferscope.scaling.analysis import Analysis

MOST_CURVES = 6


def draw_backtests(analysis: Analysis) -> Figure | None:
    """Predicted over observed error against how far ahead it was; None without a back-test."""
    rows = [
        {
            "curve": curve.name,
            "origin": one.origin,
            "size": one.size,
            "ahead": one.size / one.origin,
            "predicted": one.predicted,
            "observed": one.observed,
        }
        for curve in analysis.curves
        if curve.advice is not None
        for one in curve.advice.forecast.backtests
    ]
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    names = list(dict.fromkeys(frame["curve"]))[:MOST_CURVES]
    look = series_looks(names)
    with drawing():
        canvas, (axes,) = new_panels(1, width=6.0, height=2.8)
        axes.axhline(1.0, color=QUIET, linewidth=0.9)
        for name in names:
            part = frame[frame["curve"] == name]
            ratio = part["predicted"] / part["observed"]
            axes.plot(part["ahead"], ratio, look[name].mark, color=look[name].colour, markersize=4, label=name)
        log_axes(axes, x_title="Predicted size over largest seen size", y_title="Predicted over measured error")
        add_legend(canvas, look)
    return Figure(
        name="scaling-backtest",
        canvas=canvas,
        data=frame,
        caption=(
            "Rolling back-test: the same forecast made from fewer points, against the points that were left out. "
            "1 would be a perfect prediction."
        ),
    )
