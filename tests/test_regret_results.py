"""What docs/results/regret.md says, held to the races behind it."""

from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from papers.pages import RESULTS, module_of


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return module_of("benchmarks/regret.py")


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return pd.read_csv(RESULTS / "runs" / "regret.csv")


def test_the_tables_of_the_page_are_those_of_the_races(script: ModuleType, rows: pd.DataFrame) -> None:
    page = (RESULTS / "regret.md").read_text(encoding="utf-8")
    lines = script.tables(rows)
    assert len(lines) > 20
    assert [line for line in lines if line not in page] == []
    assert rows["study"].nunique() >= 25


def test_the_race_loses_least_and_answers_most(script: ModuleType, rows: pd.DataFrame) -> None:
    found = script.summary(rows)
    behind = found["behind"] + found["behind_stderr"]
    assert (behind >= 0).all()  # nothing is ahead of it by more than its error
    for at, least in ((0.5, 0.6), (1.0, 0.8)):
        whether = found["whether"].xs(at, level="share")
        assert whether[script.OURS] >= least
        assert (whether.drop(script.OURS) < whether[script.OURS] - 0.05).all()


def test_halving_and_seed_by_seed_by_hand(script: ModuleType) -> None:
    """Four arms, the dear ones the better: all once, the better half twice, the best four times, and so on."""
    cost = np.array([4.0, 3.0, 2.0, 1.0])
    one = script.Recorded("a", "a", ("fine-tune", "lora", "raw", "knn"), 10 * cost, np.zeros((4, 2)), cost)
    assert _made(one, script.halving(one), 10) == [3, 2, 1, 0, 1, 0, 0, 0, 0, 0]
    assert _made(one, script.in_order(one, seeds=2), 9) == [3, 2, 1, 0, 3, 2, 1, 0]
    (first, *_, last) = script.replay(one, 0, script.in_order(one, seeds=5))
    assert (first["share"], first["lost"]) == (0.05, 30.0)  # 2.5 of 50 seconds: one run of the cheapest arm
    assert (last["share"], last["lost"]) == (1.0, 0.0)


def _made(one: object, step: object, n: int) -> list[int]:
    values, made = np.full((4, 12), np.nan), list[int]()
    while len(made) < n and (runs := step(values)):  # type: ignore[operator]
        for arm, seed in runs:
            values[arm, seed] = one.mean[arm]  # type: ignore[attr-defined]
            made.append(arm)
    return made
