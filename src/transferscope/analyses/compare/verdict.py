"""The verdict on a comparison, in the words of a careful colleague. Pure logic: comparisons in, sentences out."""

from collections.abc import Mapping, Sequence

from transferscope.analyses.compare.comparison import Comparison, Outcome, champion, outcome_of
from transferscope.analyses.compare.metric import Metric
from transferscope.analyses.compare.words import (
    Progress,
    chance_of_best,
    completeness,
    evidence,
    other_methods,
    reach,
    seeds_to_decide,
)
from transferscope.report.page import Verdict
from transferscope.wording import candidate_words, capitalised, counted, listed

_OUTCOME_WORDS: dict[Outcome, str] = {
    "helps": "transfer helps",
    "hurts": "transfer hurts",
    "does not help": "no method of transfer has been shown to help",
    "seems to help": "transfer seems to help",
    "seems to hurt": "transfer seems to hurt",
    "undecided": "it is undecided whether transfer helps",
    "one seed": "one seed cannot tell whether transfer helps",
    "no baseline": "whether transfer helps cannot be said, because nothing was trained from scratch",
    "nothing to compare": "whether transfer helps cannot be said, because no method of transfer has a result yet",
}
_ONE_SEED = (
    "There is one seed, so nothing can be said about the spread between runs, and the intervals speak of other test "
    "examples only. Run at least three seeds, better five, before acting on a difference."
)
_TWO_SEEDS = (
    "Two seeds say next to nothing about the spread between runs. Run at least three, better five, before acting on a "
    "difference."
)
_NO_BASELINE = "Add [methods.scratch] to the study file and run it again; the cells that are done stay done."


def reach_verdict(comparisons: Sequence[Comparison], metric: Metric, progress: Progress) -> Verdict:
    """The verdict on a study.

    Transfer "helps" or "hurts" only where the Holm-corrected paired test and its interval say so; where only the test
    of a comparison taken alone does, it "seems to". Numbers of labels come in ascending order.

    Args:
        comparisons: At least one.
        metric: What they were judged by.
        progress: How much of the study is done.

    Returns:
        The verdict.
    """
    by_size: dict[int, list[Comparison]] = {}
    for comparison in sorted(comparisons, key=lambda c: c.n_target):
        by_size.setdefault(comparison.n_target, []).append(comparison)
    outcomes = {size: outcome_of(group) for size, group in by_size.items()}
    if len(by_size) == 1:
        (group,), (outcome,) = by_size.values(), outcomes.values()
        headline, body = _single_headline(group, outcome, metric), [_support(group, outcome, metric)]
    else:
        headline = _headline(by_size, outcomes, metric)
        body = [_paragraph(by_size[size], outcomes[size], metric) for size in by_size]
    sentences = (*body, _scope(comparisons), *_next_steps(comparisons, outcomes), completeness(progress))
    return Verdict(outcomes, headline, tuple(sentence for sentence in sentences if sentence))


def _single_headline(group: Sequence[Comparison], outcome: Outcome, metric: Metric) -> str:
    lead = champion(group, outcome, metric)
    reached = reach(lead, group, metric, even_so=outcome in ("hurts", "seems to hurt"))
    return f"{capitalised(_OUTCOME_WORDS[outcome])}: {reached}."


def _support(group: Sequence[Comparison], outcome: Outcome, metric: Metric) -> str:
    """What stands behind the sentence on the leading method, and what the others do."""
    lead = champion(group, outcome, metric)
    sure = evidence(lead, metric)
    first = f"The difference is {sure}." if sure else ""
    return _joined(first, chance_of_best(lead, group, outcome), other_methods(group, outcome, metric))


def _paragraph(group: Sequence[Comparison], outcome: Outcome, metric: Metric) -> str:
    """What happens at one of several numbers of labels."""
    lead = champion(group, outcome, metric)
    reached = capitalised(reach(lead, group, metric, even_so=outcome in ("hurts", "seems to hurt")))
    return _joined(f"{reached}.", _support(group, outcome, metric))


def _headline(by_size: Mapping[int, Sequence[Comparison]], outcomes: Mapping[int, Outcome], metric: Metric) -> str:
    """One sentence over several numbers of labels."""
    sizes_of: dict[Outcome, list[int]] = {}
    for size, outcome in outcomes.items():
        sizes_of.setdefault(outcome, []).append(size)
    if len(sizes_of) > 1:
        parts = [f"with {_sizes(sizes)} {_OUTCOME_WORDS[outcome]}" for outcome, sizes in sizes_of.items()]
        return f"{capitalised('; '.join(parts))}."
    (outcome,) = sizes_of
    words = capitalised(_OUTCOME_WORDS[outcome])
    if outcome in ("seems to help", "seems to hurt"):
        return f"{words} at every number of labels, but chance among so many comparisons cannot be ruled out."
    if outcome not in ("helps", "hurts"):
        return f"{words}."
    first, last = (champion(by_size[size], outcome, metric) for size in (min(by_size), max(by_size)))
    same = len({(c.method, c.source) for c in (champion(group, outcome, metric) for group in by_size.values())}) == 1
    who = candidate_words(first.method, first.source) if same else "the best method"
    return (
        f"{words} at every number of labels: {'even ' if outcome == 'hurts' else ''}{who} is "
        f"{_gain(first, metric)} training from scratch with {counted(first.n_target, 'label')} "
        f"and {_gain(last, metric)} it with {last.n_target:,}."
    )


def _gain(c: Comparison, metric: Metric) -> str:
    assert c.difference is not None
    return metric.gain_in_words(c.difference.mean)


def _sizes(sizes: Sequence[int]) -> str:
    return f"{listed([f'{size:,}' for size in sizes])} {'label' if list(sizes) == [1] else 'labels'}"


def _scope(comparisons: Sequence[Comparison]) -> str:
    """What the calls speak of, and how sure they are; empty where nothing was tested."""
    tested = [c.difference for c in comparisons if c.difference and c.difference.status == "ok"]
    if not tested:
        return ""
    covered = sum(difference.test_sd is not None for difference in tested)
    if covered == len(tested):
        about = "other seeds and other test examples"
    elif covered:
        about = "other seeds, and for other test examples where predictions were kept"
    else:
        about = "other seeds on this test set; what other test examples would show is not known"
    among = f" among {len(tested)} comparisons" if len(tested) > 1 else ""
    said = f"“Helps” and “hurts” are meant for {about}; the chance of any false one{among} is held to 5 %."
    if not any(c.call in ("leans positive", "leans negative") for c in comparisons):
        return said
    return f"{said} What is said of a method “taken alone” can be chance among so many: each has its own 5 %."


def _next_steps(comparisons: Sequence[Comparison], outcomes: Mapping[int, Outcome]) -> list[str]:
    steps = []
    if "one seed" in outcomes.values():
        steps.append(_ONE_SEED)
    elif max((c.score.n for c in comparisons), default=0) == 2:
        steps.append(_TWO_SEEDS)
    if "no baseline" in outcomes.values():
        steps.append(_NO_BASELINE)
    return [*steps, seeds_to_decide(comparisons)]


def _joined(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)
