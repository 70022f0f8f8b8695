"""No outlet of a study contradicts another: sentences, lines, page, table, picture and JSON read one decision."""

import io
import json
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from made_up import Arm, drawn, made_up
from transferscope.analyses.compare.arms_figure import draw_arms
from transferscope.analyses.compare.page import study_parts
from transferscope.analyses.compare.result import ComparisonResult
from transferscope.analyses.compare.statements import (
    all_failed,
    answers,
    called,
    lost_runs,
    notes,
    settling,
    which,
)
from transferscope.analyses.compare.study_page import study_sections
from transferscope.analyses.compare.summary import Summary, summarise_frames
from transferscope.analyses.compare.tables import methods_section
from transferscope.analyses.compare.words import words_of
from transferscope.analyses.plan.study import plan_of_study
from transferscope.decision import ArmFacts, Decision
from transferscope.errors import DataError, SettingsError
from transferscope.methods import METHODS
from transferscope.report.blocks import Overview, Section, Table
from transferscope.report.page import render_blocks
from transferscope.report.save import csv_text
from transferscope.settings.questions import PlanQuestion
from transferscope.store import PlannedCell, Store, StoredCell
from transferscope.study import export
from transferscope.study.decisions import Arm as StudyArm
from transferscope.study.decisions import arms_of
from transferscope.wording import AS_WRITTEN


def name_of(decision: Decision, summary: Summary, n: int) -> dict[str, str]:
    """What sentences call each arm."""
    return {str(arm): summary.frames.in_prose(arm.method, arm.source) for arm in arms_of(summary.frames, n)}


FEW = (*range(20), 34, 39)  # with 34 and 39 they have every kind of answer
DRAWN = int(os.environ.get("TRANSFERSCOPE_OUTLETS", "100"))
"""How many studies are drawn; 1,000 by hand."""
DRAWN_SEEDS = [*FEW, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(DRAWN) if seed not in FEW)]


def agree(summary: Summary) -> None:
    """No two outlets have another number, call or arm: rows, decisions, tables of the page, LaTeX, figure, CSV."""
    result, metric = ComparisonResult(summary, "", Path()), summary.frames.metric
    document = json.loads(json.dumps(result.to_dict()))
    latex, markdown = result.to_latex(), result.to_markdown()
    figure = draw_arms(summary)
    for n, decision in summary.decided.items():
        held = {arm["name"]: arm for arm in document["decisions"][str(n)]["arms"]}
        assert document["decisions"][str(n)]["recommended"] == decision.recommended
        arms = {str(arm): arm for arm in arms_of(summary.frames, n)}
        of_rows = {(row["source"], row["method"]): row for row in document["rows"] if row["n_target"] == n}
        drawn_at: dict[tuple[str, str], Any] = {}
        if figure is not None:
            of_size = figure.data[figure.data["n_target"] == n]
            drawn_at = {(str(row.source), str(row.method)): row for row in of_size.itertuples()}
        for facts in decision.arms:
            arm, one = arms[facts.name], held[facts.name]
            row = of_rows.get((arm.source, arm.method))
            assert (row is None) == (facts.mean is None)
            if row is None or facts.mean is None:
                continue
            assert 100 * row["mean"] == pytest.approx(facts.mean) == pytest.approx(one["mean"])
            assert (row["call"], row["why"], row["chance"]) == (one["call"], one["why"], one["chance"])
            for name in ("adjusted", "n_failed", "n_seeds", "with_source"):
                assert row[name] == one[name]
            assert row["gain"] == (None if facts.gain is None else pytest.approx(facts.gain.value))
            shown = metric.number(facts.mean / 100)
            assert shown in latex
            assert shown in markdown
            if (point := drawn_at.get((arm.source, arm.method))) is not None:
                assert point.score == pytest.approx(facts.mean)
                assert str(point.call) == facts.call
                assert point.recommended == (facts.name == decision.recommended)
    csv = pd.read_csv(io.StringIO(csv_text(result.table())), keep_default_na=False)
    assert csv["mean"].to_numpy(float) == pytest.approx([row["mean"] for row in document["rows"]])
    assert csv["call"].tolist() == [row["call"] for row in document["rows"]]
    tables = [one for one in methods_section(summary).blocks if isinstance(one, Table)]
    for n, table in zip(sorted({c.n_target for c in summary.comparisons}), tables, strict=True):
        (star,) = [row for row in table.rows if row[1].tone == "best"]
        assert star[1].text == metric.level(recommended_of(summary.decided[n]).mean or 0.0)
        in_table = sorted(row[1].text for row in table.rows)
        assert in_table == sorted(metric.level(arm.mean) for arm in summary.decided[n].arms if arm.mean is not None)


