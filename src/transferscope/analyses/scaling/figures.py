"""The figures of scaling laws: curves, surfaces over (n, s), and parameters at equal compute."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from transferscope.analyses.scaling.analysis import Analysis, CurveAnalysis
from transferscope.analyses.scaling.axes import (
    LINE_POINTS,
    add_legend,
    in_panels,
    log_axes,
    mark_extrapolated,
    short_size,
)
from transferscope.report.blocks import Figure
from transferscope.report.figures.style import INK, MarkStyle, mark_styles, ordered_colours
from transferscope.scaling.advice.budget import spent_on, splits
from transferscope.scaling.surface import Surface
from transferscope.study.measure import ERROR, Measure
from transferscope.wording import capitalised

FORECAST = "#d55e00"
MOST_CURVES = 6
"""Most curves that are drawn."""
STEPS = 9
"""Number of sizes at which a forecast is drawn."""


def draw_curves(analysis: Analysis) -> Figure | None:
    """Draw measurements and the forecast with its band; None if no curve has two sizes above 0."""
    shown = [curve for curve in analysis.curves if curve.advice is not None][:MOST_CURVES]
    if not shown:
        return None
    measure, target = analysis.measure, analysis.question.target_score
    styles = mark_styles([curve.name for curve in shown], None)
    title = "Pretraining size n" if analysis.of_data else "Parameters n"

    def draw(canvas: Canvas, panels: list[Axes]) -> pd.DataFrame:
        (axes,) = panels
        rows = [_draw_curve(axes, curve, measure, styles[curve.name]) for curve in shown]
        if target is not None:
            axes.axhline(measure.score(target), color=FORECAST, linestyle="--", linewidth=0.9)
        log_axes(axes, x_title=title, y_title=measure.title, linear=measure.higher_is_better)
        if len(shown) > 1:
            add_legend(canvas, styles)
        return pd.concat(rows, ignore_index=True)

    canvas, narrow, data = in_panels(draw, 1)
    more = len([curve for curve in analysis.curves if curve.advice is not None]) - len(shown)
    caption = (
        "Over pretraining size. Dots: measured. Line and band beyond the largest size: the forecast and its 90 % "
        f"interval.{' Dashed: the target.' if target is not None else ''}"
        f"{f' {more} further curves are in the table.' if more else ''}"
    )
    return Figure(name="scaling-curves", canvas=canvas, narrow=narrow, data=data, caption=caption)


def _draw_curve(axes: Axes, curve: CurveAnalysis, measure: Measure, style: MarkStyle) -> pd.DataFrame:
    assert curve.advice is not None
    data = curve.observations
    n, errors = data.sizes[:, 0], data.errors
    largest = float(n.max())
    ahead = curve.forecast(np.geomspace(largest * 1.1, curve.advice.forecast.sizes.max(), STEPS))
    low, middle, high, seen = map(measure.scores, (ahead.low, ahead.predicted, ahead.high, errors))
    mark_extrapolated(axes, largest, float(ahead.sizes.max()))
    axes.plot(n[n > 0], seen[n > 0], style.mark, color=style.colour, markersize=4)
    axes.plot(ahead.sizes, middle, color=style.colour, linewidth=1.4)
    axes.fill_between(ahead.sizes, low, high, color=style.colour, alpha=0.15, linewidth=0)
    measured = pd.DataFrame({"curve": curve.name, "kind": "measured", "n": n, "value": seen})
    ends = {"low": np.minimum(low, high), "high": np.maximum(low, high)}
    forecast = pd.DataFrame({"curve": curve.name, "kind": "forecast", "n": ahead.sizes, "value": middle, **ends})
    return pd.concat([measured, forecast], ignore_index=True)


MOST_BUDGETS = 6
NEAR = 0.25
"""Distance in log budget within which points have the colour of a line."""


def draw_isoflop(analysis: Analysis) -> Figure:
    """Draw parameters at equal compute, for the first group: measured budgets, and those in the answer."""
    one, costs, measure = analysis.surfaces[0], analysis.surfaces[0].costs, analysis.measure
    assert costs is not None
    surface = one.surface
    data = surface.observations
    cost = spent_on(data, costs)
    measured = np.unique(np.quantile(cost, np.linspace(0, 1, MOST_BUDGETS - len(one.optima) + 2))[1:-1])
    budgets = [*measured, *(best.budget for best in one.optima)]

    def draw(_: Canvas, panels: list[Axes]) -> pd.DataFrame:
        (axes,) = panels
        rows, drawn = [], {}
        colours = ordered_colours(len(budgets))
        for budget, colour in zip(budgets, colours, strict=True):
            path = splits(surface, costs, float(budget), count=80)
            errors = surface.predict(path)
            kept, value = errors < 1.25 * errors.min(), measure.scores(errors)
            axes.plot(path[kept, 0], value[kept], color=colour, linewidth=1.1)
            near = np.abs(np.log(cost / budget)) < NEAR
            axes.plot(data.sizes[near, 0], measure.scores(data.errors[near]), "o", color=colour, markersize=3)
            drawn[float(budget)] = (float(value[kept][-1]), float(path[kept, 0][-1]))
            rows.append(pd.DataFrame({"budget": budget, "n": path[:, 0], "tokens": path[:, 1], "value": value}))
        for best in one.optima:
            axes.plot(best.plan.n, measure.score(best.plan.error), "*", color=FORECAST, markersize=9)
        log_axes(axes, x_title="Parameters N", y_title=measure.title, linear=measure.higher_is_better)
        for budget, (height, x) in drawn.items():
            axes.annotate(
                f"{budget:.1e}", (x, height), (4, 0), textcoords="offset points", fontsize=7, color=INK, va="center"
            )
        return pd.concat(rows, ignore_index=True)

    canvas, narrow, frame = in_panels(draw, 1, width=5.6, height=3.6)
    caption = (
        f"{capitalised(measure.title)} over the number of parameters at equal compute (isoFLOP): each line is one "
        "budget, written at its end, by the mean over the laws. Dots: measured near that budget. Stars: the best "
        "number of parameters of each budget of the table."
    )
    return Figure(name="scaling-isoflop", canvas=canvas, narrow=narrow, data=frame, caption=caption)


TITLES, SYMBOLS = ("Pretraining size n", "Fine-tuning size s"), ("n", "s")
MOST_LEVELS, FEW_LEVELS = 24, 6
"""With more levels than the first number, only the second number of lines is drawn; points have the colour of the
nearest."""
APART = 0.045
"""Least distance of two names, as a share of the height of a panel."""


def _name_lines(axes: Axes, x: float, drawn: dict[float, float], symbol: str) -> None:
    """Write the size of each line at its right end, without names that would touch an earlier one."""
    span = np.ptp(np.log(axes.get_ylim()))
    least, most = min(drawn), max(drawn)
    written: dict[float, str] = {}  # by height
    for level in (least, most, *drawn):
        height = drawn[level]
        if all(abs(np.log(height / other)) > APART * span for other in written):
            written[height] = f"{symbol} = {short_size(level)}"
    if len(written) == 1:
        written = {drawn[least]: f"{symbol} = {short_size(least)} to {short_size(most)}"}
    for height, name in written.items():
        axes.annotate(
            name,
            xy=(x, height),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
            color=INK,
            annotation_clip=False,
        )


def draw_surface(surface: Surface, *, name: str, law: str = "", measure: Measure = ERROR) -> Figure:
    """Draw the error over n for each s, and over s for each n, with the lines of one law.

    Args:
        law: Name of the law; empty for the one that fits best within the measured sizes.
    """
    chosen = law or surface.interpolating
    fit = surface.fits[chosen]
    data = fit.observations

    def draw(_: Canvas, panels: list[Axes]) -> None:
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
            along = data.sizes[:, column][data.sizes[:, column] > 0]
            line = np.geomspace(along.min(), along.max(), LINE_POINTS)
            colours = ordered_colours(len(levels))
            drawn = {}
            for place, (level, colour) in enumerate(zip(levels, colours, strict=True)):
                rows = nearest == place
                fixed = np.full_like(line, level)
                both = np.stack([line, fixed] if column == 0 else [fixed, line], axis=1)
                fitted, seen = measure.scores(fit.predict(both)), measure.scores(data.errors[rows])
                axes.plot(data.sizes[rows, column], seen, "o", color=colour, markersize=3)
                axes.plot(line, fitted, color=colour, linewidth=1.0)
                drawn[float(level)] = float(fitted[-1])
            axes.set_title(f"Lines of equal {SYMBOLS[other]}")
            title = "Target error" if measure is ERROR else measure.title
            log_axes(axes, x_title=TITLES[column], y_title=title, linear=measure.higher_is_better)
            _name_lines(axes, float(line[-1]), drawn, SYMBOLS[other])

    canvas, narrow, _ = in_panels(draw, 2, width=4.2, height=3.1)
    frame = pd.DataFrame(
        {"n": data.sizes[:, 0], "s": data.sizes[:, 1], "error": data.errors, "fitted": fit.predict(data.sizes)}
    )
    return Figure(
        name=name,
        canvas=canvas,
        narrow=narrow,
        data=frame,
        caption=f"{capitalised(measure.title)} over both sizes. Dots: measured. Lines: the law {chosen}, "
        f"{fit.law.formula}. Violet to ochre: small to large.",
    )
