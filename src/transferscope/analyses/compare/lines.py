"""The answer of a comparison in a terminal: sentences, arms with bars or a row for each number of labels."""

import itertools
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from transferscope.analyses.compare.comparison import gain_over_baseline
from transferscope.decision import ArmFacts, Decision
from transferscope.study.decisions import arms_of
from transferscope.study.frames import StudyFrames
from transferscope.wording import NO_BREAK, duration, number_words, sizes_in_words, unit_kept

_WIDTH, _LEAST_WIDTH = 80, 40
_BAR, _SCORE, _LEAST_NAME = 13, 11, 8
_MOST, _MOST_ARMS, _ALL_ARMS = 9, 6, 3
_GAPS = (0, 2, 1, 2, 1, 2, 2, 1)  # before the columns of a row for each number of labels
_ROOM_FOR_BASELINES = 64  # signs, from which a row names the best baseline too


def lines_of(
    frames: StudyFrames,
    decided: Mapping[int, Decision],
    *,
    answers: Sequence[str],
    notes: Sequence[str] = (),
    next_step: str = "",
) -> tuple[str, ...]:
    """Return the complete answer in lines of 80 characters, or fewer in a narrower terminal.

    One number of labels: the answer and up to six arms with bars, in nine lines, or more for a long answer, since every
    named arm has its row; the head of the rows counts them where not all arms have one. Several: one row for each
    between two sentences.

    Args:
        answers: The answers as sentences; for several numbers of labels, the summary and then the recommendation.
        notes: Notes without which scores would be misread; always shown.
        next_step: What more seeds would decide; with one number of labels, shown if there is room.
    """
    sizes = [n for n, decision in decided.items() if decision.recommended is not None]
    if not sizes:
        return tuple(answers[:1])
    width = min(_WIDTH, max(_LEAST_WIDTH, shutil.get_terminal_size((_WIDTH, 0)).columns))
    wrapped = [line for answer in answers for line in _wrapped(answer, width)]
    follow = _wrapped(next_step, width)
    beside = [line for note in notes for line in _wrapped(note, width)]
    if len(decided) > 1:
        first = len(_wrapped(answers[0], width))
        return (*wrapped[:first], *_by_size(frames, decided, width), *wrapped[first:], *beside, *follow)
    decision = decided[sizes[0]]
    named = {decision.recommended, decision.best_transfer_arm, decision.best_baseline} - {None}
    most = _MOST * _WIDTH // width
    scored = sum(arm.mean is not None for arm in decision.arms)
    least = scored if scored <= _ALL_ARMS else len(named)  # every arm that is named has its row, below the head
    if len(wrapped) + len(follow) > most - 1 - least:
        follow = []
    rows = max(most - len(wrapped) - len(follow), 1 + least)
    return (*wrapped, *_rows(frames, decision, sizes[0], rows, width), *beside, *follow)


def _wrapped(sentence: str, width: int) -> list[str]:
    lines = textwrap.wrap(unit_kept(sentence), width, break_long_words=False, break_on_hyphens=False)
    return [line.replace(NO_BREAK, " ") for line in lines]


def _name_lines(name: str, width: int) -> list[str]:
    """Break a name at spaces; a word that is too long, behind one of the signs in names of networks."""
    lines: list[str] = []
    for line in textwrap.wrap(name, width, break_long_words=False, break_on_hyphens=False):
        while len(line) > width:
            at = 1 + max(line.rfind(sign, 0, width) for sign in "_/.-") or width
            lines.append(line[:at])
            line = line[at:]
        lines.append(line)
    return lines