def recommended_of(decision: Decision) -> ArmFacts:
    return next(arm for arm in decision.arms if arm.name == decision.recommended)


def plan_agrees(summary: Summary) -> None:
    """A plan has the baseline, the significant arms and, without a law, the means of the decisions."""
    frames, decided = summary.frames, summary.decided
    try:
        plan = plan_of_study(frames, PlanQuestion())
    except (DataError, SettingsError):
        return
    said = {}
    for n, one in decided.items():
        names = [frames.in_prose(arm.method, arm.source) for arm in arms_of(frames, n)]
        said[n] = dict(zip(names, one.arms, strict=True))
    largest = max(n for n, one in decided.items() if one.best_baseline is not None)
    assert plan.scratch is not None
    assert said[largest][plan.scratch.name].name == decided[largest].best_baseline
    assert plan.better == {name for n, of in said.items() for name, arm in of.items() if arm.name in decided[n].helping}
    for arm in plan.arms:
        mean = said[int(arm.largest)][arm.name].mean
        if arm.curve is None and mean is not None:
            assert 100 * (1 - arm.reached.error) == pytest.approx(mean)


def export_agrees(summary: Summary, n: int, held: Collection[str]) -> None:
    """The exported arm was run, is the recommended one, or one within the margin of it where no file holds that."""
    frames, decision = summary.frames, summary.decided[n]
    cells = frames.method_cells
    stored = []
    done = cells[(cells["state"] == "done") & (cells["n_target"] == n)]
    for key, method, source, drawn_with in zip(done["key"], done["method"], done["source"], done["seed"], strict=True):
        source_of: dict[str, str | int | float | None] = {"source": str(source) or None}
        labels = {**source_of, "method": str(method), "n_target": n, "seed": int(str(drawn_with))}
        stored.append(StoredCell(PlannedCell(str(key), "method", labels, {}), "done"))
    store = SimpleNamespace(cells=lambda _: stored, files=None)
    best = recommended_of(decision)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export, "read_study", lambda *_: frames)
        patch.setattr(export, "decisions", lambda _: summary.decided)
        patch.setattr(export, "_can_be_written", lambda run: run.method in held)
        patch.setattr(export, "_method", lambda _: METHODS["ridge"]())
        try:
            choice = export.chosen_run(cast("Store", store), "made-up", labels=n)
        except SettingsError:
            kept = [arm for arm in decision.arms if arm.n_seeds and arm.name.split(" from ")[0] in held]
            assert all((arm.mean or 0.0) < (best.mean or 0.0) - decision.margin for arm in kept)
            return
    arm = StudyArm(choice.run.method, choice.run.source or "")
    facts = next(one for one in decision.arms if one.name == str(arm))
    assert arm.method in held
    assert facts.n_seeds == len(choice.alike) > 0
    assert (facts.name == best.name) == (choice.instead_of is None)
    assert 100 * choice.mean == pytest.approx(facts.mean)
    assert (facts.mean or 0.0) >= (best.mean or 0.0) - decision.margin
    assert choice.chance == facts.chance


@pytest.mark.parametrize("seed", DRAWN_SEEDS)
def test_plan_and_export_read_the_same_decision(seed: int) -> None:
    summary = summarise_frames(drawn(seed))
    plan_agrees(summary)
    for n, decision in summary.decided.items():
        if decision.recommended is not None:
            export_agrees(summary, n, {"scratch", "fine-tune", "linear-probe", "merlin"} if seed % 2 else {"fine-tune"})


