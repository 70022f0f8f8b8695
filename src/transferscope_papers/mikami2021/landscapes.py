"""Goodness of fit over alpha and D: Figures 13 right and 14 of the Syn2Real paper."""

import numpy as np
import pandas as pd
from jaxtyping import Float

from transferscope.analyses.scaling.axes import log_axes, new_panels
from transferscope.report.blocks import Figure
from transferscope.report.figures.style import drawing
from transferscope.scaling.observations import Observations

ALPHAS, DS = np.linspace(0.02, 1.0, 80), np.linspace(0.02, 2.0, 80)


def landscape(data: Observations) -> Float[np.ndarray, "A D"]:
    """Return the RMS residual of errors in one size at every alpha and D of the axes, with the best C >= 0."""
    power = data.sizes[:, 0] ** -ALPHAS[:, None]  # (A, m)
    left = data.errors - DS[:, None] * power[:, None, :]  # (A, D, m): remainder for C
    C = np.maximum(left.mean(axis=2, keepdims=True), 0)
    return np.asarray(np.sqrt(np.square(left - C).mean(axis=2)))


def valley_widths(curves: dict[str, Observations]) -> Float[np.ndarray, " curves"]:
    """Return the factor by which alpha varies while residuals are within 10 % of the smallest."""
    ends = []
    for data in curves.values():
        loss = landscape(data)
        valley = ALPHAS[(loss < 1.1 * loss.min()).any(axis=1)]
        ends.append(valley.max() / valley.min())
    return np.array(ends)


def draw_alike() -> Figure:
    """Draw two similar laws with C = 0.5 (Figure 13 left)."""
    n = np.geomspace(1_000, 64_000, 50)
    pairs = {f"D = {D:g}, alpha = {alpha:g}": 0.5 + D * n**-alpha for D, alpha in ((0.5, 0.4), (1.0, 0.5))}
    with drawing():
        canvas, (axes,) = new_panels(1)
        for (label, errors), dashed in zip(pairs.items(), ("-", "--"), strict=True):
            axes.plot(n, errors, dashed, label=label)
        axes.legend(fontsize=8)
        log_axes(axes, x_title="Pretraining images n", y_title="Target error")
    caption = "D n^-alpha + C with C = 0.5 for two pairs of D and alpha: almost the same curve."
    return Figure("mikami2021-fig13-left", canvas, pd.DataFrame({"n": n, **pairs}), caption)


def draw_landscapes(curves: dict[str, Observations], *, name: str) -> Figure:
    """Draw one landscape for each curve (Figures 13 right and 14 of Mikami et al. 2021); dark is a good fit."""
    rows = []
    alpha, D = (axis.ravel().round(5) for axis in np.meshgrid(ALPHAS, DS, indexing="ij"))
    with drawing():
        canvas, panels = new_panels(len(curves))
        for axes, (series, data) in zip(panels, curves.items(), strict=True):
            loss = landscape(data)
            axes.contourf(ALPHAS, DS, np.log10(loss.T), levels=14, cmap="viridis")
            place = np.unravel_index(loss.argmin(), loss.shape)
            best = (ALPHAS[place[0]], DS[place[1]])
            axes.plot(*best, "x", color="white", markersize=6, markeredgewidth=1.6, clip_on=False)
            axes.set_title(series)
            axes.set(xlabel="alpha", ylabel="D")
            rows.append(pd.DataFrame({"series": series, "alpha": alpha, "D": D, "rmse": loss.ravel().round(7)}))
    caption = (
        "Root mean square residual (log scale, dark is small) over alpha and D, with the best C for each. Cross: the "
        "smallest. Along the dark valley the data barely distinguish alpha and D."
    )
    return Figure(name=name, canvas=canvas, data=pd.concat(rows, ignore_index=True), caption=caption)
