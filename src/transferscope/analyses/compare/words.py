"""What a comparison says, sentence by sentence: methods at one number of labels, what to do next, what to beware of."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from transferscope.analyses.compare.comparison import (
    Call,
    Comparison,
    Difference,
    Outcome,
    champion,
    gain,
    gains_over,
    outcome_of,
)
from transferscope.records import FinishedRuns
from transferscope.study.frames import StudyFrames
from transferscope.study.metric import Metric
from transferscope.wording import (
    candidate_words,
    capitalised,
    counted,
    duration,
    listed,
    method_words,
    p_words,
    probability_words,
    rough_duration,
)

_AS_GOOD_AS_SURE = 0.95
_WORTH_NAMING = 0.05
_CHEAP = 1 / 3  # of the time of the best method, from which a cheaper one is worth a word
_VERBS: dict[Call, tuple[str, str]] = {  # for one method, for several
    "positive": ("is better than training from scratch", "are better than training from scratch"),
    "negative": ("is worse", "are worse"),
    "equivalent": ("is equivalent within the margin", "are equivalent within the margin"),
    "leans positive": ("leans towards better, no more", "lean towards better, no more"),
    "leans negative": ("leans towards worse, no more", "lean towards worse, no more"),
    "undecided": ("is undecided", "are undecided"),
}
_OPEN: tuple[Call, ...] = ("undecided", "leans positive", "leans negative")
_OF_SOURCE: dict[Outcome, str] = {
    "helps": "better than from scratch",
    "hurts": "worse than from scratch",
    "does not help": "no better than from scratch",
    "seems to help": "leans towards help",
    "seems to hurt": "leans towards harm",
    "undecided": "undecided",
}

_OUTCOMES: dict[str, str] = {
    "helps": "transfer helps",
    "no more than a control": "transfer is better than training from scratch, and no better on average than a control,",
    "no more than an objective": "MeRLin alone is better than training from scratch, and need not owe it to a source,",
    "hurts": "every way of transfer is worse than training from scratch",
    "does not help": "no way of transfer is better than training from scratch",
    "seems to help": "it is undecided whether transfer helps, leaning towards help,",
    "seems to hurt": "it is undecided whether transfer helps, leaning towards harm,",
    "undecided": "it is undecided whether transfer helps",
    "one seed": "one seed cannot tell whether transfer helps",
    "no baseline": "nothing was trained from scratch, so that transfer has nothing to be compared with,",
    "nothing to compare": "no method of transfer has a result yet",
    "unfinished baseline": "training from scratch was cut off, so that nothing can be said",
}

MOST_IN_A_SENTENCE = 12
"""Names in a sentence, above which they are counted."""


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
    difference = lead.difference
    if difference is None:
        return ""
    alike = ""
    if not difference.tested and difference.n > 1:
        alike = f"exactly the same in all {difference.n} seeds, so there is no spread to test it against"
    if difference.interval is None:
        return alike
    ends = metric.gain_interval_in_words(difference.interval)
    if alike or difference.n == 1:
        return f"{ends} over test examples{'; ' if alike else ''}{alike}"
    return f"{ends} over {difference.n} seeds; adjusted {_p(difference.p)}"


def over_control(lead: Comparison, metric: Metric) -> str:
    """What the leader gains over the best control, a sentence; "" unless nothing was trained from scratch."""
    gain = lead.over_control
    if gain is None or not lead.transfers:
        return ""
    sure = evidence(replace(lead, difference=gain), metric)
    return (
        f"{capitalised(_words(lead))} is {metric.gain_in_words(gain.mean)} {candidate_words(lead.control, None)}, the "
        f"best of the controls that transfer nothing{f' ({sure})' if sure else ''}."
    )


@dataclass(frozen=True, slots=True)
class OwedToSource:
    """What of MeRLin's gain is owed to its source.

    Attributes:
        headline: Names the numbers of labels at which MeRLin, or MeRLin-ft, leads and is not surely better than its
            objective without a source; "" for none.
        alone: Those of them at which nothing but MeRLin is better than training from scratch, and no arm of it is
            surely better than the objective.
        sentences: The difference to that objective at each number of labels that MeRLin leads at, or how to get it.
    """

    headline: str
    alone: tuple[int, ...]
    sentences: tuple[str, ...]


def objective_in_words(
    comparisons: Sequence[Comparison], frames: StudyFrames, *, said_of: Iterable[int] = ()
) -> OwedToSource:
    """What of MeRLin's gain is owed to the source, where MeRLin leads: its objective alone can gain without any.

    Args:
        comparisons: All of a study.
        frames: The study.
        said_of: Numbers of labels that the headline need not speak of.
    """
    merlin, alone = _merlin_of(frames)
    gains = {} if alone is None else gains_over(frames, alone)
    said, unowed, only = [], [], []
    for n_target in sorted({c.n_target for c in comparisons}):
        group = [c for c in comparisons if c.n_target == n_target and c.transfers]
        lead = best_of(group, frames.metric) if group else None
        if lead is None or lead.method not in merlin or lead.call not in ("positive", "leans positive"):
            continue
        found = gains.get((lead.source or "", lead.method, n_target))
        if found is None:
            return OwedToSource("", (), (_objective_asked(lead.method, lead.source),))
        sure = evidence(replace(lead, difference=found), frames.metric)
        settled = _is_owed(found)
        if not settled and n_target not in said_of:
            unowed.append(n_target)
            better = [c for c in group if c.call == "positive"]
            owing = [
                c
                for c in better
                if c.method in merlin and not _is_owed(gains.get((c.source or "", c.method, n_target)))
            ]
            only += [n_target] if better and owing == better else []
        said.append(
            f"With {counted(n_target, 'label')} {_words(lead)} is {frames.metric.gain_in_words(found.mean)} the same "
            f"objective without a source{f' ({sure})' if sure else ''}, so that its gain "
            f"{'is owed to the source by as much' if settled else 'need not be owed to the source'}."
        )
    sizes = f"With {listed([f'{size:,}' for size in unowed])} {'label' if unowed == [1] else 'labels'}"
    lead_words = (
        f"{sizes} MeRLin's objective without a source is not shown to be worse than MeRLin, whose gain is therefore no "
        "evidence of transfer."
    )
    return OwedToSource(lead_words if unowed else "", tuple(only), tuple(said))


def _is_owed(over_objective: Difference | None) -> bool:
    """Whether what an arm gains over MeRLin's objective without a source is surely above 0."""
    return over_objective is not None and over_objective.interval is not None and over_objective.interval.low > 0


