"""A history of finished runs: what is kept, what is proposed, against matrices whose answer is known."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from typer.testing import CliRunner

from fabricate import Fabrication, fabricate
from transferscope.analyses.history import History, add_to_history, propose
from transferscope.analyses.history.proposals import predict, standardised
from transferscope.analyses.history.question import gains_over
from transferscope.analyses.history.records import COLUMNS, SHIPPED, groups_of, shipped_rows, study_rows
from transferscope.analyses.plan import LabelColumns
from transferscope.cli.main import app
from transferscope.errors import DataError, TransferscopeError
from transferscope.study.frames import read_study
from transferscope.study.named_measure import NamedMeasure


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    monkeypatch.setenv("TRANSFERSCOPE_HISTORY", str(tmp_path / "kept" / "history.csv"))
    return History.of_user()


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
    """A good arm of the first half and a bad one of the second mean a task of the first kind."""
    found = predict(two_kinds(), {0: 0.75, 15: 0.65})
    others = np.arange(1, 15)
    assert found.mean[1:8].min() > found.mean[8:15].max()
    assert (found.sd[others] > 0).all()
    assert found.mean[[0, 15]].tolist() == [0.75, 0.65]
    assert found.sd[[0, 15]].tolist() == [0, 0]
    assert set(found.order[:7]) == set(range(1, 8))


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


def test_scores_are_kept_listed_and_replaced(history: History, tmp_path: Path) -> None:
    path = table(tmp_path / "scores.csv", two_kinds(4, 6))
    assert add_to_history(path, task_column="task") == (24, 24)
    assert add_to_history(path, task_column="task") == (24, 0)
    kept = history.read()
    assert len(kept) == 24
    assert set(kept["better"]) == {"higher"}
    printed = CliRunner().invoke(app, ["history", "list"]).output
    assert "task0  6     6       accuracy" in printed


def test_percent_and_shares_are_kept_in_one_unit(history: History, tmp_path: Path) -> None:
    add_to_history(table(tmp_path / "percent.csv", 100 * two_kinds(2, 3)), task_column="task")
    assert history.read()["score"].max() < 1


def test_a_study_is_kept_by_its_target(history: History, tmp_path: Path, small: Fabrication) -> None:
    fabricate(tmp_path / "made.sqlite", small).close()
    read, new = add_to_history(tmp_path / "made.sqlite")
    assert read == new == 3
    kept = history.read().set_index("arm")
    assert set(kept.index) == {"training from scratch", "fine-tuning from fashion", "joint training from fashion"}
    scores = kept["score"].to_dict()
    assert scores["fine-tuning from fashion"] > scores["training from scratch"]
    assert kept["labels"].unique().tolist() == [600]


def test_a_study_keeps_the_direction_of_its_measure(tmp_path: Path, small: Fabrication) -> None:
    with fabricate(tmp_path / "made.sqlite", small) as store:
        frames = read_study(store, store.studies()[0].name)
    for higher in (True, False):
        measure = NamedMeasure.of("accuracy", name="saved", unit="EUR", higher=higher)
        facts = {**frames.study.facts, "measure": measure.as_json()}
        rows = study_rows(replace(frames, study=replace(frames.study, facts=facts)))
        assert set(zip(rows["measure"], rows["better"], strict=True)) == {("saved", "higher" if higher else "lower")}


def test_a_measure_of_two_directions_is_refused(history: History, tmp_path: Path) -> None:
    for better in ("higher", "lower"):
        path = tmp_path / f"{better}.csv"
        table(path, two_kinds(1, 4), name="yield")
        add_to_history(path, columns=LabelColumns(score="yield", better=better), task=better)
    with pytest.raises(DataError, match="more is better on higher and less on lower"):
        propose("new", probes={"arm0": 0.5}, shipped=False)


def test_a_proposal_follows_what_was_tried(history: History, tmp_path: Path) -> None:
    add_to_history(table(tmp_path / "scores.csv", two_kinds()), task_column="task")
    untried = propose("new")
    assert untried.best is None
    result = propose("new", probes={"arm0": 0.65, "arm15": 0.75})
    assert result.best is not None
    assert result.best.arm == "arm15"
    assert {one.arm for one in result.open[:5]} <= {f"arm{a}" for a in range(8, 16)}
    page = result.report(tmp_path / "page.html").html.read_text(encoding="utf-8")
    assert f"Try {result.open[0].arm} next on new" in page


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


def test_a_first_user_is_told_what_to_give_and_gets_a_proposal(history: History) -> None:
    with pytest.raises(DataError, match=r"nothing was tried on birds, .* give a first score with --tried ARM=SCORE"):
        propose("birds")
    with pytest.raises(DataError, match=r"no arm of your own is left to try on birds, .* --every-arm"):
        propose("birds", probes={"ViT-B-32 openai": 0.8})
    result = propose("birds", probes={"ViT-B-32 openai": 0.8}, every_arm=True)
    assert {one.arm.split("-")[0] for one in result.proposals} == {"ViT"}  # nothing of language models
    assert propose("birds", origin="recorded races").n_tasks == 4
    with pytest.raises(DataError, match=r"knows 0 other task"):
        propose("birds", shipped=False)


def test_own_runs_come_before_what_is_shipped(history: History, tmp_path: Path) -> None:
    add_to_history(table(tmp_path / "scores.csv", two_kinds()), task_column="task")
    assert {one.arm for one in propose("new").proposals} == {f"arm{a}" for a in range(16)}
    printed = CliRunner().invoke(app, ["history", "list"]).output
    assert "recorded races" in printed
    assert "recorded races" not in CliRunner().invoke(app, ["history", "list", "--own"]).output


SHIPPED_TASKS = shipped_rows()[["origin", "task"]].drop_duplicates("origin").to_numpy().tolist()


@pytest.mark.parametrize("shared", [False, True], ids=["arms of its own", "an arm in common"])
@pytest.mark.parametrize("of", ["own task", "new task"])
def test_a_name_joins_no_tables_and_arms_of_others_are_not_proposed(
    history: History, tmp_path: Path, of: str, shared: bool
) -> None:
    """One of the user's own tasks, or the new one, is called like one that comes with the package, of each origin."""
    for origin, name in SHIPPED_TASKS:
        rows = shipped_rows()[shipped_rows()["origin"] == origin]
        lower = (rows["better"] == "lower").any()
        arms = ["mine-1", "mine-2", "mine-3", str(rows["arm"].iloc[0]) if shared else "mine-4"]
        tasks = [name if of == "own task" else "mine", "other", "third"]
        scores = 0.3 + 0.1 * np.arange(4) + 0.05 * np.arange(3)[:, None]
        history.path.unlink(missing_ok=True)
        own = [(t, a, scores[i, j]) for i, t in enumerate(tasks) for j, a in enumerate(arms)]
        frame = pd.DataFrame(own, columns=["task", "arm", "score"]).assign(labels=np.nan, origin="mine")
        better, measure = ("lower" if lower else "higher"), str(rows["measure"].iloc[0])
        history.add(frame.assign(better=better, measure=measure)[list(COLUMNS)])
        result = propose(name if of == "new task" else "new", probes={"mine-1": 0.35})
        assert {one.arm for one in result.proposals} == set(arms)
        assert {one.arm for one in result.proposals if one.tried} == {"mine-1"}
        known_elsewhere = shipped_rows().query("arm == @arms[3]")["task"].nunique()
        assert result.n_tasks >= 3 + bool(known_elsewhere) if shared else result.n_tasks == 3
        if shared:
            every = propose("new", probes={"mine-1": 0.35}, every_arm=True)
            assert set(arms) < {one.arm for one in every.proposals}


