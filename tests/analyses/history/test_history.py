"""What to try next by finished runs of other tasks, against matrices whose answer is known."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from typer.testing import CliRunner

from fabricate import Fabrication, fabricate
from transferscope.analyses.history import propose
from transferscope.analyses.history.proposals import Prediction, predict, standardised
from transferscope.analyses.history.question import _measure
from transferscope.analyses.history.records import (
    COLUMNS,
    SHIPPED,
    groups_of,
    known_rows,
    shipped_rows,
    study_rows,
    table_rows,
)
from transferscope.analyses.plan import LabelColumns
from transferscope.cli.main import app
from transferscope.errors import DataError, SettingsError, TransferscopeError
from transferscope.study.frames import read_study
from transferscope.study.measure import Measure


def table(path: Path, scores: np.ndarray, *, name: str = "accuracy") -> Path:
    rows = [(f"task{t}", f"arm{a}", scores[t, a]) for t in range(len(scores)) for a in range(scores.shape[1])]
    frame = pd.DataFrame(rows, columns=["task", "arm", name]).dropna()
    frame.to_csv(path, index=False)
    return path


def two_kinds(n_tasks: int = 12, n_arms: int = 16, seed: int = 0) -> np.ndarray:
    """Tasks of two kinds, on which the first or the second half of the arms is better by a standard deviation."""
    rng = np.random.default_rng(seed)
    kind = np.where(np.arange(n_tasks) % 2 == 0, 1.0, -1.0)[:, None]
    half = np.where(np.arange(n_arms) < n_arms // 2, 1.0, -1.0)
    return np.asarray(0.7 + 0.05 * kind * half + 0.005 * rng.standard_normal((n_tasks, n_arms)))


def test_standardised_scores_have_mean_0_and_spread_1() -> None:
    z = standardised(np.array([[1.0, 2.0, np.nan, 3.0], [10.0, 30.0, 20.0, 40.0]]))
    assert np.nanmean(z, axis=1) == pytest.approx(0)
    assert np.nanstd(z, axis=1) == pytest.approx(1)


def test_a_probe_tells_the_kind_of_the_task() -> None:
    """Good arms of the first half and bad ones of the second mean a task of the first kind."""
    found = predict(two_kinds(), {0: 0.75, 15: 0.65, 1: 0.76, 14: 0.66})
    others = np.arange(2, 14)
    assert found.mean[2:8].min() > found.mean[8:14].max()
    assert (found.sd[others] > 0).all()
    assert found.mean[[0, 15]].tolist() == [0.75, 0.65]
    assert found.sd[[0, 15]].tolist() == [0, 0]
    assert found.order[0] in range(2, 8)
    assert max(found.improvement[8:14]) < min(found.improvement[2:8])


def test_an_arm_that_is_as_good_on_every_task_is_expected_to_be_so_on_the_next() -> None:
    """Within three standard errors of the mean of an arm over 30 tasks."""
    level, noise = np.linspace(0.5, 0.9, 9), 0.05
    scores = level + noise * np.random.default_rng(0).standard_normal((30, 9))
    found = predict(scores, {arm: float(level[arm]) for arm in (1, 3, 5, 7)})
    assert found.mean == pytest.approx(level, abs=3 * noise / np.sqrt(30))


def test_the_next_arm_is_that_of_the_greedy_cover() -> None:
    """By brute force, with the weights by NumPy's correlation of the probes."""
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(6, 9))
    z = standardised(scores)
    for tried in ([4], [4, 7], [4, 7, 1], [4, 7, 1, 0]):
        probes = {arm: float(rng.normal()) for arm in tried}
        found = predict(scores, probes)
        values = [probes[arm] for arm in sorted(probes)]
        like = [np.corrcoef(values, scores[task, sorted(probes)])[0, 1] if len(tried) > 2 else 0.0 for task in range(6)]
        weights = np.exp(4 * (1 - 2 / max(len(tried), 2)) * np.array(like))
        rise = [np.average(np.maximum(z[:, arm] - z[:, tried].max(axis=1), 0), weights=weights) for arm in range(9)]
        assert found.cover == pytest.approx(rise)
        best = np.argmax(found.improvement) if len(tried) == 3 else np.argmax(rise)  # the model's turn, after three
        assert found.order[0] == int(best)


def test_where_nothing_is_left_to_cover_the_improvement_decides() -> None:
    scores = np.array([[1.0, 2.0, 9.0, 3.0], [1.0, 2.5, 8.0, 2.0], [2.0, 1.0, 7.0, 1.5]])
    found = predict(scores, {2: 5.0})  # best on every task
    assert found.cover.tolist() == [0.0] * 4
    assert found.order == sorted(range(4), key=lambda arm: -found.improvement[arm])


