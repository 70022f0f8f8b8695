"""Statements on a study's decisions; their words are in words.j2."""

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from shlex import quote
from typing import TypeVar

from transferscope.analyses.compare.training import nothing_learnt, untold_steps
from transferscope.analyses.compare.words import words_of
from transferscope.decision import LEAST_CHANCE, LEAST_SEEDS, ArmFacts, Decision
from transferscope.statements import Statement, state
from transferscope.study.decisions import arms_of, between_sources, sources_that_are_target
from transferscope.study.finished import arm_trainings
from transferscope.study.frames import StudyFrames
from transferscope.study.race_state import race_state
from transferscope.wording import capitalised, sizes_in_words

K = TypeVar("K", bound=Hashable)


class _Named:
    """A decision whose arms are given as (method, source)."""

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


def _together(told: Mapping[int, K]) -> dict[K, list[int]]:
    """Group numbers of labels with the same statement, ordered by the first of each group."""
    shared: dict[K, list[int]] = {}
    for n_target, one in told.items():
        shared.setdefault(one, []).append(n_target)
    return shared


def answers(frames: StudyFrames, decided: Mapping[int, Decision]) -> tuple[Statement, ...]:
    """Return the answers; numbers of labels with the same answer are grouped, by the smallest."""
    if same := sources_that_are_target(frames.study.facts):
        return (state("source is target", sources=same),)
    unlearnt = nothing_learnt(frames)
    told = {
        n: (
            "nothing learnt" if n in unlearnt else f"{one.outcome}, {one.why}",
            *(one.unstable if one.why == "unstable" else ()),
            one.recommended,
            one.best_baseline,
        )
        for n, one in decided.items()
    }
    return tuple(
        _answer(sizes, _Named(frames, sizes[0], decided[sizes[0]]), learnt=sizes[0] not in unlearnt, end=end_of(frames))
        for sizes in _together(told).values()
    )


def end_of(frames: StudyFrames) -> str:
    """Return why the race of a study ended (`race_state.End`); "" if it continues or there is none."""
    race = None if frames.study.spec.get("race") is None else race_state(frames.documents)
    return race.end if race else ""


def _answer(sizes: Sequence[int], one: _Named, *, learnt: bool, end: str) -> Statement:
    decision = one.decision
    if decision.recommended is None:
        return state("nothing", sizes=sizes)
    kind = "one side" if decision.outcome in _ONE_SIDE else decision.outcome
    arm, best, control = one.facts(decision.recommended), decision.best_transfer_arm, decision.best_baseline
    significant = arm.name in decision.helping
    shown = arm if significant else one.facts(best) if best else None
    gain = shown.gain if shown else None
    named = [one.facts(name) for name in dict.fromkeys((arm.name, best, control)) if name is not None]
    most = max(other.n_seeds for other in decision.arms)
    cost = one.facts(best).cost if best else None
    few = [other for other in decision.arms if other.n_seeds < (LEAST_SEEDS if other.with_source else 2)]
    return state(
        kind if learnt else "nothing learnt",
        sizes=sizes,
        arm=one.pair(arm.name),
        level=arm.mean,
        significant=significant,
        best=one.pair(best) if best else None,
        best_level=one.facts(best).mean if best else None,
        control=one.pair(control) if control else None,
        control_level=decision.baseline_level,
        gain=gain.value if gain else None,
        ends=None if gain is None or gain.low is None else (gain.low, gain.high),
        confidence=decision.confidence,
        margin=decision.margin,
        covers=decision.covers,
        chances=_chances(decision),
        harms=_harms(decision),
        lost=arm.shortfall,
        cheaper=arm.cost is not None and cost is not None and arm.cost < cost,
        cheapest=arm.cost is not None and all(arm.cost <= (math.inf if o.cost is None else o.cost) for o in named),
        why=decision.why,
        least_seeds=LEAST_SEEDS,
        lacking=[(one.pair(other.name), other.n_seeds) for other in few if other.name == best or not other.with_source],
        rising=[one.pair(other.name) for other in decision.arms if other.unfinished and not other.with_source],
        unstable=one.pairs(decision.unstable),
        adjusted=[(one.pair(other.name), other.n_seeds, most) for other in named if other.adjusted],
        n_seeds=arm.n_seeds,
        end=end,
    )


