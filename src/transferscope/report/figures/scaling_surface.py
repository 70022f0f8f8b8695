"""The error over pre-training and fine-tuning size, seen from both sides."""

import numpy as np
import pandas as pd

from transferscope.report.blocks import Figure
from transferscope.report.figures.scaling_axes import line_sizes, log_axes, new_panels
from transferscope.report.figures.style import drawing
from transferscope.scaling.surface import Surface

TITLES = ("Pre-training size n", "Fine-tuning size s")


def draw_surface(surface: Surface, *, name: str, law: str = "") -> Figure:
    """Error over n for each s, and over s for each n, with the lines of one law.

    Args:
        surface: The fitted surface.
        name: Name of the figure's files.
        law: The law to draw; empty for the one that is best within the measured sizes.
    """
    chosen = law or surface.interpolating
    fit = surface.fits[chosen]
    data = fit.observations
    with drawing():
        canvas, panels = new_panels(2, width=4.2, height=3.1)
        for column, axes in enumerate(panels):
            other = 1 - column
            levels = np.unique(data.sizes[:, other])
            line = line_sizes(data.sizes[:, column][data.sizes[:, column] > 0].min(), data.sizes[:, column].max())
            for place, level in enumerate(levels):
                rows = data.sizes[:, other] == level
                colour = str(0.15 + 0.6 * place / max(len(levels) - 1, 1))
                sizes = np.stack(
                    [line, np.full_like(line, level)] if column == 0 else [np.full_like(line, level), line]
                )
                axes.plot(data.sizes[rows, column], data.errors[rows], "o", color="#0072b2", markersize=3)
                axes.plot(line, fit.predict(sizes.T), color=colour, linewidth=1.0)
            axes.set_title(f"Lines of equal {'s' if column == 0 else 'n'}")
            log_axes(axes, x_title=TITLES[column], y_title="Target error")
    frame = pd.DataFrame(
        {"n": data.sizes[:, 0], "s": data.sizes[:, 1], "error": data.errors, "fitted": fit.predict(data.sizes)}
    )
    return Figure(
        name=name,
        canvas=canvas,
        data=frame,
        caption=f"Target error over both sizes. Dots: measured. Lines: the law {chosen}, {fit.law.formula}.",
    )
