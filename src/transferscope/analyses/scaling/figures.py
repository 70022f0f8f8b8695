"""The figures of scaling laws: curves, back-tests, parameters, what the data determine, surfaces over (n, s)."""

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from transferscope.analyses.scaling.analysis import Analysis, CurveAnalysis
from transferscope.analyses.scaling.axes import (
    add_legend,
    in_panels,
    line_sizes,
    log_axes,
    mark_extrapolated,
    series_styles,
    short_size,
)
from transferscope.report.blocks import Figure
from transferscope.report.figures.style import QUIET
from transferscope.scaling.observations import Observations
from transferscope.scaling.surface import Surface

COLOUR, FORECAST = "#0072b2", "#d55e00"
MOST_PANELS = 9
"""Curves that are drawn in a panel each."""
MOST_CURVES = 6
"""Curves that are drawn in one panel, or whose landscapes are."""


def draw_curves(analysis: Analysis) -> Figure | None:
    """Points, the fitted law, its 90 % band and the forecasts; None when no curve has two sizes."""
    shown = [curve for curve in analysis.curves if curve.advice is not None][:MOST_PANELS]
    if not shown:
        return None

    def draw(_: Canvas, panels: list[Axes]) -> pd.DataFrame:
        target = analysis.question.target_error
        rows = [_draw_curve(axes, curve, target) for axes, curve in zip(panels, shown, strict=True)]
        return pd.concat(rows, ignore_index=True)

    canvas, narrow, data = in_panels(draw, len(shown))
    return Figure(
        name="scaling-curves",
        canvas=canvas,
        narrow=narrow,
        data=data,
        caption=(
            "Target error over pre-training size. Dots: measured. Line and band: posterior median and 90 % interval of "
            "D n^-alpha + C. Grey: beyond the measured sizes, with the forecasts of the combination of laws and their "
            "90 % intervals. Dashed: the target error."
        ),
    )


def _draw_curve(axes: Axes, curve: CurveAnalysis, target: float | None) -> pd.DataFrame:
    assert curve.advice is not None
    data, forecast, posterior = curve.observations, curve.advice.forecast, curve.advice.posterior
    n = data.sizes[:, 0]
    line = line_sizes(n[n > 0].min(), forecast.sizes.max())
    drawn = posterior.predict(line)
    low, middle, high = ([posterior.quantile(column, level) for column in drawn.T] for level in (0.05, 0.5, 0.95))
    mark_extrapolated(axes, n.max(), forecast.sizes.max())
    axes.fill_between(line, low, high, color=COLOUR, alpha=0.15, linewidth=0)
    axes.plot(line, middle, color=COLOUR, linewidth=1.4)
    axes.plot(n[n > 0], data.errors[n > 0], "o", color=COLOUR, markersize=4)
    if np.isfinite(forecast.low).all():
        arms = np.stack([forecast.predicted - forecast.low, forecast.high - forecast.predicted])
        axes.errorbar(
            forecast.sizes, forecast.predicted, yerr=np.maximum(arms, 0), fmt="s", color=FORECAST, markersize=3
        )
    if target is not None:
        axes.axhline(target, color=FORECAST, linestyle="--", linewidth=0.9)
    axes.set_title(curve.name)
    log_axes(axes, x_title="Pre-training size n", y_title="Target error")
    measured = pd.DataFrame({"curve": curve.name, "kind": "measured", "n": n, "error": data.errors})
    predicted = pd.DataFrame(
        {
            "curve": curve.name,
            "kind": "forecast",
            "n": forecast.sizes,
            "error": forecast.predicted,
            "low": forecast.low,
            "high": forecast.high,
        }
    )
    return pd.concat([measured, predicted], ignore_index=True)


def draw_linearised(analysis: Analysis) -> Figure | None:
    """Error - C over n with the fitted D n^-alpha; None when no curve has a fit with two points above its C."""
    shown = [curve for curve in analysis.curves if _above(curve).sum() > 1][:MOST_PANELS]
    if not shown:
        return None

    def draw(_: Canvas, panels: list[Axes]) -> pd.DataFrame:
        rows = [_draw_linearised(axes, curve) for axes, curve in zip(panels, shown, strict=True)]
        return pd.concat(rows, ignore_index=True)

    canvas, narrow, data = in_panels(draw, len(shown))
    return Figure(
        name="scaling-linearised",
        canvas=canvas,
        narrow=narrow,
        data=data,
        caption=(
            "Error above the fitted transfer gap C. The law D n^-alpha + C is a straight line here; points that bend "
            "away from it speak against the law. Points below C are left out. Where the data do not determine C, "
            "another C fits about as well."
        ),
    )


def _above(curve: CurveAnalysis) -> np.ndarray:
    """Which of the points of the fit lie above its C; none without a fit, or where nothing falls."""
    fit = curve.fit
    if fit.status == "too_few" or fit.theta[1] <= 0:
        return np.zeros(len(fit.observations), dtype=bool)
    above: np.ndarray = fit.observations.errors > fit.theta[2]
    return above


