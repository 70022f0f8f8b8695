"""Runs on several tasks: summary beside SciPy and by hand, a page for each task."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import mannwhitneyu, rankdata

from transferscope.analyses.compare.tasks import OverTasks, compare_tasks, improvement
from transferscope.errors import DataError
from transferscope.settings.questions import RunColumns

ARMS = {"scratch": 0.70, "ridge": 0.72, "tuned": 0.75, "probe": 0.71}


def runs(seed: int = 0) -> pd.DataFrame:
    """Three tasks of other levels, four arms, five seeds; scores are rounded, so that some tie."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        [
            {"dataset": task, "arm": arm, "seed": s, "accuracy": round(level + at + rng.normal(0, 0.02), 2)}
            for task, at in (("credit-g", 0.0), ("vehicle", 0.1), ("a/b", -0.2))
            for arm, level in ARMS.items()
            for s in range(5)
        ]
    )


def table(levels: Mapping[str, Mapping[str, float]], n_seeds: int, step: float = 0.001) -> pd.DataFrame:
    """Runs of each arm at its level on each task, a step above one another."""
    return pd.DataFrame(
        [
            {"dataset": task, "arm": arm, "seed": s, "accuracy": level + s * step}
            for task, arms in levels.items()
            for arm, level in arms.items()
            for s in range(n_seeds)
        ]
    )


def compared(frame: pd.DataFrame | Path, *baselines: str) -> OverTasks:
    return compare_tasks(frame, columns=RunColumns(task="dataset"), without=baselines or ["scratch", "ridge"])


def test_the_probability_of_improvement_is_u_over_the_pairs() -> None:
    rng = np.random.default_rng(1)
    one, other = rng.integers(0, 6, 7).astype(float), rng.integers(0, 6, 5).astype(float)
    u = mannwhitneyu(one, other).statistic
    assert improvement(one[None], other[None])[0] == pytest.approx(u / 35)


def test_mean_rank_and_improvement_over_tasks_are_those_worked_out_here() -> None:
    frame = runs()
    found = compared(frame)
    table = found.table().set_index("arm")
    row = {str(arm): dict(one) for arm, one in table.iterrows()}
    means = frame.groupby(["dataset", "arm"])["accuracy"].mean().unstack()
    assert set(table.index) == set(ARMS)
    for arm in ARMS:
        assert row[arm]["mean"] == pytest.approx(100 * means[arm].mean())
    ranks = pd.DataFrame(rankdata(-means, axis=1), columns=means.columns).mean()
    assert table["rank"].to_dict() == pytest.approx(ranks.to_dict())
    best = str(means[["scratch", "ridge"]].mean().idxmax())
    assert np.isnan(row[best]["improvement"])
    values = {key: rows["accuracy"].to_numpy() for key, rows in frame.groupby(["dataset", "arm"])}
    shares = [mannwhitneyu(values[t, "tuned"], values[t, best]).statistic / 25 for t in means.index]
    assert row["tuned"]["improvement"] == pytest.approx(np.mean(shares))
    for name in ("mean", "rank", "improvement"):
        held = table[name].dropna().index
        assert (table.loc[held, f"{name}_low"] <= table.loc[held, name] + 1e-9).all()
        assert (table.loc[held, f"{name}_high"] >= table.loc[held, name] - 1e-9).all()
    # the standard error of a mean of three means of five runs, by its formula
    spread = frame.groupby(["dataset", "arm"])["accuracy"].std(ddof=0).unstack()["tuned"]
    variance = float((spread**2).sum()) / 5
    expected = 2 * 1.96 * 100 * np.sqrt(variance) / 3
    assert row["tuned"]["mean_high"] - row["tuned"]["mean_low"] == pytest.approx(expected, rel=0.1)


def test_an_arm_that_is_ahead_in_every_run_is_not_certain_to_be_so() -> None:
    """A bootstrap of equal shares has ends that coincide: no interval is told, and no certainty."""
    found = compared(table({task: {"scratch": 0.5, "tuned": 0.8} for task in ("one", "two")}, 4, 0.01), "scratch")
    tuned = found.table().set_index("arm").loc["tuned"]
    assert tuned["improvement"] == 1
    assert np.isnan(tuned[["improvement_low", "improvement_high", "rank_low", "rank_high"]].astype(float)).all()
    assert tuned["mean_low"] < tuned["mean"] < tuned["mean_high"]
    assert "32 of 32 pairs" in found.verdict.headline
    assert "%" not in found.verdict.headline.partition("best baseline")[2]
    assert "to 100 %" not in str(found.verdict)
    assert not any("one run of a task" in note for note in found.verdict.sentences)


