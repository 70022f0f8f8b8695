"""A plan of labels in sentences."""

import math

from transferscope.analyses.plan.facts import MORE, ArmPlan, LabelPlan
from transferscope.estimate import Estimate
from transferscope.scaling.advice.label_plan import FAR, REACH, LabelCount
from transferscope.wording import capitalised, counted, listed, number_words, probability_words

FEW = 4
"""With fewer sizes the interval is mostly what is assumed about learning curves."""

LIMITS = (
    f"Curves are weighted draws over six laws that the measured scores allow, followed up to {REACH:g} times the "
    "largest measured number of labels; beyond, nothing is said. Intervals hold 90 % of what the draws say. They are "
    "for scores on the test set of these measurements, and for labels drawn like these."
)


def heading(name: str) -> str:
    """An arm at the beginning of a row: prose with a capital, a reader's own name as it is."""
    return capitalised(name) if " " in name else name


def labels_in_words(n: float) -> str:
    """A number of labels in two digits, "850" or "12,000"; "no labels" is never meant by it."""
    return f"{float(f'{n:.2g}'):,.0f}"


def end_in_words(value: float, count: LabelCount) -> str:
    """One number, or "at most 20", or "more than 3,200"."""
    if value == 0:
        return f"at most {labels_in_words(count.smallest)}"
    return f"more than {labels_in_words(count.limit)}" if math.isinf(value) else labels_in_words(value)


def interval_in_words(count: LabelCount) -> str:
    """ "90 %: 420 to more than 3,200", or the probability of what both ends say."""
    level = f"{100 * count.level:.0f} %"
    if count.low == count.high == 0:
        return f"with probability {probability_words(count.already)}"
    if math.isinf(count.low):
        return f"with probability {probability_words(count.beyond)}"
    return f"{level}: {end_in_words(count.low, count)} to {end_in_words(count.high, count)}"


def headline(plan: LabelPlan) -> str:
    """Where training from scratch catches up with transfer, in one sentence."""
    if plan.cut_off:
        sizes = listed([f"{size:,}" for size in plan.cut_off])
        return (
            f"{capitalised(_from_scratch(plan))} was not finished with {sizes} labels: where it catches up cannot "
            "be said; train longer, and ask again."
        )
    scratch, lead = _from_scratch(plan), plan.lead
    count = lead.catch_up
    assert count is not None
    last = "" if len(plan.arms) == 2 else f", the last of {len(plan.arms) - 1} ways of transfer to be caught up with"
    who, closed = f"{lead.name}{last}", "," if last else ""
    if count.low == 0 and math.isinf(count.high):
        return (
            f"These measurements do not tell where {scratch} catches up with {who}: anything from at "
            f"most {labels_in_words(count.smallest)} to more than {labels_in_words(count.limit)} labels is possible."
        )
    if count.value == 0:
        surely = count.high == 0
        return (
            f"{capitalised(scratch)} is {'' if surely else 'probably '}as good as {who}{closed} already with "
            f"{labels_in_words(count.smallest)} labels, the smallest measured number ({_with_chance(count)})."
        )
    if math.isinf(count.value):
        does = "does not catch up" if math.isinf(count.low) else "probably does not catch up"
        return (
            f"{capitalised(scratch)} {does} with {who}{closed} up to {labels_in_words(count.limit)} labels, "
            f"{count.limit / count.largest:.2g} times the largest measured number ({_with_chance(count)})."
        )
    return (
        f"{capitalised(scratch)} catches up with {who}{closed} at about {labels_in_words(count.value)} labels "
        f"({interval_in_words(count)})."
    )


def _with_chance(count: LabelCount) -> str:
    """The probability of an answer that is no number, and the interval unless the answer is all of it."""
    chance = f"probability {probability_words(count.already if count.value == 0 else count.beyond)}"
    return chance if count.low == count.high else f"{chance}; {interval_in_words(count)}"


def sentences(plan: LabelPlan) -> tuple[str, ...]:
    """What to know next: the wanted score, what labels buy, what to measure, and what limits all of it."""
    said = [_far(plan), _worth(plan), *_wanted(plan), *_more(plan), _next(plan), _few_sizes(plan)]
    if plan.n_left_out:
        ways = counted(plan.n_left_out, "way")
        said.append(f"{capitalised(ways)} of transfer with worse scores {_be(plan.n_left_out)} left out.")
    return tuple(sentence for sentence in said if sentence)


def notes(plan: LabelPlan) -> tuple[str, ...]:
    """What was read as what, and what was left out, as sentences."""
    return tuple(f"{capitalised(note)}." for note in plan.notes)


def bracketed(value: str, within: str) -> str:
    """A value with its interval or probability: "1.2 points (90 %: 0.6 to 2.0)"."""
    return f"{value} ({within})" if within else value


def more_in_words(arm: ArmPlan, plan: LabelPlan) -> tuple[str, str]:
    """What MORE labels bring, and its interval: "1.2 points" and "90 %: 0.6 to 2.0"."""
    shown = plan.measure.shown_difference
    return f"{shown(arm.more.value)}{plan.measure.unit}", f"90 %: {arm.more.ends(shown)}"


