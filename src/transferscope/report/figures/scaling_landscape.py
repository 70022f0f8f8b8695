"""The loss over rate alpha and coefficient D: why the two cannot be told apart."""

import numpy as np
import pandas as pd
from jaxtyping import Float

from transferscope.report.blocks import Figure
from transferscope.report.figures.scaling_axes import log_axes, new_panels
from transferscope.report.figures.style import drawing
from transferscope.scaling.analysis import Analysis
from transferscope.scaling.observations import Observations

ALPHAS, DS = np.linspace(0.02, 1.0, 80), np.linspace(0.02, 2.0, 80)


def landscape(
    data: Observations, alphas: Float[np.ndarray, " A"] = ALPHAS, ds: Float[np.ndarray, " D"] = DS
) -> Float[np.ndarray, "A D"]:
    """Root mean square residual of the error with alpha and D held and the best C >= 0.

    Args:
        data: Errors in one size above 0.
        alphas: Rates.
        ds: Coefficients D.

    Returns:
        For each pair.
    """
    power = data.sizes[:, 0] ** -alphas[:, None]  # (A, m)
    left = data.errors - ds[:, None] * power[:, None, :]  # (A, D, m): what C is to explain
    C = np.maximum(left.mean(axis=2, keepdims=True), 0)
    result: Float[np.ndarray, "A D"] = np.sqrt(np.square(left - C).mean(axis=2))
    return result


MOST_CURVES = 6
FAR = 30.0
"""Residuals this many times the smallest are all drawn alike."""

RATES = np.geomspace(0.03, 2.0, 80)
"""Rates on the page of a table, on a logarithmic axis like D."""


def draw_fit_landscapes(analysis: Analysis) -> Figure | None:
    """The landscape of each curve that has a fit, over the rates and coefficients that could be; None without one."""
    shown = [curve for curve in analysis.curves if curve.fit.status != "too_few"][:MOST_CURVES]
    if not shown:
        return None
    rows = []
    with drawing():
        canvas, panels = new_panels(len(shown))
        for axes, curve in zip(panels, shown, strict=True):
            data = curve.fit.observations
            n, fall = data.sizes[:, 0], max(float(np.ptp(data.errors)), 1e-6)
            ds = fall * np.geomspace(0.3 * n.min() ** RATES[0], 3 * n.min() ** RATES[-1], 80)
            loss = landscape(data, RATES, ds)
            least = max(float(loss.min()), 1e-6 * float(data.errors.mean()))
            axes.contourf(RATES, ds, np.log10(np.clip(loss.T / least, 1, FAR)), levels=14, cmap="viridis")
            place = np.unravel_index(loss.argmin(), loss.shape)
            best = (RATES[place[0]], ds[place[1]])
            axes.plot(*best, "x", color="white", markersize=6, markeredgewidth=1.6, clip_on=False)
            log_axes(axes, x_title="Pre-training rate alpha", y_title="D")
            axes.set_title(curve.name)
            rows.append(_listed(curve.name, RATES, ds, loss))
    caption = (
        "Root mean square residual (log scale, dark is small) over alpha and D, with the best C for each. Cross: the "
        "smallest. A long dark valley is why alpha, D and C may not be told apart."
    )
    return Figure(name="scaling-landscape", canvas=canvas, data=pd.concat(rows, ignore_index=True), caption=caption)


def _listed(
    name: str, alphas: Float[np.ndarray, " A"], ds: Float[np.ndarray, " D"], loss: Float[np.ndarray, "A D"]
) -> pd.DataFrame:
    alpha, D = (axis.ravel() for axis in np.meshgrid(alphas, ds, indexing="ij"))
    return pd.DataFrame({"series": name, "alpha": alpha.round(5), "D": D.round(5), "rmse": loss.ravel().round(7)})


def draw_landscapes(curves: dict[str, Observations], *, name: str) -> Figure:
    """One landscape for each curve (Figures 13 right and 14 of Mikami et al. 2021); dark is a good fit."""
    rows = []
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
            rows.append(_listed(series, ALPHAS, DS, loss))
    caption = (
        "Root mean square residual (log scale, dark is small) over alpha and D, with the best C for each. Cross: the "
        "smallest. Along the dark valley the data tell alpha and D apart by little."
    )
    return Figure(name=name, canvas=canvas, data=pd.concat(rows, ignore_index=True), caption=caption)
