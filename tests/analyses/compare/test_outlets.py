"""No outlet of a study contradicts another: sentences, lines, page, table, picture and JSON read one decision."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from made_up import Arm, drawn, made_up
from transferscope.analyses.compare.arms_figure import draw_arms
from transferscope.analyses.compare.result import ComparisonResult
from transferscope.analyses.compare.statements import answers, called, notes, settling, which
from transferscope.analyses.compare.study_page import study_sections
from transferscope.analyses.compare.summary import Summary, decision_facts, summarise_frames
from transferscope.analyses.compare.words import words_of
from transferscope.decision import Decision
from transferscope.errors import StoreError
from transferscope.estimate import as_json
from transferscope.report.blocks import Overview, Section
from transferscope.report.page import render_blocks
from transferscope.study.decisions import arms_of


def name_of(decision: Decision, summary: Summary, n: int) -> dict[str, str]:
    """What sentences call each arm."""
    return {str(arm): summary.frames.in_prose(arm.method, arm.source) for arm in arms_of(summary.frames, n)}


@pytest.mark.parametrize("seed", [*range(30), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(30, 300))])
def test_every_outlet_reads_the_same_decision(seed: int) -> None:
    summary = summarise_frames(drawn(seed))
    rows = {(row.source, row.method, row.n_target): row for row in summary.table.itertuples()}
    with_page = seed % 10 == 0  # which takes longest
    figure = draw_arms(summary) if with_page else None
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
        if answer.kind not in ("open, unfinished",):
            assert names[decision.recommended].lower() in said.lower()
        # nothing is called better that is unstable, or beside something that could still rise
        facts = {arm.name: arm for arm in decision.arms}
        rises = any(arm.unfinished and not arm.with_source and arm.n_seeds for arm in decision.arms)
        for name in decision.helping:
            assert facts[name].call == "better"
            assert not facts[name].unstable
            assert facts[name].n_seeds >= 3
            gain = facts[name].gain
            assert gain is not None
            assert gain.low is not None
            assert gain.low > 0
            assert not rises or _beats_none_that_rise(decision, name)
        # the table and the picture have the same calls
        for name, arm in arms.items():
            row = rows.get((arm.source, arm.method, n))
            if row is None:
                assert facts[name].mean is None
                continue
            assert row.call == facts[name].call
            assert row.with_source == bool(arm.source)
            assert row.n_seeds == facts[name].n_seeds
        if figure is not None and decision.best_without is not None:
            drawn_rows = figure.data[figure.data["n_target"] == n]
            assert drawn_rows.loc[drawn_rows["recommended"], ["method", "source"]].to_numpy().tolist() == [
                [chosen.method, chosen.source]
            ]
            best = drawn_rows.loc[~drawn_rows["with_source"], "score"].max()
            assert best == pytest.approx(facts[decision.best_without].mean)
        # the arm that is named is not shown to be worse than another by more than the margin
        own = facts[decision.recommended]
        assert own.mean is not None
        for other in decision.arms:
            if other.mean is not None and other.stderr is not None and own.stderr is not None:
                error = math.hypot(other.stderr, own.stderr)
                assert other.unstable or own.unstable or other.mean - own.mean < decision.margin + 6 * error + 1e-9
        # the outcome is that of the calls
        assert (decision.outcome in ("helps", "helps, within the margin")) == bool(decision.helping)
        if decision.outcome == "helps":
            assert decision.recommended in decision.helping
            assert answer.kind == "helps"
            assert f"{facts[decision.recommended].gain.value:+.1f}".replace("-", "−") in said  # type: ignore[union-attr]
        if decision.outcome == "no":
            assert not decision.helping
    assert set(summary.verdict.outcomes.values()) == {one.outcome for one in summary.decided.values()}
    # JSON holds the facts and reads back as it is
    held = json.loads(json.dumps(as_json(decision_facts(summary.decided), nan=None)))
    assert {n: one["recommended"] for n, one in held.items()} == {
        str(n): one.recommended for n, one in summary.decided.items()
    }
    recommended = [(n, one.recommended) for n, one in summary.decided.items() if one.recommended is not None]
    assert len(summary.verdict.lines) <= 8 + max(1, len({name for _, name in recommended[:2]}))
    for n, name in recommended[:2]:
        if all(one.mean is None for one in summary.decided[recommended[0][0]].arms if one.name == name):
            continue  # not run at the number of labels whose bars are drawn
        arm = {str(arm): arm for arm in arms_of(summary.frames, n)}[name]
        method = summary.frames.tick_name(arm.method)
        shown = f"{method} from {arm.source}" if arm.source else method
        assert any(line[2:].startswith(shown[:8]) for line in summary.verdict.lines)
    if not with_page:
        return
    (overview,) = [block for block in study_sections(summary)[0].blocks if isinstance(block, Overview)]
    assert overview.headline == summary.verdict.headline


def _beats_none_that_rise(decision: Decision, name: str) -> bool:
    """Whether everything without a source that could still rise is not below this arm in the record."""
    own = next(arm.mean for arm in decision.arms if arm.name == name)
    rising = [arm.mean for arm in decision.arms if arm.unfinished and not arm.with_source and arm.mean is not None]
    return own is not None and all(mean > own for mean in rising)


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
    for kind, arms in (("helping", "helping"), ("harming", "harmful")):
        named = {n for one in said if one.kind == kind for sizes, _ in one.facts["arms"] for n in sizes}
        told = {n for n, one in summary.decided.items() if getattr(one, arms)}
        assert named == (told if len(summary.decided) > 1 else set())
    for sentence in words.all_of(said):
        assert sentence[0] == sentence[0].upper()
        assert sentence.endswith(".")
        assert "None" not in sentence
        assert "nan" not in sentence


def seeds(mean: float, *, n: int = 5, sd: float = 0.004, seed: int = 0) -> np.ndarray:
    return mean + np.random.default_rng(seed).normal(0, sd, n)


SCRATCH, RIDGE, OBJECTIVE, TUNED, PROBE, UNCHANGED, MERLIN = (
    ("scratch", ""),
    ("ridge", ""),
    ("merlin-target-only", ""),
    ("fine-tune", "mnist"),
    ("linear-probe", "mnist"),
    ("do-nothing", "mnist"),
    ("merlin", "mnist"),
)


def decided(scores: dict[Arm, np.ndarray], **options: object) -> Decision:
    (decision,) = summarise_frames(made_up({(arm, 50): of for arm, of in scores.items()}, **options)).decided.values()  # type: ignore[arg-type]
    return decision


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
        assert ("still improving when its training ended" in outlet) == rises


def _all(sections: Sequence[Section]) -> Iterator[Section]:
    for section in sections:
        yield section
        yield from _all(section.sections)


@pytest.mark.parametrize("seed", range(60))
def test_an_interval_is_clear_of_the_line_where_something_is_called(seed: int) -> None:
    for decision in summarise_frames(drawn(seed)).decided.values():
        for arm in decision.arms:
            if arm.gain is not None and arm.gain.low is not None and arm.gain.high is not None:
                assert (arm.gain.low > 0) == (arm.call == "better")
                assert (arm.gain.high < 0) == (arm.call == "worse")


@pytest.mark.parametrize("seed", range(12))
def test_an_interval_ends_in_the_picture_or_has_an_arrow(seed: int) -> None:
    figure = draw_arms(summarise_frames(drawn(seed)))
    for panel in figure.canvas.axes if figure is not None else ():
        left, right = panel.get_xlim()
        lines = [(str(line.get_marker()), *np.asarray(line.get_xydata())) for line in panel.lines]
        arrows = {(marker, ends[0][1]) for marker, *ends in lines if marker in ("<", ">")}
        intervals = [(ends[0][0], ends[1][0], ends[0][1]) for _, *ends in lines if len(ends) == 2]
        expected = {("<", at) for low, high, at in intervals if low < left}
        assert arrows == expected | {(">", at) for low, high, at in intervals if high > right}


def test_a_control_that_is_as_good_takes_the_help_away() -> None:
    found = decided({SCRATCH: seeds(0.70), RIDGE: seeds(0.80, seed=1), TUNED: seeds(0.801, seed=2)})
    assert found.outcome != "helps"
    assert found.best_without == "ridge"
    assert not found.helping


def test_a_control_that_is_better_is_recommended() -> None:
    found = decided({SCRATCH: seeds(0.70), RIDGE: seeds(0.85, seed=1), TUNED: seeds(0.80, seed=2)})
    assert (found.outcome, found.recommended) == ("no", "ridge")
    assert found.harmful == ("fine-tune from mnist",)


def test_a_real_gain_is_called() -> None:
    found = decided({SCRATCH: seeds(0.70), RIDGE: seeds(0.72, seed=1), TUNED: seeds(0.80, seed=2)})
    assert (found.outcome, found.recommended) == ("helps", "fine-tune from mnist")


def test_one_collapsed_run_hides_nothing_else() -> None:
    collapsed = seeds(0.80, seed=3)
    collapsed[1] -= 0.3
    arms = {
        SCRATCH: seeds(0.70),
        RIDGE: seeds(0.72, seed=1),
        TUNED: seeds(0.80, seed=2),
        MERLIN: collapsed,
        PROBE: seeds(0.78, seed=4),
    }
    found = decided(arms)
    assert found.outcome == "helps"
    assert found.unstable == ("merlin from mnist",)
    assert "merlin from mnist" not in found.helping


def test_nothing_is_better_than_a_baseline_that_could_still_rise() -> None:
    found = decided({SCRATCH: seeds(0.70), TUNED: seeds(0.80, seed=2)}, rising=frozenset({SCRATCH}))
    assert (found.outcome, found.why_open) == ("open", "unfinished")
    assert not found.helping
    assert found.unfinished == ("scratch",)


def test_the_unchanged_source_model_is_an_arm_with_a_source() -> None:
    found = decided({SCRATCH: seeds(0.70), UNCHANGED: seeds(0.9, seed=1), TUNED: seeds(0.8, seed=2)})
    assert (found.outcome, found.recommended) == ("helps", "do-nothing from mnist")


def test_without_scratch_the_answer_is_against_the_best_without_a_source() -> None:
    found = decided({RIDGE: seeds(0.72), OBJECTIVE: seeds(0.75, seed=1), PROBE: seeds(0.88, seed=2)})
    assert (found.outcome, found.best_without) == ("helps", "merlin-target-only")


def test_one_seed_calls_nothing_and_still_answers() -> None:
    found = decided({RIDGE: seeds(0.72, n=1), PROBE: seeds(0.88, n=1)})
    assert (found.outcome, found.why_open, found.recommended) == ("open", "one seed", "linear-probe from mnist")


def test_what_has_no_run_is_one_sentence() -> None:
    nothing = made_up({(SCRATCH, 50): np.full(2, np.nan), (TUNED, 50): np.full(2, np.nan)})
    with pytest.raises(StoreError, match="no finished run"):
        summarise_frames(nothing)
    failed = frozenset((arm, 50, seed) for arm in (SCRATCH, TUNED) for seed in range(2))
    with pytest.raises(StoreError, match="it broke"):
        summarise_frames(made_up({(SCRATCH, 50): np.full(2, np.nan), (TUNED, 50): np.full(2, np.nan)}, failed=failed))


def test_a_result_has_the_decisions_in_json() -> None:
    from pathlib import Path

    summary = summarise_frames(made_up({(SCRATCH, 50): seeds(0.7), (TUNED, 50): seeds(0.8, seed=1)}))
    told = ComparisonResult(summary, "s.sqlite", Path("s.toml")).to_dict()
    assert told["decisions"]["50"]["outcome"] == "helps"
    assert set(told["decisions"]["50"]) == set(asdict(summary.decided[50]))
