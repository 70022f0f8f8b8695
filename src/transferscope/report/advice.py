"""What to do next: more seeds, a baseline, or the rest of the study."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from transferscope.numerics.paired import PairedDifference, pairs_to_decide
from transferscope.report.comparison import ALPHA, Comparison
from transferscope.wording import counted

_MANY_SEEDS = 200


@dataclass(frozen=True, slots=True)
class Progress:
    """How much of a study is done.

    Attributes:
        total: Cells in the study.
        done: Cells with an outcome.
        failed: Cells with a failure.
    """

    total: int
    done: int
    failed: int


def completeness(progress: Progress) -> str:
    """What of a study is missing; empty when nothing is."""
    missing = progress.total - progress.done - progress.failed
    of_all = f"of {counted(progress.total, 'cell')}"
    parts = []
    if missing:
        parts.append(f"{missing:,} {of_all} {'is' if missing == 1 else 'are'} not done yet")
    if progress.failed:
        parts.append(f"{progress.failed:,} {'failed' if parts else f'{of_all} failed'}")
    return f"The study is not complete: {' and '.join(parts)}. This verdict rests on the others." if parts else ""


def seeds_to_decide(comparisons: Sequence[Comparison]) -> str:
    """How many seeds would probably decide what is open; empty when nothing is.

    Each open comparison is taken at Holm's next step, the level ALPHA / (number of open comparisons). Where more seeds
    cannot decide because of what the draw of the test examples adds, a larger test set is asked for.
    """
    not_called = {"undecided", "leans positive", "leans negative"}
    still_open = [c for c in comparisons if c.call in not_called and c.difference and c.difference.status == "ok"]
    if not still_open:
        return ""
    needed = [_seeds_needed(c, len(still_open)) for c in still_open]
    within = sorted(n for n in needed if n is not None)
    if not within:
        which = "comparison" if len(still_open) == 1 else f"{len(still_open)} comparisons"
        if any(_seeds_needed(replace(c, difference=_without_test_part(c)), len(still_open)) for c in still_open):
            return (
                f"More seeds alone would not decide the undecided {which} about other test examples: "
                "that takes a larger test set."
            )
        return (
            f"The undecided {which} would take more than {_MANY_SEEDS} seeds to decide: "
            "for most purposes the difference is too small to matter."
        )
    have = max(c.difference.n for c in still_open if c.difference)
    span = f"{within[0]}" if within[0] == within[-1] else f"{within[0]} to {within[-1]}"
    return (
        f"About {span} seeds instead of {have} would probably decide {_which(len(within), len(still_open))} "
        f"(with 80 % power, if differences and spread stay as they are)."
    )


def _which(n: int, total: int) -> str:
    if total == 1:
        return "the undecided comparison"
    if n == total:
        return f"the {n} undecided comparisons"
    return f"{n} of the {total} undecided comparisons; the rest would take more than {_MANY_SEEDS} or a larger test set"


def _seeds_needed(c: Comparison, n_open: int) -> int | None:
    assert c.difference is not None
    d = c.difference
    alpha = ALPHA / n_open
    needed = pairs_to_decide(d.mean, d.sd, alpha=alpha, at_most=_MANY_SEEDS, test_sd=d.test_sd or 0.0)
    return None if needed is None else max(needed, d.n + 1)


def _without_test_part(c: Comparison) -> PairedDifference:
    assert c.difference is not None
    return replace(c.difference, test_sd=None)
