"""Whether the best way to learn changes with the budget: studies of one store that differ in their steps alone."""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from transferscope.estimate import Estimate
from transferscope.numerics.intervals import t_interval
from transferscope.report.blocks import Block, Cell, Column, Section, Table, Text, Tone
from transferscope.store import Store
from transferscope.study.frames import StudyFrames, read_study
from transferscope.study.metric import Metric
from transferscope.wording import candidate_words, capitalised, counted, listed

CHANCE = 0.05
"""Of any false claim that the winner changes, over all pairs of ways at two budgets."""

_FREE = ("name", "seeds", "store", "engine", "race", "diagnostics", "methods", "tuning")
_LENGTH = ("steps", "epochs", "eval_every")


@dataclass(frozen=True)
class Budget:
    """A study, by how long its methods train.

    Attributes:
        words: "300 steps".
        size: How many, to order by.
        unit: "steps" or "epochs".
        frames: The study.
    """

    words: str
    size: float
    unit: str
    frames: StudyFrames


@dataclass(frozen=True)
class Lead:
    """How far one way is ahead of another.

    Attributes:
        ahead: Which, as (source, method).
        behind: The other.
        gain: Difference over shared seeds with its interval at the level of `CHANCE` over all pairs; None with fewer
            than two seeds.
    """

    ahead: tuple[str, str]
    behind: tuple[str, str]
    gain: Estimate | None

    @property
    def is_shown(self) -> bool:
        """Whether the lead is larger than what seeds and the choice of the pair explain."""
        interval = None if self.gain is None else self.gain.interval
        return interval is not None and interval.low > 0


def budgets_of(store: Store, frames: StudyFrames) -> list[Budget]:
    """The study and the others of its store that differ from it in the length of training alone, shortest first.

    Names, seeds, the engine, diagnostics, what is searched and which methods there are may differ, too; a way to learn
    is compared where its settings, and what is searched of them, are the same.

    Args:
        store: Where they are.
        frames: The study.

    Returns:
        At least two budgets, or none; studies in steps are not put beside studies in epochs.
    """
    mine, target, own = _but_length(frames.study.spec), frames.study.facts.get("target"), _budget(frames)
    if own is None:
        return []
    found = {own.words: own}
    for row in store.studies():
        if row.name == frames.study.name or _but_length(row.spec) != mine:
            continue
        if _fingerprint(row.facts.get("target")) != _fingerprint(target):
            continue
        other = read_study(store, row.name)
        budget = _budget(other)
        if budget is None or budget.unit != own.unit or other.final(other.metric.record).empty:
            continue
        found.setdefault(budget.words, budget)
    if len(found) < 2 or frames.final(frames.metric.record).empty:
        return []
    return sorted(found.values(), key=lambda budget: budget.size)


def budgets_section(budgets: Sequence[Budget]) -> Section | None:
    """The section of the page, for each number of labels that two budgets share; None where there is none.

    Args:
        budgets: From `budgets_of`.
    """
    if len(budgets) < 2:
        return None
    metric, blocks, rows = budgets[-1].frames.metric, list[Block](), list[pd.DataFrame]()
    scores = [_scores(budget, budgets) for budget in budgets]
    sizes = sorted({size for found in scores for size in found["n_target"].unique()})
    for size in sizes:
        there = [
            (budget, found[found["n_target"] == size])
            for budget, found in zip(budgets, scores, strict=True)
            if (found["n_target"] == size).any()
        ]
        shared = set.intersection(*[set(_arms(found)) for _, found in there]) if len(there) > 1 else set()
        if len(shared) < 2:
            continue
        kept = [(budget, found[[arm in shared for arm in _arms(found)]]) for budget, found in there]
        blocks += [Text(_sentence(int(size), kept, metric)), _table(int(size), kept, metric)]
        rows += [found.assign(budget=budget.words) for budget, found in kept]
    if not blocks:
        return None
    note = (
        f"Studies of this store that differ in their {budgets[0].unit} alone: "
        f"{listed([budget.frames.study.name for budget in budgets])}. A change is called shown where each winner leads "
        "the other at its own budget beyond intervals over shared seeds that are meant to hold for all pairs of ways "
        f"and both budgets at once ({100 * (1 - CHANCE):.0f} %, Bonferroni)."
    )
    files = {"budgets": pd.concat(rows)[["budget", "source", "method", "n_target", "seed", "value"]]}
    return Section("Does the winner change with the budget?", "budgets", (*blocks, Text(note, "note")), files)


def winner_sentence(section: Section) -> str:
    """What the section says first."""
    first = section.blocks[0]
    assert isinstance(first, Text)
    return first.text


def _but_length(spec: Mapping[str, Any]) -> dict[str, Any]:
    training = {key: value for key, value in _table_of(spec, "training").items() if key not in _LENGTH}
    target = {key: value for key, value in _table_of(spec, "target").items() if key not in ("labels", "sizes")}
    return {
        **{key: value for key, value in spec.items() if key not in (*_FREE, "training", "target")},
        "training": training,
        "target": target,
    }