def objective_missing(method: str, source: str | None, frames: StudyFrames) -> str:
    """What would tell what a method owes to its source, where it is MeRLin and no run is without one; "" elsewhere."""
    merlin, alone = _merlin_of(frames)
    return _objective_asked(method, source) if source and method in merlin and alone is None else ""


def _merlin_of(frames: StudyFrames) -> tuple[set[str], str | None]:
    """The names under which a study has MeRLin with a source, and its objective without one (None if it has not).

    MeRLin-ft has the same objective; where a study lacks it without a source, it is not asked for: from a network whose
    data are not there it would be training from random weights.
    """
    tables = {str(name): table for name, table in frames.study.spec.get("methods", {}).items()}
    kinds = {name: table.get("name", table.get("method", name)) for name, table in tables.items()}
    merlin = {name for name, kind in kinds.items() if kind == "merlin"}
    alone = {name for name in merlin if not tables[name].get("settings", tables[name]).get("source_term", True)}
    own = [name for name, kind in kinds.items() if kind == "merlin-target-only"]
    without = next(iter([*own, *sorted(alone)]), None)
    tuned = {name for name, kind in kinds.items() if kind == "merlin-ft"} if without is not None else set()
    return (merlin - alone) | tuned, without


def _objective_asked(method: str, source: str | None) -> str:
    return (
        f"{capitalised(method_words(method))} has an objective of its own, which can gain without a source: what is "
        f"owed to {source}, the method merlin-target-only would tell."
    )


def recommendation(lead: Comparison, group: Sequence[Comparison], outcome: Outcome, metric: Metric) -> str:
    """What to do at one number of labels, in a clause without its capital: "use MeRLin from glyphs with 50 labels ...".

    Args:
        lead: The method to speak of.
        group: All comparisons with this number of labels.
        outcome: Their outcome; one of those that a test has.
        metric: What they are judged by.
    """
    labels, who = f"with {counted(lead.n_target, 'label')}", _words(lead)
    if outcome == "helps":
        return f"use {who} {labels}: {_gain_over_scratch(lead, metric)}{_time(lead)}{_cheaper(lead, group, metric)}"
    best = f"{who}: {_gain_over_scratch(lead, metric)}"
    if outcome == "hurts":
        return f"train from scratch {labels}: every way of transfer is worse, the best of them {best}"
    if outcome == "does not help":
        return f"train from scratch {labels}: every way of transfer is worse or equivalent, the best of them {best}"
    leaning = {"seems to help": ", leaning towards help", "seems to hurt": ", leaning towards harm"}.get(outcome, "")
    return f"it is undecided whether transfer helps {labels}{leaning}; the best way is {best}{_decided_by(lead)}"