def test_expected_improvement_is_its_integral() -> None:
    found = predict(two_kinds(), {0: 0.75, 15: 0.65})
    x = np.linspace(-8, 8, 20001)
    gain = np.maximum(found.mean[3] + found.sd[3] * x - 0.75, 0)
    assert found.improvement[3] == pytest.approx(np.trapezoid(gain * stats.norm.pdf(x), x), rel=1e-5)


def test_another_unit_or_a_shift_changes_no_order() -> None:
    scores, probes = two_kinds(), {0: 0.72, 9: 0.66, 3: 0.74}
    moved = {arm: 100 * score + 5 for arm, score in probes.items()}
    assert predict(scores, probes).order == predict(100 * scores + 5, moved).order


def test_the_low_rank_interval_holds() -> None:
    """Of arms drawn from the model that is fitted, nine in ten lie within 1.645 standard deviations."""
    rng = np.random.default_rng(1)
    basis, noise = rng.standard_normal((30, 2)), 0.5
    inside = []
    for _ in range(60):
        draw = rng.standard_normal((21, 2)) @ basis.T + noise * rng.standard_normal((21, 30))
        probes = {arm: float(draw[20, arm]) for arm in range(0, 30, 3)}
        found = predict(draw[:20], probes)
        left = np.array([arm for arm in range(30) if arm not in probes])
        inside.append(np.abs(draw[20, left] - found.mean[left]) < 1.645 * found.sd[left])
    assert 0.85 < np.mean(inside) < 0.97


def test_percent_and_shares_are_read_in_one_unit(tmp_path: Path) -> None:
    rows, _ = known_rows(table(tmp_path / "percent.csv", 100 * two_kinds(2, 3)), LabelColumns())
    assert rows["score"].max() < 1
    assert tuple(rows.columns) == COLUMNS


def test_a_study_is_read_by_its_target(tmp_path: Path, small: Fabrication) -> None:
    fabricate(tmp_path / "made.sqlite", small).close()
    rows, _ = known_rows(tmp_path / "made.sqlite", LabelColumns())
    known = rows.set_index("arm")
    assert set(known.index) == {"training from scratch", "fine-tuning from fashion", "joint training from fashion"}
    scores = known["score"].to_dict()
    assert scores["fine-tuning from fashion"] > scores["training from scratch"]
    assert known["labels"].unique().tolist() == [600]


def test_a_study_has_the_direction_of_its_measure(tmp_path: Path, small: Fabrication) -> None:
    with fabricate(tmp_path / "made.sqlite", small) as store:
        frames = read_study(store, store.studies()[0].name)
    for higher in (True, False):
        measure = Measure("saved", "EUR", higher, "accuracy")
        facts = {**frames.study.facts, "measure": measure.as_json()}
        rows = study_rows(replace(frames, study=replace(frames.study, facts=facts)))
        assert set(zip(rows["measure"], rows["better"], strict=True)) == {("saved", "higher" if higher else "lower")}


def test_a_proposal_follows_what_was_tried(tmp_path: Path) -> None:
    path = table(tmp_path / "scores.csv", two_kinds())
    assert propose("new", path).best is None
    result = propose("new", path, tried={"arm0": 0.65, "arm15": 0.75, "arm1": 0.64, "arm14": 0.74})
    assert result.best.arm == "arm15"
    assert result.open[0].arm in {f"arm{a}" for a in range(8, 14)}
    page = result.report(tmp_path / "page.html").html.read_text(encoding="utf-8")
    assert f"Try {result.open[0].arm} next on new" in page
    expected = {row[0].text: row[2].text for row in result.shown_tables()[0].rows}[result.open[0].arm]
    assert f" {expected} is expected (90 %)" in result.verdict.headline


def test_rows_of_the_task_count_as_tried(tmp_path: Path) -> None:
    scores = two_kinds()
    scores[3, 4:] = np.nan
    result = propose("task3", table(tmp_path / "scores.csv", scores))
    assert {one.arm for one in result.proposals if one.tried} == {f"arm{a}" for a in range(4)}
    assert result.n_tasks == 11


def test_long_and_wide_tables_and_several_are_read_alike(tmp_path: Path) -> None:
    path = table(tmp_path / "scores.csv", two_kinds())
    frame = pd.read_csv(path)
    wide = frame.pivot(index="task", columns="arm", values="accuracy").reset_index()
    parts = [frame[frame["task"] < "task3"], frame[frame["task"] >= "task3"]]
    renamed = frame.rename(columns={"task": "dataset", "arm": "model"})
    tried = {"arm0": 0.65, "arm15": 0.75, "arm1": 0.64}
    whole = propose("new", path, tried=tried).table().sort_values("arm", ignore_index=True)
    for known, columns in ((wide, LabelColumns(score="accuracy", wide=True)), (parts, None), (renamed, None)):
        found = propose("new", known, tried=tried, columns=columns).table()
        pd.testing.assert_frame_equal(found.sort_values("arm", ignore_index=True), whole, rtol=1e-6)


