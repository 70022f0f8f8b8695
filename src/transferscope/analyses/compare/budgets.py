"""A study beside others of its store that differ in the length of training alone: does the choice depend on it?"""

from collections.abc import Mapping
from typing import Any

from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.compare.words import words_of
from transferscope.decision import Decision
from transferscope.report.blocks import Cell, Column, Section, Table, Text
from transferscope.statements import state
from transferscope.store import Store
from transferscope.study.decisions import decisions
from transferscope.study.frames import StudyFrames, read_study
from transferscope.wording import capitalised, sizes_in_words

_FREE = ("name", "seeds", "store", "engine", "race", "diagnostics", "methods", "tuning")
"""Tables in which studies may differ and still be put side by side."""

_LENGTH = ("steps", "epochs", "eval_every")


def budgets_section(store: Store, summary: Summary) -> Section | None:
    """The arms to use after a shorter and a longer training; None where the store has no other such study."""
    frames = summary.frames
    own = _length(frames.study.spec)
    if own is None:
        return None
    by_budget: dict[float, tuple[StudyFrames, Mapping[int, Decision]]] = {own[0]: (frames, summary.decided)}
    for row in store.studies():
        length = _length(row.spec)
        if length is None or length[1] != own[1] or length[0] in by_budget or _rest(row) != _rest(frames.study):
            continue
        other = read_study(store, row.name)
        if not other.final(other.metric.record).empty:
            by_budget[length[0]] = other, decisions(other)
    sizes = sorted(
        {n for _, decided in by_budget.values() for n, one in decided.items() if one.recommended is not None}
    )
    if len(by_budget) < 2 or not sizes:
        return None
    words = words_of(frames)
    columns = (
        Column(capitalised(own[1]), numeric=False),
        *(Column(sizes_in_words([n]), numeric=False) for n in sizes),
    )
    rows = tuple(
        (Cell(f"{length:,g}"), *(_cell(by_budget[length][1].get(n), frames) for n in sizes))
        for length in sorted(by_budget)
    )
    changed = [n for n in sizes if len({one[n].recommended for _, one in by_budget.values() if n in one}) > 1]
    sentence = words.say(state("budgets", unit=own[1], sizes=changed))
    return Section(
        "Does the choice change with the budget?",
        "budgets",
        (Text(sentence), Table(columns, rows, "Arm to use, and chance")),
    )


def _cell(decision: Decision | None, frames: StudyFrames) -> Cell:
    if decision is None or decision.recommended is None:
        return Cell("–")
    arm = next(arm for arm in decision.arms if arm.name == decision.recommended)
    assert arm.mean is not None
    return Cell(capitalised(arm.name), f"{frames.metric.level(arm.mean)}; chance {100 * decision.chance:.0f} %")


def _length(spec: Mapping[str, Any]) -> tuple[float, str] | None:
    training = spec.get("training", {})
    return next(((float(training[unit]), unit) for unit in ("steps", "epochs") if training.get(unit)), None)


def _rest(row: Any) -> dict[str, Any]:
    """What two studies have in common that differ in their length alone."""
    spec, target = row.spec, row.facts.get("target") or {}
    return {
        **{key: value for key, value in spec.items() if key not in (*_FREE, "training", "target")},
        "training": {key: value for key, value in spec.get("training", {}).items() if key not in _LENGTH},
        "target": {key: value for key, value in spec.get("target", {}).items() if key not in ("labels", "sizes")},
        "fingerprint": target.get("fingerprint"),
    }