def recommended_control(control: Comparison, lead: Comparison, metric: Metric) -> str:
    """What to do where no way of transfer has a better mean than a control, in a clause without its capital.

    Args:
        control: The control.
        lead: The way of transfer to speak of.
        metric: What they are judged by.
    """
    labels, gained = counted(lead.n_target, "label"), _gain_over_scratch(control, metric)
    return (
        f"use {_words(control)} with {labels}, a control: {gained}{_time(control)}; no way of transfer has a "
        f"better mean, {_words(lead)} with {_gain_over_scratch(lead, metric)}"
    )


def _gain_over_scratch(c: Comparison, metric: Metric) -> str:
    """The difference with its interval: "+12.4 points over training from scratch (7.0 to 17.8)"."""
    if c.difference is None:
        return "no seed in common with training from scratch"
    unit = f" points {'over' if c.difference.mean >= 0 else 'against'}"
    unit = unit if metric.higher_is_better else " of squared error saved against"
    interval = c.difference.interval
    ends = f" ({metric.shown_difference_interval(interval).replace('+', '')})" if interval else ""
    return f"{metric.shown_difference(c.difference.mean)}{unit} training from scratch{ends}"


def _decided_by(c: Comparison) -> str:
    """What would decide this one comparison, if it is open."""
    if c.call not in _OPEN or c.difference is None or not c.difference.tested:
        return ""
    if c.difference.seeds_to_decide:
        return f", which about {max(c.difference.seeds_to_decide, c.difference.n + 1)} seeds would decide"
    return ", which takes a larger test set to decide" if c.difference.wants == "a larger test set" else ""


def _time(c: Comparison) -> str:
    """Time of a run with its pre-training; of the run alone where nobody measured that."""
    own, before = c.cost.seconds, c.cost.pretraining_seconds
    if math.isnan(own):
        return ""
    return f", {duration(own)} a run" if math.isnan(before) else f", {duration(own + before)} a run"


def _cheaper(lead: Comparison, group: Sequence[Comparison], metric: Metric) -> str:
    """The best of the methods that are better too and take far less time; "" when there is none."""
    seconds = {id(c): c.cost.seconds + c.cost.pretraining_seconds for c in group}
    own = seconds[id(lead)]
    cheap = [c for c in group if c.transfers and c.call == "positive" and 0 < seconds[id(c)] <= _CHEAP * own]
    if not cheap:
        return ""
    other = max(cheap, key=gain)
    assert other.difference is not None
    share = f"1/{round(own / seconds[id(other)]):,}"
    return f"; {_words(other)} gives {metric.shown_difference(other.difference.mean)} for {share} of the time"


def of_sources(group: Sequence[Comparison]) -> str:
    """One verdict for each source at one number of labels: "Glyphs: helps; noise: hurts."; "" for a single source."""
    sources = dict.fromkeys(c.source for c in group if c.transfers)
    if len(sources) < 2:
        return ""
    outcomes = {source: outcome_of([c for c in group if c.source == source]) for source in sources}
    said = [f"{source}: {_OF_SOURCE[outcome]}" for source, outcome in outcomes.items() if outcome in _OF_SOURCE]
    if len(said) > MOST_IN_A_SENTENCE:
        of_each = Counter(_OF_SOURCE[outcome] for outcome in outcomes.values() if outcome in _OF_SOURCE)
        said = [f"{words}: {n:,}" for words, n in of_each.items()]
        return f"By source, of {len(outcomes):,}: {'; '.join(said)}."
    return f"By source: {'; '.join(said)}." if said else ""


