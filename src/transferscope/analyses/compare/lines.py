"""The answer of a comparison in nine lines of a terminal: a sentence, up to six arms with bars, what is next."""

import shutil
import textwrap
from collections.abc import Mapping, Sequence

from transferscope.analyses.compare.comparison import beside_best_without
from transferscope.decision import ArmFacts, Decision
from transferscope.study.decisions import arms_of
from transferscope.study.frames import StudyFrames
from transferscope.wording import NO_BREAK, duration, number_words, sizes_in_words, unit_kept

_WIDTH, _LEAST_WIDTH = 80, 40
_BAR, _SCORE, _LEAST_NAME = 13, 11, 8
_MOST, _MOST_ARMS = 9, 6
_MOST_SIZES = 2


def lines_of(
    frames: StudyFrames, decided: Mapping[int, Decision], *, answers: Sequence[str], next_steps: Sequence[str]
) -> tuple[str, ...]:
    """Return the answer in nine lines of 80 signs; ten where two numbers of labels have their own recommended arm.

    A long first answer takes lines of its own: every arm that is named has its row.

    A narrower terminal gets more lines, no bars, and below that the smallest number of labels alone.

    Args:
        answers: The answers as sentences; the first is shown, and the others as far as there is room.
        next_steps: What more seeds would decide; the first is shown where there is room.
    """
    sizes = [n for n, decision in decided.items() if decision.recommended is not None]
    if not sizes:
        return tuple(answers[:1])
    width = min(_WIDTH, max(_LEAST_WIDTH, shutil.get_terminal_size((_WIDTH, 0)).columns))
    recommended = {decided[n].recommended for n in sizes[:_MOST_SIZES]}
    most = (_MOST + len(recommended) - 1) * _WIDTH // width
    shown, *others = (_wrapped(answer, width) for answer in answers)
    follow = _wrapped(next_steps[0], width) if next_steps else []
    named = {*recommended, decided[sizes[0]].best_with, decided[sizes[0]].best_without} - {None}
    room = most - 1 - len(named)  # every arm that is named has its row, below the head
    for lines in others:
        if len(shown) + len(lines) > room:
            break
        shown += lines
    if len(shown) + len(follow) > room:
        follow = []
    rows = max(most - len(shown) - len(follow), 1 + len(named))
    return (*shown, *_rows(frames, decided, sizes, rows, width), *follow)


def _wrapped(sentence: str, width: int) -> list[str]:
    lines = textwrap.wrap(unit_kept(sentence), width, break_long_words=False, break_on_hyphens=False)
    return [line.replace(NO_BREAK, " ") for line in lines]


def _rows(
    frames: StudyFrames, decided: Mapping[int, Decision], sizes: Sequence[int], most: int, width: int
) -> list[str]:
    """Return rows of the recommended arm, the best of either kind and the next by score, bars at the first size."""
    first, shown = decided[sizes[0]], sizes[: _MOST_SIZES if width >= _WIDTH - _SCORE else 1]
    pairs = {str(arm): arm for n in sizes for arm in arms_of(frames, n)}
    scored = sorted((arm for arm in first.arms if arm.mean is not None), key=lambda arm: -(arm.mean or 0.0))
    wanted = [*(decided[n].recommended for n in shown), first.best_with, first.best_without]
    order = sorted(scored, key=lambda arm: wanted.index(arm.name) if arm.name in wanted else len(wanted))
    chosen = sorted(order[: min(most - 1, _MOST_ARMS)], key=lambda arm: -(arm.mean or 0.0))
    ends = [_ends(arm, first) for arm in chosen]
    low, high = min(0.0, *(one for one, *_ in ends)), max(1e-9, *(one for *_, one in ends))
    levels = {n: {arm.name: arm.mean for arm in decided[n].arms} for n in shown}
    names = {}
    for arm in chosen:
        method, source = frames.tick_name(pairs[arm.name].method), pairs[arm.name].source
        names[arm.name] = f"{method} from {source}" if source else method
    measured = frames.final("mae") if len(shown) == 1 else frames.final("mae").iloc[:0]
    errors = measured[measured["n_target"] == sizes[0]].groupby(["method", "source"])["value"].mean()
    tails = {}
    for arm in chosen:
        bar = f"{_bar(arm, first, low, high)} " if width >= _WIDTH - _SCORE else ""
        gain = "" if arm.gain is None else f"{frames.metric.points(arm.gain.value):>6} {_call(arm)}"
        took = f" {duration(arm.cost)}" if arm.cost is not None and len(shown) == 1 and bar else ""
        tails[arm.name] = f"{bar}{gain}{took}".rstrip()
    n_columns = len(shown) + (not errors.empty)
    taken = 5 + n_columns * _SCORE + max(map(len, tails.values()))
    wide = min(max(map(len, names.values())), max(width - taken, _LEAST_NAME))
    head = " " * (wide + 3) + "".join(f"{sizes_in_words([n]):>{_SCORE}}" for n in shown)
    head += "" if errors.empty else f"{'abs. error':>{_SCORE}}"
    over = "over the best baseline" if len(shown) == 1 else f"gain with {sizes_in_words(sizes[:1])}"
    lines = [f"{head}  {over if len(head) + 2 + len(over) <= width else 'gain'}"]
    for arm in chosen:
        star = "*" if arm.name == first.recommended else " "
        means = [levels[n].get(arm.name) for n in shown]
        scores = "".join(f"{'–' if mean is None else frames.metric.level(mean):>{_SCORE}}" for mean in means)
        if not errors.empty:
            error = errors.get((pairs[arm.name].method, pairs[arm.name].source))
            scores += f"{'–' if error is None else number_words(error):>{_SCORE}}"
        name, *rest = textwrap.wrap(names[arm.name], wide, break_on_hyphens=False)
        lines.append(f" {star}{name:<{wide}} {scores}  {tails[arm.name]}".rstrip())
        lines += [f"  {more}" for more in rest]
    return lines


def _call(arm: ArmFacts) -> str:
    if arm.call in ("better", "worse"):
        return arm.call
    return arm.why if arm.why in ("unstable", "unfinished") else ""


def _ends(arm: ArmFacts, decision: Decision) -> tuple[float, float, float]:
    """Return low end, value and high end of the gain over the best baseline."""
    value, low, high = beside_best_without(arm, decision)
    return (value, value, value) if low is None or high is None else (low, value, high)


def _bar(arm: ArmFacts, decision: Decision, low: float, high: float) -> str:
    """Return the interval with its value, and the line of the best baseline."""

    def at(value: float) -> int:
        return round((min(max(value, low), high) - low) / (high - low) * (_BAR - 1))

    start, value, end = _ends(arm, decision)
    cells = [" "] * _BAR
    cells[at(0.0)] = "│"
    for i in range(at(start), at(end) + 1):
        cells[i] = "─"
    cells[at(value)] = "●" if arm.call in ("better", "worse") or not arm.with_source else "○"
    return "".join(cells)
