import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cases_of_methods import classification_task
from comparisons import baseline, candidate
from fabricate import Fabrication, fabricate
from transferscope.analyses.compare.comparison import Comparison
from transferscope.analyses.compare.metric import ACCURACY
from transferscope.analyses.compare.question import compare
from transferscope.analyses.compare.study_file import (
    Budget,
    study_tables,
)
from transferscope.analyses.compare.summary import summarise
from transferscope.analyses.compare.verdict import controls_in_words, reach_verdict
from transferscope.analyses.compare.words import Progress, outcomes_in_words
from transferscope.analyses.decide.question import decide
from transferscope.data.task import Dataset
from transferscope.errors import DataError
from transferscope.methods import default_methods


def control(gain: float) -> Comparison:
    return replace(candidate("raw", gain, "undecided", source=None), is_control=True)


def test_a_control_that_transfer_does_not_beat_is_said() -> None:
    group = [baseline(), candidate("merlin", 0.01, "undecided"), candidate("joint", -0.01, "undecided")]
    assert controls_in_words([*group, control(0.02)], ACCURACY) == {
        600: "With 600 labels no transfer does better on average than ridge on the raw inputs (93.2 %), a control: the "
        "best, MeRLin from mnist, reaches 92.2 %."
    }
    assert controls_in_words([*group, control(0.0)], ACCURACY) == {}
    assert controls_in_words(group, ACCURACY) == {}
    assert controls_in_words([baseline(), control(0.0)], ACCURACY) == {}


def test_controls_are_no_transfer_and_dilute_nothing(tmp_path: Path) -> None:
    gains = {"mnist": {"fine-tune": 0.02, "joint": 0.01}}
    small = Fabrication(gains=gains, sizes=(50,), n_seeds=4)
    with_controls = replace(small, gains={"mnist": {**gains["mnist"], "knn": 0.3}})
    with fabricate(tmp_path / "a.sqlite", small) as store:
        without = summarise(store, "usps")
    with fabricate(tmp_path / "b.sqlite", with_controls) as store:
        found = summarise(store, "usps")
    (knn,) = [c for c in found.comparisons if c.method == "knn"]
    assert knn.is_control
    assert knn.call == "control"  # however far it is ahead
    assert not knn.transfers
    assert knn.difference is not None
    assert math.isnan(knn.difference.p)  # not one of the comparisons that p-values are adjusted over
    p_values = [[c.difference.p for c in s.comparisons if c.transfers and c.difference] for s in (found, without)]
    assert len(p_values[0]) == len(p_values[1])
    assert not np.isnan(p_values).any()
    assert found.verdict.headline.startswith(
        "Use nearest neighbours on the source's features from mnist with 50 labels, a "
    )
    assert any("no transfer does better on average than nearest neighbours" in s for s in found.verdict.sentences)


def asked(tmp_path: Path, target: Dataset, source: Dataset, methods: list[str] | None = None) -> list[str]:
    budget = Budget(steps=2, pretraining_steps=2)
    return list(
        study_tables(
            [source], target, labels=[9], methods=methods, diagnostics=[], seeds=2, budget=budget, folder=tmp_path
        )["methods"]
    )


def test_the_unchanged_source_is_a_control_by_default_where_the_source_has_the_classes(tmp_path: Path) -> None:
    task = classification_task()  # classes 0 to 2, and 0 to 3 in the source
    assert task.source is not None
    names = set(default_methods(source_data=True, large_network=False))
    assert set(asked(tmp_path, task.target, task.source)) == names
    of_labels = {"do-nothing", "source-boosting", "pooled-boosting", "pooled-boosting-ridge"}
    assert {"raw", "random-features", "knn", "boosting", "merlin-target-only", *of_labels} < names
    other = turned(task.target)
    assert set(asked(tmp_path, other, task.source)) == names - of_labels
    assert "do-nothing" in asked(tmp_path, other, task.source, ["do-nothing"])
    with pytest.raises(
        DataError, match=r"^\[methods.do-nothing\] do-nothing reads .* no class .cat. of target-.*; give"
    ):
        compare(task.source, other, labels=[9], methods=["do-nothing"], seeds=1, tuning=False, folder=tmp_path,
                budget=Budget(steps=2, pretraining_steps=2, workers=0))  # fmt: skip


