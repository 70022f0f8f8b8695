"""A race that was stopped before a transfer arm had run has not found that transfer does not help."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from made_up import made_up
from transferscope.analyses.compare.statements import called
from transferscope.analyses.compare.study_page import study_sections
from transferscope.analyses.compare.summary import Summary, summarise_frames
from transferscope.report.blocks import Overview, Table
from transferscope.study.race_state import End, NotBegun, RaceState

MISSING = (NotBegun("fine-tune", "mnist", 50, None), NotBegun("linear-probe", "mnist", 50, 240.0))


def stopped(end: End, race: dict[str, float], *, with_transfer: bool = False) -> Summary:
    scores = {(("scratch", ""), 50): np.array([0.70, 0.71]), (("ridge", ""), 50): np.array([0.80, 0.81])}
    if with_transfer:
        scores[("knn", "mnist"), 50] = np.array([0.802, 0.807])
    frames = made_up(scores)
    study = replace(frames.study, spec={**frames.study.spec, "race": race})
    return summarise_frames(replace(frames, study=study, documents={"race": asdict(RaceState(end, MISSING))}))


@pytest.mark.parametrize(
    ("end", "race", "setting"),
    [("time", {"minutes": 1.0}, "race.minutes=8"), ("runs", {"runs": 4}, "race.runs=8")],
)
def test_what_was_not_looked_at_is_not_told_as_not_found(end: End, race: dict[str, float], setting: str) -> None:
    """The next run takes 4 minutes, so that the command gives twice as many."""
    summary = stopped(end, race)
    assert called(summary.frames, summary.decided) == ()
    (overview,) = [block for block in study_sections(summary)[0].blocks if isinstance(block, Overview)]
    assert "80.5 %" in overview.headline
    assert "2 seeds" in overview.headline
    assert "Whether" not in [answer.title for answer in overview.answers]
    assert isinstance(overview.picture, Table)
    names = [row[0].text for row in overview.picture.rows]
    assert names == ["Linear probe from mnist", "Fine-tuning from mnist"]  # those of unknown time last
    assert overview.picture.rows[0][2].value == 240.0
    assert overview.command == f"transferscope run {summary.frames.study.name}.toml --set {setting}"


def test_a_race_with_a_transfer_arm_is_compared_and_goes_on_the_same_way() -> None:
    summary = stopped("time", {"minutes": 30.0}, with_transfer=True)
    (overview,) = [block for block in study_sections(summary)[0].blocks if isinstance(block, Overview)]
    assert not isinstance(overview.picture, Table)
    assert called(summary.frames, summary.decided)
    assert overview.command.endswith("--set race.minutes=60")


def test_a_race_that_has_decided_asks_for_no_more_time() -> None:
    summary = stopped("decided", {"minutes": 1.0})
    (overview,) = [block for block in study_sections(summary)[0].blocks if isinstance(block, Overview)]
    assert "race." not in overview.command