def test_means_of_tasks_are_those_of_their_pages() -> None:
    """An arm that lacks a good seed of one task has the mean there that is adjusted for it."""
    rows = [
        {"task": task, "arm": arm, "seed": s, "accuracy": level + shift}
        for task in ("one", "two")
        for arm, level in (("scratch", 0.5), ("ridge", 0.55), ("tuned", 0.6))
        for s, shift in enumerate((0.0, 0.01, 0.2, -0.02))
        if (task, arm, s) != ("one", "tuned", 2)
    ]
    found = compare_tasks(pd.DataFrame(rows), columns=RunColumns(task="task"), without=["scratch", "ridge"])
    pages = [
        arm.mean
        for result in found.results.values()
        for decision in result.summary.decided.values()
        for arm in decision.arms
        if arm.name == "tuned"
    ]
    assert found.table().set_index("arm").loc["tuned", "mean"] == pytest.approx(np.mean(pages))
    assert pages[0] == pytest.approx(pages[1], abs=0.2)


def test_arms_that_share_the_best_rank_are_named_beside_it() -> None:
    """Each of two leads one task; the third is last on both."""
    levels = {"x": {"scratch": 0.5, "one": 0.7, "two": 0.6}, "y": {"scratch": 0.5, "one": 0.6, "two": 0.7}}
    found = compared(table(levels, 3), "scratch")
    assert found.table()["rank"].tolist() == [1.5, 1.5, 3.0]
    said = found.verdict.headline.partition(":")[0]
    assert "one" in said
    assert "two" in said
    assert "scratch" not in said


def test_every_task_has_a_page_of_its_own_beside_that_over_all(tmp_path: Path) -> None:
    frame = runs()
    frame.to_csv(tmp_path / "r.csv", index=False)
    found = compared(tmp_path / "r.csv")
    written = found.report(tmp_path / "pages.html")
    pages = sorted(one.name for one in tmp_path.glob("*.html"))
    assert len(pages) == 4
    text = written.html.read_text()
    for page in pages:
        assert page == "pages.html" or page in text
    assert [one.title for one in found.results.values()] == ["r-credit-g", "r-vehicle", "r-a/b"]


def test_an_arm_that_a_task_lacks_is_left_out_and_named() -> None:
    frame = runs()
    frame = frame[(frame["arm"] != "probe") | (frame["dataset"] != "vehicle")]
    found = compared(frame)
    assert "probe" not in found.arms
    assert any("probe" in line for line in found.verdict.lines)
    with pytest.raises(DataError, match="one task"):
        compare_tasks(frame[frame["dataset"] == "vehicle"], columns=RunColumns(task="dataset"), without=["scratch"])


def test_single_runs_have_no_interval() -> None:
    frame = runs()
    found = compared(frame[frame["seed"] == 0])
    ends = [f"{name}_{end}" for name in ("mean", "rank", "improvement") for end in ("low", "high")]
    assert found.table()[ends].isna().all().all()
    assert not found.table()[["mean", "rank"]].isna().any().any()


def test_single_runs_are_counted_and_give_no_probability() -> None:
    """Ahead on one task, level on one, behind on one: ties count half."""
    levels = {"a": (0.5, 0.9), "b": (0.6, 0.6), "c": (0.7, 0.65)}
    arms = {task: {"scratch": own, "tuned": other} for task, (own, other) in levels.items()}
    found = compared(table(arms, 1).drop(columns="seed"), "scratch")
    tuned = found.table().set_index("arm").loc["tuned"]
    assert (tuned["improvement"], tuned["ahead"], tuned["pairs"]) == (0.5, 1.5, 3)
    (row,) = (line for line in found.verdict.lines if line.startswith("tuned"))
    assert "1.5 of 3 pairs" in row
    assert "%" not in row.partition("1.5 of 3")[2]


def test_pages_of_names_that_a_file_system_takes_for_one_are_all_kept(tmp_path: Path) -> None:
    frame = runs().replace({"dataset": {"credit-g": "a b", "vehicle": "A b"}})
    found = compared(frame)
    pages = found.pages(tmp_path / "r.html")
    assert len({page.name.casefold() for page in pages.values()}) == len(pages) == 3