def test_rows_that_sum_tasks_up_are_no_task_in_a_file_and_in_a_frame(tmp_path: Path) -> None:
    frame = pd.read_csv(table(tmp_path / "scores.csv", two_kinds())).rename(columns={"task": "board"})
    means = frame.groupby("arm", as_index=False)["accuracy"].mean().assign(board="mean")
    pd.concat([frame, means]).to_csv(tmp_path / "summed.csv", index=False)
    for known in (tmp_path / "summed.csv", pd.read_csv(tmp_path / "summed.csv")):
        assert propose("new", known, columns=LabelColumns(task="board")).n_tasks == 12


def test_what_comes_with_the_package_is_a_small_table_of_scores() -> None:
    rows = shipped_rows()
    assert SHIPPED.stat().st_size < 5e6
    assert tuple(rows.columns) == COLUMNS
    assert not rows.duplicated(["task", "arm", "labels"]).any()
    assert rows["score"].between(0, 1)[rows["measure"] != "test loss"].all()
    assert rows.groupby("task")["measure"].nunique().max() == 1
    assert set(rows["better"]) == {"higher", "lower"}
    page = (Path(__file__).parents[3] / "docs" / "history.md").read_text(encoding="utf-8")
    assert all(f"| {origin} |" in page for origin in set(rows["origin"]))


def test_groups_are_the_connected_parts_of_tasks_and_arms() -> None:
    rng = np.random.default_rng(2)
    pairs = pd.DataFrame({"task": rng.integers(30, size=40).astype(str), "arm": rng.integers(60, size=40).astype(str)})
    tasks, arms = pd.factorize(pairs["task"]), pd.factorize(pairs["arm"])
    size = len(tasks[1]) + len(arms[1])
    edges = sparse.coo_matrix((np.ones(40), (tasks[0], len(tasks[1]) + arms[0])), shape=(size, size))
    count, label = sparse.csgraph.connected_components(edges, directed=False)
    found = groups_of(pairs)
    assert len(found) == count
    for group in found:
        assert len({label[list(tasks[1]).index(task)] for task in group}) == 1


def test_tasks_without_an_arm_in_common_are_never_read_together() -> None:
    known = ["CLIP_benchmark", "torchgeo-bench"]
    with pytest.raises(DataError, match=r"nothing was tried on birds, .* 2 groups .* give a first score with --tried"):
        propose("birds", known)
    result = propose("birds", known, tried={"ViT-B-32 openai": 0.8})
    assert {one.arm.split("-")[0] for one in result.proposals} == {"ViT"}
    assert propose("birds", "recorded races").n_tasks == 4
    named = propose("mnist", "CLIP_benchmark")  # one of its tasks, which is another one than the reader's
    assert (named.best, named.n_tasks) == (None, 44)


def test_runs_that_a_seed_does_not_tell_apart_are_not_averaged(tmp_path: Path) -> None:
    frame = pd.read_csv(table(tmp_path / "scores.csv", two_kinds(3, 4))).assign(seed=0)
    both = pd.concat([frame.assign(bands=bands) for bands in ("rgb", "all")])
    with pytest.raises(DataError, match=r"2 rows have the arm arm0 on task0, .* \(they differ in bands\)"):
        propose("new", both)
    for columns in (LabelColumns(seed="bands+seed"), LabelColumns(arm="arm+bands")):
        assert propose("new", both, columns=columns).n_tasks == 3


def test_losses_are_proposed_downwards(tmp_path: Path) -> None:
    path = table(tmp_path / "losses.csv", 1 - two_kinds(), name="loss")
    result = propose("new", path, tried={"arm0": 0.35, "arm15": 0.25, "arm1": 0.36})
    assert result.best.arm == "arm15"
    assert result.open[0].arm in {f"arm{a}" for a in range(8, 15)}


