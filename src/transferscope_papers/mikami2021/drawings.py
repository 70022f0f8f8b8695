"""The figures of "A Scaling Law for Syn2Real Transfer" from the authors' published rows."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from transferscope.analyses.scaling.axes import (
    add_legend,
    dashes,
    line_sizes,
    log_axes,
    mark_extrapolated,
    new_panels,
    series_looks,
)
from transferscope.analyses.scaling.figures import parameter_figure
from transferscope.report.blocks import Figure
from transferscope.report.figures.palette import Look
from transferscope.report.figures.style import drawing
from transferscope.scaling.fit import LawFit, fit_law
from transferscope.scaling.observations import Observations
from transferscope_papers.mikami2021.results import panel_fits, paper_fit
from transferscope_papers.mikami2021.rows import (
    FIGURE_5_LARGEST,
    PUBLISHED_D,
    PUBLISHED_RATES,
    Panel,
    extrapolation_series,
)

X_TITLE, Y_TITLE = "Pre-training images n", "Target error"


def draw_panels(panels: tuple[Panel, ...], *, name: str, series: str, linearised: bool = False) -> Figure:
    """Points and the law (1) with D = 0.48 (Figures 1, 4, 6), or error - C against n (Figures 10, 11, 12).

    Args:
        panels: Curves by panel.
        name: Name of the figure's files.
        series: What the series are, the title of the legend.
        linearised: Whether the fitted transfer gap is subtracted, which makes the law a straight line; points below it
            have no logarithm and are left out, and so are curves whose rate is at its bound.
    """
    rows = []
    look = series_looks(list(dict.fromkeys(curve for panel in panels for curve in panel.curves)))
    with drawing():
        canvas, axes = new_panels(len(panels))
        for drawn, panel in zip(axes, panels, strict=True):
            for curve, data in panel.curves.items():
                fit = paper_fit(data)
                if not (linearised and fit.theta[0] >= PUBLISHED_RATES[1]):
                    _draw_law(drawn, data, fit, look[curve], dashes(look, curve), gap=fit.theta[2] * linearised)
                points = {"panel": panel.title, "series": curve, "n": data.sizes[:, 0], "error": data.errors}
                rows.append(pd.DataFrame({**points, "fitted": fit.predict(data.sizes)}))
            drawn.set_title(panel.title if " to " in panel.title else f"fine-tuned on {panel.title}")
            log_axes(drawn, x_title=X_TITLE, y_title="Target error - C" if linearised else Y_TITLE, strictly=linearised)
        add_legend(canvas, look, title=series)
    what = "Error above the fitted transfer gap" if linearised else "Target error"
    caption = f"{what} over pre-training images. Dots: published rows. Lines: D n^-alpha + C with D = {PUBLISHED_D}."
    if linearised:
        caption += " Left out: points below C, and curves whose rate is fitted at its bound."
    return Figure(name=name, canvas=canvas, data=pd.concat(rows, ignore_index=True), caption=caption)


def _draw_law(axes: Axes, data: Observations, fit: LawFit, style: Look, dashed: str, *, gap: float) -> None:
    line = line_sizes(float(data.sizes.min()), float(data.sizes.max()))
    above = data.errors > gap
    axes.plot(data.sizes[above, 0], data.errors[above] - gap, style.mark, color=style.colour, markersize=4)
    axes.plot(line, fit.predict(line) - gap, dashed, color=style.colour, linewidth=1.1)


def draw_panel_parameters(panels: tuple[Panel, ...], *, name: str) -> Figure:
    """alpha and C of every series with two standard errors (Figures 6 right and 8); unstable rates are left out."""
    fits = panel_fits(panels)
    rows = []
    for row in fits.to_dict("records"):
        curve = f"{row['series']} to {row['panel']}" if len(panels) > 1 else str(row["series"])
        for parameter in ("alpha", "C"):
            stderr = float(row[f"{parameter}_stderr"] or np.nan)
            if np.isfinite(stderr) and stderr < 1:
                value = float(row[parameter])
                ends = {"median": value, "low": value - 2 * stderr, "high": value + 2 * stderr}
                rows.append({"curve": curve, "parameter": parameter, **ends})
    caption = f"Rates and transfer gaps with D = {PUBLISHED_D} held; bars are two standard errors given that D."
    return parameter_figure(pd.DataFrame(rows), name=name, caption=caption)


def draw_gap_over_models(panels: tuple[Panel, ...], n_parameters: dict[str, float], *, name: str) -> Figure:
    """Transfer gap over model size, log-log, with a straight line (Figure 4 right)."""
    fits = panel_fits(panels).assign(millions=lambda frame: frame["series"].map(n_parameters))
    with drawing():
        canvas, axes = new_panels(len(panels))
        for drawn, panel in zip(axes, panels, strict=True):
            part = fits[fits["panel"] == panel.title].sort_values("millions")
            slope, offset = np.polyfit(np.log(part["millions"]), np.log(part["C"]), 1)
            drawn.plot(part["millions"], part["C"], "o", color="#0072b2", markersize=4)
            drawn.plot(part["millions"], np.exp(offset) * part["millions"] ** slope, color="#0072b2", linewidth=1.1)
            drawn.set_title(panel.title)
            log_axes(drawn, x_title="Parameters (million)", y_title="Transfer gap C")
    return Figure(
        name=name, canvas=canvas, data=fits, caption="Fitted transfer gap C over model size, with a power law."
    )


def draw_extrapolation(errors: pd.DataFrame, *, name: str) -> Figure:
    """The power law and the law (1) beyond the sizes they were fitted to (Figure 5)."""
    pairs = extrapolation_series(errors)
    look = series_looks(list(pairs))
    rows = []
    with drawing():
        canvas, (axes,) = new_panels(1, width=6.0, height=3.2)
        for model, (seen, unseen) in pairs.items():
            _draw_extrapolated(axes, model, seen, unseen, look[model])
            for data, kind in ((seen, "fitted"), (unseen, "predicted")):
                rows.append(pd.DataFrame({"model": model, "kind": kind, "n": data.sizes[:, 0], "error": data.errors}))
        mark_extrapolated(axes, FIGURE_5_LARGEST, 1_280_000)
        log_axes(axes, x_title=X_TITLE, y_title=Y_TITLE)
        add_legend(canvas, look, lines={"power law": "-", "D n^-alpha + C": "--"})
    caption = (
        f"Fitted to sizes up to {FIGURE_5_LARGEST:,} (filled) and continued to larger ones (open, on grey). Solid: "
        f"power law. Dashed: D n^-alpha + C with D = {PUBLISHED_D}."
    )
    return Figure(name=name, canvas=canvas, data=pd.concat(rows, ignore_index=True), caption=caption)


def _draw_extrapolated(axes: Axes, model: str, seen: Observations, unseen: Observations, style: Look) -> None:
    line = line_sizes(float(seen.sizes.min()), float(unseen.sizes.max()))
    axes.plot(seen.sizes[:, 0], seen.errors, style.mark, color=style.colour, markersize=4)
    axes.plot(unseen.sizes[:, 0], unseen.errors, style.mark, color=style.colour, markersize=4, markerfacecolor="none")
    axes.plot(line, fit_law(seen.sizes, seen.errors, law="power").predict(line), color=style.colour, linewidth=1.1)
    axes.plot(line, paper_fit(seen).predict(line), "--", color=style.colour, linewidth=1.1)
