"""What transfer does at one number of labels, and the method to speak of."""

import math
from collections.abc import Sequence
from typing import Literal

from transferscope.report.comparison import Comparison
from transferscope.report.metric import Metric

Outcome = Literal[
    "helps",
    "hurts",
    "does not help",
    "seems to help",
    "seems to hurt",
    "undecided",
    "one seed",
    "no baseline",
    "nothing to compare",
]
"""What the paired tests say at one number of labels.

helps: at least one method is better than training from scratch. hurts: every one is worse. does not help: some are
worse and no other is better, even taken alone. seems to help: none is better for sure among all comparisons of the
study, but at least one is when taken alone. seems to hurt: every one is worse when taken alone. undecided: none of
these. one seed: there is no spread to judge by. no baseline: nothing was trained from scratch. nothing to compare: only
the baseline has a result.
"""


def outcome_of(group: Sequence[Comparison]) -> Outcome:
    """The outcome at one number of labels.

    Args:
        group: The comparisons with this number of labels, at least one.

    Returns:
        The outcome.
    """
    candidates = [c for c in group if c.transfers]
    if not candidates:
        return "nothing to compare"
    if all(c.call == "no baseline" for c in candidates):
        return "no baseline"
    if all(c.difference is None or c.difference.n == 1 for c in candidates):
        return "one seed"
    calls = {c.call for c in candidates}
    if "positive" in calls:
        return "helps"
    if calls == {"negative"}:
        return "hurts"
    if calls <= {"negative", "leans negative"}:
        return "seems to hurt"
    if "leans positive" in calls:
        return "seems to help"
    return "does not help" if "negative" in calls else "undecided"


def champion(group: Sequence[Comparison], outcome: Outcome, metric: Metric) -> Comparison:
    """The method to speak of: the best of those (most surely) shown to help, otherwise of those that transfer.

    Args:
        group: The comparisons with one number of labels.
        outcome: Their outcome.
        metric: What they are judged by.

    Returns:
        One of them; the baseline when it is alone.
    """
    candidates = [c for c in group if c.transfers] or list(group)
    if outcome in ("helps", "seems to help"):
        wanted = "positive" if outcome == "helps" else "leans positive"
        candidates = [c for c in candidates if c.call == wanted]
    if outcome == "no baseline":
        return max(candidates, key=lambda c: c.score.value if metric.higher_is_better else -c.score.value)
    return max(candidates, key=gain)


def gain(c: Comparison) -> float:
    """Mean transferability, for sorting; minus infinity when it was not measured."""
    return c.difference.mean if c.difference else -math.inf
