"""The numbers behind an answer on scaling, as tables: curves, surfaces over (n, s), parameters, fit cards."""

import math
import platform
from importlib.metadata import version

import numpy as np
import pandas as pd

from transferscope.analyses.scaling.analysis import Analysis, CurveAnalysis, SurfaceAnalysis
from transferscope.analyses.scaling.curve_words import number
from transferscope.analyses.scaling.words import STATUS_WORDS, estimate_in_words, surface_parameters
from transferscope.report.blocks import Cell, Column, Table
from transferscope.scaling.fit import LawFit
from transferscope.scaling.solve import THOROUGH

CURVE_HEADINGS = ("curve", "sizes", "alpha", "C", "at 4 x n", "90 % interval", "status")

HINTS = {
    "sizes": "different pre-training sizes above 0 that the law was fitted to",
    "alpha": "pre-training rate: how fast the error falls with n",
    "C": "transfer gap: the error that no amount of this pre-training data removes",
    "at 4 x n": "forecast at four times the largest measured size",
    "90 % interval": "of the forecast; nominal: beyond 2 times the largest size it was not calibrated and covers less",
    "status": "scenario of the target error: a undecided, b more of this data, c other data, d too slow; none where "
    "the error does not fall",
}

SURFACE_HEADINGS = ("parameter", "what it is", "value", "95 % set")


def curves_table(analysis: Analysis) -> Table:
    """Every curve with its own fit and its forecast."""
    columns = tuple(Column(title, HINTS.get(title, ""), title not in ("curve", "status")) for title in CURVE_HEADINGS)
    rows = tuple(tuple(Cell(text) for text in _curve_row(curve)) for curve in analysis.curves)
    return Table(
        columns,
        rows,
        caption="Every curve: its own fit of D n^-alpha + C, and the forecast at four times its largest size",
    )


def _curve_row(curve: CurveAnalysis) -> tuple[str, ...]:
    """One curve as cells under CURVE_HEADINGS."""
    alpha, gap = (estimate_in_words(curve.fit.estimates[name]) for name in ("alpha", "C"))
    if curve.advice is None:
        return (curve.name, str(curve.fit.observations.n_distinct), alpha, gap, "", "", "too few points")
    forecast = curve.advice.forecast
    predicted, low, high = (float(values[1]) for values in (forecast.predicted, forecast.low, forecast.high))
    interval = f"{number(low)} to {number(high)}" if math.isfinite(low) else "none"
    status, decision = STATUS_WORDS.get(curve.fit.status, curve.fit.status), curve.advice.decision
    if decision is not None:
        named = f"scenario {decision.scenario}" if decision.falls else "does not fall"
        status = "reached" if decision.scenario == "reached" else named
    return (curve.name, str(curve.fit.observations.n_distinct), alpha, gap, number(predicted), interval, status)


def surface_table(one: SurfaceAnalysis) -> Table:
    """The parameters of the law of one group over (n, s)."""
    columns = tuple(Column(title, numeric=False) for title in SURFACE_HEADINGS)
    law = one.surface.fits[one.surface.interpolating].law
    rows = tuple(tuple(Cell(text) for text in row) for row in surface_parameters(one))
    return Table(columns, rows, caption=f"{one.name}: {law.name}, {law.formula}")


def parameters(analysis: Analysis) -> pd.DataFrame:
    """The parameters of every fit.

    Returns:
        One row per curve or group over (n, s), law and parameter: curve, law, parameter, value (NaN where the data
        do not determine it), stderr, low and high (the 95 % set; NaN where it is open), status.
    """
    fits = [(curve.name, curve.fit) for curve in analysis.curves]
    fits += [(one.name, fit) for one in analysis.surfaces for fit in one.surface.fits.values()]
    columns = ["curve", "law", "parameter", "value", "stderr", "low", "high", "status"]
    return pd.DataFrame([row for name, fit in fits for row in _parameters(name, fit)], columns=columns)


def _parameters(name: str, fit: LawFit) -> list[dict[str, object]]:
    rows = []
    for parameter, estimate in fit.estimates.items():
        profile = fit.profiles.get(parameter)
        low = high = math.nan
        if profile is not None and profile.found:  # an end that is open is the edge of the search and says nothing
            low = math.nan if profile.open_below else profile.low
            high = math.nan if profile.open_above else profile.high
        stderr = math.nan if estimate.stderr is None else estimate.stderr
        rows.append(
            {
                "curve": name,
                "law": fit.law.name,
                "parameter": parameter,
                "value": estimate.value,
                "stderr": stderr,
                "low": low,
                "high": high,
                "status": estimate.status,
            }
        )
    return rows


def fit_cards(analysis: Analysis) -> Table | None:
    """What a reader needs to repeat each fit: law, loss, points, search and versions; None without a fit."""
    cards = [(curve.name, _card(curve.fit)) for curve in analysis.curves]
    cards += [(one.name, _card(fit)) for one in analysis.surfaces for fit in one.surface.fits.values()]
    if not cards:
        return None
    names = tuple(Column(name, numeric=False) for name in ("fit of", *cards[0][1]))
    rows = tuple((Cell(name), *(Cell(text) for text in card.values())) for name, card in cards)
    return Table(names, rows, caption="Fit cards")


def _card(fit: LawFit) -> dict[str, str]:
    return {
        "law": f"{fit.law.name}: {fit.law.formula} ({fit.law.source})",
        "loss": fit.loss,
        "weights": "equal" if fit.observations.stderr is None else "1 / stderr^2",
        "points": f"{len(fit.observations)} at {fit.observations.n_distinct} sizes",
        "fixed": ", ".join(f"{name} = {value:g}" for name, value in fit.fixed.items()) or "none",
        "search": f"grid of {len(fit.law.grid)} cells, {THOROUGH.n_starts} starts, Levenberg-Marquardt in bounds",
        "versions": f"transferscope {version('transferscope')}, numpy {np.__version__}, "
        f"python {platform.python_version()}",
    }
