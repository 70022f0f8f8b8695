"""Tables of a scaling analysis: forecasts, and the parameters of every fit."""

import math
from collections.abc import Iterator
from functools import partial

import pandas as pd

from transferscope.analyses.scaling.analysis import Analysis, CurveAnalysis, SurfaceAnalysis
from transferscope.analyses.scaling.question import costs_of
from transferscope.analyses.scaling.statements import number
from transferscope.report.blocks import Cell, Column, Table
from transferscope.scaling.forecast import Forecast
from transferscope.wording import large_count

_STATUS = {
    "reached": "reached",
    "a": "not known",
    "b": "with more of this data",
    "c": "not with this data",
    "d": "not at a feasible size",
}


def answer_table(analysis: Analysis) -> Table:
    """Return every curve, or every group over two sizes, with its forecasts."""
    if not analysis.surfaces:
        return _curves(analysis)
    return _budgets(analysis) if analysis.compute else _plans(analysis)


def _curves(analysis: Analysis) -> Table:
    shown, wanted = analysis.measure.shown_score, analysis.question.target_score
    columns = [
        Column("Curve", numeric=False),
        Column("Sizes", "Different pretraining sizes above 0"),
        Column("Largest n", "The largest pretraining size that was measured, and what was measured there"),
        *(Column(f"At {times} n", f"Forecast at {times} times that size, with its 90 % interval") for times in (2, 4)),
    ]
    columns += [
        Column(f"At {number(n)}", "Forecast at this size, with its 90 % interval") for (n,) in analysis.question.at
    ]
    if wanted is not None:
        columns.append(Column(f"Reaches {shown(wanted)}", "With the probability that the largest feasible size does"))
    rows = tuple(tuple(_curve_row(analysis, curve, len(columns))) for curve in analysis.curves)
    return Table(tuple(columns), rows, "Every curve with its forecasts")


def _curve_row(analysis: Analysis, curve: CurveAnalysis, width: int) -> Iterator[Cell]:
    data, measure = curve.observations, analysis.measure
    largest = float(data.sizes[:, 0].max())
    yield Cell(curve.name)
    yield Cell(str(curve.fit.observations.n_distinct))
    yield Cell(number(largest), measure.shown_score(float(data.errors[data.sizes[:, 0] == largest].mean())))
    if curve.advice is None:
        yield from (Cell("too few points") if place == 3 else Cell("") for place in range(3, width))
        return
    ahead, decision = curve.advice.forecast.each[:2], curve.advice.decision
    yield from (_expected(analysis, one) for one in (*ahead, *(() if curve.asked is None else curve.asked.each)))
    if decision is not None:
        falls = decision.falls or decision.scenario == "reached"
        chance = "" if decision.scenario == "reached" else f"{100 * decision.feasible:.0f} %"
        yield Cell(_STATUS[decision.scenario] if falls else "does not get better", chance if falls else "")


def _plans(analysis: Analysis) -> Table:
    rows = []
    for one in analysis.surfaces:
        for what, plan in _runs(one):
            named = f"{one.name}: {what}" if len(analysis.surfaces) > 1 else what
            cost = [] if plan.cost is None else [Cell(number(plan.cost))]
            rows.append((Cell(named), *(Cell(number(size)) for size in plan.sizes), _expected(analysis, plan), *cost))
    priced = costs_of(analysis.question) is not None
    columns = (
        Column("Run", numeric=False),
        Column("n", "Pretraining size"),
        Column("s", "Labels"),
        Column("Expected", "Mean over the laws, each with the weight of its score on larger sizes; 90 % interval"),
        *([Column("Cost")] if priced else []),
    )
    return Table(columns, tuple(rows), "What is expected of each run")


def _runs(one: CurveAnalysis | SurfaceAnalysis) -> list[tuple[str, Forecast]]:
    """Return the forecasts of one curve or group, with the kind of each run."""
    if isinstance(one, CurveAnalysis):
        found = (("forecast", None if one.advice is None else one.advice.forecast), ("asked", one.asked))
        return [(what, each) for what, ahead in found if ahead is not None for each in ahead.each]
    asked = [("asked", point) for point in one.forecasts]
    if one.optima:
        return [*(("the budget", best.plan) for best in one.optima), *asked]
    doubled = zip(("twice the pretraining", "twice the labels"), one.doubled, strict=True)
    plans = (("the budget", one.split), ("cheapest for the target", one.cheapest))
    return [("largest sizes", one.now), *doubled, *((what, plan) for what, plan in plans if plan is not None), *asked]


def _expected(analysis: Analysis, plan: Forecast) -> Cell:
    low, high = plan.interval.low, plan.interval.high
    within = analysis.measure.shown_scores(low, high) if math.isfinite(low) else "no interval"
    return Cell(analysis.measure.shown_score(plan.error), within)