def price_in_words(plan: LabelPlan, gain: Estimate) -> str:
    """What a point costs when bought with MORE labels: "210 a point (90 %: 120 to 410)"; empty without costs."""
    costs = plan.question.costs
    if costs is None:
        return ""
    spent = costs.of(0, MORE)

    def price(error: float) -> float:
        bought = plan.measure.difference(error)
        return spent / bought if bought > 0 else math.inf

    low, value, high = (money(price(error)) for error in (gain.high, gain.value, gain.low))
    return f"{value} {_a_point(plan)} (90 %: {low} to {high})"


def money(value: float) -> str:
    """An amount in the reader's currency, in three digits."""
    return "without end" if math.isinf(value) else number_words(value)


def cost_in_words(plan: LabelPlan, count: LabelCount) -> tuple[str, str]:
    """What a number of labels costs with one run, and its interval; empty without costs, or where it is not known."""
    costs = plan.question.costs
    if costs is None:
        return "", ""
    ends = []
    for end in (count.low, count.value, count.high):
        if math.isinf(end):
            ends.append(f"more than {money(costs.of(0, count.limit))}")
        else:
            ends.append(f"{'at most ' if end == 0 else ''}{money(costs.of(0, end or count.smallest))}")
    low, value, high = ends
    return value, "" if low == high else f"90 %: {low} to {high}"


def _from_scratch(plan: LabelPlan) -> str:
    return "training from scratch" if "scratch" in plan.scratch.name.lower() else plan.scratch.name


def _far(plan: LabelPlan) -> str:
    count = plan.lead.catch_up
    if plan.cut_off or count is None or not count.far:
        return ""
    return (
        f"That is more than {FAR:g} times the largest measured number, {labels_in_words(count.largest)}: a rough guide "
        "at best."
    )


def _worth(plan: LabelPlan) -> str:
    lead = plan.lead
    if plan.cut_off or lead.worth is None or lead.worth.value <= lead.curve.largest:
        return ""
    return (
        f"With {labels_in_words(lead.curve.largest)} labels, {lead.name} does as well as {_from_scratch(plan)} with "
        f"{end_in_words(lead.worth.value, lead.worth)} ({interval_in_words(lead.worth)})."
    )


def _wanted(plan: LabelPlan) -> list[str]:
    best, scratch = plan.cheapest, plan.scratch
    if best is None or best.labels is None or scratch.labels is None or plan.target_error is None:
        return []
    ways = []
    for arm, count in ((best, best.labels), (scratch, scratch.labels)):
        spent = bracketed(*cost_in_words(plan, count))
        name = _from_scratch(plan) if arm is scratch else arm.name
        labels = f"{end_in_words(count.value, count)} labels ({interval_in_words(count)})"
        ways.append(f"{labels} with {name}{f', for {spent}' if spent else ''}")
    said = [f"A score of {plan.measure.shown(plan.target_error)} takes {'; '.join(ways)}."]
    known = [arm for arm, count in ((best, best.labels), (scratch, scratch.labels)) if count.far]
    if known:
        said.append(
            f"For {listed([arm.name for arm in known])} that lies more than {FAR:g} times beyond what was measured."
        )
    return said


def _more(plan: LabelPlan) -> list[str]:
    said = []
    for arm in (plan.lead, plan.scratch):
        name = _from_scratch(plan) if arm is plan.scratch else arm.name
        price = price_in_words(plan, arm.more)
        bought = f"bring {name} {bracketed(*more_in_words(arm, plan))}{f', for {price}' if price else ''}"
        said.append(bought)
    largest = labels_in_words(plan.lead.curve.largest)
    costs = plan.question.costs
    spent = "" if costs is None else f", which cost {money(costs.of(0, MORE))} with a run,"
    sentence = f"The next {MORE} labels beyond {largest}{spent} {said[0]}, and {said[1]}."
    if plan.lead.curve.largest + MORE > FAR * plan.lead.curve.largest:
        sentence += " So many at once is a far extrapolation."
    return [sentence]


def _next(plan: LabelPlan) -> str:
    if not plan.next_sizes:
        return "Measuring another number of labels would hardly change this."
    first, *others = plan.next_sizes
    assert first.finetune_size is not None
    what = {"catch up": "where training from scratch catches up", "labels": "the labels for that score"}[plan.turns_on]
    arms = (
        f"{_from_scratch(plan)} and {plan.lead.name}"
        if plan.turns_on == "catch up" or plan.cheapest is None
        else (plan.cheapest.name)
    )
    price = "" if first.cost is None else f" (cost {money(first.cost)})"
    later = listed([labels_in_words(one.finetune_size) for one in others if one.finetune_size], last="or")
    also = f"; {later} would tell about as much" if later else ""
    return (
        f"Measure {arms} with {labels_in_words(first.finetune_size)} labels next{price}: it is expected to take away "
        f"{100 * first.information:.0f} % of the variance of {what}{also}."
    )


def _few_sizes(plan: LabelPlan) -> str:
    least = min(arm.curve.observations.n_distinct for arm in (plan.scratch, plan.lead))
    if least >= FEW:
        return ""
    return (
        f"With {least} numbers of labels, the intervals rest mostly on what is assumed about learning curves; measure "
        f"{FEW} or more."
    )


def _a_point(plan: LabelPlan) -> str:
    return "a point" if plan.measure.kind == "accuracy" else f"for each 1{plan.measure.unit or ' of the score'}"


def _be(n: int) -> str:
    return "was" if n == 1 else "were"
