"""Sentences about the methods at one number of labels."""

import math
from collections.abc import Sequence

from transferscope.report.comparison import Call, Comparison
from transferscope.report.metric import Metric
from transferscope.report.outcome import Outcome, champion, gain
from transferscope.wording import (
    candidate_words,
    capitalised,
    counted,
    listed,
    method_words,
    p_words,
    probability_words,
)

_AS_GOOD_AS_SURE = 0.95
_WORTH_NAMING = 0.05
_VERBS: dict[Call, tuple[str, str]] = {  # for one method, for several
    "positive": ("helps", "help"),
    "negative": ("hurts", "hurt"),
    "leans positive": ("helps when taken alone", "help when each is taken alone"),
    "leans negative": ("hurts when taken alone", "hurt when each is taken alone"),
    "undecided": ("cannot be told apart from training from scratch",) * 2,
}


def reach(lead: Comparison, group: Sequence[Comparison], metric: Metric, *, even_so: bool = False) -> str:
    """What the leading method reaches: "with 600 labels, MeRLin from mnist reaches 94.1 % (93.2–95.0), ...".

    A leader below training from scratch is not presented as one, unless its loss is the news.

    Args:
        lead: The method.
        group: All comparisons with this number of labels, the baseline among them.
        metric: What it is judged by.
        even_so: Whether its loss is the smallest of all losses.

    Returns:
        A sentence without its capital and its full stop.
    """
    labels, reached = f"with {counted(lead.n_target, 'label')}", f"{_words(lead)} reaches {_score(lead, metric)}"
    scratch = next((c for c in group if c.call == "baseline"), None)
    if lead.difference is None or scratch is None:
        return f"{labels}, {reached}"
    value = metric.shown(scratch.score.value)
    if set(scratch.seeds) != set(lead.seeds):
        value += f"; the difference is that of the {counted(lead.difference.n, 'seed')} of both"
    gain = metric.gain_in_words(lead.difference.mean)
    if lead.difference.mean < 0 and not even_so:
        return f"{labels}, no method of transfer is better than training from scratch ({value}): {reached}, {gain} it"
    return f"{labels}, {reached}, {'which is still ' if even_so else ''}{gain} training from scratch ({value})"


def evidence(lead: Comparison, metric: Metric) -> str:
    """How sure the leader's difference to training from scratch is: "+1.9 to +3.9 over 5 seeds, p = 0.004 ...".

    Args:
        lead: The method.
        metric: What it is judged by.

    Returns:
        A phrase for brackets; empty when nothing can be said.
    """
    difference, interval = lead.difference, lead.difference_interval
    if difference is None:
        return ""
    if difference.status == "undefined":
        return f"exactly the same in all {difference.n} seeds, so there is no spread to test it against"
    if interval is None:
        return ""
    ends = metric.gain_interval_in_words(interval)
    if difference.n == 1:
        return f"{ends} over test examples"
    alone = "" if lead.call in ("positive", "negative") else f"{_p(difference.p_value)} taken alone, "
    return f"{ends} over {difference.n} seeds; {alone}{_p(lead.p_holm)} after Holm's correction"


def chance_of_best(lead: Comparison, group: Sequence[Comparison], outcome: Outcome) -> str:
    """How sure it is that the leader, or training from scratch, is the best, and which others may be.

    Nothing is said where the tests say less than the chances would, or where the most probable best is not the method
    that the verdict speaks of: the two would seem to contradict each other.

    Args:
        lead: The method.
        group: All comparisons with this number of labels, `lead` among them.
        outcome: Their outcome.

    Returns:
        A sentence; empty when nothing is known, there is nothing to choose from, or the outcome is open.
    """
    if math.isnan(lead.p_best) or len(group) < 2:
        return ""
    first, *others = sorted(group, key=lambda c: -c.p_best)
    if outcome == "hurts" and first.call == "baseline":
        return f"Training from scratch is the best of the {len(group)} with probability {_chance(first)}."
    if outcome not in ("helps", "no baseline") or first.p_best > lead.p_best:
        return ""
    sure = f"It is the best of the {len(group)} with probability {_chance(lead)}"
    rivals = [c for c in others if c is not lead and c.p_best >= _WORTH_NAMING][:3]
    if lead.p_best >= _AS_GOOD_AS_SURE or not rivals:
        return f"{sure}."
    return f"{sure}; it could also be {listed([f'{_words(c)} ({_chance(c)})' for c in rivals], last='or')}."


def other_methods(group: Sequence[Comparison], outcome: Outcome, metric: Metric) -> str:
    """What the methods other than the leader do, by the sign of their transferability.

    Args:
        group: All comparisons with one number of labels.
        outcome: Their outcome.
        metric: What they are judged by.

    Returns:
        A sentence; empty when there are no others or no calls.
    """
    lead = champion(group, outcome, metric)
    parts = []
    for call, (one, several) in _VERBS.items():
        rest = [c for c in group if c is not lead and c.call == call and c.difference and c.difference.n > 1]
        if rest:
            names = _grouped(rest, group)
            verb = several if len(rest) > 1 else one
            also = "also " if call == lead.call != "undecided" else ""
            parts.append(f"{listed(names)} {also}{verb}{_gains(rest, metric) if call != 'undecided' else ''}")
    return f"{capitalised('; '.join(parts))}." if parts else ""


def _words(c: Comparison) -> str:
    return candidate_words(c.method, c.source)


def _chance(c: Comparison) -> str:
    return probability_words(c.p_best)


def _p(p: float) -> str:
    words = p_words(p)
    return f"p {words if words.startswith('<') else f'= {words}'}"


def _score(c: Comparison, metric: Metric) -> str:
    value = metric.in_words(c.score.value)
    if c.score.n == 2:
        low, high = (c.score.value + sign * (c.score.stderr or 0.0) for sign in (-1, 1))
        return f"{value} ({metric.shown(low)} and {metric.shown(high)} in two seeds)"
    if c.interval is None:
        return value
    return f"{value} ({metric.shown_interval(c.interval)}{'' if c.score.interval else ' over test examples'})"


def _gains(rest: Sequence[Comparison], metric: Metric) -> str:
    """Their differences to training from scratch; of a single one its interval too."""
    gains = sorted(gain(c) for c in rest)
    low, high = metric.shown_difference(gains[0]), metric.shown_difference(gains[-1])
    interval = rest[0].difference_interval
    if len(rest) == 1 and interval is not None:
        return f" ({low}; {metric.shown_difference_interval(interval)})"
    return f" ({low})" if low == high else f" ({low} to {high})"


def _grouped(rest: Sequence[Comparison], group: Sequence[Comparison]) -> list[str]:
    """Names of methods; a method that is there from each of several sources is named once."""
    one_source = len({c.source for c in group if c.source}) == 1
    names = []
    for method in dict.fromkeys(c.method for c in rest):
        own = [c for c in rest if c.method == method]
        if one_source:
            names.append(method_words(method))
        elif len(own) == sum(c.method == method for c in group) > 1:
            names.append(f"{method_words(method)} from {'either' if len(own) == 2 else 'every'} source")
        else:
            names.append(f"{method_words(method)} from {listed([str(c.source) for c in own])}")
    return names