def _by_size(frames: StudyFrames, decided: Mapping[int, Decision], width: int) -> list[str]:
    """Return one row per number of labels: the best arm of either kind with its score, the gain and its CI."""
    rows = list(_facts_by_size(frames, decided))
    confidence = min(one.confidence for one in decided.values())
    heads = ["labels", "best baseline", "", "best transfer", "", "gain", f"{100 * confidence:.0f} % CI", ""]
    names, shown = [1, 3], list(range(len(heads)))
    if width < _ROOM_FOR_BASELINES:
        names, shown = [3], [0, 3, 4, 5, 7]
    wide = {at: max(len(heads[at]) * (at not in (2, 4)), *(len(row[at]) for row in rows)) for at in shown}
    wide = {at: n for at, n in wide.items() if n}
    spare = width - sum(wide[at] for at in wide if at not in names) - sum(_GAPS[at] for at in wide)
    for at in names:  # what one name leaves the other may take
        most = max(spare // len(names), spare - sum(wide[other] for other in names if other != at), _LEAST_NAME)
        wide[at] = min(wide[at], most)
        spare, names = spare - wide[at], [other for other in names if other != at]
    lines = []
    for row in (heads, *rows):
        cells = {at: _name_lines(row[at], n) for at, n in wide.items()}
        for parts in itertools.zip_longest(*cells.values(), fillvalue=""):
            told = [
                " " * _GAPS[at] + (part.ljust(n) if at in (1, 3, 7) else part.rjust(n))
                for (at, n), part in zip(wide.items(), parts, strict=True)
            ]
            lines.append("".join(told).rstrip())
    return lines


def _facts_by_size(frames: StudyFrames, decided: Mapping[int, Decision]) -> Iterator[list[str]]:
    metric = frames.metric
    for n, decision in decided.items():
        pairs = {str(arm): (arm.method, arm.source) for arm in arms_of(frames, n)}
        by_name = {arm.name: arm for arm in decision.arms}
        row = [sizes_in_words([n]).split(" ")[0]]
        for name in (decision.best_baseline, decision.best_transfer_arm):
            mean = None if name is None else by_name[name].mean
            if name is None or mean is None:
                row += ["–", ""]
            else:
                named = frames.at_start(*pairs[name]) if len(frames.sources) > 1 else frames.tick_name(pairs[name][0])
                row += [named, metric.level(mean)]
        arm = by_name.get(decision.best_transfer_arm or "")
        if arm is None or arm.gain is None:
            yield [*row, "", "", ""]
        else:
            low, high = arm.gain.low, arm.gain.high
            ends = "" if low is None or high is None else f"{metric.points(low)} to {metric.points(high)}"
            yield [*row, metric.points(arm.gain.value), ends, _call(arm)]


def _rows(frames: StudyFrames, decision: Decision, n_target: int, most: int, width: int) -> list[str]:
    """Return rows of the recommended arm, the best of either kind and the next by score, with bars."""
    pairs = {str(arm): (arm.method, arm.source) for arm in arms_of(frames, n_target)}
    scored = sorted((arm for arm in decision.arms if arm.mean is not None), key=lambda arm: -(arm.mean or 0.0))
    wanted = [decision.recommended, decision.best_transfer_arm, decision.best_baseline]
    order = sorted(scored, key=lambda arm: wanted.index(arm.name) if arm.name in wanted else len(wanted))
    chosen = sorted(order[: min(most - 1, _MOST_ARMS)], key=lambda arm: -(arm.mean or 0.0))
    ends = [_ends(arm, decision) for arm in chosen]
    low, high = min(0.0, *(one for one, *_ in ends)), max(0.0, *(one for *_, one in ends))
    if high - low < decision.margin:
        low, high = -decision.margin, decision.margin  # differences that do not matter look small
    names = {arm.name: frames.at_start(*pairs[arm.name]) for arm in chosen}
    measured = frames.final("mae")
    errors = measured[measured["n_target"] == n_target].groupby(["method", "source"])["value"].mean()
    tails = {}
    for arm in chosen:
        bar = f"{_bar(arm, decision, low, high)} " if width >= _WIDTH - _SCORE else ""
        gain = "" if arm.gain is None else f"{frames.metric.points(arm.gain.value):>6} {_call(arm)}"
        took = f" {duration(arm.cost)}" if arm.cost is not None and bar else ""
        tails[arm.name] = f"{bar}{gain}{took}".rstrip()
    taken = 5 + (1 + (not errors.empty)) * _SCORE + max(map(len, tails.values()))
    wide = min(max(map(len, names.values())), max(width - taken, _LEAST_NAME))
    head = " " * (wide + 3) + f"{sizes_in_words([n_target]):>{_SCORE}}"
    head += "" if errors.empty else f"{'abs. error':>{_SCORE}}"
    counted = f" ({len(chosen)} of {len(scored)} arms)" if len(chosen) < len(scored) else ""
    over = f"over the best baseline{counted}"
    lines = [f"{head}  {over if len(head) + 2 + len(over) <= width else f'gain{counted}'}"]
    for arm in chosen:
        star = "*" if arm.name == decision.recommended else " "
        scores = f"{frames.metric.level(arm.mean or 0.0):>{_SCORE}}"
        if not errors.empty:
            error = errors.get(pairs[arm.name])
            scores += f"{'–' if error is None else number_words(error):>{_SCORE}}"
        name, *rest = _name_lines(names[arm.name], wide)
        lines.append(f" {star}{name:<{wide}} {scores}  {tails[arm.name]}".rstrip())
        lines += [f"  {more}" for more in rest]
    return lines


def _call(arm: ArmFacts) -> str:
    if arm.call in ("better", "worse"):
        return arm.call
    return arm.why if arm.why in ("unstable", "unfinished") else ""


def _ends(arm: ArmFacts, decision: Decision) -> tuple[float, float, float]:
    """Return low end, value and high end of the gain over the best baseline."""
    value, low, high = gain_over_baseline(arm, decision)
    return (value, value, value) if low is None or high is None else (low, value, high)


def _bar(arm: ArmFacts, decision: Decision, low: float, high: float) -> str:
    """Return the CI with its value, and the line of the best baseline."""

    def at(value: float) -> int:
        return round((min(max(value, low), high) - low) / (high - low) * (_BAR - 1))

    start, value, end = _ends(arm, decision)
    cells = [" "] * _BAR
    cells[at(0.0)] = "│"
    for i in range(at(start), at(end) + 1):
        cells[i] = "─"
    cells[at(value)] = "●" if arm.call in ("better", "worse") or not arm.with_source else "○"
    return "".join(cells)
