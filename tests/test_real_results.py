"""What docs/results/real.md says, held to the runs behind it."""

import re
from types import ModuleType

import pandas as pd
import pytest

from papers.pages import RESULTS, module_of, over_seeds

WITHOUT_SOURCE = {"raw", "random-features", "small-scratch", "scratch", "boosting", "boosting-ridge"}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return module_of("studies/real_runs.py")


def test_the_tables_of_the_page_are_those_of_the_runs(script: ModuleType) -> None:
    page = (RESULTS / "real.md").read_text(encoding="utf-8")
    runs, by_hand, again = (
        pd.read_csv(RESULTS / "runs" / f"{name}.csv") for name in ("real", "real-by-hand", "real-recipes")
    )
    lines = [line for group in script.GROUPS for line in script.table_of(runs, group)]
    lines += script.trained_further(runs, script.GROUPS[0] + script.GROUPS[1]) + script.beside_by_hand(runs, by_hand)
    lines += script.by_recipes(runs, again)
    assert len(lines) > 30
    assert [line for line in lines if line not in page] == []
    assert set(runs["study"]) == {study for group in script.GROUPS for study in group}


def test_training_from_the_head_of_the_probe_is_ahead_on_pictures(script: ModuleType) -> None:
    runs = pd.read_csv(RESULTS / "runs" / "real.csv")
    ends, over_random = [], []
    for (study, _), group in runs[runs["study"].isin(script.GROUPS[0])].groupby(["study", "n_target"]):
        arms = group.pivot_table(index="seed", columns="method", values="score").dropna(subset=script.TRAINED)
        ends.append(over_seeds(arms["tune-from-probe"], arms["linear-probe"])[:2])
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


@pytest.mark.parametrize(
    ("study", "n", "method", "of"),
    [
        ("photos", 100, "linear-probe", "20.4 ({} to {})"),
        ("photos", 400, "linear-probe", "16.2 ({} to {})"),
        ("mnist", 100, "linear-probe", "-3.1 ({} to {})"),
        ("mnist", 600, "linear-probe", "-2.0 points ({} to {})"),
        ("banking", 100, "linear-probe", "7.9 points ({} to {})"),
        ("banking", 500, "linear-probe", "1.0 ({} to {})"),
        ("rte", 100, "linear-probe", "5.7 ({} to {})"),
        ("diamonds", 20, "source-boosting", "28.7 points ({} to {})"),
        ("diamonds", 100, "pooled-boosting", "6.1 ({} to {})"),
        ("taxi", 20, "pooled-boosting-ridge", "8.0 points ({} to {})"),
        ("taxi", 100, "pooled-boosting-ridge", "4.3 ({} to {})"),
        ("computers", 20, "fine-tune", "-0.3, {} to {}"),
    ],
)
def test_what_an_arm_is_above_the_best_baseline(study: str, n: int, method: str, of: str) -> None:
    runs = pd.read_csv(RESULTS / "runs" / "real.csv")
    arms = runs[(runs["study"] == study) & (runs["n_target"] == n)].pivot(index="seed", columns="method")["score"]
    best = max((name for name in arms if name in WITHOUT_SOURCE), key=lambda name: float(arms[name].mean()))
    value, *ends = over_seeds(arms[method], arms[best])
    assert float(of.split()[0].strip(",")) == pytest.approx(value, abs=0.051)
    if of.startswith("-") and "(" in of:  # said of the other side: how far the best without a source is above
        of, ends = of[1:], [-end for end in reversed(ends)]
    said = of.format(*(f"{end:.1f}" for end in ends))
    page = (RESULTS / "real.md").read_text(encoding="utf-8")
    assert re.sub(r"\b0\.", ".", said).replace("-", "−") in page


@pytest.mark.parametrize(
    ("study", "n", "method", "other", "said"),
    [
        ("usps", 100, "small-scratch", "linear-probe", "by {} points ({} to {})"),
        ("usps", 600, "small-scratch", "linear-probe", "{} ({} to {}) with 600"),
        ("banking", 100, "linear-probe", "raw", "by {} ({} to {})"),
        ("banking", 500, "linear-probe", "raw", "{} ({} to {}) points"),
    ],
)
def test_what_recipes_leave_of_differences_is_what_the_page_says(
    study: str, n: int, method: str, other: str, said: str
) -> None:
    runs = pd.read_csv(RESULTS / "runs" / "real-recipes.csv")
    arms = runs[(runs["study"] == study) & (runs["n_target"] == n)].pivot(index="seed", columns="method")["score"]
    numbers = (f"{number:.1f}".replace("-", "−") for number in over_seeds(arms[method], arms[other]))
    section = (RESULTS / "real.md").read_text(encoding="utf-8").partition("## With recipes")[2]
    assert said.format(*numbers) in section
