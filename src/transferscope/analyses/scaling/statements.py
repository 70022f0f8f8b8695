"""Statements on scaling laws, the answer first; their words are in words.j2."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

import numpy as np

from transferscope.analyses.scaling.analysis import Analysis, CurveAnalysis, SurfaceAnalysis
from transferscope.estimate import Estimate, Interval
from transferscope.scaling.advice.advise import Decision
from transferscope.scaling.advice.budget import LARGEST_FACTOR
from transferscope.scaling.advice.costs import Formula, MeasuredCost
from transferscope.scaling.advice.next_run import NextRun
from transferscope.scaling.forecast import SEVERAL, Forecast
from transferscope.scaling.observations import Observations
from transferscope.statements import Statement, Words, state
from transferscope.study.measure import Measure
from transferscope.wording import size_words

ENOUGH = 5
"""With fewer sizes numbers are marked as rough, since the posterior is mostly prior."""

RISE = 1.1
"""The last error over the least one, from which on a curve counts as rising when two sizes lie after the least one.
Over both sizes: the mean of the larger half of the runs over that of the smaller."""

LITTLE = 0.02
"""Share of the variance below which a run is uninformative."""

CLEAR = 0.8
"""Probability from which one of two is named as better."""

MORE = {True: "more of this data", False: "a larger model"}
"""Words for a larger n: of data or of parameters."""

FAR = 30.0
"""Multiple of the largest measured budget from which a budget is marked as far."""


@cache
def words_of(measure: Measure) -> Words:
    """Return the sentences for a table, with errors in its unit."""
    filters: Mapping[str, Callable[..., str]] = {
        "of": lambda name: f"of {name}: " if name else "",
        "score": measure.shown_score,
        "within": lambda interval: measure.shown_scores(*interval),
        "size": number,
        "about": lambda interval: f"{number(interval[0])} to {number(interval[1])}",
        "big": size_words,
        "cost": number,
        "fall": lambda error: f"{measure.distance(error)} {measure.of_points}".rstrip(),
    }
    return Words("transferscope.analyses.scaling", filters)


def number(value: float) -> str:
    """Return three digits, thousands with commas, "beyond any size" for infinity."""
    if not np.isfinite(value):
        return "beyond any size"
    if abs(value) < 1000:
        return f"{value:.3g}".replace("-", "−")
    return f"{float(f'{value:.3g}'):,.0f}" if value < 1e12 else f"{value:.3g}".replace("e+", "e")


def statements(analysis: Analysis) -> tuple[Statement, ...]:
    """Return the answer, then the expected benefit of the next run, then the uncertainty; then the answer of others."""
    first, *others = analysis.told or (None,)
    if first is None:
        return (state("no advice", message=analysis.curves[0].message if analysis.curves else "nothing was fitted"),)
    return (*_of(analysis, first), *(_answer(analysis, one) for one in others))


def _of(analysis: Analysis, one: CurveAnalysis | SurfaceAnalysis) -> Iterator[Statement]:
    if isinstance(one, CurveAnalysis):
        return _of_curve(analysis, one)
    return _of_compute(analysis, one) if analysis.compute else _of_surface(analysis, one)


def _answer(analysis: Analysis, one: CurveAnalysis | SurfaceAnalysis) -> Statement:
    """Return the first statement after any warning."""
    return next(said for said in _of(analysis, one) if said.kind != "rises")


def _of_curve(analysis: Analysis, curve: CurveAnalysis) -> Iterator[Statement]:
    advice = curve.advice
    assert advice is not None
    data, decision, forecast = curve.observations, advice.decision, advice.forecast
    pretrained = data.sizes[:, 0] > 0
    without, data = data.take(~pretrained), data.take(pretrained)
    errors = _means(data)[1]
    named = curve.name if len(analysis.curves) > 1 else ""
    four_times = forecast.each[1]
    interval = _expected(four_times)
    far = state(
        "at zero" if data.zero_from is not None else "too few" if interval is None else "forecast",
        group=named,
        zero_from=data.zero_from,
        n=four_times.n,
        error=four_times.error,
        interval=interval,
        now=float(errors[-1]),
        gained=interval is not None and interval[1] < float(errors[-1]),
        more=MORE[analysis.of_data],
    )
    helps = len(without) == 0 or without.errors.mean() > data.errors.min()
    if not helps:
        yield state("no help", group=named, error=float(without.errors.mean()), best=float(errors.min()))
    if decision is None:
        yield far
    else:
        yield _decided(decision, named, of_data=analysis.of_data)
        run = advice.next_run
        if run is not None and decision.falls and decision.scenario != "reached":
            yield _next_run(run, "n", named, forecast.each)
        yield far
    for one in () if curve.asked is None else curve.asked.each:
        yield _plan("forecast at", one, named, compute=False)
    if forecast.may_take_off:
        yield state("still", group=named)
    yield from _rising(data, named)
    if analysis.gains:  # the smallest transfer gap against the first curve
        best = max(analysis.gains, key=lambda gain: gain.lower_gap)
        facts = {"chance": best.lower_gap, "fall": -best.gap.value}
        yield state("variant", variant=best.variant, baseline=best.baseline, n=len(analysis.gains), **facts)
    if data.n_distinct < ENOUGH and (decision is None or decision.falls):
        yield state("few sizes", group=named, sizes=data.n_distinct, enough=ENOUGH)


def _decided(decision: Decision, curve: str, *, of_data: bool) -> Statement:
    scenario = decision.scenario
    kind = "change" if scenario in ("c", "d") else scenario
    return state(
        kind if decision.falls or scenario == "reached" else "does not fall",
        scenario=scenario,
        group=curve,
        target=decision.target_error,
        limit=decision.largest_size,
        feasible=decision.feasible,
        reachable=decision.reachable,
        size=decision.size_needed.value,
        sizes=_ends(decision.size_needed),
        of_data=of_data,
        more=MORE[of_data],
    )


def _ends(one: Estimate | Interval) -> tuple[float, float]:
    return one.low, one.high


def _expected(one: Forecast) -> tuple[float, float] | None:
    return None if one.basis == "few sizes" else _ends(one.interval)


def _next_run(run: NextRun, symbols: str, named: str, ahead: Sequence[Forecast] = ()) -> Statement:
    if run.information < LITTLE:
        return state("no next run", group=named)
    expected = next((one for one in ahead if one.sizes == run.sizes), None)
    return state(
        "next run",
        group=named,
        n=run.sizes[0],
        s=run.sizes[1] if len(run.sizes) > 1 else None,
        error=None if expected is None else expected.error,
        interval=None if expected is None else _expected(expected),
        information=run.information,
        cost=run.cost,
        symbols=symbols,
    )


def _rising(data: Observations, named: str) -> Iterator[Statement]:
    """Yield a warning if the error rises again, or from the start, by more than its noise."""
    sizes, errors = _means(data)
    least = int(errors.argmin())
    if len(sizes) - least < 3 or errors[-1] <= RISE * errors[least]:
        return
    if data.stderr is not None:
        worst = float(data.stderr[np.isin(data.sizes[:, 0], sizes[[least, -1]])].max())
        if errors[-1] - errors[least] < 2 * np.sqrt(2) * worst:
            return
    yield state(
        "rises",
        group=named,
        over_both=False,
        after=float(sizes[least]) if least else None,
        best=float(errors[least]),
        last=float(errors[-1]),
    )


def _rising_over_both(data: Observations, named: str) -> Iterator[Statement]:
    """Yield a warning, before any answer, if the error of the larger half of the runs is higher than of the smaller."""
    errors = data.errors[np.argsort(data.sizes.prod(axis=1), kind="stable")]
    first, last = (float(half.mean()) for half in (errors[: len(errors) // 2], errors[-(len(errors) // 2) :]))
    if last >= RISE * first:
        yield state("rises", group=named, over_both=True, best=first, last=last)


def _means(data: Observations) -> tuple[np.ndarray, np.ndarray]:
    sizes = np.unique(data.sizes[:, 0])
    return sizes, np.array([data.errors[data.sizes[:, 0] == size].mean() for size in sizes])


def _plan(kind: str, plan: Forecast, named: str, *, symbols: str = "ns", **facts: object) -> Statement:
    return state(
        kind,
        group=named,
        n=plan.n,
        s=plan.s,
        cost=plan.cost,
        error=plan.error,
        interval=_expected(plan),
        beyond=plan.basis != "within",
        several=[(symbol, times) for symbol, times in zip(symbols, plan.ahead, strict=False) if times >= SEVERAL],
        **facts,
    )


def _of_surface(analysis: Analysis, one: SurfaceAnalysis) -> Iterator[Statement]:
    """Yield the answer for a budget or target, or which of the two sizes to double."""
    question = analysis.question
    named = one.name if len(analysis.surfaces) > 1 else ""
    yield from _rising_over_both(one.surface.observations, named)
    if one.split is not None:
        target, (low, high) = question.target_score, _ends(one.split.interval)
        reached = None if target is None or low <= target < high else high <= target
        yield _plan("split", one.split, named, budget=question.budget, target=target, reached=reached)
    elif question.target_score is not None and one.surface.least_error <= question.target_score:
        yield state("reached", group=named, target=question.target_score)
    run, doubled = one.next_run, [_doubled(one, named)]
    if run is not None and run.reached is not None:
        chance = run.reached
        reach = state(
            "plan reaches",
            group=named,
            n=run.plan[0],
            s=run.plan[1],
            target=question.target_score,
            chance=chance,
            likely=max(chance, 1 - chance) >= CLEAR,
        )
        doubled = [reach, *doubled] if chance >= CLEAR else [*doubled, reach]
    yield from doubled
    if one.cheapest is not None:
        yield _plan("cheapest", one.cheapest, named, target=question.target_score)
    if run is not None:
        yield _next_run(run.run, "n + s", named)
    yield from (_plan("forecast at", point, named, compute=False) for point in one.forecasts)
    yield from _worth(one, named)
    yield from _outliers(one)


def _doubled(one: SurfaceAnalysis, named: str) -> Statement:
    more_n, more_s = one.doubled
    chance, labels = one.labels_better, more_s.error < more_n.error
    clear = chance >= CLEAR if labels else chance <= 1 - CLEAR  # and what is expected agrees
    return state(
        "double",
        more="" if not clear else "labels" if labels else "pretraining",
        group=named,
        n=more_n.n,
        s=more_s.s,
        now=one.now.error,
        with_n=more_n.error,
        with_s=more_s.error,
        n_interval=_expected(more_n),
        s_interval=_expected(more_s),
        chance=max(chance, 1 - chance),
    )


def _worth(one: SurfaceAnalysis, named: str) -> Iterator[Statement]:
    """Yield how many labels the largest pretraining replaces at each s."""
    if one.worth:
        each = [  # further labels: those from scratch beyond s
            (s, *(max(labels, count.smallest) - s for labels in (count.value, count.low, count.high)), count.limit - s)
            for s, count in one.worth
        ]
        yield state("worth by s", group=named, n=one.surface.largest[0], each=each)


def _of_compute(analysis: Analysis, one: SurfaceAnalysis) -> Iterator[Statement]:
    """Yield the answer on parameters and tokens: what to train for a budget, the cost of a target, and outliers."""
    question = analysis.question
    named = one.name if len(analysis.surfaces) > 1 else ""
    largest = one.largest_cost
    yield from _rising_over_both(one.surface.observations, named)
    if question.target_score is not None:
        if one.surface.least_error <= question.target_score:
            yield state("reached", group=named, target=question.target_score)
        elif one.cheapest is None:
            yield state("compute misses", group=named, target=question.target_score, times=LARGEST_FACTOR)
        else:
            ratio = one.cheapest.sizes[1] / one.cheapest.n
            yield _plan(
                "compute for target", one.cheapest, named, target=question.target_score, ratio=ratio, symbols="ND"
            )
    asked = [best for best in one.optima if question.budget is None or best.budget == question.budget]
    best = asked[0] if question.budget is not None else one.optima[1]
    yield _plan(
        "optimum",
        best.plan,
        named,
        symbols="ND",
        budget=best.budget,
        operations=isinstance(one.costs, Formula | MeasuredCost),
        ratio=best.plan.sizes[1] / best.plan.n,
        asked=question.budget is not None,
        times=best.budget / largest,
    )
    yield state(
        "optimum is known to",
        group=named,
        interval=_ends(best.parameters),
        laws=[fit.law.formula for fit in one.surface.fits.values()],
        far=best.budget > FAR * largest,
        times=best.budget / largest,
    )
    yield from (_plan("forecast at", point, named, symbols="ND", compute=True) for point in one.forecasts)
    yield from _outliers(one)


def _outliers(one: SurfaceAnalysis) -> Iterator[Statement]:
    far = one.surface.outliers
    if far is not None:
        rows = [] if far.rows is None else sorted(far.rows.tolist(), key=lambda row: (len(row), row))
        yield state(
            "outliers",
            n=len(far),
            of=len(one.surface.observations),
            rows=rows,
            loss=one.surface.loss,
        )
