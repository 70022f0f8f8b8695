"""Rates and transfer gaps of several curves with their intervals."""

import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from transferscope.report.blocks import Figure
from transferscope.report.figures.scaling_axes import log_axes, new_panels
from transferscope.report.figures.style import drawing
from transferscope.scaling.analysis import Analysis

COLOUR = "#0072b2"
LEAST_NUMBERS = 3
NAMES = {"alpha": "Pre-training rate alpha", "C": "Transfer gap C"}


def draw_parameters(analysis: Analysis) -> Figure | None:
    """alpha and C of every curve under the common prior; None when there is one curve only."""
    if analysis.together is None:
        return None
    rows = []
    for name, posterior in zip(analysis.together.names, analysis.together.posteriors, strict=True):
        for parameter, values in (("alpha", posterior.alpha), ("C", posterior.C)):
            low, median, high = (posterior.quantile(values, level) for level in (0.05, 0.5, 0.95))
            rows.append({"curve": name, "parameter": parameter, "median": median, "low": low, "high": high})
    caption = (
        "Pre-training rate alpha and transfer gap C of each curve: posterior medians and 90 % intervals under a prior "
        "on log D and alpha that was fitted to all curves."
    )
    frame = pd.DataFrame(rows)
    numbered = frame["curve"].str.extract(r"^(?P<column>[^,]+) = (?P<number>[^,]+)$")
    numbers = pd.to_numeric(numbered["number"], errors="coerce")
    if (numbers > 0).all() and numbers.nunique() >= LEAST_NUMBERS and numbered["column"].nunique() == 1:
        return _over_numbers(frame.assign(number=numbers), str(numbered["column"].iloc[0]), caption)
    return parameter_figure(frame, name="scaling-parameters", caption=caption)


def _over_numbers(frame: pd.DataFrame, column: str, caption: str) -> Figure:
    """Medians with intervals over a number that tells curves apart, such as the size of a network (Figure 4 right)."""
    with drawing():
        canvas, panels = new_panels(2, width=3.6, height=2.6)
        for axes, (parameter, part) in zip(panels, frame.groupby("parameter", sort=False), strict=True):
            arms = np.stack([part["median"] - part["low"], part["high"] - part["median"]])
            axes.errorbar(part["number"], part["median"], yerr=np.maximum(arms, 0), fmt="o", color=COLOUR, markersize=4)
            log_axes(axes, x_title=column, y_title=NAMES[str(parameter)])
    return Figure(name="scaling-parameters", canvas=canvas, data=frame, caption=caption)


def parameter_figure(frame: pd.DataFrame, *, name: str, caption: str) -> Figure:
    """Medians with intervals, one panel for each parameter.

    Args:
        frame: Columns curve, parameter, median, low, high.
        name: Name of the figure's files.
        caption: Its caption.
    """
    parameters = list(dict.fromkeys(frame["parameter"]))
    curves = list(dict.fromkeys(frame["curve"]))
    with drawing():
        canvas, panels = new_panels(len(parameters), width=3.6, height=0.9 + 0.24 * len(curves))
        for axes, parameter in zip(panels, parameters, strict=True):
            part = frame[frame["parameter"] == parameter].set_index("curve").reindex(curves)
            arms = np.stack([part["median"] - part["low"], part["high"] - part["median"]])
            axes.errorbar(
                part["median"], range(len(curves)), xerr=np.maximum(arms, 0), fmt="o", color=COLOUR, markersize=4
            )
            axes.set_yticks(range(len(curves)), curves if axes is panels[0] else [""] * len(curves))
            axes.set_xlabel(NAMES.get(parameter, parameter))
            axes.xaxis.set_major_locator(MaxNLocator(5))
            axes.invert_yaxis()
    return Figure(name=name, canvas=canvas, data=frame, caption=caption)