def _table_of(spec: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = spec.get(name)
    return table if isinstance(table, Mapping) else {}


def _fingerprint(facts: object) -> object:
    return facts.get("fingerprint") if isinstance(facts, Mapping) else None


def _budget(frames: StudyFrames) -> Budget | None:
    training = _table_of(frames.study.spec, "training")
    steps, epochs = training.get("steps"), training.get("epochs")
    if steps:
        return Budget(counted(int(steps), "step"), float(steps), "steps", frames)
    if epochs:
        return Budget(f"{epochs:g} {'epoch' if epochs == 1 else 'epochs'}", float(epochs), "epochs", frames)
    return None


def _scores(budget: Budget, budgets: Sequence[Budget]) -> pd.DataFrame:
    """Finished runs of the ways whose settings are the same in all studies that have them, one row for each run."""
    frames = budget.frames
    final = frames.final(frames.metric.record)
    final = final[final["role"] == "method"]
    specs = [one.frames.study.spec for one in budgets]
    same = {
        method
        for method in final["method"].unique()
        if len({_settings_of(spec, method) for spec in specs if method in _table_of(spec, "methods")}) == 1
    }
    kept = final[final["method"].isin(same)]
    return kept.loc[:, ["source", "method", "n_target", "seed", "value"]].reset_index(drop=True)


def _settings_of(spec: Mapping[str, Any], method: str) -> str:
    """The settings of a method and how others of them are searched, as text that is the same for the same settings."""
    tuning = _table_of(spec, "tuning")
    grid = _table_of(tuning, "grid").get(method)
    search = {**tuning, "grid": grid} if grid else None
    return json.dumps([_table_of(spec, "methods")[method], search], sort_keys=True)


def _arms(found: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(found["source"].astype(str), found["method"].astype(str), strict=True))


def _by_arm(found: pd.DataFrame, metric: Metric) -> dict[tuple[str, str], pd.Series]:
    """Scores by seed, more is better, of each way."""
    better = found.assign(value=metric.improvement(found["value"].to_numpy(dtype=np.float64)))
    grouped = better.groupby(["source", "method"], sort=False)
    return {(str(source), str(method)): rows.groupby("seed")["value"].mean() for (source, method), rows in grouped}


def _winner(found: pd.DataFrame, metric: Metric) -> tuple[str, str]:
    means = {arm: float(values.mean()) for arm, values in _by_arm(found, metric).items()}
    return max(means, key=lambda arm: means[arm])


def lead(found: pd.DataFrame, metric: Metric, ahead: tuple[str, str], behind: tuple[str, str]) -> Lead:
    """How far one way is ahead of another at one budget.

    Args:
        found: Runs of one number of labels: columns source, method, seed, value.
        metric: What they are judged by.
        ahead: (source, method) of the one that leads.
        behind: Of the other.
    """
    scores = _by_arm(found, metric)
    gains = (scores[ahead] - scores[behind]).dropna().to_numpy(dtype=np.float64)
    if len(gains) < 2:
        return Lead(ahead, behind, None)
    n_claims = 2 * math.comb(len(scores), 2)
    return Lead(ahead, behind, t_interval(gains, level=1 - CHANCE / n_claims))


def _sentence(size: int, kept: Sequence[tuple[Budget, pd.DataFrame]], metric: Metric) -> str:
    """Whether the winner changes at one number of labels, from the shortest budget to the longest that tells."""
    winners = [_winner(found, metric) for _, found in kept]
    labels = counted(size, "label")
    if len(set(winners)) == 1:
        return (
            f"With {labels}, {candidate_words(winners[0][1], winners[0][0] or None)} has the best mean with "
            f"{listed([budget.words for budget, _ in kept])}: the winner does not change with the budget."
        )
    parts = [
        f"{candidate_words(method, source or None)} with {budget.words}"
        for (budget, _), (source, method) in zip(kept, winners, strict=True)
    ]
    changes = [(i, j) for i, j in itertools.combinations(range(len(kept)), 2) if winners[i] != winners[j]]
    leads = {
        (i, j): (
            lead(kept[i][1], metric, winners[i], winners[j]),
            lead(kept[j][1], metric, winners[j], winners[i]),
        )
        for i, j in changes
    }
    shown = next((pair for pair in changes if all(one.is_shown for one in leads[pair])), None)
    said = capitalised(f"with {labels} the best mean changes with the budget: {listed(parts)}. ")
    pair = shown or changes[-1]
    if any(one.gain is None for one in leads[pair]):
        return f"{said}With fewer than two shared seeds it cannot be said whether that is more than chance."
    ahead = " and ".join(
        _lead_in_words(one, kept[place][0], metric) for one, place in zip(leads[pair], pair, strict=True)
    )
    verdict = "That is shown" if shown else "That is not shown; it may be the spread between seeds"
    return f"{said}{verdict}: {ahead}."


def _lead_in_words(one: Lead, budget: Budget, metric: Metric) -> str:
    assert one.gain is not None
    assert one.gain.interval is not None
    source, method = one.ahead
    between = metric.gain_interval_in_words(one.gain.interval)
    return f"with {budget.words} {candidate_words(method, source or None)} leads by {between}"


def _table(size: int, kept: Sequence[tuple[Budget, pd.DataFrame]], metric: Metric) -> Table:
    """Means with 95 % intervals over seeds, a row for each way, the best of the longest budget first."""
    winners = [_winner(found, metric) for _, found in kept]
    longest = {arm: float(values.mean()) for arm, values in _by_arm(kept[-1][1], metric).items()}
    rows = []
    for source, method in sorted(longest, key=lambda arm: -longest[arm]):
        cells = [Cell(capitalised(candidate_words(method, source or None)))]
        for (_, found), winner in zip(kept, winners, strict=True):
            own = found[(found["source"] == source) & (found["method"] == method)]
            mean = t_interval(own.groupby("seed")["value"].mean().to_numpy(dtype=np.float64))
            between = metric.shown_interval(metric.bounded(mean.interval)) if mean.interval else "one seed"
            tone: Tone = "best" if (source, method) == winner else ""
            cells.append(Cell(metric.shown(mean.value), between, tone, mean.value))
        rows.append(tuple(cells))
    columns = (Column("", numeric=False), *(Column(budget.words) for budget, _ in kept))
    return Table(
        columns, tuple(rows), f"{metric.name} with {counted(size, 'label')}, and its 95 % interval over seeds."
    )
