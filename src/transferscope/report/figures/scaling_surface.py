"""The error over pre-training and fine-tuning size, seen from both sides."""

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from transferscope.report.blocks import Figure
from transferscope.report.figures.scaling_axes import line_sizes, log_axes, new_panels, short_size
from transferscope.report.figures.style import QUIET, drawing
from transferscope.scaling.surface import Surface

TITLES, SYMBOLS = ("Pre-training size n", "Fine-tuning size s"), ("n", "s")
SHADES = colormaps["viridis"]
MOST_LEVELS, FEW_LEVELS = 24, 6
"""With more levels than the first number, lines are drawn for as few as the second; each point has the colour of the
nearest."""
APART = 0.045
"""Least distance of two names, as a share of the height of a panel."""


def _name_lines(axes: Axes, x: float, drawn: dict[float, tuple[float, str]], symbol: str) -> None:
    """Write the size of each line at its right end, leaving out names that would touch one written before."""
    span = np.ptp(np.log(axes.get_ylim()))
    least, most = min(drawn), max(drawn)
    written: dict[float, str] = {}  # by height
    for level in (least, most, *drawn):
        height = drawn[level][0]
        if all(abs(np.log(height / other)) > APART * span for other in written):
            written[height] = f"{symbol} = {short_size(level)}"
    if len(written) == 1:
        written = {drawn[least][0]: f"{symbol} = {short_size(least)} to {short_size(most)}"}
    colours = {height: colour if len(written) > 1 else QUIET for height, colour in drawn.values()}
    for height, name in written.items():
        axes.annotate(
            name,
            xy=(x, height),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
            color=colours[height],
            annotation_clip=False,
        )


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
            if len(levels) > MOST_LEVELS:  # both sizes vary freely: a few levels stand for all
                levels = np.unique(np.quantile(levels, np.linspace(0, 1, FEW_LEVELS)))
            least = data.sizes[:, other][data.sizes[:, other] > 0].min()
            logs = [
                np.log(np.maximum(sizes, least / 1000)) for sizes in (data.sizes[:, other, None], levels)
            ]  # n may be 0
            nearest = np.abs(logs[0] - logs[1]).argmin(axis=1)
            line = line_sizes(data.sizes[:, column][data.sizes[:, column] > 0].min(), data.sizes[:, column].max())
            colours = [to_hex(SHADES(place)) for place in np.linspace(0.1, 0.85, len(levels))]
            drawn = {}
            for place, (level, colour) in enumerate(zip(levels, colours, strict=True)):
                rows = nearest == place
                fixed = np.full_like(line, level)
                fitted = fit.predict(np.stack([line, fixed] if column == 0 else [fixed, line], axis=1))
                axes.plot(data.sizes[rows, column], data.errors[rows], "o", color=colour, markersize=3)
                axes.plot(line, fitted, color=colour, linewidth=1.0)
                drawn[float(level)] = (float(fitted[-1]), colour)
            axes.set_title(f"Lines of equal {SYMBOLS[other]}")
            log_axes(axes, x_title=TITLES[column], y_title="Target error")
            _name_lines(axes, float(line[-1]), drawn, SYMBOLS[other])
    frame = pd.DataFrame(
        {"n": data.sizes[:, 0], "s": data.sizes[:, 1], "error": data.errors, "fitted": fit.predict(data.sizes)}
    )
    return Figure(
        name=name,
        canvas=canvas,
        data=frame,
        caption=f"Target error over both sizes. Dots: measured. Lines: the law {chosen}, {fit.law.formula}. Dark to "
        "light: small to large.",
    )
