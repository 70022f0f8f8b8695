import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from comparisons import baseline, candidate
from fabricate import Fabrication, fabricate
from transferscope.analyses.compare.comparison import Comparison
from transferscope.analyses.compare.metric import ACCURACY
from transferscope.analyses.compare.summary import summarise
from transferscope.analyses.compare.verdict import controls_in_words


def control(gain: float) -> Comparison:
    return replace(candidate("raw", gain, "undecided", source=None), is_control=True)


def test_a_control_that_transfer_does_not_beat_is_said() -> None:
    group = [baseline(), candidate("merlin", 0.01, "undecided"), candidate("joint", -0.01, "undecided")]
    assert controls_in_words([*group, control(0.02)], ACCURACY) == (
        "With 600 labels no transfer does better on average than ridge on the raw inputs (93.2 %), which trains no "
        "network: the best, MeRLin from mnist, reaches 92.2 %.",
    )
    assert controls_in_words([*group, control(0.0)], ACCURACY) == ()
    assert controls_in_words(group, ACCURACY) == ()
    assert controls_in_words([baseline(), control(0.0)], ACCURACY) == ()


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
    assert not knn.transfers
    assert knn.difference is not None
    assert math.isnan(knn.difference.p)  # not one of the comparisons that p-values are adjusted over
    p_values = [[c.difference.p for c in s.comparisons if c.transfers and c.difference] for s in (found, without)]
    assert len(p_values[0]) == len(p_values[1])
    assert not np.isnan(p_values).any()
    assert "nearest neighbours" not in found.verdict.headline
    assert any("no transfer does better on average than nearest neighbours" in s for s in found.verdict.sentences)
