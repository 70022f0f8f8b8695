"""The answer of a comparison in nine lines of a terminal: a sentence, up to six arms with bars, what is next."""

import math
import textwrap
from collections.abc import Mapping, Sequence

from transferscope.decision import ArmFacts, Decision
from transferscope.report.figures.choice import short
from transferscope.study.decisions import arms_of
from transferscope.study.frames import StudyFrames
from transferscope.wording import (
    NO_BREAK,
    capitalised,
    duration,
    short_method_words,
    sizes_in_words,
    unit_kept,
)

_WIDTH = 80
_BAR = 13
_MOST, _LEAST_ROWS, _MOST_ARMS = 9, 3, 6
_MOST_SIZES = 2


def lines_of(
    frames: StudyFrames, decided: Mapping[int, Decision], *, answers: Sequence[str], next_steps: Sequence[str]
) -> tuple[str, ...]:
    """The answer in at most nine lines; a tenth is left for where the page is.

    Args:
        answers: The answers as sentences; the first is shown, and the others as far as there is room.
        next_steps: What would settle what is open; the first is shown where there is room.
    """
    sizes = [n for n, decision in decided.items() if decision.recommended is not None]
    if not sizes:
        return tuple(answers[:1])
    shown, *others = (_wrapped(answer) for answer in answers)
    follow = _wrapped(f"Next: {next_steps[0]}") if next_steps else []
    room = _MOST - _LEAST_ROWS
    for lines in others:
        if len(shown) + len(lines) > room:
            break
        shown += lines
    if len(shown) + len(follow) > room:
        follow = []
    return (*shown, *_rows(frames, decided, sizes, _MOST - len(shown) - len(follow)), *follow)


def _wrapped(sentence: str) -> list[str]:
    return [line.replace(NO_BREAK, " ") for line in textwrap.wrap(unit_kept(sentence), _WIDTH)]


def _rows(frames: StudyFrames, decided: Mapping[int, Decision], sizes: Sequence[int], most: int) -> list[str]:
    """The recommended arm, the best of either kind and the next by score; bars at the smallest number of labels."""
    first, shown = decided[sizes[0]], sizes[:_MOST_SIZES]
    pairs = {str(arm): arm for n in sizes for arm in arms_of(frames, n)}
    scored = sorted((arm for arm in first.arms if arm.mean is not None), key=lambda arm: -(arm.mean or 0.0))
    named = {first.recommended, first.best_with, first.best_without}
    order = [arm for arm in scored if arm.name in named] + [arm for arm in scored if arm.name not in named]
    chosen = sorted(order[: min(most - 1, _MOST_ARMS)], key=lambda arm: -(arm.mean or 0.0))
    low, high = _span(chosen, first)
    levels = {n: {arm.name: arm.mean for arm in decided[n].arms} for n in shown}
    names = {}
    for arm in chosen:
        method, source = short_method_words(pairs[arm.name].method, frames.methods_of_others), pairs[arm.name].source
        names[arm.name] = capitalised(f"{method} from {source}" if source else method)
    measured = frames.final("mae") if len(shown) == 1 else frames.final("mae").iloc[:0]
    errors = measured[measured["n_target"] == sizes[0]].groupby(["method", "source"])["value"].mean()
    wide = min(max(map(len, names.values())), 37 if len(shown) == 1 and errors.empty else 26)
    head = " " * (wide + 3) + "".join(f"{sizes_in_words([n]):>11}" for n in shown)
    head += f"{'abs. error':>12}" if not errors.empty else ""
    lines = [f"{head}  over the best without a source"]
    for arm in chosen:
        star = "*" if arm.name == first.recommended else " "
        scores = "".join(f"{_level(frames, levels[n].get(arm.name)):>11}" for n in shown)
        if not errors.empty:
            scores += f"{errors.get((pairs[arm.name].method, pairs[arm.name].source), math.nan):>12.3g}"
        gain = "" if arm.gain is None else f"{frames.metric.points(arm.gain.value):>6} {_call(arm)}"
        took = f" {duration(arm.cost)}" if arm.cost is not None and len(shown) == 1 else ""
        name = short(names[arm.name], width=wide)
        lines.append(f" {star}{name:<{wide}} {scores}  {_bar(arm, first, low, high)} {gain}{took}".rstrip())
    return lines


def _level(frames: StudyFrames, mean: float | None) -> str:
    return "–" if mean is None else frames.metric.level(mean)


def _call(arm: ArmFacts) -> str:
    if arm.call in ("better", "worse"):
        return arm.call
    return arm.why if arm.why in ("unstable", "unfinished") else ""


def _ends(arm: ArmFacts, decision: Decision) -> tuple[float, float, float]:
    """Low end, value and high end over the best without a source."""
    line = next((one.mean for one in decision.arms if one.name == decision.best_without), 0.0) or 0.0
    value = (arm.mean or 0.0) - line
    if arm.gain is None or arm.gain.low is None or arm.gain.high is None:
        return value, value, value
    return arm.gain.low, value, arm.gain.high


def _span(arms: Sequence[ArmFacts], decision: Decision) -> tuple[float, float]:
    ends = [_ends(arm, decision) for arm in arms]
    low, high = min(0.0, *(low for low, *_ in ends)), max(0.0, *(high for *_, high in ends))
    return low, max(high, low + 1e-9)


def _bar(arm: ArmFacts, decision: Decision, low: float, high: float) -> str:
    """The interval with its value, and the line of the best without a source."""

    def at(value: float) -> int:
        return round((min(max(value, low), high) - low) / (high - low) * (_BAR - 1))

    start, value, end = _ends(arm, decision)
    cells = [" "] * _BAR
    cells[at(0.0)] = "│"
    for i in range(at(start), at(end) + 1):
        cells[i] = "─"
    cells[at(value)] = "●" if arm.call in ("better", "worse") or not arm.with_source else "○"
    return "".join(cells)
