"""The figures of the Syn2Real paper from the authors' published rows, with our numbers beside the published ones."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from transferscope.analyses.scaling.axes import (
    LINE_POINTS,
    add_legend,
    dashes,
    in_panels,
    log_axes,
    mark_extrapolated,
    new_panels,
)
from transferscope.analyses.scaling.figures import draw_surface
from transferscope.errors import DataError
from transferscope.report.blocks import Figure
from transferscope.report.figures.style import MarkStyle, drawing, mark_styles
from transferscope.scaling.fit import LawFit, fit_law
from transferscope.scaling.observations import Observations
from transferscope.scaling.surface import Surface
from transferscope_papers.made import ClaimSeen, FigureMade
from transferscope_papers.mikami2021.common_d import PUBLISHED_RATES
from transferscope_papers.mikami2021.landscapes import draw_alike, draw_landscapes, valley_widths
from transferscope_papers.mikami2021.rows import (
    FIGURE_5_LARGEST,
    PUBLISHED_D,
    Panel,
    common_d_table,
    equal_fits,
    extrapolation_series,
    extrapolation_table,
    full_law_fit,
    full_law_table,
    model_panels,
    panel_fits,
    paper_fit,
    paper_surface,
    rendering_panels,
    rendering_steps,
    surface_table,
    task_panels,
)


def figure_1(errors: pd.DataFrame) -> FigureMade:
    """Draw cross-task curves with the fitted law."""
    panels = task_panels(errors)
    fits = panel_fits(panels)
    nearer = fits["rmse"] < fits["power_rmse"]
    claims = (
        _claim(
            "the scaling law fits the errors with high accuracy in most cases: within 1 %",
            "section 4.2",
            (fits["rmse"] < 0.01).mean() > 0.5,
            f"{(fits['rmse'] < 0.01).sum()} of {len(fits)} pairs, the worst {100 * fits['rmse'].max():.2f} %",
        ),
        _claim(
            "errors level off: the law (1) lies nearer than a power law with as many parameters in most cases",
            "section 3.1",
            nearer.mean() > 0.5,
            f"{nearer.sum()} of {len(fits)} pairs",
        ),
    )
    drawing = draw_panels(panels, name="mikami2021-fig1", series="Pretrained on")
    return FigureMade((drawing,), (), claims, {"fits": fits})


def figure_4(errors: pd.DataFrame) -> FigureMade:
    """Draw the effect of model size."""
    panels = model_panels(errors)
    fits = panel_fits(panels)
    fits["millions"] = fits["series"].map(errors.groupby("model")["nparam"].first())
    fits["mean_error"] = [data.errors.mean() for panel in panels for data in panel.curves.values()]
    of_panels = {panel.title: fits[fits["panel"] == panel.title] for panel in panels}
    logs = {title: (np.log(part["millions"]), np.log(part["C"])) for title, part in of_panels.items()}
    slopes = {title: float(np.polyfit(*pair, 1)[0]) for title, pair in logs.items()}
    straight = {title: float(np.corrcoef(*pair)[0, 1] ** 2) for title, pair in logs.items()}
    ranks = {title: part["millions"].corr(part["mean_error"], "spearman") for title, part in of_panels.items()}
    claims = (
        _claim(
            "bigger models attain smaller test errors",
            "section 4.3",
            max(ranks.values()) < -0.5,
            "rank correlation of mean error and size " + _by_panel(ranks),
        ),
        _claim(
            "the transfer gap falls with model size, roughly as a power law",
            "section 4.3 and Figure 4 right",
            max(slopes.values()) < 0,
            f"exponents {_by_panel(slopes)}, R^2 {_by_panel(straight)}",
        ),
    )
    drawings = (
        draw_panels(panels, name="mikami2021-fig4-left", series="Network"),
        draw_gap_over_models(fits),
    )
    return FigureMade(drawings, (), claims, {"fits": fits})


def figure_5(errors: pd.DataFrame) -> FigureMade:
    """Draw the extrapolation beyond 64,000 images."""
    table = extrapolation_table(errors)
    wide = table.pivot(index="model", columns="law", values="rmse")
    gain, off = wide["power"] / wide["power+floor"], np.exp(np.abs(np.log(table["rmse"] / table["published"])))
    claims = (
        _claim(
            "the law (1) predicts errors at larger n better than a power law for all models",
            "section 4.4 and Figure 5",
            (gain > 1).all(),
            f"{gain.min():.1f} to {gain.max():.1f} times (published 4.1 to 5.4)",
        ),
        _claim(
            "the errors of prediction are those that are printed, within a factor of two",
            "Figure 5 right",
            (off < 2).all(),
            f"off by at most {off.max():.2f} times; three of the five fitted sizes are not among the published rows",
        ),
    )
    drawing = draw_extrapolation(errors)
    return FigureMade((drawing,), (), claims, {"root mean square errors": table})


def figure_6(errors: pd.DataFrame) -> FigureMade:
    """Draw the effect of the complexity of synthetic images."""
    panels = rendering_panels(errors)
    fits, equal = panel_fits(panels), equal_fits(panels[0])
    steps = rendering_steps(fits)
    (free, one), alpha = equal["rmse"], equal["alpha"][1]
    slower, lower = steps["alpha after"] < steps["alpha before"], steps["C after"] < steps["C before"]
    texture = steps["added"] == "texture"
    source = "section 4.5 and Figure 6"
    claims = (
        _claim("alpha falls with every added attribute", source, slower.all(), f"{slower.sum()} of {len(steps)} steps"),
        _claim(
            "C falls with appearance, light and background",
            source,
            lower[~texture].all(),
            f"{lower[~texture].sum()} of {(~texture).sum()} steps",
        ),
        _claim(
            "C does not fall with object texture in most cases",
            source,
            (~lower[texture]).mean() > 0.5,
            f"{(~lower[texture]).sum()} of {texture.sum()} steps",
        ),
        _claim(
            "it is alpha that differs: with D held it leaves a tenth less than one alpha with as many free D",
            f"premise of {source}",
            free < 0.9 * one,
            f"D held and alpha free leave {free:.5f}, one alpha ({alpha:.2f}) and D free {one:.5f}",
        ),
    )
    drawings = (
        draw_panels(panels, name="mikami2021-fig6-left", series="What is varied"),
        draw_panel_parameters(fits, name="mikami2021-fig6-right"),
    )
    note = "Which rows have which attributes is inferred from the names of the authors' configuration files."
    tables = {"one attribute more": steps, "fits": fits, "as many parameters": equal}
    return FigureMade(drawings, (note,), claims, tables)


def figure_8(errors: pd.DataFrame) -> FigureMade:
    """Draw rates and transfer gaps of the cross-task setting."""
    fits = panel_fits(task_panels(errors))
    wide = ~(fits["alpha_stderr"] < 1)
    unstable = ", ".join(fits[wide]["series"] + " to " + fits[wide]["panel"])
    claim = _claim(
        "the rate of normal to semseg alone is unstable, with a standard error above 1",
        "section C.1",
        unstable == "normal to semseg",
        unstable or "none",
    )
    return FigureMade((draw_panel_parameters(fits, name="mikami2021-fig8"),), (), (claim,), {"fits": fits})


def figure_9(errors: pd.DataFrame) -> FigureMade:
    """Draw the full law over both sizes by the fit with the printed parameters, and its points (Figure 2)."""
    surface, fit, table = paper_surface(errors), full_law_fit(errors), full_law_table(errors)
    published = Surface({"full": fit}, {}, {}, fit.observations, ())
    drawings = (
        draw_surface(published, name="mikami2021-fig9-full", law="full"),
        draw_surface(surface, name="mikami2021-fig9-effective-data", law="effective-data"),
    )
    points = pd.DataFrame({"n": fit.observations.sizes[:, 0], "s": fit.observations.sizes[:, 1]})
    wide = points.assign(error=np.log(fit.observations.errors)).pivot(index="s", columns="n", values="error")
    straight = [np.corrcoef(np.log(wide.index), column)[0, 1] ** 2 for _, column in wide.items()]
    first, last = (np.asarray(wide[below]) - np.asarray(wide[above]) for below, above in ((1e3, 4e3), (16e3, 64e3)))
    off = np.abs(table["linear residuals"] / table["published"] - 1)
    claims = (
        _claim(
            "(a) the effect of pretraining diminishes for large n, at the fewest labels",
            "section 3.1 and Figure 2",
            last[0] < 0.5 * first[0],
            f"it falls by {100 * first[0]:.1f} % from 1,000 to 4,000 images, by {100 * last[0]:.1f} % from 16,000 on",
        ),
        _claim(
            "(b) the error drops straight down with s regardless of n",
            "section 3.1 and Figure 2",
            min(straight) > 0.99,
            f"R^2 of log error over log s at least {min(straight):.4f}",
        ),
        _claim(
            "all errors are explained by one full law, with the printed parameters within 5 %",
            "section C.2 and Figure 9",
            (off < 0.05).all(),
            f"off by at most {100 * off.max():.1f} %; root mean square error {fit.rmse:.4f} over {len(points)} points",
        ),
    )
    return FigureMade(drawings, (), claims, {"full law": table, "held-out scores": surface_table(surface)})


def figure_10(errors: pd.DataFrame) -> FigureMade:
    """Draw Figure 1 linearised."""
    return _linearised(
        task_panels(errors),
        name="mikami2021-fig10",
        series="Pretrained on",
        below="mulclass to semseg, normal to semseg",
    )


def figure_11(errors: pd.DataFrame) -> FigureMade:
    """Draw Figure 4, linearised."""
    return _linearised(model_panels(errors), name="mikami2021-fig11", series="Network")


def figure_12(errors: pd.DataFrame) -> FigureMade:
    """Draw Figure 6, linearised."""
    return _linearised(rendering_panels(errors), name="mikami2021-fig12", series="Rendering")


def _linearised(panels: tuple[Panel, ...], *, name: str, series: str, below: str = "") -> FigureMade:
    fits = panel_fits(panels)
    straight = fits["straight"] > 0.8
    claims = [
        _claim(
            "with C subtracted, errors are linear in log n overall: R^2 above .8 in most curves",
            "section C.3",
            straight.mean() > 0.5,
            f"{straight.sum()} of {len(fits)} curves, the lowest {fits['straight'].min():.2f}",
        )
    ]
    if below:
        own = ", ".join(sorted(fits[fits["below"] > 0]["series"] + " to " + fits[fits["below"] > 0]["panel"]))
        claims.append(_claim(f"a few points lie below C in {below} alone", "section C.3", own == below, own))
    drawing = draw_panels(panels, name=name, series=series, linearised=True)
    return FigureMade((drawing,), (), tuple(claims), {"fits": fits})


def figure_13(errors: pd.DataFrame) -> FigureMade:
    """Draw two similar curves, the landscape of objdet to objdet, and the common-D procedure of appendix D."""
    curve = {"objdet to objdet": task_panels(errors)[0].curves["objdet"]}
    common = common_d_table(errors)
    alike = draw_alike()
    apart = float(np.abs(alike.data["D = 0.5, alpha = 0.4"] / alike.data["D = 1, alpha = 0.5"] - 1).max())
    ratio = float(valley_widths(curve)[0])
    claims = (
        _claim(
            "curves with other alpha and D are almost the same: within 1 % from 1,000 images on",
            "appendix D and Figure 13 left",
            apart < 0.01,
            f"within {100 * apart:.2f} %",
        ),
        _claim(
            "the landscape has a valley along which alpha and D change together",
            "appendix D and Figure 13 right",
            ratio > 1.5,
            f"residuals within 10 % of the smallest over a factor of {ratio:.1f} of alpha",
        ),
        _claim(
            "alternating medians converge to D = 0.48",
            "appendix D",
            bool(np.allclose(common["D"], PUBLISHED_D, atol=0.01)),
            "from D = 0.3, 0.5 and 0.7 they end at " + ", ".join(f"{value:.2f}" for value in common["D"]),
        ),
    )
    drawings = (alike, draw_landscapes(curve, name="mikami2021-fig13-right"))
    return FigureMade(drawings, (), claims, {"common D": common})


def figure_14(errors: pd.DataFrame) -> FigureMade:
    """Draw the landscapes of all tasks."""
    curves = {
        f"{series} to {panel.title}": data for panel in task_panels(errors) for series, data in panel.curves.items()
    }
    widths = valley_widths(curves)
    claim = _claim(
        "such valleys are there for the other tasks too: a factor above 1.2 of alpha in most of them",
        "appendix D and Figure 14",
        (widths > 1.2).mean() > 0.5,
        f"{(widths > 1.2).sum()} of {len(widths)} pairs",
    )
    return FigureMade((draw_landscapes(curves, name="mikami2021-fig14"),), (), (claim,))


def _claim(sentence: str, place: str, holds: bool | np.bool, seen: str) -> ClaimSeen:
    return ClaimSeen(sentence, f"mikami2021, {place}", bool(holds), seen=seen)


def _by_panel(values: Mapping[str, float]) -> str:
    return ", ".join(f"{value:.3g} ({title})" for title, value in values.items())


X_TITLE, Y_TITLE = "Pretraining images n", "Target error"
_COLOUR = "#0072b2"
_PARAMETERS = {"alpha": "Pretraining rate alpha", "C": "Transfer gap C"}


def draw_panels(panels: tuple[Panel, ...], *, name: str, series: str, linearised: bool = False) -> Figure:
    """Draw points and the law (1) with D = 0.48 (Figures 1, 4, 6), or error - C against n (Figures 10, 11, 12).

    Args:
        name: Name of the figure's files.
        series: Title of the legend.
        linearised: Whether the fitted transfer gap is subtracted, which makes the law a straight line; points below it
            have no logarithm and are left out, and so are curves whose rate is at its bound.
    """
    rows = []
    styles = mark_styles(list(dict.fromkeys(curve for panel in panels for curve in panel.curves)), None)
    with drawing():
        canvas, axes = new_panels(len(panels))
        for drawn, panel in zip(axes, panels, strict=True):
            for curve, data in panel.curves.items():
                fit = paper_fit(data)
                if not (linearised and fit.theta[0] >= PUBLISHED_RATES[1]):
                    _draw_law(drawn, data, fit, styles[curve], dashes(styles, curve), gap=fit.theta[2] * linearised)
                points = {"panel": panel.title, "series": curve, "n": data.sizes[:, 0], "error": data.errors}
                rows.append(pd.DataFrame({**points, "fitted": fit.predict(data.sizes)}))
            drawn.set_title(panel.title if " to " in panel.title else f"fine-tuned on {panel.title}")
            log_axes(drawn, x_title=X_TITLE, y_title="Target error - C" if linearised else Y_TITLE, strictly=linearised)
        add_legend(canvas, styles, title=series)
    what = "Error above the fitted transfer gap" if linearised else "Target error"
    caption = f"{what} over pretraining images. Dots: published rows. Lines: D n^-alpha + C with D = {PUBLISHED_D}."
    if linearised:
        caption += " Left out: points below C, and curves whose rate is fitted at its bound."
    return Figure(name=name, canvas=canvas, data=pd.concat(rows, ignore_index=True), caption=caption)


def _draw_law(axes: Axes, data: Observations, fit: LawFit, style: MarkStyle, dashed: str, *, gap: float) -> None:
    line = np.geomspace(float(data.sizes.min()), float(data.sizes.max()), LINE_POINTS)
    above = data.errors > gap
    axes.plot(data.sizes[above, 0], data.errors[above] - gap, style.mark, color=style.colour, markersize=4)
    axes.plot(line, fit.predict(line) - gap, dashed, color=style.colour, linewidth=1.1)


def draw_panel_parameters(fits: pd.DataFrame, *, name: str) -> Figure:
    """Draw alpha and C of every series with two standard errors (Figures 6 right and 8), without unstable rates.

    Args:
        fits: From `panel_fits`.
    """
    several, rows = fits["panel"].nunique() > 1, []
    for row in fits.to_dict("records"):
        curve = f"{row['series']} to {row['panel']}" if several else str(row["series"])
        for parameter in _PARAMETERS:
            stderr = float(row[f"{parameter}_stderr"])
            if np.isfinite(stderr) and stderr < 1:
                value = float(row[parameter])
                ends = {"median": value, "low": value - 2 * stderr, "high": value + 2 * stderr}
                rows.append({"curve": curve, "parameter": parameter, **ends})
    if not rows:
        raise DataError("no series has a rate or a transfer gap with a standard error; give more sizes")
    frame = pd.DataFrame(rows)
    curves = list(dict.fromkeys(frame["curve"]))

    def draw(_: Canvas, panels: list[Axes]) -> None:
        for axes, (parameter, label) in zip(panels, _PARAMETERS.items(), strict=True):
            part = frame[frame["parameter"] == parameter].set_index("curve").reindex(curves)
            arms = np.stack([part["median"] - part["low"], part["high"] - part["median"]])
            axes.errorbar(part["median"], range(len(curves)), xerr=arms, fmt="o", color=_COLOUR, markersize=4)
            leftmost = axes.get_position().x0 == panels[0].get_position().x0
            axes.set_yticks(range(len(curves)), curves if leftmost else [""] * len(curves))
            axes.set_xlabel(label)
            axes.xaxis.set_major_locator(MaxNLocator(5))
            axes.invert_yaxis()

    canvas, narrow, _ = in_panels(draw, len(_PARAMETERS), width=3.6, height=0.9 + 0.24 * len(curves))
    caption = f"Rates and transfer gaps with D = {PUBLISHED_D} held; bars are two standard errors given that D."
    return Figure(name=name, canvas=canvas, narrow=narrow, data=frame, caption=caption)


def draw_gap_over_models(fits: pd.DataFrame) -> Figure:
    """Draw the transfer gap C over model size in `millions`, log-log, with a line for each panel (Figure 4 right)."""
    panels = list(dict.fromkeys(fits["panel"]))
    with drawing():
        canvas, axes = new_panels(len(panels))
        for drawn, panel in zip(axes, panels, strict=True):
            part = fits[fits["panel"] == panel].sort_values("millions")
            slope, offset = np.polyfit(np.log(part["millions"]), np.log(part["C"]), 1)
            drawn.plot(part["millions"], part["C"], "o", color=_COLOUR, markersize=4)
            drawn.plot(part["millions"], np.exp(offset) * part["millions"] ** slope, color=_COLOUR, linewidth=1.1)
            drawn.set_title(panel)
            log_axes(drawn, x_title="Parameters (million)", y_title="Transfer gap C")
    caption = "Fitted transfer gap C over model size, with a power law."
    return Figure(name="mikami2021-fig4-right", canvas=canvas, data=fits, caption=caption)


def draw_extrapolation(errors: pd.DataFrame) -> Figure:
    """Draw the power law and the law (1) beyond the fitted sizes (Figure 5)."""
    pairs = extrapolation_series(errors)
    styles = mark_styles(list(pairs), None)
    rows = []
    with drawing():
        canvas, (axes,) = new_panels(1, width=6.0, height=3.2)
        for model, (seen, unseen) in pairs.items():
            _draw_extrapolated(axes, model, seen, unseen, styles[model])
            for data, kind in ((seen, "fitted"), (unseen, "predicted")):
                rows.append(pd.DataFrame({"model": model, "kind": kind, "n": data.sizes[:, 0], "error": data.errors}))
        mark_extrapolated(axes, FIGURE_5_LARGEST, 1_280_000)
        log_axes(axes, x_title=X_TITLE, y_title=Y_TITLE)
        add_legend(canvas, styles, lines={"power law": "-", "D n^-alpha + C": "--"})
    caption = (
        f"Fitted to sizes up to {FIGURE_5_LARGEST:,} (filled) and continued to larger ones (open, on grey). Solid: "
        f"power law. Dashed: D n^-alpha + C with D = {PUBLISHED_D}."
    )
    return Figure(name="mikami2021-fig5", canvas=canvas, data=pd.concat(rows, ignore_index=True), caption=caption)


def _draw_extrapolated(axes: Axes, model: str, seen: Observations, unseen: Observations, style: MarkStyle) -> None:
    line = np.geomspace(float(seen.sizes.min()), float(unseen.sizes.max()), LINE_POINTS)
    axes.plot(seen.sizes[:, 0], seen.errors, style.mark, color=style.colour, markersize=4)
    axes.plot(unseen.sizes[:, 0], unseen.errors, style.mark, color=style.colour, markersize=4, markerfacecolor="none")
    axes.plot(line, fit_law(seen.sizes, seen.errors, law="power").predict(line), color=style.colour, linewidth=1.1)
    axes.plot(line, paper_fit(seen).predict(line), "--", color=style.colour, linewidth=1.1)
