"""The verdict on a comparison, in the words of a careful colleague. Pure logic: comparisons in, sentences out."""

from collections.abc import Iterator, Mapping, Sequence

from transferscope.analyses.compare.comparison import (
    FEW_ALPHA,
    FEW_SEEDS,
    LEANING,
    Comparison,
    Outcome,
    champion,
    gain,
    outcome_of,
)
from transferscope.analyses.compare.words import (
    Progress,
    best_of,
    chance_of_best,
    completeness,
    covered_in_words,
    evidence,
    of_sources,
    other_methods,
    over_control,
    reach,
    recommendation,
    recommended_control,
    seeds_to_decide,
)
from transferscope.report.page import Verdict
from transferscope.study.metric import Metric
from transferscope.wording import candidate_words, capitalised, counted, listed

_NOTHING_TESTED: dict[Outcome, str] = {
    "one seed": "one seed cannot tell whether transfer helps",
    "no baseline": "whether transfer helps cannot be said, because nothing was trained from scratch",
    "nothing to compare": "whether transfer helps cannot be said, because no method of transfer has a result yet",
}
_ONE_SEED = (
    "There is one seed, so nothing can be said about the spread between runs, and the intervals speak of other test "
    "examples only. Run at least three seeds, better five, before acting on a difference."
)
_TWO_SEEDS = (
    "Two seeds say next to nothing about the spread between runs. Run at least three, better five, before acting on a "
    "difference."
)
_NO_BASELINE = "Add [methods.scratch] to the study file and run it again; the cells that are done stay done."


def reach_verdict(
    comparisons: Sequence[Comparison], metric: Metric, progress: Progress, *, controls: Sequence[Comparison] = ()
) -> Verdict:
    """The verdict on a study, which opens with what to do.

    Numbers of labels come in ascending order.

    Args:
        comparisons: At least one; no controls.
        metric: What they were judged by.
        progress: How much of the study is done.
        controls: Those of the study.

    Returns:
        The verdict. Where some way of transfer is better than training from scratch and none has a better mean than
        the best control, it is the control that is to be used.
    """
    by_size: dict[int, list[Comparison]] = {}
    for comparison in sorted(comparisons, key=lambda c: c.n_target):
        by_size.setdefault(comparison.n_target, []).append(comparison)
    outcomes = {size: outcome_of(group) for size, group in by_size.items()}
    unbeaten = {
        size: control
        for size, group in by_size.items()
        if outcomes[size] == "helps" and (control := unbeaten_control([*group, *controls], size, metric)) is not None
    }
    headline = "\n".join(f"{capitalised(clause)}." for clause in _clauses(by_size, outcomes, unbeaten, metric))
    said_already = len(by_size) == 1 and set(outcomes.values()) <= _NOTHING_TESTED.keys()
    body = [_paragraph(by_size[size], outcomes[size], metric, with_reach=not said_already) for size in by_size]
    sentences = (*body, scope_in_words(comparisons), *_next_steps(comparisons, outcomes), completeness(progress))
    outcomes |= dict.fromkeys(unbeaten, "no more than a control")
    return Verdict(outcomes, headline, tuple(sentence for sentence in sentences if sentence))


def unbeaten_control(comparisons: Sequence[Comparison], n_target: int, metric: Metric) -> Comparison | None:
    """The best control at one number of labels, where no way of transfer does better on average; None where one does.

    Only controls count that were run with every seed of the best way of transfer. Where the best of them has further
    ones, gains over training from scratch on the same seeds are compared, and not means.
    """
    group = [c for c in comparisons if c.n_target == n_target]
    ways = [c for c in group if c.transfers]
    if not ways:
        return None
    transfer = best_of(ways, metric)
    controls = [c for c in group if c.is_control and set(transfer.seeds) <= set(c.seeds)]
    if not controls:
        return None
    control = best_of(controls, metric)
    if set(control.seeds) == set(transfer.seeds):
        return control if best_of([control, transfer], metric) is control else None
    return control if control.difference and gain(control) >= gain(transfer) else None


