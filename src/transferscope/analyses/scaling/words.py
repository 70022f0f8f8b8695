"""An analysis in words and rows: what the command line prints and the report repeats."""

import math

import numpy as np

from transferscope.analyses.scaling.analysis import Analysis, SurfaceAnalysis
from transferscope.analyses.scaling.curve_words import (
    disagreement,
    in_words,
    number,
    paragraph,
    percent,
    surface_run_in_words,
)
from transferscope.analyses.scaling.curve_words import headline as curve_headline
from transferscope.analyses.scaling.measurements import EVERYTHING
from transferscope.estimate import Estimate
from transferscope.scaling.advice import Decision, Split, VariantGain
from transferscope.scaling.bootstrap import bootstrap
from transferscope.scaling.fit import LawFit
from transferscope.wording import listed

STATUS_WORDS = {
    "not_identified": "not determined by the data",
    "at_bound": "at the end of its range",
    "too_few": "too few points",
    "max_steps": "the search did not come to rest",
}

ILL_CONDITIONED = 1e4

MOST_NAMED = 12
"""Outliers that are named one by one."""

MOST_WORTHS = 5
"""Pre-training sizes at which it is said how many fine-tuning examples they are worth."""


def estimate_in_words(estimate: Estimate) -> str:
    """ "0.93 ± 0.01", or why there is no number."""
    if estimate.status == "at_bound":
        return f"{number(estimate.value)} (at the end of its range)"
    if not estimate.usable or not math.isfinite(estimate.value):
        return STATUS_WORDS.get(estimate.status, estimate.status)
    return number(estimate.value) if not estimate.stderr else f"{number(estimate.value)} ± {number(estimate.stderr)}"


def identifiability(fit: LawFit) -> tuple[str, ...]:
    """What the data say about each parameter of a fit, in sentences."""
    if fit.status == "too_few":
        return (f"Too few points: {fit.notes[-1]}.",)
    sentences = []
    for parameter in fit.law.parameters:
        estimate, profile = fit.estimates[parameter.name], fit.profiles.get(parameter.name)
        if estimate.status == "not_identified" and profile is not None:
            why = f"95 % set: {profile}" if profile.found else "its 95 % set was not found: the search failed"
            sentences.append(f"{parameter.name} ({parameter.meaning}) is not determined by these points ({why}).")
        elif estimate.status == "at_bound" and profile is not None:
            sentences.append(
                f"{parameter.name} ({parameter.meaning}) is fitted as 0, the end of its range; it is at most "
                f"{number(profile.high)} (95 %)."
            )
    if fit.condition > ILL_CONDITIONED:
        sentences.append(f"The fit is ill-conditioned (condition number {fit.condition:.1e}).")
    if fit.status == "max_steps":
        sentences.append("The search did not come to rest: a flat valley, in which single parameters mean little.")
    return tuple(sentences)


def verdict(analysis: Analysis) -> str:
    """The advice on the leading curve, with the next run over (n, s); or why there is none.

    With a budget that was split, the split comes first: it is what was asked. Cautions come last.
    """
    return " ".join([_advice(analysis), *analysis.cautions])


def _advice(analysis: Analysis) -> str:
    if not analysis.curves:
        return (
            " ".join(sentence for one in analysis.surfaces for sentence in surface_in_words(one))
            or "Nothing was fitted."
        )
    for curve in analysis.curves:
        if curve.name == analysis.lead and curve.advice is not None:
            lead = f"{curve.name}: " if len(analysis.curves) > 1 else ""
            plan = _best_plan(analysis)
            said = lead + paragraph(curve.advice, curve.observations)
            return " ".join([*plan, said, *_over_both(analysis, curve.advice.decision)])
    return f"No advice: {analysis.curves[0].message}."


def headline(analysis: Analysis) -> str:
    """The sentence of the verdict to read first: the answer on the target error, or the forecast.

    Where there are several curves it begins with the name of the one that it is of.
    """
    if plan := _best_plan(analysis):
        return plan[0]
    if not analysis.curves and analysis.surfaces:
        return surface_in_words(analysis.surfaces[0])[0]
    for curve in analysis.curves:
        if curve.name == analysis.lead and curve.advice is not None:
            named = f"{curve.name}: " if len(analysis.curves) > 1 else ""
            return named + curve_headline(curve.advice, curve.observations)
    return _advice(analysis)


def _best_plan(analysis: Analysis) -> list[str]:
    """The best use of the budget of the first group, and what it means for the target."""
    split = analysis.surfaces[0].split if analysis.surfaces else None
    if split is None:
        return []
    budget, target = analysis.question.budget, analysis.question.target_error
    lead = "The best use of the budget" if budget is None else f"The best use of the budget of {number(budget)}"
    plan = _plan(lead, split, n_laws=len(analysis.surfaces[0].surface.weights))
    if target is None:
        return [plan]
    interval = split.interval
    if interval is None:
        return [f"{plan} Whether that reaches the target error {number(target)} is not known."]
    if interval.low > target:
        return [f"{plan} All of that is above the target error {number(target)}: the budget does not reach it."]
    if interval.high <= target:
        return [f"{plan} All of that is at or below the target error {number(target)}: the budget reaches it."]
    return [f"{plan} It is open whether that reaches the target error {number(target)}."]


def _over_both(analysis: Analysis, decision: Decision | None) -> list[str]:
    """What the first group over (n, s) says, after what its leading curve said."""
    found = analysis.surfaces[0].next_run if analysis.surfaces else None
    if found is None:
        return []
    *reached, run = surface_run_in_words(found)
    largest_s = analysis.surfaces[0].surface.largest[1]
    apart = disagreement(decision, found, largest_s=largest_s) if decision is not None else ""
    return [*reached, apart, run] if apart else [*reached, run]


