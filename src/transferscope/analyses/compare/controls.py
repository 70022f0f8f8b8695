"""Transfer against the controls beside training from scratch: what needs no trained network."""

from collections.abc import Sequence

from transferscope.analyses.compare.comparison import Comparison
from transferscope.analyses.compare.metric import Metric
from transferscope.wording import candidate_words, counted


def controls_in_words(comparisons: Sequence[Comparison], metric: Metric) -> tuple[str, ...]:
    """A sentence for each number of labels at which the best transfer has no better mean than the best control.

    Args:
        comparisons: All of a study.
        metric: What they are judged by.

    Returns:
        Sentences about means, by number of labels; none where transfer is ahead or there is no control.
    """

    def better(c: Comparison) -> float:
        return c.score.value if metric.higher_is_better else -c.score.value

    said = []
    for n_target in sorted({c.n_target for c in comparisons}):
        group = [c for c in comparisons if c.n_target == n_target]
        control = max((c for c in group if c.is_control), key=better, default=None)
        transfer = max((c for c in group if c.transfers), key=better, default=None)
        if control is not None and transfer is not None and better(control) >= better(transfer):
            who, best = (candidate_words(c.method, c.source) for c in (control, transfer))
            said.append(
                f"With {counted(n_target, 'label')} no transfer does better on average than {who} "
                f"({metric.shown(control.score.value)}), which trains no network: the best, {best}, reaches "
                f"{metric.in_words(transfer.score.value)}."
            )
    return tuple(said)
