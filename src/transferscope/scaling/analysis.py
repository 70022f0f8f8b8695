"""Everything there is to say about one table: fits, forecasts, advice, comparisons."""

from collections.abc import Mapping
from dataclasses import dataclass

from transferscope.errors import DataError
from transferscope.scaling.advice import (
    Advice,
    Costs,
    Split,
    VariantGain,
    advise,
    best_split,
    cheapest_split,
    variant_gain,
)
from transferscope.scaling.fit import LawFit, fit_law
from transferscope.scaling.groups import CommonD, HierarchicalFit, common_d, fit_hierarchical
from transferscope.scaling.observations import Observations
from transferscope.scaling.surface import Surface, fit_surface
from transferscope.scaling.table import by_finetune_size


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a table.

    Attributes:
        target_error: The error that is wanted; None for forecasts only.
        costs: What data cost; None when unknown.
        budget: What may be spent, in the currency of `costs`; None for no plan.
        largest_size: Largest feasible pre-training size; None for 100 times the largest measured.
    """

    target_error: float | None = None
    costs: Costs | None = None
    budget: float | None = None
    largest_size: float | None = None


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
    """

    name: str
    surface: Surface
    split: Split | None
    cheapest: Split | None


@dataclass(frozen=True)
class Analysis:
    """All results on one table.

    Attributes:
        question: What was asked.
        curves: Each curve over n.
        together: The curves under a common prior; None when there is only one.
        common: The common-D procedure of the Syn2Real paper; None when there are fewer than three curves.
        gains: Every other curve against the first.
        surfaces: Each group over (n, s).
        notes: Sentences on what was left out.
    """

    question: Question
    curves: tuple[CurveAnalysis, ...]
    together: HierarchicalFit | None
    common: CommonD | None
    gains: tuple[VariantGain, ...]
    surfaces: tuple[SurfaceAnalysis, ...]
    notes: tuple[str, ...]


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
    over_both = next(iter(groups.values())).sizes.shape[1] == 2
    curves = by_finetune_size(groups) if over_both else dict(groups)
    surfaces, notes = _surfaces(groups, question) if over_both else ((), ())
    together = _together(curves)
    analysed = tuple(_curve(name, data, together, question) for name, data in curves.items())
    return Analysis(
        question=question,
        curves=analysed,
        together=together,
        common=_common(curves),
        gains=_gains(together),
        surfaces=surfaces,
        notes=tuple(dict.fromkeys((*notes, *(note for one in analysed for note in one.fit.notes)))),
    )


def _curve(name: str, data: Observations, together: HierarchicalFit | None, question: Question) -> CurveAnalysis:
    fit = fit_law(data.sizes, data.errors, stderr=data.stderr)
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
        )
    except DataError as error:
        return CurveAnalysis(name, data, fit, None, str(error))
    return CurveAnalysis(name, data, fit, advice)


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


def _gains(together: HierarchicalFit | None) -> tuple[VariantGain, ...]:
    if together is None or len(together.names) < 2:
        return ()
    baseline, *others = zip(together.names, together.posteriors, strict=True)
    return tuple(variant_gain(baseline[1], one, names=(baseline[0], name)) for name, one in others)


def _surfaces(
    groups: Mapping[str, Observations], question: Question
) -> tuple[tuple[SurfaceAnalysis, ...], tuple[str, ...]]:
    found, notes = [], []
    for name, data in groups.items():
        try:
            surface = fit_surface(data.sizes[:, 0], data.sizes[:, 1], data.errors)
        except DataError as error:
            notes.append(f"{name}: {error}")
            continue
        split = cheapest = None
        costs = question.costs
        if costs is not None and costs.per_pretrain > 0 and costs.per_label > 0:
            split = None if question.budget is None else best_split(surface, costs, question.budget)
            cheapest = None if question.target_error is None else cheapest_split(surface, costs, question.target_error)
        found.append(SurfaceAnalysis(name, surface, split, cheapest))
    return tuple(found), tuple(notes)
