"""What docs/results/real.md says, held to the runs behind it."""

from types import ModuleType

import pandas as pd
import pytest

from papers.pages import RESULTS, module_of
from transferscope.numerics.intervals import t_interval


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return module_of("studies/real_runs.py")


def test_the_tables_of_the_page_are_those_of_the_runs(script: ModuleType) -> None:
    page = (RESULTS / "real.md").read_text(encoding="utf-8")
    runs, by_hand = (pd.read_csv(RESULTS / "runs" / f"{name}.csv") for name in ("real", "real-by-hand"))
    lines = [line for group in script.GROUPS for line in script.table_of(runs, group)]
    lines += script.trained_further(runs, script.GROUPS[0] + script.GROUPS[1]) + script.beside_by_hand(runs, by_hand)
    assert len(lines) > 30
    assert [line for line in lines if line not in page] == []
    assert set(runs["study"]) == {study for group in script.GROUPS for study in group}


def test_training_from_the_head_of_the_probe_is_ahead_on_pictures(script: ModuleType) -> None:
    runs = pd.read_csv(RESULTS / "runs" / "real.csv")
    ends, over_random = [], []
    for (study, _), group in runs[runs["study"].isin(script.GROUPS[0])].groupby(["study", "n_target"]):
        arms = group.pivot_table(index="seed", columns="method", values="score").dropna(subset=script.TRAINED)
        gain = t_interval((arms["tune-from-probe"] - arms["linear-probe"]).to_numpy())
        ends.append((gain.value, gain.interval.low))
        over_random.append((arms["tune-from-probe"] - arms["fine-tune"]).mean())
        assert study == "mnist" or arms["tune-from-probe"].mean() > arms["small-scratch"].mean()
    assert len(ends) == 12
    assert all(value > 0 for value, _ in ends)
    assert sum(low > 0 for _, low in ends) == 9
    assert sum(gain > 0 for gain in over_random) == 8


def test_the_probe_is_as_far_from_the_same_by_hand_as_the_page_says(script: ModuleType) -> None:
    runs, by_hand = (pd.read_csv(RESULTS / "runs" / f"{name}.csv") for name in ("real", "real-by-hand"))
    ours = runs[runs["method"] == "linear-probe"].groupby(["study", "n_target"])["score"].mean()
    theirs = by_hand[by_hand["arm"] == "probe"].groupby(["study", "n_target"])["score"].mean()
    ahead = 100 * (ours.loc[theirs.index] - theirs)
    assert ahead.idxmin() == ("cola", 100)
    assert ahead.min() == pytest.approx(-1.4, abs=0.051)
    assert ahead.loc["usps"].tolist() == pytest.approx([7.4, 3.1], abs=0.3)
    assert ahead.loc[["cifar10", "mrpc", "banking"]].abs().max() < 1.25