def chance_of_best(lead: Comparison, group: Sequence[Comparison], outcome: Outcome) -> str:
    """How sure it is that the leader, or training from scratch, is the best, and which others may be.

    Args:
        lead: The method.
        group: All comparisons with this number of labels, `lead` among them.
        outcome: Their outcome.

    Returns:
        A sentence; empty when nothing is known, there is nothing to choose from, or the outcome is open.
    """
    if math.isnan(lead.p_best) or len(group) < 2:
        return ""
    known = [c for c in group if not math.isnan(c.p_best)]
    first = max(known, key=lambda c: c.p_best)
    if outcome == "hurts" and first.call == "baseline":
        return f"Training from scratch is the best of the {len(group)} with probability {_chance(first)}."
    if outcome not in ("helps", "no baseline"):
        return ""
    if first.p_best > lead.p_best:
        better = "" if first.call in ("positive", "no baseline") else ", but is not known to beat training from scratch"
        return (
            f"It is the best of the {len(group)} with probability {_chance(lead)}; {_words(first)} has {_chance(first)}"
            f"{better}."
        )
    sure = f"It is the best of the {len(group)} with probability {_chance(lead)}"
    others = sorted((c for c in known if c is not lead and c.p_best >= _WORTH_NAMING), key=lambda c: -c.p_best)[:3]
    if lead.p_best >= _AS_GOOD_AS_SURE or not others:
        return f"{sure}."
    return f"{sure}; it could also be {listed([f'{_words(c)} ({_chance(c)})' for c in others], last='or')}."


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
            parts.append(f"{listed(names)} {several if len(rest) > 1 else one}{_gains(rest, metric)}")
    return f"{capitalised('; '.join(parts))}." if parts else ""


def covered_in_words(comparisons: Sequence[Comparison]) -> str:
    """What intervals and p-values speak of; "" where nothing was tested."""
    covers = {c.difference.covers for c in comparisons if c.difference and c.difference.tested}
    if covers == {"seeds and test examples"}:
        return "other seeds and other test examples"
    if "seeds and test examples" in covers:
        return "other seeds, and of other test examples where predictions were kept"
    if not covers:
        return ""
    return "other seeds on this test set; what other test examples would show is not known"


def outcomes_in_words(outcomes: Mapping[int, str]) -> str:
    """What transfer does, by number of labels: "Transfer helps with 50 labels; undecided with 200."; "" for none.

    Args:
        outcomes: By number of labels, ascending: an `Outcome`, or "unfinished baseline".
    """
    shared: dict[str, list[int]] = {}
    for size, outcome in outcomes.items():
        shared.setdefault(_OUTCOMES[outcome], []).append(size)
    said = [f"{words} with {listed([f'{n:,}' for n in sizes])} labels" for words, sizes in shared.items()]
    return f"{capitalised('; '.join(said))}." if said else ""


def best_mean(group: Sequence[Comparison], metric: Metric) -> str:
    """Which way has the best mean at one number of labels, whatever the tests say of the difference.

    Args:
        group: All comparisons with this number of labels, at least one.
        metric: What they are judged by.
    """
    best = best_of(group, metric)
    of_all = f" of {len(group)} ways" if len(group) > 1 else ""
    labels = counted(best.n_target, "label")
    return f"With {labels} the best mean{of_all} is that of {_words(best)}: {_score(best, metric)}."


def labels_saved(by_size: Mapping[int, Sequence[Comparison]], metric: Metric) -> str:
    """From which number of labels training from scratch reaches what the best transfer reaches with the fewest.

    Args:
        by_size: All comparisons by number of labels, ascending, at least two numbers.
        metric: What they are judged by.

    Returns:
        One sentence about means; the intervals are in the figure beside it.
    """
    few, group = next(iter(by_size.items()))
    best = best_of([c for c in group if c.transfers] or group, metric)
    reached = f"With {counted(few, 'label')} {_words(best)} reaches {metric.in_words(best.score.value)}"
    scratch = {size: c for size, cs in by_size.items() for c in cs if c.call == "baseline"}
    if not scratch or not best.transfers:
        most, last = max(by_size.items())
        end = best_of(last, metric)
        return f"{reached}; with {most:,} {_words(end)} reaches {metric.in_words(end.score.value)}."
    enough = [size for size, c in scratch.items() if c is best_of([c, best], metric)]
    if not enough:
        return f"{reached}, which training from scratch reaches with none of up to {max(scratch):,} labels."
    if min(enough) == few:
        return f"{reached}, and training from scratch is no worse with as few."
    return f"{reached}; training from scratch is as good with {min(enough):,}, the fewest of those tried."