_MOST_LOST = 3  # arms with failed runs that are named
_ONE_SIDE = ("no source", "no control")


def _harms(decision: Decision) -> bool:
    """Return whether even the best transfer arm is significantly worse than the best baseline."""
    gain = decision.difference
    return decision.outcome == "no" and gain is not None and gain.high is not None and gain.high < 0


MANY_SIZES = 3
"""Numbers of labels from which a summary and a grid of scores are shown."""


def overall(frames: StudyFrames, decided: Mapping[int, Decision]) -> tuple[Statement, ...]:
    """Return a summary over numbers of labels: each outcome, the clearest gain, and the recommended arms."""
    if same := sources_that_are_target(frames.study.facts):
        return (state("source is target", sources=same),)
    outcomes = _together({n: _in_short(one) for n, one in decided.items()})
    told = [state("outcomes", outcomes=list(outcomes.items()), n_seeds=frames.n_seeds)]
    clearest = max(decided, key=lambda n: _clearness(decided[n]))
    decision = decided[clearest]
    if decision.difference is not None:
        one, gain = _Named(frames, clearest, decision), decision.difference
        told.append(
            state(
                "clearest",
                sizes=[clearest],
                significant=bool(decision.helping),
                best=one.pair(decision.best_transfer_arm),
                level=one.facts(decision.best_transfer_arm).mean,
                gain=gain.value,
                ends=None if gain.low is None else (gain.low, gain.high),
                confidence=decision.confidence,
                covers=decision.covers,
                control=one.pair(decision.best_baseline),
                control_level=decision.baseline_level,
            )
        )
    pairs = {
        n: _Named(frames, n, one).pair(one.recommended) for n, one in decided.items() if one.recommended is not None
    }
    return (*told, state("use", choices=list(_together(pairs).items()))) if pairs else tuple(told)


def _clearness(decision: Decision) -> tuple[bool, float]:
    """Return whether transfer is significantly better, and its gain in units of the CI below it."""
    gain = decision.difference
    if gain is None or gain.low is None:
        return False, -math.inf
    return bool(decision.helping), gain.value / max(gain.value - gain.low, 1e-12)


def which(frames: StudyFrames, decided: Mapping[int, Decision]) -> Iterator[Statement]:
    """Yield the certainty of the recommended arm of each number of labels, source differences, and skipped arms."""
    shared = _together({n: one.recommended for n, one in decided.items() if one.recommended is not None})
    if shared:
        yield state(
            "which",
            choices=[
                (
                    _Named(frames, sizes[0], decided[sizes[0]]).pair(recommended),
                    [(n if len(decided) > 1 else None, _chance(decided[n])) for n in sizes],
                )
                for recommended, sizes in shared.items()
            ],
            margin=next(iter(decided.values())).margin,
            n_arms=max(sum(arm.n_seeds > 0 for arm in one.arms) for one in decided.values()),
        )
    if sources_that_are_target(frames.study.facts):
        return
    sizes_differ = not frames.is_of_others and not set(frames.sources) <= set(frames.study.spec.get("sources", {}))
    for n_target in () if sizes_differ else decided:  # the arms of one source are distinguished by size
        beside = between_sources(frames, n_target)
        if beside is None or beside.difference is None or beside.difference.low is None:
            continue
        one = _Named(frames, n_target, beside)
        yield state(
            "between sources",
            sizes=[n_target] if len(decided) > 1 else [],
            best=one.pair(beside.best_transfer_arm),
            other=one.pair(beside.best_baseline),
            gain=beside.difference.value,
            ends=(beside.difference.low, beside.difference.high),
            confidence=beside.confidence,
        )
    race = None if frames.study.spec.get("race") is None else race_state(frames.documents)
    left = [arm for arm in race.not_begun if arm.n_target in decided] if race else []
    if left:
        yield state(
            "not begun",
            arms=list(dict.fromkeys((arm.method, arm.source) for arm in left)),
            seconds=max((arm.seconds for arm in left if arm.seconds is not None), default=None),
            end=race.end if race else "",
        )