@pytest.mark.parametrize("seed", DRAWN_SEEDS)
def test_every_outlet_reads_the_same_decision(seed: int) -> None:
    summary = summarise_frames(drawn(seed))
    agree(summary)
    for n, decision in summary.decided.items():
        arms = {str(arm): arm for arm in arms_of(summary.frames, n)}
        names = name_of(decision, summary, n)
        (answer,) = answers(summary.frames, {n: decision})
        said = words_of(summary.frames).say(answer)
        if decision.recommended is None:
            assert answer.kind == "nothing"
            continue
        chosen = arms[decision.recommended]
        assert answer.facts["arm"] == (chosen.method, chosen.source)
        assert names[decision.recommended].lower() in said.lower()
        facts = {arm.name: arm for arm in decision.arms}
        if decision.outcome == "helps":
            assert answer.kind == "helps"
            shown = decision.recommended if decision.recommended in decision.helping else decision.best_transfer_arm
            assert f"{facts[str(shown)].gain.value:+.1f}".replace("-", "−") in said
    assert set(summary.verdict.outcomes.values()) == {one.outcome for one in summary.decided.values()}
    lines = summary.verdict.lines
    if len(summary.decided) == 1:
        assert len(lines) <= 14
    for n, decision in summary.decided.items():
        if decision.recommended is None:
            continue
        of_name = {str(arm): arm for arm in arms_of(summary.frames, n)}
        for name in {decision.best_transfer_arm, decision.best_baseline} - {None}:
            arm, mean = of_name[name], next(one.mean for one in decision.arms if one.name == name)
            assert mean is not None
            shown, level = summary.frames.tick_name(arm.method).split()[0], summary.frames.metric.level(mean)
            starts = f"{n:>6,}  " if len(summary.decided) > 1 else ""
            assert any(line.startswith(starts) and shown in line and level in line for line in lines)
    if seed % 10:  # a page takes longest
        return
    (overview,) = [block for block in study_sections(summary)[0].blocks if isinstance(block, Overview)]
    assert "\n".join((overview.headline, *overview.points)) == summary.verdict.headline


@pytest.mark.parametrize("seed", range(0, 150, 10))
def test_every_kind_has_words_and_facts(seed: int) -> None:
    summary = summarise_frames(drawn(seed))
    words = words_of(summary.frames)
    said = [
        *answers(summary.frames, summary.decided),
        *called(summary.frames, summary.decided),
        *which(summary.frames, summary.decided),
        *notes(summary.frames, summary.decided),
        *settling(summary.frames, summary.decided),
    ]
    assert {one.kind for one in said} <= words.kinds
    for call, arms in (("better", "helping"), ("worse", "harmful")):
        of_call = [one for one in said if one.kind == "called" and one.facts["call"] == call]
        named = {n for one in of_call for sizes, _ in one.facts["arms"] for n in sizes}
        told = {n for n, one in summary.decided.items() if getattr(one, arms)}
        assert named == (told if len(summary.decided) > 1 else set())
    for sentence in words.all_of(said):
        assert sentence[0] == sentence[0].upper()
        assert sentence.endswith(".")
        assert "None" not in sentence
        assert "nan" not in sentence


def seeds(mean: float, *, n: int = 5, sd: float = 0.004, seed: int = 0) -> np.ndarray:
    return mean + np.random.default_rng(seed).normal(0, sd, n)


SCRATCH, RIDGE, OBJECTIVE, TUNED, PROBE, UNCHANGED = (
    ("scratch", ""),
    ("ridge", ""),
    ("merlin-target-only", ""),
    ("fine-tune", "mnist"),
    ("linear-probe", "mnist"),
    ("do-nothing", "mnist"),
)


@pytest.mark.parametrize("rises", [False, True])
def test_what_is_over_an_unfinished_baseline_is_in_no_outlet(rises: bool) -> None:
    """What transfer adds to runs from scratch that reach .50 is told only where these were finished."""
    scores = {SCRATCH: seeds(0.5), RIDGE: seeds(0.85, seed=1), TUNED: seeds(0.9, seed=2)}
    frames = made_up({(arm, 50): of for arm, of in scores.items()}, rising=frozenset({SCRATCH} if rises else ()))
    summary = summarise_frames(frames)
    result = ComparisonResult(summary, "", Path())
    rows = {row["method"]: row for row in result.to_dict()["rows"]}
    assert (rows["fine-tune"]["transferability"] is None) == rises
    assert summary.table["transferability"].notna().any() == (not rises)
    page = render_blocks([block for section in _all(result.sections()) for block in section.blocks])
    assert ("Still improving" in page) == rises
    for outlet in (page, result._repr_html_()):
        assert ("Over scratch" in outlet) == (not rises)
    for outlet in (result.to_markdown(), result.to_latex()):
        assert ("still improving when training ended" in outlet) == rises


def test_an_arm_that_failed_in_every_run_is_named_before_all_else() -> None:
    """In the terminal and at the head of the page, and so is one that lost some of its runs, with their number."""
    scores = {(SCRATCH, 50): seeds(0.5), (TUNED, 50): seeds(0.9, seed=2), (PROBE, 50): np.full(5, np.nan)}
    scores[RIDGE, 50] = np.r_[seeds(0.4, n=3), np.nan, np.nan]
    failed = frozenset((PROBE, 50, seed) for seed in range(5)) | {(RIDGE, 50, 3), (RIDGE, 50, 4)}
    summary = summarise_frames(made_up(scores, failed=failed))
    (lost,) = all_failed(summary.frames)
    assert (lost.facts["arms"], lost.facts["n"]) == ([PROBE], 5)
    (some,) = lost_runs(summary.frames, summary.decided)
    assert (some.facts["arms"], some.facts["others"]) == ([(RIDGE, 2, 5)], 0)
    for shown in (summary.verdict.headline, " ".join(" ".join(summary.verdict.lines).split())):
        assert "No run of linear probe from mnist gave a score" in shown
        assert "2 of 5 runs" in shown