def _draw_linearised(axes: Axes, curve: CurveAnalysis) -> pd.DataFrame:
    fit, above = curve.fit, _above(curve)
    gap = float(fit.theta[2])
    n, left = fit.observations.sizes[above, 0], fit.observations.errors[above] - gap
    line = line_sizes(float(n.min()), float(n.max()))
    axes.plot(n, left, "o", color=COLOUR, markersize=4)
    axes.plot(line, fit.predict(line) - gap, color=COLOUR, linewidth=1.2)
    axes.set_title(curve.name)
    log_axes(axes, x_title="Pre-training size n", y_title=f"Target error - C  (C = {gap:.3g})", strictly=True)
    return pd.DataFrame({"curve": curve.name, "n": n, "error_above_C": left, "C": gap})


def draw_backtests(analysis: Analysis) -> Figure | None:
    """Predicted over observed error against how far ahead it was; None without a back-test."""
    rows = [
        {
            "curve": curve.name,
            "origin": one.origin,
            "size": one.size,
            "ahead": one.size / one.origin,
            "predicted": one.predicted,
            "observed": one.observed,
        }
        for curve in analysis.curves
        if curve.advice is not None
        for one in curve.advice.forecast.backtests
    ]
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    names = list(dict.fromkeys(frame["curve"]))[:MOST_CURVES]
    styles = series_styles(names)

    def draw(canvas: Canvas, panels: list[Axes]) -> None:
        (axes,) = panels
        axes.axhline(1.0, color=QUIET, linewidth=0.9)
        for name in names:
            part = frame[frame["curve"] == name]
            ratio = part["predicted"] / part["observed"]
            axes.plot(part["ahead"], ratio, styles[name].mark, color=styles[name].colour, markersize=4, label=name)
        log_axes(axes, x_title="Predicted size over largest seen size", y_title="Predicted over measured error")
        add_legend(canvas, styles)

    canvas, narrow, _ = in_panels(draw, 1, width=6.0, height=2.8)
    return Figure(
        name="scaling-backtest",
        canvas=canvas,
        narrow=narrow,
        data=frame,
        caption=(
            "Rolling back-test: the same forecast made from fewer points, against the points that were left out. "
            "1 would be a perfect prediction."
        ),
    )


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

    def draw(_: Canvas, panels: list[Axes]) -> None:
        for axes, (parameter, part) in zip(panels, frame.groupby("parameter", sort=False), strict=True):
            arms = np.stack([part["median"] - part["low"], part["high"] - part["median"]])
            axes.errorbar(part["number"], part["median"], yerr=np.maximum(arms, 0), fmt="o", color=COLOUR, markersize=4)
            log_axes(axes, x_title=column, y_title=NAMES[str(parameter)])

    canvas, narrow, _ = in_panels(draw, 2, width=3.6, height=2.6)
    return Figure(name="scaling-parameters", canvas=canvas, narrow=narrow, data=frame, caption=caption)


def parameter_figure(frame: pd.DataFrame, *, name: str, caption: str) -> Figure:
    """Medians with intervals, one panel for each parameter.

    Args:
        frame: Columns curve, parameter, median, low, high.
        name: Name of the figure's files.
        caption: Its caption.
    """
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


def landscape(
    data: Observations, alphas: Float[np.ndarray, " A"], ds: Float[np.ndarray, " D"]
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


FAR = 30.0
"""Residuals this many times the smallest are all drawn alike."""

RATES = np.geomspace(0.03, 2.0, 80)
"""Rates on the page of a table, on a logarithmic axis like D."""


def draw_fit_landscapes(analysis: Analysis) -> Figure | None:
    """The landscape of each curve that has a fit, over the rates and coefficients that could be; None without one."""
    shown = [curve for curve in analysis.curves if curve.fit.status != "too_few"][:MOST_CURVES]
    if not shown:
        return None

    def draw(_: Canvas, panels: list[Axes]) -> pd.DataFrame:
        rows = []
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
        return pd.concat(rows, ignore_index=True)

    canvas, narrow, listed = in_panels(draw, len(shown))
    caption = (
        "Root mean square residual (log scale, dark is small) over alpha and D, with the best C for each. Cross: the "
        "smallest. A long dark valley is why alpha, D and C may not be told apart."
    )
    return Figure(name="scaling-landscape", canvas=canvas, narrow=narrow, data=listed, caption=caption)


def _listed(
    name: str, alphas: Float[np.ndarray, " A"], ds: Float[np.ndarray, " D"], loss: Float[np.ndarray, "A D"]
) -> pd.DataFrame:
    alpha, D = (axis.ravel() for axis in np.meshgrid(alphas, ds, indexing="ij"))
    return pd.DataFrame({"series": name, "alpha": alpha.round(5), "D": D.round(5), "rmse": loss.ravel().round(7)})


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

    canvas, narrow, _ = in_panels(draw, 2, width=4.2, height=3.1)
    frame = pd.DataFrame(
        {"n": data.sizes[:, 0], "s": data.sizes[:, 1], "error": data.errors, "fitted": fit.predict(data.sizes)}
    )
    return Figure(
        name=name,
        canvas=canvas,
        narrow=narrow,
        data=frame,
        caption=f"Target error over both sizes. Dots: measured. Lines: the law {chosen}, {fit.law.formula}. Dark to "
        "light: small to large.",
    )