def _clauses(
    by_size: Mapping[int, Sequence[Comparison]],
    outcomes: Mapping[int, Outcome],
    unbeaten: Mapping[int, Comparison],
    metric: Metric,
) -> Iterator[str]:
    """One recommendation for all numbers of labels that share it, with the numbers of the smallest."""
    shared: dict[tuple[object, ...], list[int]] = {}
    leads = {size: champion(group, outcomes[size], metric) for size, group in by_size.items()}
    for size, outcome in outcomes.items():
        who = unbeaten.get(size, leads[size])
        shared.setdefault((outcome, who.source, who.method) if outcome == "helps" else (outcome,), []).append(size)
    for first, *others in shared.values():
        lead, outcome = leads[first], outcomes[first]
        if first in unbeaten:
            yield recommended_control(unbeaten[first], lead, metric) + _also(others)
        elif outcome not in _NOTHING_TESTED:
            yield recommendation(lead, by_size[first], outcome, metric) + _also(others)
        elif len(by_size) == 1:
            yield f"{_NOTHING_TESTED[outcome]}: {reach(lead, by_size[first], metric)}"
        else:
            yield f"with {_sizes([first, *others])} {_NOTHING_TESTED[outcome]}"


def _also(sizes: Sequence[int]) -> str:
    return f"; with {_sizes(sizes)} the call is the same" if sizes else ""


def _paragraph(group: Sequence[Comparison], outcome: Outcome, metric: Metric, *, with_reach: bool) -> str:
    """What happens at one number of labels: what the leader reaches, how sure that is, and what the others do."""
    lead = champion(group, outcome, metric)
    reached = capitalised(reach(lead, group, metric, even_so=outcome in ("hurts", "seems to hurt")))
    sure = evidence(lead, metric)
    said = [
        f"{reached}." if with_reach else "",
        f"The difference is {sure}." if sure else "",
        chance_of_best(lead, group, outcome),
    ]
    said += [of_sources(group), other_methods(group, outcome, metric), over_control(lead, metric)]
    return " ".join(sentence for sentence in said if sentence)


def _sizes(sizes: Sequence[int]) -> str:
    return f"{listed([f'{size:,}' for size in sizes])} {'label' if list(sizes) == [1] else 'labels'}"


def scope_in_words(comparisons: Sequence[Comparison]) -> str:
    """What the calls speak of, and how sure they are; empty where nothing was tested."""
    tested = [c for c in comparisons if c.difference and c.difference.tested]
    if not tested:
        return ""
    among = f" among {counted(len(tested), 'comparison')}" if len(tested) > 1 else ""
    said = f"“Better” and “worse” speak of {covered_in_words(comparisons)}; the chance of any false one{among} is meant"
    few = any(c.difference and c.difference.n <= FEW_SEEDS for c in tested)
    said += f" to be 5 %{f'; with three seeds or fewer both take p of at most {FEW_ALPHA:g}' if few else ''}."
    if any(c.call in ("leans positive", "leans negative") for c in tested):
        said += f" What “leans” has an adjusted p-value below {LEANING:.2g}, and only that."
    if any(c.call == "equivalent" for c in tested):
        said += " “Equivalent” has an error of 5 % for each comparison alone."
    return said


def _next_steps(comparisons: Sequence[Comparison], outcomes: Mapping[int, Outcome]) -> list[str]:
    steps = []
    if "one seed" in outcomes.values():
        steps.append(_ONE_SEED)
    elif max((c.score.n for c in comparisons), default=0) == 2:
        steps.append(_TWO_SEEDS)
    if "no baseline" in outcomes.values():
        steps.append(_NO_BASELINE)
    return [*steps, seeds_to_decide(comparisons)]


def controls_in_words(comparisons: Sequence[Comparison], metric: Metric) -> dict[int, str]:
    """A sentence for each number of labels at which the best transfer has no better mean than the best control.

    Args:
        comparisons: All of a study.
        metric: What they are judged by.

    Returns:
        Sentences about means, by number of labels, ascending; none where transfer is ahead or there is no control.
    """
    said = {}
    for n_target in sorted({c.n_target for c in comparisons}):
        control = unbeaten_control(comparisons, n_target, metric)
        if control is not None:
            ways = [c for c in comparisons if c.n_target == n_target and c.transfers]
            best = best_of(ways, metric)
            said[n_target] = (
                f"With {counted(n_target, 'label')} no transfer does better on average than "
                f"{candidate_words(control.method, control.source)} ({metric.shown(control.score.value)}), a control: "
                f"the best, {candidate_words(best.method, best.source)}, reaches {metric.in_words(best.score.value)}."
            )
    return said
