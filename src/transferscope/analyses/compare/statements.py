"""What is worth saying of a study's decisions, and of whom: statements, whose words are in words.j2."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from jinja2 import pass_context
from jinja2.runtime import Context

from transferscope.analyses.compare.training import nothing_learnt, untold_steps
from transferscope.decision import ArmFacts, Decision
from transferscope.statements import Statement, Words, state
from transferscope.study.decisions import Arm, arms_of
from transferscope.study.finished import arm_trainings
from transferscope.study.frames import StudyFrames
from transferscope.study.metric import Metric
from transferscope.wording import candidate_words, capitalised, labels_in_words


@cache
def words_of(metric: Metric) -> Words:
    """The sentences of a comparison, with numbers as the measure has them."""

    @pass_context
    def with_labels(said: Context, sizes: Sequence[int]) -> str:
        return f"with {labels_in_words(sizes)}{', on this test set,' if said.get('covers') == 'seeds' else ''}"

    filters: Mapping[str, Callable[..., str]] = {
        "gain": metric.gain,
        "level": metric.level,
        "reached": lambda level, sizes: metric.level(level) + (f" with {sizes[0]:,}" if len(sizes) > 1 else ""),
        "points": metric.points,
        "within": metric.within,
        "with_labels": with_labels,
        "in_brackets": lambda sizes: f" ({labels_in_words(sizes)})" if sizes else "",
    }
    return Words("transferscope.analyses.compare", filters)


class _Named:
    """A decision with its arms by name as (method, source)."""

    def __init__(self, frames: StudyFrames, n_target: int, decision: Decision) -> None:
        self.n_target, self.decision = n_target, decision
        self._pairs = {str(arm): (arm.method, arm.source) for arm in arms_of(frames, n_target)}
        self._facts = {arm.name: arm for arm in decision.arms}

    def pair(self, name: str | None) -> tuple[str, str]:
        assert name is not None
        return self._pairs[name]

    def pairs(self, names: Sequence[str]) -> list[tuple[str, str]]:
        return [self._pairs[name] for name in names]

    def facts(self, name: str | None) -> ArmFacts:
        assert name is not None
        return self._facts[name]


def answers(frames: StudyFrames, decided: Mapping[int, Decision]) -> tuple[Statement, ...]:
    """The answer at each number of labels; numbers of labels that share it are said together, by the smallest.

    Args:
        frames: The study.
        decided: Its decisions.
    """
    unlearnt = nothing_learnt(frames)
    shared: dict[tuple[str, str | None, str | None], list[int]] = {}
    for n_target, decision in decided.items():
        kind = "nothing learnt" if n_target in unlearnt else _kind(_Named(frames, n_target, decision))
        shared.setdefault((kind, decision.recommended, decision.best_without), []).append(n_target)
    return tuple(
        _answer(kind, sizes, _Named(frames, sizes[0], decided[sizes[0]])) for (kind, *_), sizes in shared.items()
    )


def _kind(one: _Named) -> str:
    decision = one.decision
    if decision.outcome == "no" and one.facts(decision.recommended).with_source:
        return "no, a source as good"
    reason = f"open, {decision.why_open}"
    return reason if decision.outcome == "open" and reason in words_of_kinds() else decision.outcome


@cache
def words_of_kinds() -> frozenset[str]:
    """The kinds of statements that a comparison has words for."""
    return Words("transferscope.analyses.compare").kinds


def _answer(kind: str, sizes: Sequence[int], one: _Named) -> Statement:
    decision = one.decision
    if decision.recommended is None:
        return state("nothing", sizes=sizes)
    arm, best = one.facts(decision.recommended), decision.best_with
    shown = arm if decision.outcome == "helps" and arm.gain is not None else one.facts(best) if best else None
    gain = shown.gain if shown else None
    rising = [a.name for a in decision.arms if a.unfinished and (decision.best_with == a.name or not a.with_source)]
    return state(
        kind,
        sizes=sizes,
        arm=one.pair(arm.name),
        level=arm.mean,
        best=one.pair(best) if best else None,
        best_level=one.facts(best).mean if best else None,
        control=one.pair(decision.best_without) if decision.best_without else None,
        gain=gain.value if gain else None,
        low=gain.low if gain else None,
        high=gain.high if gain else None,
        margin=decision.margin,
        covers=decision.covers,
        unfinished=one.pairs(rising),
    )


def which(frames: StudyFrames, decided: Mapping[int, Decision]) -> Iterator[Statement]:
    """How sure the recommended arm is; numbers of labels that share it are said together, with the least chance."""
    shared: dict[tuple[str, bool], list[int]] = {}
    for n_target, decision in decided.items():
        if decision.recommended is not None:
            shared.setdefault((decision.recommended, decision.settled), []).append(n_target)
    for (recommended, settled), sizes in shared.items():
        own = [decided[n] for n in sizes]
        yield state(
            "which",
            sizes=sizes if len(decided) > 1 else [],
            arm=_Named(frames, sizes[0], own[0]).pair(recommended),
            margin=own[0].margin,
            n_arms=max(sum(arm.n_seeds > 0 for arm in one.arms) for one in own),
            chance=min(one.chance for one in own),
            settled=settled,
        )


def notes(frames: StudyFrames, decided: Mapping[int, Decision]) -> Iterator[Statement]:
    """What else a reader should know of the decisions, those of fewer labels first."""
    untold = untold_steps(frames)
    for n_target, decision in decided.items():
        one, sizes = _Named(frames, n_target, decision), [n_target] if len(decided) > 1 else []
        if decision.helping:
            yield state("helping", sizes=sizes, arms=one.pairs(decision.helping))
        if decision.harmful and decision.best_without:
            yield state(
                "harmful", sizes=sizes, arms=one.pairs(decision.harmful), control=one.pair(decision.best_without)
            )
        if (sources := _gains_by_source(one)) and len(sources) > 1:
            yield state("by source", sizes=sizes, gains=sources)
        if _owes_untold(frames, one):
            yield state("objective", sizes=sizes, source=one.pair(decision.recommended)[1])
        if decision.unstable:
            yield state("unstable", sizes=sizes, arms=one.pairs(decision.unstable))
        if decision.unfinished:
            steps = max(arm.steps for arm in arm_trainings(frames) if arm.n_target == n_target and arm.unfinished)
            yield state("unfinished", sizes=sizes, arms=one.pairs(decision.unfinished), steps=steps)
        if n_target in untold:
            yield state("untold", sizes=sizes, steps=untold[n_target])
        if decision.missing:
            yield state("missing", sizes=sizes, arms=one.pairs(decision.missing))
    covers = {decision.covers for decision in decided.values()} - {"nothing"}
    if covers:
        error = 1 - min(decision.level for decision in decided.values())
        yield state("scope", covers=_COVERS[min(covers, key=list(_COVERS).index)], error=error)


def _owes_untold(frames: StudyFrames, one: _Named) -> bool:
    """Whether MeRLin is recommended, whose objective can gain without a source, and the study lacks it without one."""
    tables = frames.study.spec.get("methods", {})
    kinds = {name: table.get("name", table.get("method", name)) for name, table in tables.items()}
    recommended = one.decision.recommended
    return (
        recommended is not None
        and kinds.get(one.pair(recommended)[0]) == "merlin"
        and "merlin-target-only" not in kinds.values()
    )


_COVERS = {
    "test examples": "other test examples, and say nothing of other seeds",
    "seeds": "other seeds on this test set",
    "seeds and test examples": "other seeds and other test examples",
}
"""What intervals speak of, the least first."""


def _gains_by_source(one: _Named) -> list[tuple[str, float]]:
    """The best gain of each source over the best arm without."""
    found: dict[str, float] = {}
    for arm in one.decision.arms:
        source = one.pair(arm.name)[1]
        if source and arm.gain is not None:
            found[source] = max(found.get(source, arm.gain.value), arm.gain.value)
    return list(found.items())


def called(frames: StudyFrames, decided: Mapping[int, Decision]) -> Statement:
    """What is called better: the first number of labels at which something is, or that nothing is."""
    for n_target, decision in decided.items():
        if decision.helping:
            sizes = [n_target] if len(decided) > 1 else []
            return state("helping", sizes=sizes, arms=_Named(frames, n_target, decision).pairs(decision.helping))
    return state("none called")


def settling(frames: StudyFrames, decided: Mapping[int, Decision]) -> tuple[Statement, ...]:
    """What would settle what is open, at each number of labels."""
    said = []
    for n_target, decision in decided.items():
        one, what = _Named(frames, n_target, decision), decision.settles
        if what is None:
            continue
        costs = [one.facts(name).cost for name in what.arms]
        seconds = what.seeds * sum(cost or 0.0 for cost in costs) if any(costs) else None
        said.append(
            state(
                "settles",
                sizes=[n_target] if len(decided) > 1 else [],
                question=what.question,
                arms=one.pairs(what.arms),
                more=what.seeds,
                chance=what.chance,
                seconds=seconds,
            )
        )
    return tuple(said)


def completeness(frames: StudyFrames) -> tuple[Statement, ...]:
    """How much of the study is missing; nothing where it is complete."""
    states = frames.cells["state"].value_counts()
    total, failed = len(frames.cells), int(states.get("failed", 0))
    missing = total - int(states.get("done", 0)) - failed
    if missing:
        return (state("incomplete", missing=missing, total=total, failed=failed),)
    return (state("failed", failed=failed, total=total),) if failed else ()


def labels_saved(frames: StudyFrames, decided: Mapping[int, Decision]) -> Statement | None:
    """From which number of labels the best arm without a source reaches what the best arm reaches with the fewest.

    Of means; None with one number of labels, or where one of them has no run.
    """
    (few, first), most = next(iter(decided.items())), max(decided)
    if len(decided) < 2 or first.best_with is None or first.best_without is None:
        return None
    one = _Named(frames, few, first)
    reached = one.facts(first.best_with).mean
    without = {
        n: max(arm.mean for arm in decision.arms if not arm.with_source and arm.mean is not None)
        for n, decision in decided.items()
        if decision.best_without is not None
    }
    assert reached is not None
    enough = [n for n, level in without.items() if level >= reached]
    return state(
        "labels saved",
        few=few,
        arm=one.pair(first.best_with),
        level=reached,
        enough=min(enough, default=None),
        most=most,
    )


def headline(frames: StudyFrames, decided: Mapping[int, Decision]) -> str:
    """The answers as sentences, a line for each."""
    return "\n".join(words_of(frames.metric).all_of(answers(frames, decided)))


def short(frames: StudyFrames, decided: Mapping[int, Decision]) -> Iterator[str]:
    """Where a running study stands, a line for each number of labels: what is best so far, and how sure that is."""
    for n_target, decision in decided.items():
        if decision.recommended is None:
            continue
        one = _Named(frames, n_target, decision)
        arm, mean = Arm(*one.pair(decision.recommended)), one.facts(decision.recommended).mean
        assert mean is not None
        gain = decision.difference
        beside = f", {frames.metric.gain(gain.value)} over the best without" if gain and decision.best_with else ""
        tried = sum(other.n_seeds > 0 for other in decision.arms)
        chance = f"chance {100 * decision.chance:.0f} % of {tried} arms" if tried > 1 else "the first arm"
        name = candidate_words(arm.method, arm.source or None)
        yield (
            f"{labels_in_words([n_target])}: {name} {frames.metric.level(mean)} ({chance}); {_SHORT[decision.outcome]}"
            f"{beside if arm.source else ''}"
        )


def outcomes_in_words(decided: Mapping[int, Decision]) -> str:
    """The outcomes in a few words: "Transfer helps with 50 labels; open with 200"."""
    shared: dict[str, list[int]] = {}
    for n_target, decision in decided.items():
        shared.setdefault(_SHORT[decision.outcome], []).append(n_target)
    return capitalised("; ".join(f"{words} with {labels_in_words(sizes)}" for words, sizes in shared.items()))


_SHORT = {
    "helps": "transfer helps",
    "helps, within the margin": "transfer hardly helps",
    "no": "no gain from a source",
    "open": "open",
    "no source": "nothing from a source yet",
    "no control": "nothing without a source yet",
    "nothing": "nothing yet",
}
"""Outcomes in a few words, for chips and lines."""