def test_failed_runs_are_counted_beside_the_ranks() -> None:
    frame = runs()
    frame.loc[(frame["arm"] == "tuned") & (frame["seed"] > 2), "accuracy"] = np.nan
    frame["state"] = np.where(frame["accuracy"].isna(), "failed", "done")
    found = compared(frame)
    assert any("tuned in 6 runs" in line for line in found.verdict.lines)


def test_errors_in_units_of_their_tasks_are_ranked_and_not_averaged() -> None:
    """By size alone the task in thousands would decide which baseline is the best."""
    scale = {"credit-g": 1000.0, "vehicle": 1.0, "a/b": 1.0}
    factor = {"scratch": (0.9, 1.2, 1.2), "ridge": (1.0, 1.0, 1.0), "tuned": (0.8, 0.8, 0.8)}
    frame = pd.DataFrame(
        [
            {"dataset": task, "arm": arm, "seed": s, "rmse": scale[task] * at[place] * (1 + s / 1000)}
            for place, task in enumerate(scale)
            for arm, at in factor.items()
            for s in range(3)
        ]
    )
    found = compared(frame)
    table = found.table().set_index("arm")
    assert "mean" not in table
    assert table["rank"].to_dict() == pytest.approx({"tuned": 1, "ridge": 7 / 3, "scratch": 8 / 3})
    assert table["improvement"].isna().to_dict() == {"tuned": False, "ridge": True, "scratch": False}


@pytest.mark.parametrize("last", ["a", "c"])
def test_shares_are_not_averaged_with_scores_in_another_unit(last: str) -> None:
    """700 is no accuracy in per cent: the mean of three tasks would be 285 %."""
    levels = {"a": 0.7, "b": 0.6, "c": 0.8}
    frame = table({task: {"scratch": level, "tuned": level + 0.05} for task, level in levels.items()}, 3)
    frame.loc[frame["dataset"] == last, "accuracy"] *= 1000
    over = compared(frame, "scratch")
    assert "mean" not in over.table()
    assert "%" not in over.verdict.headline
    assert over.table().set_index("arm").loc["tuned", "rank"] == 1


def test_tasks_are_counted_and_not_their_numbers_of_labels() -> None:
    frame = pd.concat([runs().assign(labels=n) for n in (10, 100)])
    found = compared(frame)
    assert set(found.table()["tasks"]) == {3}
    assert found.verdict.headline.startswith("Over 3 tasks and their numbers of labels, 6 in all, ")


def test_a_task_that_cannot_be_read_is_left_out_and_named() -> None:
    frame = runs()
    frame = frame[(frame["dataset"] != "vehicle") | (frame["arm"] != "ridge")]
    kept = compared(frame)
    assert list(kept.results) == ["credit-g", "a/b"]
    assert kept.unreadable.keys() == {"vehicle"}
    (note,) = [line for line in kept.verdict.lines if "vehicle" in line]
    assert "unknown arm of --without 'ridge'" in note
    with pytest.raises(DataError, match="task credit-g: unknown arm of --without 'forest'"):
        compare_tasks(frame, columns=RunColumns(task="dataset"), without=["forest"])
    apart = frame.assign(arm=frame["arm"].where(frame["arm"] == "none", frame["arm"] + frame["dataset"]))
    with pytest.raises(DataError, match="no arm has a run on every task"):
        compare_tasks(apart, columns=RunColumns(task="dataset"), without=[])


def test_the_summary_is_drawn_and_given_as_json() -> None:
    found = compared(runs())
    told, table = json.loads(json.dumps(found.to_dict(), allow_nan=False)), found.table()
    assert [row["arm"] for row in told["rows"]] == list(table["arm"])
    assert {name: one["verdict"]["headline"] for name, one in told["tasks"].items()} == {
        name: one.verdict.headline for name, one in found.results.items()
    }
    axes = found.picture().canvas.axes[0]
    marks = [line for line in axes.lines if line.get_marker() in ("o", "s")]
    assert [float(np.asarray(line.get_xdata())[0]) for line in marks] == pytest.approx(table["rank"].tolist())
    ends = [np.asarray(line.get_xdata()) for line in axes.lines if line.get_marker() == "None"]
    np.testing.assert_allclose(ends, table[["rank_low", "rank_high"]])