def _budgets(analysis: Analysis) -> Table:
    rows = []
    for one in analysis.surfaces:
        answered = [
            (best.plan, f"{large_count(best.parameters.low, 'B')} to {large_count(best.parameters.high, 'B')}")
            for best in one.optima
        ]
        for plan, within in [*answered, *((point, "asked") for point in one.forecasts)]:
            name = [Cell(one.name)] if len(analysis.surfaces) > 1 else []
            n, tokens = plan.sizes
            cells = (Cell(large_count(n, "B"), within), Cell(large_count(tokens, "B")), Cell(f"{tokens / n:.3g}"))
            rows.append((*name, Cell(f"{plan.cost:.3g}"), *cells, _expected(analysis, plan)))
    columns = (
        *([Column("Table", numeric=False)] if len(analysis.surfaces) > 1 else []),
        Column("Compute", "Cost of the run, in operations of training (6 N D) unless another cost was given"),
        Column("Parameters", "The best number N for that budget, with its 90 % interval"),
        Column("Tokens", "The training tokens D that the rest of the budget pays for"),
        Column("Tokens a parameter"),
        Column("Expected", "With its 90 % interval, which holds as long as exponents do not change with size"),
    )
    return Table(columns, tuple(rows), "What to train for each budget")


def expected_runs(analysis: Analysis) -> pd.DataFrame:
    """Return the forecasts in the unit of the scores, and the run to make next.

    Returns:
        One row per curve or group and run: curve, run ("forecast", at 2, 4, 8 and 16 times the largest size, "asked",
        "the budget" and others over two sizes, "next"), n, s, cost, expected, low and high (90 %), information
        (expected share of the decision's variance that the next run removes).
    """
    score = partial(_as_given, analysis)
    rows: list[tuple[object, ...]] = []
    both: tuple[CurveAnalysis | SurfaceAnalysis, ...] = (*analysis.curves, *analysis.surfaces)
    for one in both:
        for what, plan in _runs(one):
            where = (plan.n, plan.s, plan.cost)
            ends = sorted((score(plan.interval.low), score(plan.interval.high)))
            rows.append((one.name, what, *where, score(plan.error), *ends))
    following = [(curve.name, curve.advice.next_run) for curve in analysis.curves if curve.advice is not None]
    following += [(one.name, one.next_run.run) for one in analysis.surfaces if one.next_run is not None]
    for name, run in following:
        if run is not None:
            n, s = (*run.sizes, None)[:2]
            rows.append((name, "next", n, s, run.cost, None, None, None, run.information))
    columns = ["curve", "run", "n", "s", "cost", "expected", "low", "high", "information"]
    return pd.DataFrame([(*row, *[None] * (len(columns) - len(row))) for row in rows], columns=columns, dtype=object)


def _as_given(analysis: Analysis, error: float) -> float:
    """Return the score of an error, a share if shares were given, which are shown in percent."""
    return analysis.measure.score(error) / analysis.measure.scale


def targets(analysis: Analysis) -> pd.DataFrame:
    """Return whether more pretraining reaches the target: one row per curve over n with a target.

    Returns:
        curve, target, falls (whether a falling law fits it), scenario ("reached", or "a" to "d"), feasible
        (probability that the largest feasible n reaches it), reachable (at any n), n, low and high (the size that
        reaches it, 90 %).
    """
    rows = []
    for curve in analysis.curves:
        one = None if curve.advice is None else curve.advice.decision
        if one is not None:
            wanted = (curve.name, _as_given(analysis, one.target_error), one.falls, one.scenario)
            size = one.size_needed
            rows.append((*wanted, one.feasible, one.reachable, size.value, size.low, size.high))
    columns = ["curve", "target", "falls", "scenario", "feasible", "reachable", "n", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def parameters(analysis: Analysis) -> pd.DataFrame:
    """Return the parameters of every fit, except the coupled law, whose rates depend on its exponent.

    Returns:
        One row per curve or group over (n, s), law and parameter: curve, law, parameter, value (NaN where the data
        do not determine it), stderr, low and high (the 95 % set; NaN where unbounded), status.
    """
    fits = [(curve.name, curve.fit) for curve in analysis.curves]
    fits += [(one.name, fit) for one in analysis.surfaces for fit in one.surface.fits.values()]
    rows = []
    for name, fit in fits:
        for parameter, estimate in fit.estimates.items() if fit.law.name != "coupled" else ():
            profile = fit.profiles.get(parameter)
            low = high = math.nan
            if profile is not None and profile.found:  # an end that is open is the edge of the search and says nothing
                low = math.nan if profile.open_below else profile.low
                high = math.nan if profile.open_above else profile.high
            stderr = math.nan if estimate.stderr is None else estimate.stderr
            rows.append((name, fit.law.name, parameter, estimate.value, stderr, low, high, estimate.status))
    columns = ["curve", "law", "parameter", "value", "stderr", "low", "high", "status"]
    return pd.DataFrame(rows, columns=columns)