def test_gains_are_of_the_same_task_source_and_labels(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: eleven tasks on which fine-tuning gains 0 to 10 points over the probe, and 20 over the raw inputs."""
    rows = [
        (f"task {i}", arm, 50.0, score)
        for i in range(11)
        for arm, score in (
            ("linear probe from near", 0.7),
            ("fine-tuning from near", 0.7 + i / 100),
            ("linear probe from far", 0.1),
            ("ridge or logistic regression on the raw inputs", 0.5 + i / 100),
        )
    ]
    frame = pd.DataFrame(rows, columns=["task", "arm", "labels", "score"])
    frame = frame.assign(measure="accuracy", better="higher", origin="own")
    monkeypatch.setattr("transferscope.analyses.history.records.shipped_rows", lambda: frame)
    assert gains_over("fine-tune", "linear-probe", history=history) == pytest.approx((11, 1.0, 9.0))
    assert gains_over("fine-tune", "raw", history=history) == pytest.approx((11, 20.0, 20.0))
    assert gains_over("fine-tune", "linear-probe", source="far", history=history) is None
    assert gains_over("merlin", "linear-probe", history=history) is None
    assert gains_over("fine-tune", "linear-probe", history=history, shipped=False) is None


def test_losses_are_proposed_downwards(history: History, tmp_path: Path) -> None:
    add_to_history(table(tmp_path / "losses.csv", 1 - two_kinds(), name="loss"), task_column="task")
    result = propose("new", probes={"arm0": 0.35, "arm15": 0.25})
    assert result.best is not None
    assert result.best.arm == "arm15"
    assert {one.arm for one in result.open[:5]} <= {f"arm{a}" for a in range(8, 16)}


def test_what_cannot_be_used_is_one_sentence(history: History, tmp_path: Path) -> None:
    path = table(tmp_path / "scores.csv", two_kinds(3, 4))
    origins = sorted(set(shipped_rows()["origin"]))
    said = []
    for ask in (
        lambda: propose("new", shipped=False),
        lambda: propose("new", origin="recorded race"),
        lambda: propose(" "),
        lambda: propose("new", labels=-3),
        lambda: propose("new", probes={"arm0": float("nan")}),
        lambda: add_to_history(path, task_column="tasks"),
        lambda: add_to_history(path),
        lambda: add_to_history(path, task="a", task_column="task"),
        lambda: (add_to_history(path, task_column="task"), propose("new", probes={"arm9": 0.5})),
        lambda: propose("new", probes={"arm0": 50.0}),
        lambda: add_to_history(table(tmp_path / "f1.csv", two_kinds(1, 4), name="f1"), task_column="task"),
        lambda: (history.path.write_text("a,b\n1,2\n"), history.read()),
    ):
        with pytest.raises(TransferscopeError) as caught:
            ask()
        said.append(str(caught.value))
    assert said == [
        "the history knows 0 other task(s) with two or more arms, and a proposal takes 2; keep more with "
        "`transferscope history add STUDY|TABLE`",
        f"unknown origin 'recorded race': did you mean 'recorded races'? known are {', '.join(origins)}",
        "the new task has no name; give the name of a data set, or any other",
        "labels = -3 is out of range; expected a number of labels above 0",
        "arm0 was tried with the score nan; expected a finite number",
        "unknown column 'tasks': did you mean 'task'? known are accuracy, arm, task",
        "several rows hold the arm arm0 on scores and no column says which run they are; name it with --seed-column, "
        "or the column of tasks with --task-column",
        "both --task and --task-column were given; a table is about one task, or has a column of them",
        "unknown arm 'arm9': did you mean 'arm3' or 'arm2' or 'arm1'? known are arm0, arm1, arm2, arm3",
        "arm0 was tried with the score 50, and accuracy is kept as a share of at most 1; a score in percent is written "
        "as 0.5",
        "the task task0 is measured by accuracy and f1; keep one measure, or give it another name with --task",
        f"{history.path} is no history of finished runs: its columns are a and b; move it away",
    ]
