"""Everything there is to say about one table: fits, forecasts, advice, comparisons."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from transferscope.analyses.scaling.measurements import by_finetune_size
from transferscope.analyses.scaling.question import Question, affordable, check_free, hints, within_budget
from transferscope.errors import DataError, SettingsError
from transferscope.scaling.advice import (
    Advice,
    Split,
    SurfaceRun,
    VariantGain,
    advise,
    best_split,
    cheapest_split,
    next_surface_run,
    variant_gain,
)
from transferscope.scaling.fit import LawFit, fit_law
from transferscope.scaling.groups import CommonD, HierarchicalFit, common_d, fit_hierarchical
from transferscope.scaling.observations import Observations
from transferscope.scaling.surface import Surface, fit_surface, varies_freely


@dataclass(frozen=True)
class CurveAnalysis:
    """One curve over pre-training sizes.

    Attributes:
        name: Its name.
        observations: What was measured.
        fit: The power law with a floor on its own.
        advice: Forecast and advice, with the posterior that the other curves inform; None with fewer than two sizes.
        message: Why there is no advice; empty otherwise.
    """

    name: str
    observations: Observations
    fit: LawFit
    advice: Advice | None
    message: str = ""


@dataclass(frozen=True)
class SurfaceAnalysis:
    """One group over (n, s).

    Attributes:
        name: Its name.
        surface: The laws fitted to it.
        split: The best use of the budget; None without one.
        cheapest: The cheapest plan that is predicted to reach the target; None without costs or out of reach.
        next_run: The (n, s) whose measurement would sharpen the decision most; None when nothing was asked, or where
            both sizes vary freely.
    """

    name: str
    surface: Surface
    split: Split | None
    cheapest: Split | None
    next_run: SurfaceRun | None


@dataclass(frozen=True)
class Analysis:
    """All results on one table.

    Attributes:
        question: What was asked.
        curves: Each curve over n; none where both sizes vary freely.
        lead: Name of the curve that the verdict is about: the first; over (n, s), that of the largest s with advice.
        together: The curves under a common prior; None when there is only one.
        common: The common-D procedure of the Syn2Real paper; None when there are fewer than three curves.
        gains: Every other curve against the first; over (n, s), against that of the first group with the same s.
        surfaces: Each group over (n, s).
        notes: Sentences on what was left out.
        cautions: Sentences on what else than pre-training may be behind the errors; none where nothing is known of it.
    """

    question: Question
    curves: tuple[CurveAnalysis, ...]
    lead: str
    together: HierarchicalFit | None
    common: CommonD | None
    gains: tuple[VariantGain, ...]
    surfaces: tuple[SurfaceAnalysis, ...]
    notes: tuple[str, ...]
    cautions: tuple[str, ...] = ()


LEAST_GROUPS = 3
COMMON_D_PASSES = 8
"""The paper speaks of "a few iterations"."""


def analyse(groups: Mapping[str, Observations], question: Question) -> Analysis:
    """Analyse curves over n, or groups over (n, s).

    Args:
        groups: Observations by name, all with one size or all with two.
        question: What is asked.

    Returns:
        The analysis. A curve with too few points has a status and a message.

    Raises:
        SettingsError: The question is out of range.
    """
    _check_largest(groups, question)
    over_both = next(iter(groups.values())).sizes.shape[1] == 2
    if over_both and all(varies_freely(data.sizes) for data in groups.values()):
        check_free(question)
        surfaces, notes = _surfaces(groups, question)
        notes = tuple(dict.fromkeys((*hints(groups, question), *notes, *_on_data(groups, ()))))
        return Analysis(question, (), "", None, None, (), surfaces, notes)
    curves = by_finetune_size(groups) if over_both else dict(groups)
    question = question if over_both else affordable(question, groups)
    surfaces, notes = _surfaces(groups, question) if over_both else ((), ())
    together = _together(curves)
    asked = within_budget(groups, question) if over_both else dict.fromkeys(curves, question)
    analysed = tuple(_curve(name, data, together, asked[name]) for name, data in curves.items())
    if over_both:
        searched = by_finetune_size({one.name: groups[one.name] for one in surfaces if one.next_run is not None})
        analysed = tuple(_in_n_and_s(curve) if curve.name in searched else curve for curve in analysed)
    return Analysis(
        question=question,
        curves=analysed,
        lead=_lead(analysed, list(by_finetune_size(dict([next(iter(groups.items()))]))) if over_both else []),
        together=together,
        common=_common(curves),
        gains=_gains(together, _baselines(groups, over_both)),
        surfaces=surfaces,
        notes=tuple(
            dict.fromkeys(
                (*hints(groups, question), *notes, *_not_falling(together, curves), *_on_data(groups, analysed))
            )
        ),
    )


def _not_falling(together: HierarchicalFit | None, curves: Mapping[str, Observations]) -> list[str]:
    """A sentence for each curve that is compared with nothing, because its error does not fall."""
    left_out = () if together is None else together.left_out
    return [
        f"{name}: no law that falls agrees with its points, so its rate and transfer gap are compared with nothing."
        for name in left_out
        if len(np.unique(curves[name].sizes[:, 0])) > 1
    ]


def _check_largest(groups: Mapping[str, Observations], question: Question) -> None:
    limit = question.largest_size
    measured = max(float(data.sizes[:, 0].max()) for data in groups.values())
    if limit is not None and limit < measured:
        raise SettingsError(
            f"the largest feasible size {limit:g} is below the largest measured one, {measured:g}, which was feasible; "
            "give a larger one, or leave out the rows above it"
        )


def _on_data(groups: Mapping[str, Observations], curves: tuple[CurveAnalysis, ...]) -> list[str]:
    """What was left out of the table, and then of each fit, with the names of the curves unless it is all of them."""
    concerned: dict[str, list[str]] = {}
    for curve in curves:
        for note in dict.fromkeys((*curve.fit.notes, *(curve.advice.notes if curve.advice is not None else ()))):
            concerned.setdefault(note, []).append(curve.name)
    notes = [note for data in groups.values() for note in data.notes]
    for note, names in concerned.items():
        every = "In every curve: " if len(curves) > 1 else ""
        notes.append((every if len(names) == len(curves) else f"{'; '.join(names)}: ") + note)
    return notes


def _curve(name: str, data: Observations, together: HierarchicalFit | None, question: Question) -> CurveAnalysis:
    fit = fit_law(data.sizes, data.errors, stderr=data.stderr, loss=question.loss)
    pooled = dict(zip(together.names, together.posteriors, strict=True)) if together is not None else {}
    try:
        advice = advise(
            data.sizes[:, 0],
            data.errors,
            target_error=question.target_error,
            costs=question.costs,
            largest_size=question.largest_size,
            stderr=data.stderr,
            posterior=pooled.get(name),
            rows=data.rows,
        )
    except DataError as error:
        return CurveAnalysis(name, data, fit, None, str(error))
    return CurveAnalysis(name, data, fit, advice)


def _in_n_and_s(curve: CurveAnalysis) -> CurveAnalysis:
    """The curve without a next run of its own, since the next run of its group was searched in n and s."""
    if curve.advice is None:
        return curve
    return replace(curve, advice=replace(curve.advice, next_run=None))


def _lead(curves: tuple[CurveAnalysis, ...], first_group: list[str]) -> str:
    """The curve of the largest s in the first group that has advice; without one, the first that has any."""
    advised = [curve.name for curve in curves if curve.advice is not None]
    return next((name for name in (*reversed(first_group), *advised) if name in advised), curves[0].name)


def _together(curves: Mapping[str, Observations]) -> HierarchicalFit | None:
    usable = {name: data for name, data in curves.items() if (data.sizes > 0).any() and (data.errors > 0).any()}
    if len(usable) < 2:
        return None
    try:
        return fit_hierarchical(usable)
    except DataError:
        return None


def _common(curves: Mapping[str, Observations]) -> CommonD | None:
    if len(curves) < LEAST_GROUPS:
        return None
    try:
        return common_d(curves, max_passes=COMMON_D_PASSES)
    except DataError:
        return None


def _baselines(groups: Mapping[str, Observations], over_both: bool) -> dict[str, str]:
    """The curve that each curve is compared with."""
    first, *others = groups
    if not over_both:
        return dict.fromkeys(others, first)
    by_s = {s: name for name, s in _labels(first, groups[first])}
    return {name: by_s[s] for other in others for name, s in _labels(other, groups[other]) if s in by_s}


def _labels(name: str, data: Observations) -> list[tuple[str, float]]:
    return [
        (label, float(s)) for label, s in zip(by_finetune_size({name: data}), np.unique(data.sizes[:, 1]), strict=True)
    ]


def _gains(together: HierarchicalFit | None, baselines: Mapping[str, str]) -> tuple[VariantGain, ...]:
    if together is None:
        return ()
    found = dict(zip(together.names, together.posteriors, strict=True))
    pairs = [(baseline, name) for name, baseline in baselines.items() if name in found and baseline in found]
    return tuple(variant_gain(found[baseline], found[name], names=(baseline, name)) for baseline, name in pairs)


def _surfaces(
    groups: Mapping[str, Observations], question: Question
) -> tuple[tuple[SurfaceAnalysis, ...], tuple[str, ...]]:
    found, notes = [], []
    for name, data in groups.items():
        try:
            surface = fit_surface(
                data.sizes[:, 0], data.sizes[:, 1], data.errors, stderr=data.stderr, loss=question.loss, rows=data.rows
            )
        except DataError as error:
            notes.append(f"{name}: {error}")
            continue
        split = cheapest = None
        costs = question.costs
        if costs is not None and costs.per_pretrain > 0 and costs.per_label > 0:
            budget, target, limit = question.budget, question.target_error, question.largest_size
            split = None if budget is None else best_split(surface, costs, budget, largest_size=limit)
            cheapest = None if target is None else cheapest_split(surface, costs, target, largest_size=limit)
        run = None if surface.free else _next(surface, question)
        found.append(SurfaceAnalysis(name, surface, split, cheapest, run))
    return tuple(found), tuple(notes)


def _next(surface: Surface, question: Question) -> SurfaceRun | None:
    return next_surface_run(
        surface,
        target_error=question.target_error,
        costs=question.costs,
        budget=question.budget,
        largest_size=question.largest_size,
    )