def _chance(decision: Decision) -> float | None:
    """Return the chance of the recommended arm, or None for one run, whose variance is unknown."""
    runs = next((arm.n_seeds for arm in decision.arms if arm.name == decision.recommended), 0)
    return decision.chance if runs > 1 else None


def notes(frames: StudyFrames, decided: Mapping[int, Decision]) -> Iterator[Statement]:
    """Yield further notes on the decisions, those of fewer labels first."""
    untold, tables = untold_steps(frames), frames.study.spec.get("methods", {})
    kinds = {name: table.get("name", table.get("method", name)) for name, table in tables.items()}
    for n_target, decision in decided.items():
        one, sizes = _Named(frames, n_target, decision), [n_target] if len(decided) > 1 else []
        method, source = ("", "") if decision.recommended is None else one.pair(decision.recommended)
        if kinds.get(method) == "merlin" and "merlin-target-only" not in kinds.values():
            yield state("objective", sizes=sizes, source=source)
        most = max(arm.n_seeds for arm in decision.arms)
        if adjusted := [(one.pair(arm.name), arm.n_seeds, most) for arm in decision.arms if arm.adjusted]:
            yield state("adjusted", sizes=sizes, arms=adjusted)
        if decision.unfinished:
            steps = max(arm.steps for arm in arm_trainings(frames) if arm.n_target == n_target and arm.unfinished)
            yield state("unfinished", sizes=sizes, arms=one.pairs(decision.unfinished), steps=steps)
        if n_target in untold:
            yield state("untold", sizes=sizes, steps=untold[n_target])
    covers = {decision.covers for decision in decided.values()} - {"nothing"}
    if covers:
        planned = {decision.planned for decision in decided.values()}
        least = min(decided.values(), key=lambda decision: decision.level)
        facts = {"error": 1 - least.level, "confidence": least.confidence, "planned": planned.pop()}
        yield state("scope", covers=_COVERS[min(covers, key=list(_COVERS).index)], **facts)


_COVERS = {
    "test examples": "other test examples, and say nothing of other seeds",
    "seeds": "other seeds on this test set",
    "seeds and test examples": "other seeds and other test examples",
}
"""Coverage of intervals, the narrowest first."""


def called(frames: StudyFrames, decided: Mapping[int, Decision]) -> tuple[Statement, ...]:
    """Return significantly better arms, or that there are none, and worse ones, grouped by numbers of labels.

    A significantly worse transfer arm is negative transfer.
    """
    if sources_that_are_target(frames.study.facts):
        return ()
    if all(one.outcome in _ONE_SIDE for one in decided.values()):
        return ()  # nothing was compared, so that nothing was found
    statements = []
    better = {n: one.helping for n, one in decided.items() if one.helping}
    worse = {n: one.harmful for n, one in decided.items() if one.harmful}
    for call, arms_by_size in (("better", better), ("worse", worse)):
        each = [
            (sizes if len(decided) > 1 else [], _Named(frames, sizes[0], decided[sizes[0]]).pairs(arms))
            for arms, sizes in _together(arms_by_size).items()
        ]
        if each or call == "better":
            statements.append(state("called", call=call, arms=each))
    return tuple(statements)


def _chances(decision: Decision) -> tuple[float, float, float] | None:
    """Return the chances that transfer helps by more than the margin, makes no relevant difference, and harms."""
    one = decision.expected
    return None if one is None else (one.helps, one.same, one.harms)


def chances(frames: StudyFrames, decided: Mapping[int, Decision]) -> tuple[Statement, ...]:
    """Return the chances that transfer helps or harms, with the expected gain, if known."""
    statements = []
    for n_target, decision in decided.items():
        one = decision.expected
        if one is not None:
            named = _Named(frames, n_target, decision)
            facts = {"best": named.pair(decision.best_transfer_arm), "gain": one.gain, "ends": (one.low, one.high)}
            facts["outcome"] = decision.outcome  # an inconclusive answer has the chances
            told = (one.helps, one.same, one.harms)
            statements.append(state("chances", sizes=[n_target], chances=told, margin=decision.margin, **facts))
    return tuple(statements)


