"""Training that was cut off is told from training that has levelled off, and no verdict stands on the former."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fabricate import Fabrication, fabricate, fabricate_regression
from transferscope.analyses.compare.summary import summarise_frames
from transferscope.analyses.compare.training import nothing_learnt, untold_steps
from transferscope.analyses.scaling.study import may_be_cut_off_in_words
from transferscope.study.finished import arm_trainings
from transferscope.study.frames import LABELS, StudyFrames, read_study

STEPS = 3000


@pytest.fixture
def frames(tmp_path: Path) -> StudyFrames:
    wanted = Fabrication(gains={"mnist": {"fine-tune": 0.1, "joint": 0.1}}, sizes=(50, 600), n_seeds=3)
    with fabricate(tmp_path / "s.sqlite", wanted) as store:
        return read_study(store, "usps")


def trained(
    frames: StudyFrames,
    method: str,
    *,
    fit: float,
    loss: Callable[[pd.Series], pd.Series],
    sizes: tuple[int, ...] = (50, 600),
    seeds: tuple[int, ...] = (0, 1, 2),
) -> StudyFrames:
    """The study with another training curve of one method, as a function of the share of the steps that is done."""
    records = frames.records.copy()
    own = (records["method"] == method) & (records["part"] == "target_train")
    own &= records["n_target"].isin(sizes) & records["seed"].isin(seeds)
    records.loc[own & records["step"].isna(), "value"] = fit
    curve = own & records["step"].notna()
    records.loc[curve, "value"] = loss(records.loc[curve, "step"] / STEPS)
    return replace(frames, records=records)


def ends_alone(frames: StudyFrames) -> StudyFrames:
    """The study without a point of a training curve between the first and the last."""
    between = (frames.records["step"] > 0) & (frames.records["step"] < STEPS)
    return replace(frames, records=frames.records[~between])


def counted(frames: StudyFrames) -> StudyFrames:
    """The study with 30, 40 and 30 training examples of its classes."""
    facts = {**frames.study.facts, "target": {**frames.study.facts["target"], "class_counts": {"train": [30, 40, 30]}}}
    return replace(frames, study=replace(frames.study, facts=facts))


def cut_off(done: pd.Series) -> pd.Series:
    return 2.0 - done  # half of the fall is in the second half


def level(done: pd.Series) -> pd.Series:
    return 1.2 + 10 ** (-4 * done)  # noise in the labels: no further than 1.2


def unfinished(frames: StudyFrames) -> set[tuple[str, int]]:
    return {(arm.method, arm.n_target) for arm in arm_trainings(frames) if arm.unfinished}


def test_training_that_fits_is_finished(frames: StudyFrames) -> None:
    arms = arm_trainings(frames)
    ways = (("scratch", None), ("fine-tune", "mnist"), ("joint", "mnist"))
    assert [(arm.method, arm.source, arm.n_target) for arm in arms] == [(*way, n) for n in (50, 600) for way in ways]
    assert {(arm.steps, arm.fit, arm.unfinished) for arm in arms} == {(STEPS, 1.0, False)}


@pytest.mark.parametrize(("fit", "expected"), [(0.302, True), (0.4, False)])
def test_who_knows_no_more_of_its_own_labels_than_one_answer_has_not_finished(
    fit: float, expected: bool, frames: StudyFrames
) -> None:
    """A loss that is level there is that of a network which was never set going, with or without a point between."""
    stuck = trained(counted(frames), "scratch", fit=fit + 0.1, loss=level, sizes=(50,))
    assert (("scratch", 50) in unfinished(stuck)) == expected
    ends = ends_alone(stuck)
    assert unfinished(ends) == ({("scratch", 50)} if expected else set())
    assert (summarise_frames(ends).decided[50].why == "unfinished") == expected


def test_what_is_cut_off_is_unfinished_and_what_no_curve_tells_is_not(frames: StudyFrames) -> None:
    """Two of three networks with 50 labels give one answer; those with 600 fit poorly, with no point on the way."""
    poor = trained(counted(frames), "scratch", fit=0.6, loss=level)
    poor = trained(poor, "scratch", fit=0.4, loss=level, sizes=(50,), seeds=(0, 1))
    ends = ends_alone(poor)
    assert untold_steps(ends)[600] == STEPS
    found = summarise_frames(ends).decided
    assert (found[50].outcome, found[50].why) == ("inconclusive", "unfinished")
    assert found[600].why != "unfinished"


def test_a_loss_that_falls_to_the_end_is_unfinished_and_one_that_is_level_is_not(frames: StudyFrames) -> None:
    falling = trained(frames, "joint", fit=0.5, loss=cut_off)
    (arm,) = [arm for arm in arm_trainings(falling) if arm.unfinished and arm.n_target == 600]
    assert arm.method == "joint"
    assert arm.late_fall == pytest.approx(0.5 / 0.95)  # measured first after a twentieth of the steps
    assert unfinished(trained(frames, "joint", fit=0.5, loss=level)) == set()
    assert unfinished(trained(frames, "joint", fit=0.96, loss=cut_off)) == set()
    assert unfinished(trained(frames, "joint", fit=0.5, loss=lambda done: 1.0 + done)) == set()  # nothing was learnt


def test_the_majority_of_seeds_decides(frames: StudyFrames) -> None:
    assert unfinished(trained(frames, "joint", fit=0.5, loss=cut_off, seeds=(0,))) == set()
    assert unfinished(trained(frames, "joint", fit=0.5, loss=cut_off, seeds=(0, 1))) == {("joint", 50), ("joint", 600)}


def test_a_regression_goes_by_r2(tmp_path: Path) -> None:
    with fabricate_regression(tmp_path / "s.sqlite") as store:
        frames = read_study(store, "numbers")
    assert arm_trainings(frames) == ()  # no curve, so nothing is known
    rows = []
    for key, method in zip(frames.method_cells["key"], frames.method_cells["method"], strict=True):
        rows += [(key, "mse", float(step), 1.0 - step / 100) for step in range(0, 101, 10)]
        rows.append((key, "r2", np.nan, 0.5 if method == "scratch" else 0.95))
    curves = pd.DataFrame(rows, columns=["key", "name", "step", "value"]).assign(part="target_train")
    labels = frames.cells[["key", "role", *LABELS]]
    records = pd.concat([frames.records, curves.merge(labels, on="key")], ignore_index=True)
    measured = replace(frames, records=records)
    assert unfinished(measured) == {("scratch", 40)}
    assert summarise_frames(measured).decided[40].why == "unfinished"


def test_no_verdict_stands_on_an_unfinished_baseline(frames: StudyFrames) -> None:
    both = summarise_frames(trained(frames, "scratch", fit=0.37, loss=cut_off)).decided
    assert {(one.outcome, one.unfinished) for one in both.values()} == {("inconclusive", ("scratch",))}
    assert both[50].why == "unfinished"
    one = summarise_frames(trained(frames, "scratch", fit=0.37, loss=cut_off, sizes=(600,))).decided
    assert (one[50].outcome, one[600].outcome) == ("helps", "inconclusive")


def test_another_arm_that_is_unfinished_is_named(frames: StudyFrames) -> None:
    finished = summarise_frames(frames).decided
    found = summarise_frames(trained(frames, "joint", fit=0.37, loss=cut_off)).decided
    assert found[50].outcome == "helps"
    for size in (50, 600):
        assert found[size].outcome == finished[size].outcome
        assert found[size].unfinished == ("joint from mnist",)


def scored(frames: StudyFrames, record: str, values: dict[tuple[str, int], float]) -> StudyFrames:
    """The study with other final scores, by method and number of labels."""
    records = frames.records.copy()
    final = (records["name"] == record) & records["step"].isna() & (records["part"] == "target_test")
    for (method, size), value in values.items():
        records.loc[final & (records["method"] == method) & (records["n_target"] == size), "value"] = value
    return replace(frames, records=records)


def test_ways_that_all_give_one_answer_have_learnt_nothing(frames: StudyFrames) -> None:
    """Six in ten test examples are of one class, and the best way has 60.9 %."""
    labels = np.where(np.arange(len(frames.test_labels)) % 10 < 6, 3, 1)
    share = float(np.mean(labels == 3))
    few = {("scratch", 50): share, ("fine-tune", 50): share + 0.009, ("joint", 50): 0.4}
    guessed = scored(replace(frames, test_labels=labels), "accuracy", few)
    assert nothing_learnt(guessed) == {50}
    assert "nothing was learnt" in summarise_frames(guessed).verdict.headline
    everywhere = {(method, 600): share for method in ("scratch", "fine-tune", "joint")}
    assert nothing_learnt(scored(guessed, "accuracy", everywhere)) == {50, 600}
    assert nothing_learnt(scored(guessed, "accuracy", {("joint", 50): share + 0.011})) == set()


def test_with_many_classes_little_above_one_answer_is_something(frames: StudyFrames) -> None:
    """Ten examples of each of 200 classes: two in a hundred right is far beyond chance, 0.6 in a hundred is not."""
    names = [str(i) for i in range(200)]
    facts = {**frames.study.facts, "target": {**frames.study.facts["target"], "classes": names}}
    many = replace(frames, test_labels=np.arange(2000) % 200, study=replace(frames.study, facts=facts))
    low = {(method, size): 0.005 for method in ("scratch", "fine-tune", "joint") for size in (50, 600)}
    assert len(nothing_learnt(scored(many, "accuracy", low))) == 2
    assert len(nothing_learnt(scored(many, "accuracy", {**low, ("joint", 50): 0.006}))) == 2
    assert len(nothing_learnt(scored(many, "accuracy", {**low, ("joint", 50): 0.0142}))) == 1


def test_numbers_that_are_no_better_than_their_mean_are_not_learnt(tmp_path: Path) -> None:
    with fabricate_regression(tmp_path / "s.sqlite") as store:
        frames = read_study(store, "numbers")
    assert nothing_learnt(frames) == set()
    assert nothing_learnt(scored(frames, "r2", {("scratch", 40): -0.2, ("fine-tune", 40): 0.004})) == {40}


def test_a_baseline_that_fits_poorly_without_a_curve_to_tell_is_named(frames: StudyFrames) -> None:
    poor = trained(frames, "scratch", fit=0.5, loss=cut_off, sizes=(600,))
    assert untold_steps(poor) == {}  # its curve tells, and it is called unfinished
    assert untold_steps(ends_alone(poor)) == {600: STEPS}
    assert untold_steps(ends_alone(frames)) == {}  # it reads all its own labels
    assert untold_steps(ends_alone(trained(frames, "joint", fit=0.5, loss=cut_off))) == {}


def test_ways_that_may_be_cut_off_are_counted(frames: StudyFrames) -> None:
    assert may_be_cut_off_in_words(frames) == ()
    assert may_be_cut_off_in_words(trained(frames, "joint", fit=0.5, loss=level)) == ()
    both = trained(trained(frames, "joint", fit=0.5, loss=cut_off), "scratch", fit=0.7, loss=cut_off, sizes=(600,))
    (said,) = may_be_cut_off_in_words(both)
    for fact in ("3,000 steps", "1 of 3 arms with 50 labels, 2 of 3 arms with 600", "50.0 % to 70.0 %", "steps = 6000"):
        assert fact in said
    assert may_be_cut_off_in_words(ends_alone(both)) == (said,)  # no curve tells, and the fit is poor
    assert may_be_cut_off_in_words(ends_alone(frames)) == ()