def gain_in_words(gain: VariantGain) -> str:
    """One variant against the baseline, in a sentence."""
    return (
        f"{gain.variant} against {gain.baseline}: the transfer gap changes by {in_words(gain.gap)}, where less is "
        f"better, and the rate by {in_words(gain.rate)}; the gap is smaller with probability {percent(gain.lower_gap)}."
    )


def surface_in_words(one: SurfaceAnalysis) -> tuple[str, ...]:
    """What the surface over (n, s) says, in sentences."""
    surface = one.surface
    if surface.free:
        return _free_in_words(one)
    inside, beyond = surface.interpolating, surface.extrapolating
    scores = (_held_out(surface.scores[inside].leave_s_out), _held_out(surface.scores[beyond].extrapolation))
    laws = f"within the measured sizes read the law {inside} ({scores[0]}); beyond them {beyond} ({scores[1]})"
    sentences = [f"{one.name}: {laws}."]
    plans = [("The best use of the budget", one.split), ("The cheapest way to the target", one.cheapest)]
    chosen = [_plan(lead, split, n_laws=len(surface.weights)) for lead, split in plans if split is not None]
    wanted = [] if one.next_run is None else surface_run_in_words(one.next_run)
    return (*sentences, *_worth(one), *chosen, *wanted)


def _free_in_words(one: SurfaceAnalysis) -> tuple[str, ...]:
    """What a surface says whose sizes both vary freely: the law, how well it predicts, and the points far from it."""
    surface = one.surface
    (fit,) = surface.fits.values()
    score, data = surface.scores[fit.law.name], surface.observations
    values = ", ".join(f"{row[0]} = {row[2]}" for row in surface_parameters(one))
    lead = "" if one.name == EVERYTHING else f"{one.name}: "
    sentences = [
        f"{lead}error = {fit.law.formula} with {values} ({len(fit.observations)} points, loss {fit.loss}).",
        f"On points that it was not fitted to, the law is off by {percent(score.leave_s_out)} (every fifth point left "
        f"out), {percent(score.larger_n)} (the larger n, from the smaller) and {percent(score.larger_s)} (the larger "
        "s).",
    ]
    if (far := surface.outliers) is not None:
        named = []
        for place in range(min(len(far), MOST_NAMED)):
            row = "" if far.rows is None else f"row {far.rows[place]}, "
            n, s = (number(float(size)) for size in far.sizes[place])
            named.append(f"{row}{number(float(far.errors[place]))} at n = {n}, s = {s}, {far.notes[place]}")
        more = len(far) - len(named)
        advice = "; --loss huber is not moved by them" if fit.loss != "huber" else ""
        sentences.append(
            f"Far from the law as fitted with the Huber loss ({len(far)} of {len(data)} points): {'; '.join(named)}"
            f"{f'; and {more} more' if more else ''}. Look at them first{advice}."
        )
    plans = [("The best use of the budget", one.split), ("The cheapest way to the target", one.cheapest)]
    return (*sentences, *(_plan(lead, split, n_laws=1) for lead, split in plans if split is not None))


def surface_parameters(one: SurfaceAnalysis) -> tuple[tuple[str, ...], ...]:
    """The parameters of the law to read within the measured sizes, as cells: name, meaning, value, 95 % set."""
    fit = one.surface.fits[one.surface.interpolating]
    return tuple(
        (
            parameter.name,
            parameter.meaning,
            estimate_in_words(fit.estimates[parameter.name]),
            str(fit.profiles.get(parameter.name, "none")),
        )
        for parameter in fit.law.parameters
    )


def _held_out(score: float) -> str:
    return f"held-out log error {score:.3g}" if math.isfinite(score) else "by its fit: too few points to hold any out"


def _worth(one: SurfaceAnalysis) -> list[str]:
    """How many fine-tuning examples pre-training replaces, where the law that says so is the one to read."""
    fit = one.surface.fits[one.surface.interpolating]
    if fit.law.name != "effective-data" or len(fit.residuals) <= len(fit.law.parameters):
        return []
    sizes, names = np.unique(fit.observations.sizes[:, 0]), list(fit.law.names)
    sizes = sizes[sizes > 0]
    shown = sizes[np.unique(np.linspace(0, len(sizes) - 1, MOST_WORTHS).round().astype(int))]
    draws = bootstrap(fit).theta
    each = []
    for n in shown:
        value = fit.estimates["k"].value * n ** fit.estimates["q"].value
        low, high = np.quantile(draws[:, names.index("k")] * n ** draws[:, names.index("q")], [0.025, 0.975])
        each.append(f"{number(value)} ({number(min(low, value))} to {number(max(high, value))}) on n = {number(n)}")
    return [f"In fine-tuning examples pre-training is worth {listed(each)} (95 %, if the law {fit.law.name} holds)."]


def _plan(lead: str, split: Split, *, n_laws: int) -> str:
    beyond = " It lies beyond the measured sizes." if split.beyond else ""
    band = "its uncertainty is not known"
    if split.interval is not None:
        given = "if the law holds" if n_laws == 1 else f"over {n_laws} laws"
        band = f"{number(split.interval.low)} to {number(split.interval.high)}, 95 %, {given}"
    return (
        f"{lead}: n = {number(split.pretrain_size)} and s = {number(split.finetune_size)} for {number(split.cost)}, "
        f"with a predicted error of {number(split.error)} ({band}).{beyond}"
    )