def losses(frames: StudyFrames, decided: Mapping[int, Decision]) -> tuple[Statement, ...]:
    """Return the expected loss of the recommended arm at each number of labels, and of its neighbours on the Pareto
    front.

    The front has the arms that lose less than every cheaper one. Listed are the next cheaper arm and the one with the
    smallest loss, if costs are known. An arm that is decided and has no neighbour is left out.
    """
    statements = []
    for n_target, decision in decided.items():
        known = [arm for arm in decision.arms if arm.shortfall is not None and arm.n_seeds > 1]
        used = next((arm for arm in known if arm.name == decision.recommended), None)
        if used is None:
            continue
        front, least = [], math.inf
        for arm in sorted(known, key=lambda arm: (arm.cost or 0.0, arm.shortfall)):
            if arm.cost is not None and arm.shortfall is not None and arm.shortfall < least:
                least = arm.shortfall
                front.append(arm)
        cheaper = [arm for arm in front if used.cost is not None and arm.cost is not None and arm.cost < used.cost]
        shown = list({arm.name: arm for arm in (*cheaper[-1:], used, *front[-1:])}.values())
        if len(shown) > 1 or not decision.decided:
            one = _Named(frames, n_target, decision)
            told = [(one.pair(arm.name), arm.cost, arm.shortfall, arm.at_most) for arm in shown]
            statements.append(state("losses", sizes=[n_target] if len(decided) > 1 else [], arms=told))
    return tuple(statements)


def settling(frames: StudyFrames, decided: Mapping[int, Decision]) -> tuple[Statement, ...]:
    """Return at each number of labels how many more seeds would decide whether transfer helps, or that none may."""
    statements = []
    for n_target, decision in decided.items():
        one, what = _Named(frames, n_target, decision), decision.more_seeds
        if what is None:
            continue
        costs = [one.facts(name).cost for name in what.arms]
        seconds = what.seeds * sum(cost or 0.0 for cost in costs) if any(costs) else None
        statements.append(
            state(
                "more seeds" if what.chance >= LEAST_CHANCE else "unlikely",
                sizes=[n_target] if len(decided) > 1 else [],
                arms=one.pairs(what.arms),
                more=what.seeds,
                chance=what.chance,
                seconds=seconds,
                arm=one.pair(decision.recommended),
                at_most=one.facts(decision.recommended).at_most,
                of_examples=what.of_examples,
            )
        )
    return tuple(statements)


def likeliest(steps: Sequence[Statement]) -> Statement | None:
    """Return the step of `settling` with the largest chance; None if nothing is inconclusive."""
    return max(steps, key=lambda step: float(step.facts["chance"]), default=None)


def lost_runs(frames: StudyFrames, decided: Mapping[int, Decision]) -> tuple[Statement, ...]:
    """Return the arms of which some runs have no score, recommended ones first, then those with most such runs."""
    failed, total, first = Counter[tuple[str, str]](), Counter[tuple[str, str]](), set[tuple[str, str]]()
    for n_target, decision in decided.items():
        one = _Named(frames, n_target, decision)
        for arm in decision.arms:
            failed[one.pair(arm.name)] += arm.n_failed
            total[one.pair(arm.name)] += arm.n_failed + arm.n_seeds
        first |= set() if decision.recommended is None else {one.pair(decision.recommended)}
    lost = [pair for pair, n in failed.items() if 0 < n < total[pair]]
    lost.sort(key=lambda pair: (pair not in first, -failed[pair]))
    named = lost if len(lost) <= _MOST_LOST else lost[: _MOST_LOST - 1]
    others = lost[len(named) :]
    facts = {"arms": [(one, failed[one], total[one]) for one in named], "others": len(others)}
    return (state("lost runs", **facts, more=sum(failed[one] for one in others)),) if lost else ()


