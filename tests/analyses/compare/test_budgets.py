"""Whether the winner changes with the budget: which studies are put side by side, and what is said of them."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from transferscope.analyses.compare.budgets import CHANCE, budgets_of, budgets_section, lead, winner_sentence
from transferscope.analyses.study_page import build_report
from transferscope.estimate import Estimate
from transferscope.records import Cost, Record
from transferscope.report.blocks import Section, Table, Text
from transferscope.store import Outcome, PlannedCell, Store, StudyRow
from transferscope.study.frames import read_study
from transferscope.study.metric import ACCURACY

WOBBLE = (0.0, 0.004, -0.004, 0.002, -0.002)


def study(
    store: Store,
    name: str,
    steps: int | None,
    means: Mapping[str, float],
    *,
    n_seeds: int = 5,
    wobble: Sequence[float] = WOBBLE,
    methods: Mapping[str, Any] | None = None,
    **changes: Any,
) -> None:
    """A finished study whose ways have these means; fine-tuning wobbles the other way than the others."""
    spec = {
        "name": name,
        "seeds": list(range(n_seeds)),
        "target": {"data": "usps", "labels": [100]},
        "training": {"steps": steps, "epochs": None, "lr": 0.01},
        "methods": {method: {"name": method, "settings": {}} for method in means} | (dict(methods or {})),
        **changes,
    }
    facts = {"target": {"name": "usps", "fingerprint": "abc", "n_train": 100}}
    cells = {
        (method, seed): PlannedCell(
            f"{name}-{method}-{seed}",
            "method",
            {"source": None if method == "scratch" else "mnist", "method": method, "n_target": 100, "seed": seed},
            {},
        )
        for method in means
        for seed in range(n_seeds)
    }
    store.plan(StudyRow(name, spec, facts, "2026-11-21T09:00:00+00:00"), list(cells.values()))
    for (method, seed), cell in cells.items():
        value = means[method] + wobble[seed] * (-1 if method == "fine-tune" else 1)
        records = tuple(
            Record("accuracy", Estimate(value, 0.01, 500), part) for part in ("target_test", "target_train")
        )
        store.finish(cell.key, Outcome(records, Cost(seconds=1.0)))


def section_of(store: Store, name: str = "long") -> Section | None:
    return budgets_section(budgets_of(store, read_study(store, name)))


SHORT = {"scratch": 0.60, "fine-tune": 0.80, "linear-probe": 0.84}
LONG = {"scratch": 0.82, "fine-tune": 0.90, "linear-probe": 0.84}


def test_ways_whose_search_differs_are_not_put_side_by_side(tmp_path: Path) -> None:
    tuning: dict[str, Any] = {"trials": 2, "folds": 3, "search": "halving", "grid": {"fine-tune": {"lr": [0.01, 0.1]}}}
    with Store.open(tmp_path / "s.sqlite") as store:
        study(store, "long", 3000, LONG)
        study(store, "short", 300, SHORT, tuning=tuning)
        section = section_of(store)
        assert section is not None
        assert "fine-tuning" not in winner_sentence(section)
        study(store, "both", 30, SHORT, tuning={**tuning, "grid": {**tuning["grid"], "gone": {}}})
        two = budgets_section([one for one in budgets_of(store, read_study(store, "both")) if one.size < 3000])
        assert two is not None
        assert set(two.files["budgets"]["method"]) == {"scratch", "fine-tune", "linear-probe"}


def test_a_winner_that_changes_is_said_with_both_leads(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.sqlite") as store:
        study(store, "long", 3000, LONG)
        study(store, "short", 300, SHORT)
        section = section_of(store)
        assert section is not None
        said = winner_sentence(section)
        gains = np.array([0.04 + 2 * w for w in WOBBLE])  # at 300 steps, and at 3,000 it is .06
        half = stats.t.ppf(1 - CHANCE / (2 * 3) / 2, 4) * gains.std(ddof=1) / math.sqrt(5)
        low, high = 100 * (0.04 - half), 100 * (0.04 + half)
        assert said == (
            "With 100 labels the best mean changes with the budget: linear probe from mnist with 300 steps and "
            "fine-tuning from mnist with 3,000 steps. That is shown: with 300 steps linear probe from mnist leads by "
            f"+{low:.1f} to +{high:.1f} points and with 3,000 steps fine-tuning from mnist leads by "
            f"+{low + 2:.1f} to +{high + 2:.1f} points."
        )
        table = next(block for block in section.blocks if isinstance(block, Table))
        assert [column.title for column in table.columns] == ["", "300 steps", "3,000 steps"]
        assert table.rows[0][0].text == "Fine-tuning from mnist"
        assert [[cell.text for cell in row[1:]] for row in table.rows] == [
            ["80.0 %", "90.0 %"], ["84.0 %", "84.0 %"], ["60.0 %", "82.0 %"],
        ]  # fmt: skip
        assert [[cell.tone for cell in row[1:]] for row in table.rows][:2] == [["", "best"], ["best", ""]]
        build_report(store, "long", tmp_path / "long.html")
        text = (tmp_path / "long.html").read_text(encoding="utf-8")
        assert "Does the winner change with the budget?" in text
        assert "That is shown: with 300 steps" in text


def test_a_change_within_the_spread_is_not_called_one_and_the_same_winner_is_said(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.sqlite") as store:
        study(store, "long", 3000, LONG)
        study(store, "short", 300, {**SHORT, "linear-probe": 0.801})
        section = section_of(store)
        assert section is not None
        assert "That is not shown; it may be the spread between seeds: with 300 steps" in winner_sentence(section)
    with Store.open(tmp_path / "same.sqlite") as store:
        study(store, "long", 3000, LONG)
        study(store, "short", 300, {**SHORT, "linear-probe": 0.7})
        section = section_of(store)
        assert section is not None
        assert winner_sentence(section) == (
            "With 100 labels, fine-tuning from mnist has the best mean with 300 steps and 3,000 steps: the winner does "
            "not change with the budget."
        )
    with Store.open(tmp_path / "one.sqlite") as store:
        study(store, "long", 3000, LONG, n_seeds=1)
        study(store, "short", 300, SHORT, n_seeds=1)
        section = section_of(store)
        assert section is not None
        assert "With fewer than two shared seeds it cannot be said" in winner_sentence(section)


def test_studies_that_differ_in_more_than_their_length_are_left_out(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.sqlite") as store:
        study(store, "long", 3000, LONG)
        assert section_of(store) is None
        study(store, "other-rate", 300, SHORT, training={"steps": 300, "epochs": None, "lr": 0.1})
        study(store, "other-target", 400, SHORT, target={"data": "mnist", "labels": [100]})
        study(store, "epochs", None, SHORT, training={"steps": None, "epochs": 3, "lr": 0.01})
        assert section_of(store) is None
        assert section_of(store, "epochs") is None
        study(store, "short", 300, SHORT)
        assert section_of(store) is not None


def test_a_way_with_other_settings_is_another_way(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.sqlite") as store:
        study(store, "long", 3000, LONG)
        other = {"linear-probe": {"name": "linear-probe", "settings": {"penalty": 3.0}}}
        study(store, "short", 300, SHORT, methods=other)
        section = section_of(store)
        assert section is not None
        table = next(block for block in section.blocks if isinstance(block, Table))
        assert [row[0].text for row in table.rows] == ["Fine-tuning from mnist", "Training from scratch"]


@pytest.mark.long
def test_a_lead_holds_for_all_pairs_at_once() -> None:
    """Ways that are all alike, with the best picked at each budget: a change is shown in fewer than CHANCE of draws."""
    random, false = np.random.default_rng(0), 0
    arms = [("", f"way {i}") for i in range(5)]
    for _ in range(100):
        winners = []
        founds = []
        for _ in range(2):
            rows = [
                {"source": s, "method": m, "seed": seed, "value": 0.8 + 0.01 * random.normal()}
                for s, m in arms
                for seed in range(5)
            ]
            found = pd.DataFrame(rows)
            means = found.groupby("method")["value"].mean()
            winners.append(("", str(means.idxmax())))
            founds.append(found)
        if winners[0] != winners[1]:
            one = lead(founds[0], ACCURACY, winners[0], winners[1])
            other = lead(founds[1], ACCURACY, winners[1], winners[0])
            false += one.is_shown and other.is_shown
    assert false <= 100 * CHANCE


def test_the_note_names_the_studies(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.sqlite") as store:
        study(store, "long", 3000, LONG)
        study(store, "short", 300, SHORT)
        section = section_of(store)
        assert section is not None
        note = section.blocks[-1]
        assert isinstance(note, Text)
        assert note.text.startswith("Studies of this store that differ in their steps alone: short and long.")
        assert len(section.files["budgets"]) == 30
