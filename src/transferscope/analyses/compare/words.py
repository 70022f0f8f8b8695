"""The sentences of a comparison, with numbers as its measure has them."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from jinja2 import pass_context
from jinja2.runtime import Context

from transferscope.numerics.class_measures import is_class_measure
from transferscope.statements import Words
from transferscope.study.frames import StudyFrames
from transferscope.study.measure import Measure
from transferscope.wording import candidate_words, few, sizes_in_words


def words_of(frames: StudyFrames) -> Words:
    """The sentences of words.j2 on a study, with numbers in points."""
    return _words(frames.metric, tuple(frames.called.items()))


@cache
def _words(metric: Measure, called: tuple[tuple[str, Sequence[str]], ...]) -> Words:
    names = dict(called)

    def arm(one: tuple[str, str]) -> str:
        return candidate_words(*one, names)

    @pass_context
    def with_labels(context: Context, sizes: Sequence[int]) -> str:
        return f"with {sizes_in_words(sizes)}{', on this test set,' if context.get('covers') == 'seeds' else ''}"

    def between(ends: tuple[float | None, float | None] | None) -> str:
        low, high = ends or (None, None)
        return "" if low is None or high is None else f" ({metric.points(low)} to {metric.points(high)})"

    of_classes = f" {metric.name.lower()}" if is_class_measure(metric.record) else ""

    filters: Mapping[str, Callable[..., str]] = {
        "arm": arm,
        "arms": lambda several, most=7: few(map(arm, several), most),
        "between": between,
        "difference": metric.shown_difference,
        "gain": metric.gain,
        "in_brackets": lambda sizes: f" ({sizes_in_words(sizes)})" if sizes else "",
        "level": metric.level,
        "reached": lambda level, sizes: (
            metric.level(level) + of_classes + (f" with {sizes[0]:,}" if len(sizes) > 1 else "")
        ),
        "within": metric.within,
        "with_labels": with_labels,
    }
    return Words("transferscope.analyses.compare", filters)
