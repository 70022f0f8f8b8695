"""What transfer does at one number of labels, and the method to speak of."""

import math
from collections.abc import Sequence
from typing import Literal

from transferscope.report.comparison import Comparison

Outcome = Literal["helps", "hurts", "does not help", "undecided", "one seed", "no baseline", "nothing to compare"]
"""What the Holm-corrected paired tests say at one number of labels.

helps: at least one method is better than training from scratch. hurts: every one is worse. does not help: some are
worse and the others cannot be told apart from it. undecided: none can be told apart from it. one seed: there is no
spread to judge by. no baseline: nothing was trained from scratch. nothing to compare: only the baseline has a result.
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
    return "does not help" if "negative" in calls else "undecided"


def champion(group: Sequence[Comparison], outcome: Outcome) -> Comparison:
    """The method to speak of: the best of those shown to help, otherwise the best of those that transfer.

    Args:
        group: The comparisons with one number of labels.
        outcome: Their outcome.

    Returns:
        One of them; the baseline when it is alone.
    """
    candidates = [c for c in group if c.transfers] or list(group)
    if outcome == "helps":
        candidates = [c for c in candidates if c.call == "positive"]
    if outcome == "no baseline":
        return max(candidates, key=lambda c: -math.inf if math.isnan(c.p_best) else c.p_best)
    return max(candidates, key=gain)


def gain(c: Comparison) -> float:
    """Mean transferability, for sorting; minus infinity when it was not measured."""
    return c.difference.mean if c.difference else -math.inf
