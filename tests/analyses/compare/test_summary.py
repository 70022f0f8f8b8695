import json
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from fabricate import Fabrication, fabricate
from transferscope.analyses.compare.next_step import next_step, run_command
from transferscope.analyses.compare.page import study_parts
from transferscope.analyses.compare.statements import completeness, lost_runs, notes, settling
from transferscope.analyses.compare.summary import Summary, summarise
from transferscope.analyses.compare.tables import methods_section
from transferscope.decision.record import MoreSeeds
from transferscope.errors import StoreError
from transferscope.report.blocks import Table
from transferscope.study.race_state import NotBegun, RaceState


def test_the_table_has_one_row_for_each_comparison(summary: Summary) -> None:
    table = summary.table
    assert len(table) == len(summary.comparisons)
    merlin = table[(table["method"] == "merlin") & (table["source"] == "mnist") & (table["n_target"] == 50)].iloc[0]
    assert (merlin["n_seeds"], merlin["n_pairs"], merlin["interval_over"], merlin["call"]) == (4, 4, "seeds", "better")
    assert 0 < merlin["gain_low"] < merlin["gain"] < merlin["gain_high"]
    assert merlin["low"] < merlin["mean"] < merlin["high"]
    assert merlin["transferability_low"] < merlin["transferability"] < merlin["transferability_high"]


def test_the_verdict_is_part_of_the_summary(summary: Summary) -> None:
    assert summary.verdict.outcomes == {50: "helps", 200: "helps", 600: "helps"}
    (incomplete,) = completeness(summary.frames)
    assert incomplete.facts == {"missing": 0, "total": 145, "failed": 1, "again": True, "file": "usps.toml"}
    (lost,) = lost_runs(summary.frames, summary.decided)
    assert lost.facts["arms"] == [(("merlin", "mnist"), 1, 15)]
    assert "objective" in {one.kind for one in notes(summary.frames, summary.decided)}


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("not_done", "'usps' has no finished run of any method yet: run `transferscope run`"),
        ("failed", "'usps' has .* 9 of its 12 runs failed; the first said: the loss became NaN at step 311"),
    ],
)
def test_a_study_without_results_is_an_error_that_says_why(
    state: str, said: str, tmp_path: Path, small: Fabrication
) -> None:
    pairs = [("", "scratch"), ("fashion", "fine-tune"), ("fashion", "joint")]
    runs = frozenset((source, method, 600, seed) for source, method in pairs for seed in range(small.n_seeds))
    nothing: dict[str, Any] = {state: runs}
    made = fabricate(tmp_path / "s.sqlite", replace(small, **nothing))
    with made as store, pytest.raises(StoreError, match=said):
        summarise(store, "usps")


@pytest.fixture
def undecided(tmp_path: Path, small: Fabrication) -> Summary:
    """Two seeds of one transfer arm and of training from scratch."""
    with fabricate(tmp_path / "s.sqlite", replace(small, gains={"fashion": {"fine-tune": 0.08}}, n_seeds=2)) as store:
        return summarise(store, "usps")


@pytest.mark.parametrize(
    ("own", "option"),
    [
        ([0, 1], "--seeds 14"),
        ([1, 3], "--seeds 14"),
        ([5, 100], "--set 'seeds=[0,1,2,3,4,5,6,7,8,9,10,11,12,100]'"),
    ],
)
def test_what_settles_is_a_command_that_keeps_the_seeds_of_the_study(
    own: list[int], option: str, undecided: Summary
) -> None:
    """A number of seeds does not name seed 100, which would be gone."""
    frames, decided = undecided.frames, undecided.decided
    assert settling(frames, decided)[0].facts["more"] == 12
    vars(frames)["seeds"] = own
    step = next_step(frames, decided, settling(frames, decided))
    command = run_command("usps.toml", step.options)
    assert command == f"transferscope run usps.toml {option}"
    *_, options = shlex.split(command)  # as a shell hands it on
    asked = options.removeprefix("seeds=")
    seeds = range(int(asked)) if asked.isdecimal() else json.loads(asked)
    assert set(own) < set(seeds)
    assert len(seeds) == 14


def test_a_race_is_resumed_for_twice_what_its_next_run_takes(undecided: Summary) -> None:
    left = (NotBegun("joint", "fashion", 600, None), NotBegun("merlin", "fashion", 600, 91.0))
    study = replace(undecided.frames.study, spec={**undecided.frames.study.spec, "race": {"minutes": 1}})
    frames = replace(undecided.frames, study=study, documents={"race": asdict(RaceState("time", left))})
    decided, unlikely = (
        undecided.decided,
        [replace(one, kind="unlikely") for one in settling(frames, undecided.decided)],
    )
    assert next_step(frames, decided, []).options == "--set race.minutes=4"  # 91 s are above 3 / 2 min
    assert next_step(frames, decided, unlikely).options == "--set race.minutes=4"  # arms without a run may help
    vars(frames)["documents"] = {"race": asdict(RaceState("time", ()))}
    assert next_step(frames, decided, []).options == "--set race.minutes=2"
    assert next_step(frames, decided, unlikely).options is None  # more runs of these arms would be in vain


def test_the_page_says_where_no_number_of_seeds_decides(undecided: Summary) -> None:
    for chance, is_said in ((0.0, True), (0.9, False)):
        more = MoreSeeds(("scratch", "fine-tune from fashion"), 12, chance, of_examples=0.83)
        decided = {n: replace(decision, more_seeds=more) for n, decision in undecided.decided.items()}
        whether = study_parts(replace(undecided, decided=decided))[0]
        assert (whether.question, "83 % of the variance" in whether.sentence) == ("whether", is_said)


def test_an_arm_with_fewer_seeds_than_others_has_its_number_beside_its_score(
    tmp_path: Path, small: Fabrication
) -> None:
    lost = {("fashion", "fine-tune", 600, 0), ("fashion", "joint", 600, 0), ("fashion", "joint", 600, 1)}
    with fabricate(tmp_path / "s.sqlite", replace(small, failed=frozenset(lost))) as store:
        (table, *_) = methods_section(summarise(store, "usps")).blocks
    assert isinstance(table, Table)
    told = {row[0].text: row[1].detail.partition(", ")[0] for row in table.rows if " seed" in row[1].detail}
    adjusted = "adjusted for missing seeds "
    assert told == {
        "Training from scratch": f"{adjusted}(shared seeds only)",  # its first seed is that of no other arm
        "Fine-tuning": "2 seeds",
        "Joint training": f"{adjusted}(1 of 3)",
    }
