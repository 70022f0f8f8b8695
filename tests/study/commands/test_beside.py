"""Commands beside methods of transferscope: one study, judged in one measure on the same test examples."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score, r2_score

from study.commands.test_study import call
from transferscope import open_result
from transferscope.errors import TransferscopeError
from transferscope.store import Store
from transferscope.study.cell import MethodRecipe
from transferscope.study.fitting import task_of
from transferscope.study.frames import read_study
from transferscope.study.planners import read_study_file

N_TEST = 40
STUDY = """
name = "both"
seeds = 2
[target]
data = "npz:data.npz"
{target}
[sources.other]
data = "npz:data.npz"
[network]
name = "mlp"
[pretraining]
steps = 2
[training]
steps = 2
[methods.raw]
[methods.fine-tune]
[run]
command = "cp {{rows}} $(mktemp -p ran {{name}}-{{labels}}-{{seed}}.XXXX); cp {{name}}.csv {{out}}/p.csv"
shell = true
predictions = "p.csv"
{run}
[arms.scripts]
name = ["good", "poor"]
without_source = true
{arms}
[engine]
workers = 0
{engine}
"""


def written(folder: Path, *, numbers: bool = False, **changes: str) -> Path:
    """A study file with its data, whose first feature is the row, and predictions of 30 and of 10 in 40 right."""
    rng = np.random.default_rng(0)
    x = np.c_[np.arange(100.0) / 100, rng.normal(size=(100, 3))].astype(np.float32)
    y = rng.normal(size=100).astype(np.float32) if numbers else rng.permutation(np.arange(100) % 3)
    train, test = slice(60), slice(60, None)
    np.savez(folder / "data.npz", x_train=x[train], y_train=y[train], x_test=x[test], y_test=y[test])
    for name, n_right in (("good", 30), ("poor", 10)):
        right = np.arange(N_TEST) < n_right
        guess = np.where(right, y[test], y[test] + 0.5 if numbers else (y[test] + 1) % 3)
        pd.DataFrame({"prediction": guess, "label": y[test]}).to_csv(folder / f"{name}.csv", index=False)
    (folder / "ran").mkdir(exist_ok=True)
    parts = {key: changes.get(key, "") for key in ("target", "run", "arms", "engine")}
    (folder / "both.toml").write_text(STUDY.format(**parts))
    return folder / "both.toml"


def without_fine_tuning(study: Path) -> Path:
    """The study with one method, which trains nothing."""
    study.write_text(study.read_text().replace("[methods.fine-tune]\n", ""))
    return study


def scores(study: Path, column: str = "mean") -> Mapping[str, float]:
    table = open_result(study).table()
    return dict(zip(table["method"], table[column], strict=True))


@pytest.mark.long
def test_methods_and_commands_share_target_rows_measure_verdict_and_page(tmp_path: Path) -> None:
    study = written(tmp_path, target="labels = [20]\nmetric = 'balanced-accuracy'")
    assert call("run", study, "-q")[0] == 0, call("status", study)
    found = scores(study)
    assert sorted(found) == ["fine-tune", "raw", "scripts name=good", "scripts name=poor"]
    for name in ("good", "poor"):
        own = pd.read_csv(tmp_path / f"{name}.csv")
        assert found[f"scripts name={name}"] == pytest.approx(balanced_accuracy_score(own["label"], own["prediction"]))
    assert scores(study, "with_source") == {name: name == "fine-tune" for name in found}
    with Store.open(tmp_path / "runs/both.sqlite", create=False) as store:
        frames = read_study(store, "both")
        cells = [one.cell for one in store.cells("both") if one.cell.role == "method"]
    assert {len(one) for one in frames.predictions.values()} == {N_TEST}
    for cell in cells:  # a command learns from the rows that the methods of its seed learn from
        (file,) = tmp_path.glob(f"ran/good-20-{cell.labels['seed']}.*")
        rows = np.loadtxt(file) / 100
        learnt = task_of(cell, MethodRecipe.from_payload(cell.payload)).target.train.inputs[:, 0]
        np.testing.assert_allclose(rows, learnt, rtol=1e-6)
    assert open_result(study).summary.decided[20].covers == "seeds and test examples"
    assert call("report", study, "--out", tmp_path / "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text()
    assert "scripts name=good" in page
    assert call("rank", study)[0] == 0
    code, answer = call("export", study, "--out", tmp_path / "network")
    assert code != 0
    assert "scripts name=good" in answer
    assert call("export", study, "--method", "fine-tune", "--out", tmp_path / "network")[0] == 0


def test_numbers_are_judged_by_r2_and_only_what_is_missing_is_run(tmp_path: Path) -> None:
    study = without_fine_tuning(written(tmp_path, numbers=True))
    assert call("run", study, "-q")[0] == 0, call("status", study)
    table = open_result(study).table().set_index("method")
    for name in ("good", "poor"):
        own = pd.read_csv(tmp_path / f"{name}.csv")
        assert table["mean"][f"scripts name={name}"] == pytest.approx(
            r2_score(own["label"], own["prediction"]), rel=1e-5
        )
    n_ran = len(list(tmp_path.glob("ran/*")))
    assert n_ran == 4
    study.write_text(study.read_text().replace("seeds = 2", "seeds = 3"))
    assert "asks for" in call("status", study)[1]
    assert call("run", study, "-q")[0] == 0, call("status", study)
    assert len(list(tmp_path.glob("ran/*"))) == 6
    data = dict(np.load(tmp_path / "data.npz"))
    np.savez(tmp_path / "data.npz", **{**data, "x_train": data["x_train"] + 1})  # of another target: all are made again
    assert call("run", study, "-q")[0] == 0, call("status", study)
    assert len(list(tmp_path.glob("ran/*"))) == 12


@pytest.mark.long
def test_a_race_is_one_over_both(tmp_path: Path) -> None:
    """The good script is ahead of everything by far; the source is the target, so that nothing is said of transfer."""
    study = written(tmp_path, engine="[race]")
    study.write_text(study.read_text().replace("seeds = 2", "seeds = 8"))
    assert call("run", study, "-q")[0] == 0, call("status", study)
    table = open_result(study).table()
    assert open_result(study).verdict.outcomes == {60: "source is target"}
    assert table["n_seeds"].sum() < 8 * len(table)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{good}", []),
        ("prediction\n0", ["no column label"]),
        ("prediction,label\n0,0", ["1 rows", "expected 40"]),
        ("{reversed}", ["differ from those of the target's test examples"]),
        ("{other class}", ["'dog'", "line 4", "such as 0"]),
        ("", ["p.csv"]),
    ],
)
def test_predictions_of_other_examples_are_a_failure_in_a_sentence(tmp_path: Path, text: str, words: list[str]) -> None:
    study = without_fine_tuning(written(tmp_path, target="labels = [20]"))
    study.write_text(study.read_text().replace("seeds = 2", "seeds = 1"))
    good = (tmp_path / "good.csv").read_text()
    head, *rows = good.splitlines()
    known = {
        "{good}": good,
        "{reversed}": "\n".join([head, *rows[::-1]]),
        "{other class}": "\n".join([head, *rows[:2], f"dog,{rows[2].partition(',')[2]}", *rows[3:]]),
    }
    (tmp_path / "poor.csv").write_text(known.get(text, text))
    code, said = call("run", study, "-q")
    assert (code, "1 failed" in said) == ((1, True) if words else (0, False)), said
    said = call("status", study)[1]
    for word in words:
        assert word in said
    assert scores(study)["scripts name=good"] == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"run": 'score = "r.json:a"'}, ["[run] gives score", "[target]"]),
        ({"run": "labels = [20]"}, ["[run] gives labels"]),
        ({"run": 'better = "lower"'}, ["[run] gives better"]),
        ({'predictions = "p.csv"': ""}, ["names no predictions"]),
        ({"[methods.raw]": "", "[methods.fine-tune]": ""}, ["[target]", "add [methods.NAME]"]),
        ({"arms.scripts": "arms.raw", 'name = ["good", "poor"]': 'name = "good"'}, ["[arms.raw]", "another name"]),
        ({"{rows}": "x", "{labels}": "x", "[target]": "[target]\nlabels = [10, 20]"}, ["{labels}", "several"]),
    ],
)
def test_what_could_not_be_judged_alike_is_refused_before_anything_runs(
    tmp_path: Path, changes: dict[str, str], words: list[str]
) -> None:
    study = written(tmp_path, run=changes.get("run", ""))
    for before, after in changes.items():
        study.write_text(study.read_text().replace(before, after) if before != "run" else study.read_text())
    with pytest.raises(TransferscopeError) as refused:
        read_study_file(study)
    for word in words:
        assert word in str(refused.value)


def test_a_target_with_several_labels_of_each_example_is_refused(tmp_path: Path) -> None:
    study = written(tmp_path)
    data = dict(np.load(tmp_path / "data.npz"))
    either = ~np.eye(3, dtype=bool)
    data |= {key: either[data[key]] for key in ("y_train", "y_test")}
    np.savez(tmp_path / "data.npz", **data)
    code, said = call("run", study, "-q")
    assert code == 2
    assert "multi-label" in said