def turned(data: Dataset) -> Dataset:
    names = ("class 0", "class 1", "cat")
    return replace(data, train=replace(data.train, classes=names), test=replace(data.test, classes=names))


@pytest.mark.long
def test_both_cheap_controls_run_in_a_comparison_and_in_a_race(tmp_path: Path) -> None:
    task = classification_task(n_target=30)
    assert task.source is not None
    names = ["random-features", "do-nothing", "fine-tune"]
    budget = Budget(steps=3, pretraining_steps=30, workers=0)
    found = compare(
        task.source, task.target, labels=[9], methods=names, seeds=2, budget=budget, tuning=False, folder=tmp_path
    )
    rows = {c.method: c for c in found.summary.comparisons}
    assert {name: (row.is_control, row.source) for name, row in rows.items() if row.is_control} == {
        "random-features": (True, None),
        "do-nothing": (True, "source"),
    }
    raced = decide(
        task.target, task.source, methods=names, labels=9, seeds=2, budget=budget, tuning=False, folder=tmp_path
    )
    calls = {arm.arm.method: arm.call for arm in raced.decision.arms}
    assert calls["random-features"] == calls["do-nothing"] == "control"
    (tuned,) = [arm for arm in raced.decision.arms if arm.arm.method == "fine-tune"]
    assert tuned.over_control is not None


def test_a_control_with_as_good_a_mean_as_the_best_transfer_is_what_is_recommended() -> None:
    group = [baseline(), candidate("merlin", 0.03, "positive"), candidate("joint", 0.02, "positive")]
    progress = Progress(total=9, done=9, failed=0)
    beaten, level = (reach_verdict(group, ACCURACY, progress, controls=[control(gain)]) for gain in (0.01, 0.03))
    assert beaten.outcomes == {600: "helps"}
    assert beaten.headline.startswith("Use MeRLin from mnist with 600 labels: +3.0 points")
    assert level.outcomes == {600: "no more than a control"}
    assert level.headline.startswith(
        "Use ridge on the raw inputs with 600 labels, a control: +3.0 points over training"
    )
    assert "; no way of transfer has a better mean, MeRLin from mnist with +3.0 points over" in level.headline
    assert outcomes_in_words(level.outcomes) == (
        "Transfer is better than training from scratch, and no better on average than a control, with 600 labels."
    )
    worse = [baseline(), candidate("merlin", -0.03, "negative")]
    assert reach_verdict(worse, ACCURACY, progress, controls=[control(0.0)]).outcomes == {600: "hurts"}


def test_a_control_with_fewer_seeds_than_the_best_transfer_is_not_held_against_it(tmp_path: Path) -> None:
    gains = {"mnist": {"fine-tune": 0.05, "knn": 0.2}}
    one_of_five = frozenset(("mnist", "knn", 50, seed) for seed in range(1, 5))
    four_of_five = frozenset({("mnist", "fine-tune", 50, 4)})
    studies = {"few": one_of_five, "more": four_of_five, "same": frozenset[tuple[str, str, int, int]]()}
    outcomes = {}
    for name, missing in studies.items():
        wanted = Fabrication(gains=gains, sizes=(50,), n_seeds=5, not_done=missing)
        with fabricate(tmp_path / f"{name}.sqlite", wanted) as store:
            verdict = summarise(store, "usps").verdict
        outcomes[name] = verdict.outcomes[50]
        assert any("no transfer does better" in said for said in verdict.sentences) == (name != "few")
    assert outcomes == {"few": "helps", "more": "no more than a control", "same": "no more than a control"}
