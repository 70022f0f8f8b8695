"""The sentences of a comparison, with numbers in the unit of its metric."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from transferscope.statements import Words
from transferscope.study.frames import StudyFrames
from transferscope.study.measure import Measure
from transferscope.wording import (
    AS_WRITTEN,
    candidate_words,
    capitalised,
    counted,
    duration,
    few,
    listed,
    signed,
    sizes_in_words,
)


def seeds_in_words(n: int, most: int) -> str:
    """Return the number of seeds behind an adjusted mean."""
    return f"{n} of {most}" if n < most else "shared seeds only"


def words_of(frames: StudyFrames) -> Words:
    """Return the sentences of words.j2 for a study, with numbers in points."""
    return _words(frames.metric, tuple(frames.called.items()))


@cache
def _words(metric: Measure, called: tuple[tuple[str, str], ...]) -> Words:
    names = dict(called)

    def arm(one: tuple[str, str]) -> str:
        return ("" if one[0] in names else AS_WRITTEN) + candidate_words(*one, names)

    def reached(level: float, sizes: Sequence[int]) -> str:
        return metric.level_in_prose(level) + (f" with {sizes[0]:,}" if len(sizes) > 1 else "")

    def have_seeds(arms: Sequence[tuple[tuple[str, str], int]]) -> str:
        return listed([f"{arm(one)} has {counted(n, 'seed') if n else 'none'}" for one, n in arms])

    def of_seeds(arms: Sequence[tuple[tuple[str, str], int, int]]) -> str:
        return few([f"{arm(one)} ({seeds_in_words(n, most)})" for one, n, most in arms], 4)

    filters: Mapping[str, Callable[..., str]] = {
        "arm": arm,
        "arms": lambda several, most=7: few(map(arm, several), most),
        "capitalised": capitalised,
        "difference": metric.shown_difference,
        "from_to": lambda ends: f"{metric.points(ends[0])} to {metric.points(ends[1])}",
        "gain": metric.gain,
        "have_seeds": have_seeds,
        "in_brackets": lambda sizes: f" ({sizes_in_words(sizes)})" if sizes else "",
        "level": metric.level,
        "of_seeds": of_seeds,
        "over": lambda gain: "over" if gain >= 0 else "against",
        "points": lambda points: metric.gain(abs(points))[1:],
        "reached": reached,
        "seconds": duration,
        "signed": lambda points: signed(points, 1),
        "within": metric.within,
        "with_labels": lambda sizes: f"with {sizes_in_words(sizes)},",
    }
    return Words("transferscope.analyses.compare", filters)
