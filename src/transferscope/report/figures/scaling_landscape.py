"""The loss over rate alpha and coefficient D: why the two cannot be told apart."""

import numpy as np
import pandas as pd
from jaxtyping import Float

from transferscope.report.blocks import Figure
from transferscope.report.figures.scaling_axes import new_panels
from transferscope.report.figures.style import drawing
from transferscope.scaling.laws.power_floor import POWER_FLOOR
from transferscope.scaling.observations import Observations
from transferscope.scaling.solve import Effort, Problem, solve

ALPHAS, DS = np.linspace(0.02, 1.0, 36), np.linspace(0.02, 2.0, 36)
GIVEN_BOTH = Effort(n_starts=1, max_steps=20, tolerance=1e-9)


def landscape(data: Observations) -> Float[np.ndarray, "A D"]:
    """Root mean square residual of the error with alpha and D held and C fitted, over ALPHAS and DS."""
    alpha, D = (axis.ravel() for axis in np.meshgrid(ALPHAS, DS, indexing="ij"))
    fixed = np.stack([alpha, D, np.full_like(D, np.nan)], axis=1)
    y = np.repeat(data.errors[None], len(alpha), axis=0)
    cost = np.concatenate(
        [
            solve(
                Problem(POWER_FLOOR, data.sizes, y[rows], np.ones_like(y[rows]), "linear", fixed[rows]), GIVEN_BOTH
            ).cost
            for rows in np.array_split(np.arange(len(alpha)), len(ALPHAS))
        ]
    )
    return np.sqrt(cost / len(data)).reshape(len(ALPHAS), len(DS))


def draw_landscapes(curves: dict[str, Observations], *, name: str) -> Figure:
    """One landscape for each curve (Figures 13 right and 14 of Mikami et al. 2021); dark is a good fit."""
    rows = []
    with drawing():
        canvas, panels = new_panels(len(curves))
        for axes, (series, data) in zip(panels, curves.items(), strict=True):
            loss = landscape(data)
            axes.contourf(ALPHAS, DS, np.log10(loss.T), levels=14, cmap="viridis")
            axes.set_title(series)
            axes.set(xlabel="alpha", ylabel="D")
            alpha, D = (axis.ravel() for axis in np.meshgrid(ALPHAS, DS, indexing="ij"))
            rows.append(pd.DataFrame({"series": series, "alpha": alpha, "D": D, "rmse": loss.ravel()}))
    caption = "Root mean square residual (log scale, dark is small) over alpha and D, with the best C for each."
    return Figure(name=name, canvas=canvas, data=pd.concat(rows, ignore_index=True), caption=caption)