def best_of(group: Sequence[Comparison], metric: Metric) -> Comparison:
    """The best mean; the first of equals.

    Args:
        group: At least one.
        metric: What they are judged by.
    """
    return max(group, key=lambda c: c.score.value if metric.higher_is_better else -c.score.value)


def _words(c: Comparison) -> str:
    return candidate_words(c.method, c.source)


def _chance(c: Comparison) -> str:
    return probability_words(c.p_best)


def _p(p: float) -> str:
    words = p_words(p)
    return f"p {words if words.startswith('<') else f'= {words}'}"


def _score(c: Comparison, metric: Metric) -> str:
    value = metric.in_words(c.score.value)
    if c.score.n == 2 and not c.all_alike:
        low, high = (c.score.value + sign * (c.score.stderr or 0.0) for sign in (-1, 1))
        return f"{value} ({metric.shown(low)} and {metric.shown(high)} in two seeds)"
    said = ["the same in all seeds"] if c.all_alike else []
    if c.interval is not None:
        over = " over test examples" if c.interval_over == "test examples" else ""
        said.insert(0, f"{metric.shown_interval(c.interval)}{over}")
    return f"{value} ({', '.join(said)})" if said else value


def _gains(rest: Sequence[Comparison], metric: Metric) -> str:
    """Their differences to training from scratch; of a single one its interval too."""
    gains = sorted(gain(c) for c in rest)
    low, high = metric.shown_difference(gains[0]), metric.shown_difference(gains[-1])
    interval = rest[0].difference.interval if rest[0].difference else None
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
    """What would probably decide what is open, more seeds or a larger test set; empty when nothing is open."""
    still_open = [c.difference for c in comparisons if c.call in _OPEN and c.difference and c.difference.tested]
    if not still_open:
        return ""
    within = sorted(max(d.seeds_to_decide, d.n + 1) for d in still_open if d.seeds_to_decide)
    which = "undecided comparison" if len(still_open) == 1 else f"{len(still_open)} undecided comparisons"
    if not within:
        if any(d.wants == "a larger test set" for d in still_open):
            return (
                f"More seeds alone would not decide the {which} about other test examples: that takes a larger test "
                "set."
            )
        return (
            f"The {which} would take more than 200 seeds to decide: beside its spread, what was measured is close to "
            "no difference."
        )
    have = max(d.n for d in still_open)
    span = f"{within[0]}" if within[0] == within[-1] else f"{within[0]} to {within[-1]}"
    most = (
        f"{len(within)} of the {len(still_open)} undecided comparisons; the rest would take more than 200 or a larger "
    )
    said = f"the {which}" if len(within) == len(still_open) else f"{most}test set"
    each = _seconds_of_a_seed(comparisons)
    first, last = (rough_duration(each * (n - have)) for n in (within[0], within[-1]))
    took = f", about {first} of computing more" if each >= 1 else ""
    took += f" for the first of them and {last} for the last" if each >= 1 and within[0] < within[-1] else ""
    return (
        f"About {span} seeds instead of {have} would probably decide {said} (with 80 % power, if differences and "
        f"spread stay as they are): seeds = {within[0]} in the study file and `transferscope run` again{took}."
    )


def _seconds_of_a_seed(comparisons: Sequence[Comparison]) -> float:
    """What one more seed of everything takes, with a pre-training for each source; 0 where nobody measured it."""
    runs = sum(c.cost.seconds for c in comparisons if not math.isnan(c.cost.seconds))
    shared = {c.source: c.cost.pretraining_seconds for c in comparisons if not math.isnan(c.cost.pretraining_seconds)}
    return runs + sum(shared.values())


def change_in_words(frames: StudyFrames, then: FinishedRuns, *, since: str, again: str) -> str:
    """That the study has changed; empty when it has not.

    Args:
        frames: The study now.
        then: What was done of it.
        since: What happened then, as in "it was placed".
        again: The command that does it again, as in "theory place".
    """
    now = frames.finished_runs
    if now == then:
        return ""
    what = (
        f"it had {counted(then.count, 'finished run')} then and has {now.count:,} now"
        if now.count != then.count
        else "other runs are finished now than then"
    )
    return (
        f"The study has changed since {since}: {what}. What follows is of then; run `transferscope {again} STUDY.toml` "
        "again."
    )
