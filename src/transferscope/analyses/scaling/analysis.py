"""The complete analysis of one table: fits, forecasts, advice, comparisons."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from transferscope.analyses.columns import words_in
from transferscope.analyses.scaling.checks import UNBOUNDED
from transferscope.analyses.scaling.measurements import by_finetune_size
from transferscope.analyses.scaling.question import affordable, check_free, costs_of, hints, prices_of
from transferscope.errors import DataError, out_of_range
from transferscope.scaling.advice.advise import Advice, VariantGain, advise, variant_gain
from transferscope.scaling.advice.budget import (
    SurfaceRun,
    best_split,
    cheapest_split,
    forecast_at,
    next_surface_run,
    spent_on,
    surface_draws,
)
from transferscope.scaling.advice.compute import Optimum, compute_optimal
from transferscope.scaling.advice.costs import Cost, Formula, MeasuredCost
from transferscope.scaling.advice.label_plan import draw_curve, label_grid, labels_for
from transferscope.scaling.extrapolation import Extrapolation, extrapolate
from transferscope.scaling.fit import LawFit, fit_law
from transferscope.scaling.forecast import Forecast, SizeNeeded
from transferscope.scaling.groups import HierarchicalFit, fit_hierarchical
from transferscope.scaling.observations import Observations
from transferscope.scaling.posterior import PowerPosterior
from transferscope.scaling.surface import Surface, fit_surface, varies_freely
from transferscope.settings.questions import ScalingQuestion
from transferscope.study.measure import ERROR, Measure
from transferscope.wording import few

MOST_TOLD = 6
"""Most curves with sentences; further ones are in the table alone."""

BUDGETS = (1.0, 10.0, 100.0)
"""Default budgets of compute, in units of the largest measured one."""


@dataclass(frozen=True)
class CurveAnalysis:
    """One curve over pretraining sizes.

    Attributes:
        fit: The power law with a floor on its own.
        advice: Forecast and advice, with the posterior that the other curves inform; None with fewer than two sizes.
        asked: Forecasts at the requested sizes; None without any.
        message: Reason for missing advice; empty otherwise.
        share: Whether errors are fractions or percentages (`extrapolate`).
    """

    name: str
    observations: Observations
    fit: LawFit
    advice: Advice | None
    asked: Extrapolation | None = None
    message: str = ""
    share: bool = False

    def forecast(self, at: ArrayLike) -> Extrapolation:
        """Return the forecast at sizes, with the loss of the fit."""
        data = self.observations
        sizes = data.sizes[:, 0]
        return extrapolate(sizes, data.errors, at=at, rows=data.rows, loss=self.fit.loss, share=self.share)


@dataclass(frozen=True)
class SurfaceAnalysis:
    """One group over (n, s), or over parameters N and tokens D.

    Attributes:
        now: The expected error at the largest measured sizes.
        doubled: The same with n twice as large, and with s twice as large.
        labels_better: Probability that doubling s gains more than doubling n, over draws of all laws; NaN for
            parameters and tokens.
        split: The best split of the budget; None without one, or for parameters and tokens.
        cheapest: The cheapest plan that is predicted to reach the target; None without costs or out of reach.
        next_run: The (n, s) whose measurement would be most informative for the decision; None if nothing was asked, or
            both sizes vary freely.
        optima: The best parameters and tokens for each budget; empty for other tables.
        largest_cost: Cost of the most expensive measured run; NaN without costs.
        costs: Cost of a run; None if unknown.
        worth: The labels that equal the largest pretraining at each s (`worth_by_s`).
    """

    name: str
    surface: Surface
    now: Forecast
    doubled: tuple[Forecast, Forecast]
    labels_better: float
    forecasts: tuple[Forecast, ...]
    split: Forecast | None
    cheapest: Forecast | None
    next_run: SurfaceRun | None
    optima: tuple[Optimum, ...]
    largest_cost: float
    costs: Cost | None
    worth: tuple[tuple[float, SizeNeeded], ...] = ()


@dataclass(frozen=True)
class Analysis:
    """All results for one table.

    Attributes:
        curves: Each curve over n; empty if laws over both sizes were fitted.
        lead: Name of the curve or group of the answer.
        gains: Every other curve compared with the first; over (n, s), with the first group at the same s.
        compute: Whether the two sizes are parameters and training tokens.
        of_data: Whether a larger n is more data; otherwise it is a larger model.
        cautions: Sentences on other possible causes of the errors than pretraining; empty if none are known.
    """

    question: ScalingQuestion
    measure: Measure
    curves: tuple[CurveAnalysis, ...]
    lead: str
    gains: tuple[VariantGain, ...]
    surfaces: tuple[SurfaceAnalysis, ...]
    compute: bool
    notes: tuple[str, ...]
    cautions: tuple[str, ...] = ()
    of_data: bool = True

    @property
    def told(self) -> tuple[CurveAnalysis | SurfaceAnalysis, ...]:
        """The curves or groups with sentences, that of the answer first."""
        usable: list[CurveAnalysis | SurfaceAnalysis] = [*self.surfaces]
        usable += [curve for curve in self.curves if curve.advice is not None]
        return tuple(sorted(usable, key=lambda one: one.name != self.lead)[:MOST_TOLD])


def analyse(
    groups: Mapping[str, Observations], question: ScalingQuestion, *, measure: Measure = ERROR, compute: bool = False
) -> Analysis:
    """Analyse groups over (n, s) by laws in both sizes, and by curves over n with one size or few points.

    A curve with too few points has a status and a message.

    Args:
        groups: Observations by name, all with one size or all with two.
        compute: Whether the two sizes are parameters and training tokens.
    """
    limit, measured = question.largest_size, max(float(data.sizes[:, 0].max()) for data in groups.values())
    if limit is not None and limit < measured:
        raise out_of_range("largest feasible size", f"{limit:g}", f"at least {measured:g}, the largest measured size")
    over_both = next(iter(groups.values())).sizes.shape[1] == 2
    free = over_both and (compute or all(varies_freely(data.sizes) for data in groups.values()))
    if free:
        check_free(question, compute=compute)
    surfaces, notes = _surfaces(groups, question, compute=compute, free=free) if over_both else ((), ())
    if over_both and question.at and not surfaces:
        question = replace(question, at=())
        notes = (*notes, "nothing was predicted at the sizes that were asked for, which takes laws over both sizes")
    analysed: tuple[CurveAnalysis, ...] = ()
    gains: tuple[VariantGain, ...] = ()
    lead = surfaces[0].name if surfaces else ""
    if not surfaces and not compute:
        parts = [by_finetune_size({name: data}) if over_both else {name: data} for name, data in groups.items()]
        curves = {name: data for part in parts for name, data in part.items()}
        question = replace(question, budget=None) if over_both else affordable(question, groups)
        together = _together(curves)
        posteriors = {} if together is None else dict(zip(together.names, together.posteriors, strict=True))
        share = not words_in(measure.name) & UNBOUNDED
        analysed = tuple(_curve(name, data, posteriors.get(name), question, share) for name, data in curves.items())
        advised = [curve.name for curve in analysed if curve.advice is not None]
        lead = next((name for name in (*reversed(list(parts[0])), *advised) if name in advised), analysed[0].name)
        at_s = [np.unique(data.sizes[:, 1]).tolist() if over_both else [0.0] for data in groups.values()]
        first, *others = (dict(zip(sizes, part, strict=True)) for sizes, part in zip(at_s, parts, strict=True))
        gains = tuple(
            variant_gain(posteriors[first[s]], posteriors[name], names=(first[s], name))
            for other in others
            for s, name in other.items()
            if name in posteriors and first.get(s) in posteriors
        )
        for name in [] if together is None else together.left_out:
            if len(np.unique(curves[name].sizes[:, 0])) > 1:
                alone = "no law that gets better with n agrees with its points, so it is compared with nothing"
                notes = (*notes, f"{name}: {alone}.")
    analysis = Analysis(question, measure, analysed, lead, gains, surfaces, compute, ())
    told = {one.name for one in analysis.told}
    beside = [name for name in [*(one.name for one in analysed), *(one.name for one in surfaces)] if name not in told]
    aside = [f"in the table alone: {few(beside)}"] if told and beside else []
    unclear = hints(groups, question, errors=not measure.higher_is_better, compute=compute)
    notes = (*unclear, *aside, *notes, *_on_data(groups, analysed))
    return replace(analysis, notes=tuple(dict.fromkeys(notes)))


def _on_data(groups: Mapping[str, Observations], curves: tuple[CurveAnalysis, ...]) -> list[str]:
    """Return notes on what was left out of the table and of each fit, with the names of the curves unless it is all."""
    concerned: dict[str, list[str]] = {}
    for curve in curves:
        for note in dict.fromkeys((*curve.fit.notes, *(curve.advice.notes if curve.advice is not None else ()))):
            concerned.setdefault(note, []).append(curve.name)
    notes = [note for data in groups.values() for note in data.notes]
    for note, names in concerned.items():
        every = "In every curve: " if len(curves) > 1 else ""
        notes.append((every if len(names) == len(curves) else f"{'; '.join(names)}: ") + note)
    return notes


def _curve(
    name: str, data: Observations, pooled: PowerPosterior | None, question: ScalingQuestion, share: bool
) -> CurveAnalysis:
    loss = question.loss or "log"
    fit = fit_law(data.sizes, data.errors, stderr=data.stderr, loss=loss)
    try:
        advice = advise(
            data.sizes[:, 0],
            data.errors,
            target_error=question.target_score,
            costs=prices_of(question),
            largest_size=question.largest_size,
            stderr=data.stderr,
            posterior=pooled,
            rows=data.rows,
            loss=loss,
            share=share,
        )
    except DataError as error:
        return CurveAnalysis(name, data, fit, None, message=str(error))
    curve = CurveAnalysis(name, data, fit, advice, share=share)
    return replace(curve, asked=curve.forecast([n for (n,) in question.at])) if question.at else curve


def _together(curves: Mapping[str, Observations]) -> HierarchicalFit | None:
    usable = {name: data for name, data in curves.items() if (data.sizes > 0).any() and (data.errors > 0).any()}
    if len(usable) < 2:
        return None
    try:
        return fit_hierarchical(usable)
    except DataError:
        return None


def _surfaces(
    groups: Mapping[str, Observations], question: ScalingQuestion, *, compute: bool, free: bool
) -> tuple[tuple[SurfaceAnalysis, ...], tuple[str, ...]]:
    analysed, notes = [], []
    for name, data in groups.items():
        try:
            surface = fit_surface(
                data.sizes[:, 0],
                data.sizes[:, 1],
                data.errors,
                stderr=data.stderr,
                loss=question.loss,
                rows=data.rows,
                spent=data.spent,
                free=free,
            )
        except DataError as error:
            notes.append(f"{name}: {error}")
            continue
        analysed.append(_surface(name, surface, question, compute=compute))
    return tuple(analysed), tuple(notes)


def _surface(name: str, surface: Surface, question: ScalingQuestion, *, compute: bool) -> SurfaceAnalysis:
    costs: Cost | None = costs_of(question)
    if compute and costs is None:
        spent = surface.observations.spent
        costs = Formula() if spent is None else MeasuredCost.of_runs(surface.observations.sizes, spent)
    limit, target, budget = question.largest_size, question.target_score, question.budget
    split, cheapest, labels_better = None, None, float("nan")
    optima: tuple[Optimum, ...] = ()
    n, s = surface.largest
    pairs = ((2 * n, s), (n, 2 * s))
    dearest = float("nan") if costs is None else float(spent_on(surface.observations, costs).max())
    both = costs if costs is not None and costs.of_both else None
    if both is not None and target is not None and surface.least_error > target:
        cheapest = cheapest_split(surface, both, target, largest_size=limit)
    if compute and both is not None:
        unasked = [times * dearest for times in BUDGETS]
        kept = [one for one in unasked if budget is None or not np.isclose(one, budget, rtol=0.05)]
        budgets = sorted([*kept, *([] if budget is None else [budget])])
        optima = tuple(compute_optimal(surface, both, budgets, largest_size=limit))
    elif both is not None and budget is not None:
        split = best_split(surface, both, budget, largest_size=limit)
    if not compute:
        draws = surface_draws(surface, per_law=100)
        with_n, with_s = draws.predict(np.array(pairs)).T
        labels_better = draws.probability(with_s < with_n)
    following = None
    if not surface.free:
        prices = prices_of(question)
        following = next_surface_run(surface, target_error=target, costs=prices, budget=budget, largest_size=limit)
    now, more_n, more_s, *asked = (forecast_at(surface, costs, *at) for at in ((n, s), *pairs, *question.at))
    return SurfaceAnalysis(
        name=name,
        surface=surface,
        now=now,
        doubled=(more_n, more_s),
        labels_better=labels_better,
        forecasts=tuple(asked),
        split=split,
        cheapest=cheapest,
        next_run=following,
        optima=optima,
        largest_cost=dearest,
        costs=costs,
        worth=() if compute else worth_by_s(surface),
    )


LEAST_SCRATCH = 3
"""Sizes s without pretraining from which the value of pretraining is given at each s."""


def worth_by_s(surface: Surface) -> tuple[tuple[float, SizeNeeded], ...]:
    """Return the labels with which training from scratch (n = 0) has the error of the largest n at each s."""
    data = surface.observations
    scratch = data.take(data.sizes[:, 0] == 0)
    if len(np.unique(scratch.sizes[:, 1])) < LEAST_SCRATCH or not (scratch.errors > 0).all():
        return ()
    from_scratch = replace(scratch, sizes=scratch.sizes[:, 1:])
    curve = draw_curve(from_scratch, label_grid([from_scratch]))
    largest = data.take(data.sizes[:, 0] == data.sizes[:, 0].max())
    errors = {s: float(largest.errors[largest.sizes[:, 1] == s].mean()) for s in np.unique(largest.sizes[:, 1])}
    return tuple((float(s), labels_for(curve, y)) for s, y in errors.items() if s >= curve.sizes[0] and y > 0)
