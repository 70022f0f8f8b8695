"""Statements on a label plan, the answer first; their words are in words.j2."""

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from transferscope.analyses.plan.facts import LEAST, ArmPlan, LabelPlan
from transferscope.scaling.advice.label_plan import REACH
from transferscope.scaling.forecast import FAR, SizeNeeded
from transferscope.statements import Statement, Words, state
from transferscope.wording import AS_WRITTEN, listed, number_words

ENOUGH = 4
"""With fewer sizes the interval mostly reflects assumptions about learning curves."""

LIMITS = (
    f"Curves are weighted draws over six laws that the measured scores allow, followed up to {REACH:g} times the "
    "largest measured number of labels; beyond, nothing is said. Intervals hold 90 % of what the draws say. They are "
    "for scores on the test set of these measurements, and for labels drawn like these."
)


def size(n: float) -> str:
    """Return a number of labels to two digits, "850" or "12,000"."""
    return f"{float(f'{n:.2g}'):,.0f}"


def filters_of(plan: LabelPlan) -> Mapping[str, Callable[..., str]]:
    """Return the filters of a plan: "at most 20" and "more than 3,200" at its ends, scores in their given unit."""
    smallest, limit = size(plan.sizes[0]), size(plan.sizes[-1])
    measure = plan.measure

    def labels(n: float) -> str:
        return f"at most {smallest}" if n == 0 else f"more than {limit}" if math.isinf(n) else size(n)

    def ends(interval: tuple[float, float]) -> str:
        return " to ".join(dict.fromkeys(map(labels, interval)))

    return {
        "own": lambda name: name if " " in name else AS_WRITTEN + name,
        "labels": labels,
        "ends": ends,
        "size": size,
        "sizes": lambda several: listed([size(one) for one in several], last="or"),
        "score": measure.shown_score,
        "fall": lambda error: f"{measure.distance(error)} {measure.of_points}".rstrip(),
        "falls": lambda interval: " to ".join(map(measure.distance, interval)),
        "cost": number_words,
    }


def sentences(plan: LabelPlan) -> tuple[str, ...]:
    """Return the answer, then further notes."""
    return Words("transferscope.analyses.plan", filters_of(plan)).all_of(statements(plan))


def scratch_in_words(plan: LabelPlan) -> str:
    """Return the name of training from scratch, whatever a table calls it, or of the best baseline."""
    assert plan.scratch is not None
    return "training from scratch" if "scratch" in plan.scratch.name.lower() else plan.scratch.name


def statements(plan: LabelPlan) -> Iterator[Statement]:
    """Yield the answer, labels for the target score, the gain of the next labels, and what to measure."""
    scratch, lead = plan.scratch, plan.lead
    count = lead.catch_up
    if scratch is None:
        n = len(plan.others) + plan.left_out
        yield state("best", arm=lead.name, n=n, largest=lead.largest, error=lead.reached.error)
    elif plan.cut_off:
        yield state("unfinished", scratch=scratch_in_words(plan), sizes=plan.cut_off)
    elif plan.better is not None and not plan.better:
        yield state("not better", scratch=scratch_in_words(plan), ways=len(plan.others))
    elif count is not None:
        yield _catch_up(plan, count)
        if lead.worth is not None and lead.worth.value > lead.largest:
            worth = lead.worth
            facts = {"value": worth.value, "interval": (worth.low, worth.high), "largest": lead.largest}
            yield state("worth", arm=lead.name, scratch=scratch_in_words(plan), **facts)
    without = [arm for arm in plan.arms if arm.curve is None]
    if without:
        sizes = sorted({int(n) for arm in without for n in np.unique(arm.data.sizes)})
        yield state("no law", arms=[_name(plan, arm) for arm in without], sizes=sizes, enough=ENOUGH)
    told = [lead] if scratch is None else [lead, scratch]
    for arm in [plan.cheapest or lead, *told[1:]]:
        yield from _wanted(plan, arm)
    for arm in told:
        yield from _more(plan, arm)
    still = [_name(plan, arm) for arm in told if arm.curve is not None and arm.curve.may_take_off]
    if still:
        yield state("still", arms=still)
    yield from _next(plan)
    least = min(arm.data.n_distinct for arm in told)
    if LEAST <= least < ENOUGH:
        yield state("few sizes", sizes=least, enough=ENOUGH)


def _catch_up(plan: LabelPlan, count: SizeNeeded) -> Statement:
    at = "already" if count.value == 0 else "never" if math.isinf(count.value) else "catches up"
    return state(
        "not known" if count.open else at,
        scratch=scratch_in_words(plan),
        arm=plan.lead.name,
        ways=len(plan.others),
        value=count.value or count.smallest,
        interval=(count.low, count.high),
        chance=count.already if count.value == 0 else count.beyond,
        limit=count.limit,
        times=count.limit / count.largest,
        far=FAR if count.far else None,
    )


def _name(plan: LabelPlan, arm: ArmPlan) -> str:
    return scratch_in_words(plan) if arm is plan.scratch else arm.name


def _wanted(plan: LabelPlan, arm: ArmPlan) -> Iterator[Statement]:
    count = arm.labels
    if count is None:
        return
    facts = {"target": plan.target_error, "arm": _name(plan, arm)}
    if count.open:
        yield state("score not known", **facts)
        return
    far, interval = FAR if count.far else None, (count.low, count.high)
    yield state("score", value=count.value, interval=interval, cost=plan.cost_of(count), far=far, **facts)


def _more(plan: LabelPlan, arm: ArmPlan) -> Iterator[Statement]:
    if arm.data.zero_from is not None:
        yield state("at zero", arm=_name(plan, arm), size=arm.data.zero_from)
        return
    if arm.more is None:
        return
    gain, interval = arm.more
    costs, bought = plan.costs, plan.measure.scale * gain
    spent = None if costs is None else costs.of(0, plan.more)
    yield state(
        "more",
        arm=_name(plan, arm),
        more=plan.more,
        largest=arm.largest,
        gain=gain,
        interval=(interval.low, interval.high),
        cost=spent,
        price=spent / bought if spent is not None and bought > 0 else None,
        a_point="a point" if plan.measure.in_percent else f"for each 1 {plan.measure.of_points or 'of the score'}",
        far=arm.largest + plan.more > FAR * arm.largest,
    )


def _next(plan: LabelPlan) -> Iterator[Statement]:
    sizes = [one.sizes[0] for one in plan.next_sizes]
    for_score = plan.turns_on == "labels"
    told = [plan.cheapest or plan.lead] if for_score or plan.scratch is None else [plan.scratch, plan.lead]
    arms = [_name(plan, arm) for arm in told]
    if plan.turns_on == "law":
        yield state("measure for a law", arms=[_name(plan, arm) for arm in told if arm.curve is None], sizes=sizes)
    elif sizes:
        first, scratch = plan.next_sizes[0], None if plan.scratch is None else scratch_in_words(plan)
        facts = {"for_score": for_score, "scratch": scratch, "cost": first.cost, "information": first.information}
        yield state("measure next", arms=arms, size=sizes[0], others=sizes[1:], **facts)
