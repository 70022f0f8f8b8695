"""The sentences of a comparison, with numbers as its measure has them."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

from jinja2 import pass_context
from jinja2.runtime import Context

from transferscope.statements import Words, listed_arms
from transferscope.study.measure import Measure
from transferscope.wording import candidate_words, method_words, sizes_in_words


@cache
def words_of(metric: Measure, of_others: frozenset[str] = frozenset()) -> Words:
    """The sentences of words.j2; numbers are in points, a `fit` is as it was measured.

    Args:
        of_others: Methods that go by the names that others gave them, whichever of ours is called so.
    """

    def arm(one: tuple[str, str]) -> str:
        return candidate_words(one[0], one[1] or None, of_others)

    @pass_context
    def with_labels(context: Context, sizes: Sequence[int]) -> str:
        return f"with {sizes_in_words(sizes)}{', on this test set,' if context.get('covers') == 'seeds' else ''}"

    def between(ends: tuple[float | None, float | None] | None) -> str:
        low, high = ends or (None, None)
        return "" if low is None or high is None else f" ({metric.points(low)} to {metric.points(high)})"

    filters: Mapping[str, Callable[..., str]] = {
        "arm": arm,
        "arms": partial(listed_arms, arm=arm),
        "between": between,
        "difference": metric.shown_difference,
        "fit": lambda fit: metric.shown(fit) if metric.higher_is_better else f"R² {fit:.2f}",
        "gain": metric.gain,
        "in_brackets": lambda sizes: f" ({sizes_in_words(sizes)})" if sizes else "",
        "level": metric.level,
        "method": partial(method_words, of_others=of_others),
        "points": metric.points,
        "reached": lambda level, sizes: metric.level(level) + (f" with {sizes[0]:,}" if len(sizes) > 1 else ""),
        "within": metric.within,
        "with_labels": with_labels,
    }
    return Words("transferscope.analyses.compare", filters)