def test_a_name_of_the_users_own_stays_as_it_was_written() -> None:
    """In the terminal, the table and the picture; only names of methods get a capital."""
    own = ("hiraNet_v2", "mnist")
    summary = summarise_frames(made_up({(SCRATCH, 50): seeds(0.5), (own, 50): seeds(0.9, seed=2)}))
    assert summary.frames.tick_name("hiraNet_v2") == "hiraNet_v2"
    assert summary.frames.tick_name("scratch") == "Training from scratch"
    assert "*hiraNet_v2 from mnist" in "\n".join(summary.verdict.lines)
    twice = summarise_frames(
        made_up({(arm, n): seeds(0.5 + 0.4 * (arm == own), seed=n) for arm in (SCRATCH, own) for n in (20, 50)})
    )
    for said in (twice.verdict.headline, *twice.verdict.sentences, *(part.sentence for part in study_parts(twice))):
        assert "HiraNet" not in said
        assert AS_WRITTEN not in said
    (table, *_) = [one for one in methods_section(summary).blocks if isinstance(one, Table)]
    assert table.rows[0][0].text == "hiraNet_v2"


def test_where_the_source_is_the_target_no_outlet_says_anything_of_transfer() -> None:
    """Nor a number that is better for it: its data with all of their labels win, as they must."""
    scores = {(SCRATCH, 50): seeds(0.5), (TUNED, 50): seeds(0.9, seed=2)}
    scores |= {(SCRATCH, 200): seeds(0.7), (TUNED, 200): seeds(0.9)}
    frames = made_up(scores)
    facts = {**frames.study.facts, "target": {"fingerprint": "a"}, "sources": {"mnist": {"fingerprint": "a"}}}
    summary = summarise_frames(replace(frames, study=replace(frames.study, facts=facts)))
    assert set(summary.verdict.outcomes.values()) == {"source is target"}
    assert summary.verdict.headline.startswith("Mnist is the target's own data")
    assert {(row.call, row.why) for row in summary.table.itertuples() if row.with_source} == {
        ("not tested", "source is target")
    }
    assert summary.table["gain_low"].isna().all()
    page = render_blocks([block for section in _all(study_sections(summary)) for block in section.blocks])
    for text in (page, "\n".join(summary.verdict.lines), str(summary.verdict)):
        assert not [word for word in ("transfer helps", "labels matches", "Next:") if word in text]


def _all(sections: Sequence[Section]) -> Iterator[Section]:
    for section in sections:
        yield section
        yield from _all(section.sections)


@pytest.mark.parametrize("seed", [*range(6), 9])
def test_an_interval_ends_in_the_picture_or_has_an_arrow(seed: int) -> None:
    figure = draw_arms(summarise_frames(drawn(seed)))
    for panel in figure.canvas.axes if figure is not None else ():
        left, right = panel.get_xlim()
        lines = [(str(line.get_marker()), *np.asarray(line.get_xydata())) for line in panel.lines]
        arrows = {(marker, ends[0][1]) for marker, *ends in lines if marker in ("<", ">")}
        intervals = [(ends[0][0], ends[1][0], ends[0][1]) for _, *ends in lines if len(ends) == 2]
        expected = {("<", at) for low, high, at in intervals if low < left}
        assert arrows == expected | {(">", at) for low, high, at in intervals if high > right}


@pytest.mark.parametrize(
    ("scores", "recommended", "best_baseline"),
    [
        ({SCRATCH: 0.70, UNCHANGED: 0.9, TUNED: 0.8}, "do-nothing from mnist", "scratch"),
        ({RIDGE: 0.72, OBJECTIVE: 0.75, PROBE: 0.88}, "linear-probe from mnist", "merlin-target-only"),
    ],
)
def test_arms_that_train_nothing_or_without_scratch_are_told_apart_by_their_source(
    scores: dict[Arm, float], recommended: str, best_baseline: str
) -> None:
    values = {(arm, 50): seeds(mean, seed=i) for i, (arm, mean) in enumerate(scores.items())}
    (found,) = summarise_frames(made_up(values)).decided.values()
    assert (found.outcome, found.recommended, found.best_baseline) == ("helps", recommended, best_baseline)
