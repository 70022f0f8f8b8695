"""The next step of a study: more minutes or runs of its race, or more seeds, with the command."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from transferscope.analyses.compare.statements import end_of, likeliest
from transferscope.decision import Decision
from transferscope.statements import Statement, state
from transferscope.study.frames import StudyFrames
from transferscope.study.race_state import NotBegun, race_state


@dataclass(frozen=True)
class NextStep:
    """The next step of a study.

    Attributes:
        said: The step as statements; empty if there is none.
        options: Options of `transferscope run` after the study file; None if there is no next step.
    """

    said: tuple[Statement, ...] = ()
    options: str | None = None


def run_command(file: str, options: str | None) -> str:
    """Return the quoted command that runs a study file; "" without options."""
    return "" if options is None else f"transferscope run {file} {options}".rstrip()


def not_begun(frames: StudyFrames) -> list[NotBegun]:
    """Return the arms that a race did not begin, cheapest first."""
    race = race_state(frames.documents)
    return sorted(race.not_begun if race else (), key=lambda one: math.inf if one.seconds is None else one.seconds)


def next_step(frames: StudyFrames, decided: Mapping[int, Decision], steps: Sequence[Statement]) -> NextStep:
    """Return what resumes a race that used its minutes or runs and may decide, or else the seeds that would decide.

    Args:
        steps: What more seeds would decide, from `settling`.
    """
    step, end = likeliest(steps), end_of(frames)
    undecided = [one for one in decided.values() if one.outcome in ("inconclusive", "no source", "no control")]
    in_vain = len(steps) == len(undecided) and all(one.kind == "unlikely" for one in steps) and not not_begun(frames)
    if end in ("time", "runs") and undecided and not in_vain:
        return _resume(frames, decided, end)
    if step is None or step.kind != "more seeds":
        return NextStep()
    if frames.is_of_others:  # there is no study file
        return NextStep((step,))
    own = frames.seeds
    unused = (seed for seed in itertools.count() if seed not in own)
    seeds = sorted([*own, *itertools.islice(unused, step.facts["more"])])
    if seeds == list(range(len(seeds))):
        return NextStep((step,), f"--seeds {len(seeds)}")
    return NextStep((step,), f"--set 'seeds=[{','.join(map(str, seeds))}]'")


def _resume(frames: StudyFrames, decided: Mapping[int, Decision], end: str) -> NextStep:
    first = all(one.outcome == "no source" for one in decided.values())
    known = [one.seconds for one in not_begun(frames) if one.seconds is not None and (one.source or not first)]
    seconds = min(known, default=None)
    limit = "runs" if end == "runs" else "minutes"
    more = 2 * (frames.study.spec["race"].get(limit) or 1)
    if end == "time" and seconds is not None:
        more = max(more, math.ceil(seconds / 30))  # twice what the next is expected to take
    return NextStep((state("resume", end=end, first=first, seconds=seconds),), f"--set race.{limit}={more:g}")