@pytest.mark.parametrize(
    ("change", "asked", "message"),
    [
        ({"task": "one"}, {}, "3 rows have the arm arm0 on one, and no column distinguishes them"),
        ({}, {"task": " "}, "the new task has no name"),
        ({}, {"labels": -3}, "labels = -3 is out of range; expected a number of labels above 0"),
        ({}, {"tried": {"arm0": float("nan")}}, "arm0 was tried with the score nan; expected a finite number"),
        ({}, {"tried": {"arm9": 0.5}}, "unknown arm 'arm9': did you mean 'arm3' or 'arm2' or 'arm1'?"),
        ({}, {"tried": {"arm0": 50.0}}, "arm0 was tried with the score 50, but accuracy is a share of at most"),
        ({}, {"columns": LabelColumns(task="tasks")}, "unknown column 'tasks': did you mean 'task'? known are accu"),
        ({"task": None}, {}, "3 rows have the arm arm0 on table"),
        ({"accuracy": np.inf}, {}, "column accuracy has no number in row 1; expected a score in every row"),
        ({"accuracy": "high"}, {}, "column accuracy holds 'high' in row 1; expected a score in every row"),
        ({"labels": "few"}, {}, "column labels holds 'few' in row 1; expected a number of labels, such as 1000"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    change: dict[str, Any], asked: dict[str, Any], message: str, tmp_path: Path
) -> None:
    frame = pd.read_csv(table(tmp_path / "scores.csv", two_kinds(3, 4)))
    frame = frame.drop(columns="task") if change == {"task": None} else frame.assign(**change)
    with pytest.raises(TransferscopeError, match=re.escape(message)) as caught:
        propose(asked.pop("task", "new"), frame, **asked)
    assert "\n" not in str(caught.value)


def test_tables_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    path, f1 = (table(tmp_path / f"{name}.csv", two_kinds(3, 4), name=name) for name in ("accuracy", "f1"))
    with pytest.raises(TransferscopeError, match="the tasks have several metrics, accuracy and f1"):
        propose("new", [path, f1])
    with pytest.raises(TransferscopeError, match=r"there is no table .*none\.csv"):
        propose("new", tmp_path / "none.csv")
    yields = pd.read_csv(path).rename(columns={"accuracy": "yield"})
    columns = (LabelColumns(score="yield", better="higher"), LabelColumns(score="yield", better="lower"))
    higher, lower = (table_rows(yields, one, origin="made up")[0] for one in columns)
    with pytest.raises(TransferscopeError, match="higher yield is better on task0, task1 and task2 and lower on task0"):
        _measure(pd.concat([higher, lower.assign(task=lower["task"] + " too")]))


def test_the_command_proposes(tmp_path: Path) -> None:
    path = table(tmp_path / "scores.csv", two_kinds())
    options = ["--task", "new", "--tried", "arm0=0.65", "--tried", "arm15=0.75"]
    result = CliRunner().invoke(app, ["propose", str(path), *options, "--out", str(tmp_path / "page.html")])
    assert result.exit_code == 0
    assert "From 16 arms on 12 other tasks." in result.output
    assert (tmp_path / "page.html").is_file()
    with pytest.raises(TransferscopeError, match="--tried arm0"):
        CliRunner().invoke(app, ["propose", str(path), "--task", "new", "--tried", "arm0"], catch_exceptions=False)


def test_cover_and_model_take_turns_after_five_runs() -> None:
    """The cover falls and the improvement rises with the place of an arm, so that the two lists are opposite."""
    falling = np.arange(8.0)[::-1]
    found = Prediction(np.zeros(8), np.ones(8), np.arange(8.0), falling)
    assert found.order == [0, 1, 2, 3, 4, 7, 5, 6]
    assert replace(found, n_tried=5).order[:4] == [7, 0, 6, 1]
    assert replace(found, n_tried=6).order[:3] == [0, 7, 1]


def test_a_leaderboard_has_a_column_for_each_task() -> None:
    board = pd.DataFrame({"model": ["a", "b", "c"], "arc": [0.5, 0.6, 0.7], "mmlu": [0.4, 0.5, 0.6]})
    for name in ("params", "average", "Average perf. on 2 datasets", "FLOPs (B)"):
        board[name] = [9, 0, 0]
    result = propose("new", board, tried={"a": 0.5}, columns=LabelColumns(wide="tasks"))
    assert (result.n_tasks, result.open[0].arm) == (2, "c")


def test_common_columns_of_a_harness_are_read() -> None:
    """Of two columns of seeds the one that varies, a measure by a word of its name, and shots that are no number."""
    rows = [
        (task, f"m{arm}", 0, fold, "full" if arm == 3 else 10, 0.5 + 0.1 * arm)
        for task in "ab"
        for arm in range(4)
        for fold in range(2)
    ]
    frame = pd.DataFrame(rows, columns=["task", "model", "seed", "fold", "shots", "lambada_acc"])
    with pytest.raises(DataError, match=r"shots holds 'full' in row 7; .*--where 'shots!=full' leaves rows out"):
        propose("new", frame, tried={"m0": 0.5})
    result = propose("new", frame, tried={"m0": 0.5}, columns=LabelColumns(where={"shots!": "full"}))
    assert (result.measure, [one.arm for one in result.open]) == ("accuracy", ["m2", "m1"])
    with pytest.raises(SettingsError, match="several metrics"):
        propose("new", frame.assign(piqa_acc=0.5), tried={"m0": 0.5}, columns=LabelColumns(where={"shots!": "full"}))
