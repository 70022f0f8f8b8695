"""Why, on the page of made-up studies (e2e/test_why.py checks its numbers)."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from transferscope.analyses.compare.summary import Summary, summarise
from transferscope.analyses.diagnose.statements import why
from transferscope.analyses.diagnose.study import Diagnosis, diagnoses_of
from transferscope.analyses.diagnose.study_section import study_part
from transferscope.analyses.diagnose.tables import correlations_table
from transferscope.diagnostics import DIAGNOSTICS
from transferscope.estimate import Estimate, Interval
from transferscope.records import Cost, Record
from transferscope.report.blocks import Folded, Table
from transferscope.store import Outcome, PlannedCell, Store, StudyRow
from transferscope.store.rows import Label

VALUES: Mapping[str, float] = {"scratch": 4.0, "fine-tune": 1.0, "linear-probe": 2.0, "l2-sp": 1.5, "joint": 3.0}


def _study(folder: Path, methods: tuple[str, ...] = tuple(VALUES)) -> Summary:
    """Every diagnostic has the values of VALUES, 10 % more in every further seed; accuracy falls with them."""
    outcomes: dict[str, Outcome] = {}
    cells: list[PlannedCell] = []
    for method, seed in product(methods, range(3)):
        source = None if method == "scratch" else "photos"
        labels: dict[str, Label] = {"source": source, "method": method, "n_target": 40, "n_source": None, "seed": seed}
        fit = PlannedCell(f"{method}-{seed}", "method", labels, {})
        accuracy = 0.9 - 0.1 * VALUES[method]
        predictions = (np.arange(50) % 2).astype(np.int32)
        predictions[: round(50 * (1 - accuracy))] ^= 1
        cells.append(fit)
        outcomes[fit.key] = Outcome((Record("accuracy", Estimate(accuracy)),), Cost(), {"predictions": predictions})
        for name, diagnostic in DIAGNOSTICS.items():
            look = PlannedCell(f"{name}-{fit.key}", "diagnose", labels | {"diagnostic": name}, {}, (fit.key,))
            record = Record(diagnostic.headline, Estimate(VALUES[method] * 1.1**seed), "target_train")
            notes = {"headline": diagnostic.headline, "meaning": asdict(diagnostic.meaning), "last_step": 9}
            cells.append(look)
            outcomes[look.key] = Outcome((record,), Cost(), notes=notes)
    spec = {"name": "made-up", "methods": {method: {} for method in methods}, "seeds": [0, 1, 2]}
    with Store.open(folder / "made-up.sqlite") as store:
        store.plan(StudyRow("made-up", spec, {}, "2026-11-21T09:00:00+00:00"), cells)
        store.put_study_array("made-up", "target_test_labels", np.arange(50) % 2)
        for key, outcome in outcomes.items():
            store.finish(key, outcome)
        return summarise(store, "made-up")


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    return _study(tmp_path_factory.mktemp("made-up"))


@pytest.mark.long
def test_the_sentence_has_the_signs_of_the_table(summary: Summary) -> None:
    """Every headline rises with the error, so that those expected to fall with it are against it."""
    found = diagnoses_of(summary.frames, 40)
    assert [one.name for one in found] == list(DIAGNOSTICS)
    assert all(one.correlation is not None and one.correlation.value == pytest.approx(1) for one in found)
    part = study_part(summary.frames)
    tables = [block for block in part.sections[0].blocks if isinstance(block, Table)]
    (fold,) = [block for block in part.sections[0].blocks if isinstance(block, Folded)]
    assert fold.title == "What they cannot tell"
    tones = {row[0].text.lower(): row[2].tone for row in tables[0].rows}
    sides = {"lower": "positive", "higher": "negative", "": ""}
    assert tones == {d.meaning.heading.lower(): sides[d.meaning.expected] for d in DIAGNOSTICS.values()}
    told = {"lower" if one.facts["expected"] else "higher": set(one.facts["seen"]) for one in why(found, 40)}
    of_side = {side: {d.meaning.lower for d in DIAGNOSTICS.values() if d.meaning.expected == side} for side in sides}
    assert told == {side: of_side[side] for side in ("lower", "higher") if of_side[side]}


@pytest.mark.long
def test_too_few_networks_are_no_correlation(tmp_path: Path) -> None:
    summary = _study(tmp_path, ("scratch", "fine-tune", "joint"))
    found = diagnoses_of(summary.frames, 40)
    assert all(one.correlation is None and one.better == "" for one in found)
    assert [one.kind for one in why(found, 40)] == ["too few networks"]
    part = study_part(summary.frames)
    assert not [block for block in part.sections[0].blocks if isinstance(block, Table)]


def _seen(name: str, value: float, half: float, n: int = 3) -> Diagnosis:
    diagnostic, known = DIAGNOSTICS[name], Estimate(value, half / 4, n, "ok", Interval(value - half, value + half))
    return Diagnosis(name, diagnostic.headline, "target_train", diagnostic.meaning, (), (), known)


@pytest.mark.parametrize(
    ("expected", "value", "half", "n", "as_expected"),
    [
        ("lower", 0.8, 0.1, 3, True),
        ("lower", -0.8, 0.1, 3, False),
        ("higher", -0.8, 0.1, 3, True),
        ("higher", 0.8, 0.1, 3, False),
        ("lower", 0.8, 0.9, 3, None),  # the interval holds 0
        ("lower", 1.0, 0.0, 2, None),  # two seeds that agree say nothing of others
        ("lower", 1.0, 0.0, 3, True),
        ("", 0.8, 0.1, 3, None),
    ],
)
def test_the_side_that_was_expected_makes_the_answer(
    expected: Literal["lower", "higher", ""], value: float, half: float, n: int, as_expected: bool | None
) -> None:
    found = _seen("curvature", value, half, n)
    found = replace(found, meaning=replace(found.meaning, expected=expected))
    assert [one.facts["expected"] for one in why([found], 40)] == ([] if as_expected is None else [as_expected])
    ((_, shown_side, shown),) = correlations_table([found]).rows
    assert shown.tone == {True: "positive", False: "negative", None: ""}[as_expected]
    assert shown_side.text.lower() == (expected or "–")


def test_nothing_is_said_of_others_beside_one_that_is_sure() -> None:
    sure, open_ = _seen("curvature", 0.8, 0.1), _seen("class-separation", 0.1, 0.5)
    (said,) = why([sure, open_, replace(open_, correlation=None)], 40)
    assert said.facts["seen"] == [DIAGNOSTICS["curvature"].meaning.lower]
