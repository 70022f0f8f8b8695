"""The figures of the Syn2Real paper from the authors' published rows, with our numbers beside the published ones."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from transferscope.analyses.scaling.axes import (
    add_legend,
    dashes,
    in_panels,
    line_sizes,
    log_axes,
    mark_extrapolated,
    new_panels,
    series_styles,
)
from transferscope.analyses.scaling.figures import draw_surface
from transferscope.errors import DataError
from transferscope.report.blocks import Figure
from transferscope.report.figures.style import MarkStyle
from transferscope.scaling.fit import LawFit, fit_law
from transferscope.scaling.observations import Observations
from transferscope_papers.catalogue import found_at, listed
from transferscope_papers.looks import Looks, drawing, in_style, restyled, write_drawings
from transferscope_papers.mikami2021.landscapes import draw_landscapes
from transferscope_papers.mikami2021.rows import (
    FIGURE_5_LARGEST,
    PUBLISHED_D,
    PUBLISHED_RATES,
    Panel,
    common_d_table,
    extrapolation_series,
    extrapolation_table,
    full_law_table,
    model_panels,
    panel_fits,
    paper_fit,
    paper_surface,
    read_errors,
    rendering_panels,
    surface_table,
    task_panels,
)


@dataclass(frozen=True)
class PaperFigure:
    """What a figure of the paper is made of.

    Attributes:
        drawings: Its parts.
        tables: Numbers to print, by title.
    """

    drawings: tuple[Figure, ...]
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)


def figure_1(errors: pd.DataFrame) -> PaperFigure:
    """Cross-task curves with the fitted law."""
    panels = task_panels(errors)
    return PaperFigure(
        (draw_panels(panels, name="mikami2021-fig1", series="Pre-trained on"),), {"fits": panel_fits(panels)}
    )


def figure_4(errors: pd.DataFrame) -> PaperFigure:
    """Effect of model size."""
    panels = model_panels(errors)
    sizes = {str(model): float(rows["nparam"].iloc[0]) for model, rows in errors.groupby("model")}
    drawings = (
        draw_panels(panels, name="mikami2021-fig4-left", series="Network"),
        draw_gap_over_models(panels, sizes, name="mikami2021-fig4-right"),
    )
    return PaperFigure(drawings, {"fits": panel_fits(panels)})


def figure_5(errors: pd.DataFrame) -> PaperFigure:
    """Extrapolation beyond 64,000 images."""
    table = extrapolation_table(errors)
    return PaperFigure((draw_extrapolation(errors, name="mikami2021-fig5"),), {"root mean square errors": table})


def figure_6(errors: pd.DataFrame) -> PaperFigure:
    """Effect of the complexity of synthetic images."""
    panels = rendering_panels(errors)
    drawings = (
        draw_panels(panels, name="mikami2021-fig6-left", series="Rendering"),
        draw_panel_parameters(panels, name="mikami2021-fig6-right"),
    )
    return PaperFigure(drawings, {"fits": panel_fits(panels)})


def figure_8(errors: pd.DataFrame) -> PaperFigure:
    """Rates and transfer gaps of the cross-task setting."""
    panels = task_panels(errors)
    return PaperFigure((draw_panel_parameters(panels, name="mikami2021-fig8"),), {"fits": panel_fits(panels)})


def figure_9(errors: pd.DataFrame) -> PaperFigure:
    """The full law over both sizes, with its points, which are Figure 2."""
    surface = paper_surface(errors)
    drawings = tuple(
        restyled(draw_surface(surface, name=f"mikami2021-fig9-{law}", law=law))
        for law in ("full", "effective-data")
        if law in surface.fits
    )
    tables = {"full law": full_law_table(errors), "held-out scores": surface_table(surface)}
    return PaperFigure(drawings, tables)


def figure_10(errors: pd.DataFrame) -> PaperFigure:
    """Figure 1, linearised."""
    return PaperFigure(
        (draw_panels(task_panels(errors), name="mikami2021-fig10", series="Pre-trained on", linearised=True),)
    )


def figure_11(errors: pd.DataFrame) -> PaperFigure:
    """Figure 4, linearised."""
    return PaperFigure((draw_panels(model_panels(errors), name="mikami2021-fig11", series="Network", linearised=True),))


def figure_12(errors: pd.DataFrame) -> PaperFigure:
    """Figure 6, linearised."""
    return PaperFigure(
        (draw_panels(rendering_panels(errors), name="mikami2021-fig12", series="Rendering", linearised=True),)
    )


def figure_13(errors: pd.DataFrame) -> PaperFigure:
    """The landscape of objdet to objdet, and the common-D procedure of the same appendix."""
    curve = {"objdet to objdet": task_panels(errors)[0].curves["objdet"]}
    return PaperFigure((draw_landscapes(curve, name="mikami2021-fig13"),), {"common D": common_d_table(errors)})


def figure_14(errors: pd.DataFrame) -> PaperFigure:
    """The landscapes of all tasks."""
    curves = {
        f"{series} to {panel.title}": data for panel in task_panels(errors) for series, data in panel.curves.items()
    }
    return PaperFigure((draw_landscapes(curves, name="mikami2021-fig14"),))


@dataclass(frozen=True)
class PaperFigureMade:
    """What came of a figure.

    Attributes:
        tables: The published numbers, by title.
        captions: What each drawing shows.
        written: The SVG, the PDF and the CSV of each drawing, one after another.
    """

    tables: dict[str, pd.DataFrame]
    captions: tuple[str, ...]
    written: tuple[Path, ...]

    def words(self) -> str:
        """What to tell the reader."""
        lines = [
            f"{title}\n{frame.to_string(index=False, float_format='{:.4g}'.format)}\n"
            for title, frame in self.tables.items()
        ]
        for i, caption in enumerate(self.captions):
            svg, pdf, table = self.written[3 * i : 3 * i + 3]
            lines.append(f"{svg}, {pdf.name}, {table.name}\n{caption}")
        return "\n".join(lines)


def write_paper_figure(table: Path, name: str, folder: Path, *, looks: Looks | None = None) -> PaperFigureMade:
    """Draw a figure of the paper from the authors' table.

    Args:
        table: syn2real_finetune.csv.
        name: Its name in the catalogue, as in "fig5".
        folder: Where SVG, PDF and CSV go; made if it is missing.
        looks: The size of its panels, and a style on top of the report's; None for the usual ones.

    Raises:
        UnknownNameError: The paper has no such figure.
        MissingDataError: There is no such table.
    """
    make = cast(Callable[[pd.DataFrame], PaperFigure], found_at(listed("mikami2021", name).place))
    looks = looks or Looks()
    with in_style(looks.style):
        made = make(read_errors(table))
    written = write_drawings(made.drawings, folder, looks)
    return PaperFigureMade(made.tables, tuple(figure.caption for figure in made.drawings), written)


X_TITLE, Y_TITLE = "Pre-training images n", "Target error"


def draw_panels(panels: tuple[Panel, ...], *, name: str, series: str, linearised: bool = False) -> Figure:
    """Points and the law (1) with D = 0.48 (Figures 1, 4, 6), or error - C against n (Figures 10, 11, 12).

    Args:
        name: Name of the figure's files.
        series: What the series are, the title of the legend.
        linearised: Whether the fitted transfer gap is subtracted, which makes the law a straight line; points below it
            have no logarithm and are left out, and so are curves whose rate is at its bound.
    """
    rows = []
    styles = series_styles(list(dict.fromkeys(curve for panel in panels for curve in panel.curves)))
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
    caption = f"{what} over pre-training images. Dots: published rows. Lines: D n^-alpha + C with D = {PUBLISHED_D}."
    if linearised:
        caption += " Left out: points below C, and curves whose rate is fitted at its bound."
    return Figure(name=name, canvas=canvas, data=pd.concat(rows, ignore_index=True), caption=caption)


def _draw_law(axes: Axes, data: Observations, fit: LawFit, style: MarkStyle, dashed: str, *, gap: float) -> None:
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
    if not rows:
        raise DataError("no series of these rows has a rate or a transfer gap with a standard error; give more sizes")
    caption = f"Rates and transfer gaps with D = {PUBLISHED_D} held; bars are two standard errors given that D."
    return restyled(parameter_figure(pd.DataFrame(rows), name=name, caption=caption))


COLOUR = "#0072b2"
NAMES = {"alpha": "Pre-training rate alpha", "C": "Transfer gap C"}


def parameter_figure(frame: pd.DataFrame, *, name: str, caption: str) -> Figure:
    """Medians with intervals, one panel for each parameter; columns curve, parameter, median, low, high."""
    parameters = list(dict.fromkeys(frame["parameter"]))
    curves = list(dict.fromkeys(frame["curve"]))

    def draw(_: Canvas, panels: list[Axes]) -> None:
        for axes, parameter in zip(panels, parameters, strict=True):
            part = frame[frame["parameter"] == parameter].set_index("curve").reindex(curves)
            arms = np.stack([part["median"] - part["low"], part["high"] - part["median"]])
            axes.errorbar(
                part["median"], range(len(curves)), xerr=np.maximum(arms, 0), fmt="o", color=COLOUR, markersize=4
            )
            leftmost = axes.get_position().x0 == panels[0].get_position().x0
            axes.set_yticks(range(len(curves)), curves if leftmost else [""] * len(curves))
            axes.set_xlabel(NAMES.get(parameter, parameter))
            axes.xaxis.set_major_locator(MaxNLocator(5))
            axes.invert_yaxis()

    canvas, narrow, _ = in_panels(draw, len(parameters), width=3.6, height=0.9 + 0.24 * len(curves))
    return Figure(name=name, canvas=canvas, narrow=narrow, data=frame, caption=caption)


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
    styles = series_styles(list(pairs))
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
    return Figure(name=name, canvas=canvas, data=pd.concat(rows, ignore_index=True), caption=caption)


def _draw_extrapolated(axes: Axes, model: str, seen: Observations, unseen: Observations, style: MarkStyle) -> None:
    line = line_sizes(float(seen.sizes.min()), float(unseen.sizes.max()))
    axes.plot(seen.sizes[:, 0], seen.errors, style.mark, color=style.colour, markersize=4)
    axes.plot(unseen.sizes[:, 0], unseen.errors, style.mark, color=style.colour, markersize=4, markerfacecolor="none")
    axes.plot(line, fit_law(seen.sizes, seen.errors, law="power").predict(line), color=style.colour, linewidth=1.1)
    axes.plot(line, paper_fit(seen).predict(line), "--", color=style.colour, linewidth=1.1)