def all_failed(frames: StudyFrames) -> tuple[Statement, ...]:
    """Return the arms whose runs have all failed, with the first reason, since comparisons lack them."""
    cells = frames.method_cells
    by_arm = cells.groupby(["method", "source"], sort=False)["state"]
    lost = [pair for pair, states in by_arm if states.isin(["failed", "blocked"]).all()]
    if not lost:
        return ()
    own = cells[[pair in lost for pair in zip(cells["method"], cells["source"], strict=True)]]
    said = own.loc[(own["failure_message"] != "") & (not frames.is_of_others), "failure_message"]
    arms = [(str(method), str(source)) for method, source in lost]
    return (state("all failed", arms=arms, n=len(own), message=said.iloc[0][:200] if len(said) else ""),)


def file_of(frames: StudyFrames) -> str:
    """Return the name of a study's file, as a command takes it."""
    return quote(f"{frames.study.name}.toml")


def completeness(frames: StudyFrames) -> tuple[Statement, ...]:
    """Describe missing runs; empty if the study is complete."""
    states = frames.cells["state"].value_counts()
    total, failed = len(frames.cells), int(states.get("failed", 0))
    missing = total - int(states.get("done", 0)) - failed
    facts = {
        "missing": missing,
        "failed": failed,
        "total": total,
        "again": not frames.is_of_others,
        "file": file_of(frames),
    }
    return (state("incomplete", **facts),) if missing or failed else ()


def labels_saved(frames: StudyFrames, decided: Mapping[int, Decision]) -> Statement | None:
    """Return the number of labels at which the best baseline reaches the best transfer arm with the fewest.

    Without significant transfer at the fewest labels, no number is given. None with one number of labels, or if one of
    the two has no run.
    """
    (few, first), most = next(iter(decided.items())), max(decided)
    if len(decided) < 2 or first.best_transfer_arm is None or first.best_baseline is None:
        return None
    if first.outcome == "source is target":
        return None
    if not first.helping:
        return state("no labels saved", few=few, outcome=first.outcome)
    one = _Named(frames, few, first)
    reached = one.facts(first.best_transfer_arm).mean
    without = {
        n: max(arm.mean for arm in decision.arms if not arm.with_source and arm.mean is not None)
        for n, decision in decided.items()
        if decision.best_baseline is not None
    }
    assert reached is not None
    enough = min((n for n, level in without.items() if level >= reached), default=None)
    return state("labels saved", few=few, arm=one.pair(first.best_transfer_arm), enough=enough, most=most)


def short(frames: StudyFrames, decided: Mapping[int, Decision]) -> Iterator[str]:
    """Yield one line per number of labels of a running study: the best arm so far, and its certainty."""
    words = words_of(frames)
    for n_target, decision in decided.items():
        if decision.recommended is None:
            continue
        one, gain = _Named(frames, n_target, decision), decision.difference
        arm = one.facts(decision.recommended)
        yield words.say(
            state(
                "so far",
                n_target=n_target,
                arm=one.pair(arm.name),
                level=arm.mean,
                n_arms=sum(other.n_seeds > 0 for other in decision.arms),
                chance=_chance(decision),
                margin=decision.margin,
                outcome=_in_short(decision),
                gain=gain.value if gain and decision.best_transfer_arm and arm.with_source else None,
            )
        )


def outcomes_in_words(decided: Mapping[int, Decision]) -> str:
    """Return the outcomes briefly: "Transfer helps with 50 labels; inconclusive with 200", or the most frequent."""
    shared = _together({n: _in_short(one) for n, one in decided.items()})
    if len(decided) >= MANY_SIZES:
        words, sizes = max(shared.items(), key=lambda one: len(one[1]))
        return capitalised(
            f"{words} at {'all' if len(sizes) == len(decided) else f'{len(sizes)} of'} {len(decided)} numbers of labels"
        )
    return capitalised("; ".join(f"{words} with {sizes_in_words(sizes)}" for words, sizes in shared.items()))


def _in_short(decision: Decision) -> str:
    """Return the outcome in a few words, for chips and lines."""
    return "transfer harms" if _harms(decision) else _SHORT[decision.outcome]


_SHORT = {
    "helps": "transfer helps",
    "helps, within the margin": "transfer helps by little",
    "tie": "transfer makes no difference that matters",
    "no": "transfer does not help",
    "inconclusive": "inconclusive",
    "source is target": "the source is the target",
    "no source": "no transfer arm yet",
    "no control": "no baseline yet",
    "nothing": "nothing yet",
}
