"""Groups of test examples reach the decision: a study knows them, and its intervals count groups."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fabricate import Fabrication, fabricate
from study.specs import tables
from transferscope.study.decisions import arms_of, scores_of
from transferscope.study.frames import read_study
from transferscope.study.plan import plan_study
from transferscope.study.spec import parse_spec


def test_a_study_keeps_the_groups_of_its_test_examples(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    patient = rng.integers(0, 30, 300)
    frame = pd.DataFrame({"x": rng.normal(size=300) + patient, "y": rng.choice(["a", "b"], 300), "patient": patient})
    frame.to_csv(tmp_path / "t.csv", index=False)
    asked = tables(
        target={"data": f"csv:{tmp_path / 't.csv'}?label=y&group=patient", "transforms": [], "labels": [20]},
        sources=None,
        pretraining=None,
        network={"name": "mlp"},
        methods={"scratch": {}, "fine-tune": None, "merlin": None},
        store=str(tmp_path / "s.sqlite"),
    )
    plan = plan_study(parse_spec(asked))
    groups = plan.arrays["target_test_groups"]
    assert plan.study.facts["target_test_groups"] == len(set(groups.tolist()))
    assert len(groups) == plan.study.facts["target"]["n_test"]


@pytest.mark.parametrize("n_groups", [30, 2007])
def test_intervals_count_groups(n_groups: int, tmp_path: Path) -> None:
    """With one example for each group nothing changes; the variance by cluster is written out here."""
    with fabricate(tmp_path / "s.sqlite", Fabrication(sizes=(50,), n_seeds=3)) as store:
        frames = read_study(store, "usps")
    assert frames.test_groups is None
    assert frames.test_labels is not None
    groups = np.arange(2007) % n_groups
    scores = [scores_of(one, 50) for one in (frames, replace(frames, test_groups=groups))]
    assert [one.test_units for one in scores] == [2007, n_groups]
    plain, grouped = (one.example_variance for one in scores)
    assert plain is not None
    assert grouped is not None
    if n_groups == 2007:
        np.testing.assert_allclose(plain, grouped)
        return
    right = np.zeros((len(arms_of(frames, 50)), 3, 2007))
    for cell in frames.method_cells.to_dict("records"):
        at = [(arm.method, arm.source) for arm in arms_of(frames, 50)].index((cell["method"], cell["source"]))
        right[at, cell["seed"]] = 100.0 * (frames.predictions[cell["key"]] == frames.test_labels)
    centred = right - right.mean(axis=2, keepdims=True)
    sums = np.stack([centred[:, :, groups == g].sum(axis=2) for g in range(30)], axis=2) / 2007
    mean = sums.mean(axis=1)
    rest = sums - mean[:, None]
    seen = (rest[0] ** 2).sum() / 6 + (rest[1] ** 2).sum() / 6 - 2 * (rest[0] * rest[1]).sum() / 6
    by_hand = 30 / 29 * (((mean[0] - mean[1]) ** 2).sum() - seen)
    assert grouped[0, 1] == pytest.approx(max(by_hand, 0.0), rel=1e-3)
    assert not np.allclose(plain, grouped)
