"""What docs/results/competence.md says, held to the runs behind it, and the script that makes them."""

import argparse
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_ind, ttest_rel

from papers.pages import RESULTS, module_of
from transferscope.analyses.compare.settings import SEARCHED
from transferscope.data.task import Dataset, LabelledSet


@pytest.fixture
def script() -> ModuleType:
    return module_of("benchmarks/competence.py")


def test_the_table_of_the_page_is_that_of_the_runs(script: ModuleType) -> None:
    lines = script.table(RESULTS / "runs" / "competence.csv").splitlines()
    page = (RESULTS / "competence.md").read_text(encoding="utf-8")
    assert len(lines) > 10
    assert [line for line in lines if line not in page] == []
    assert script.means(RESULTS / "runs" / "competence.csv") in page


def test_what_the_page_of_a_comparison_says_of_a_search_is_that_of_the_runs(script: ModuleType) -> None:
    gain, low, high, n, times = SEARCHED
    assert script.search(RESULTS / "runs" / "competence.csv") == pytest.approx(SEARCHED, abs=0.05)
    said = f"{gain:+.1f} points ({low:+.1f} to {high:+.1f}) on {n} tasks, {times:.1f} times the seconds"
    assert said.replace("-", "−") in (RESULTS / "competence.md").read_text(encoding="utf-8")


def test_a_search_is_judged_over_tasks(script: ModuleType, tmp_path: Path) -> None:
    """Two pairs of a task are one; the interval is that of the tasks' gains."""
    cells = [("usps", "scratch", [0.5, 0.6], [0.52, 0.66]), ("usps", "fine-tune", [0.7], [0.68])]
    cells += [("svhn", "scratch", [0.3], [0.35]), ("banking", "last-block", [0.9], [0.9])]
    rows = [
        f"{task},{arm},100,{i},{score},{seconds}"
        for task, name, ours, theirs in cells
        for arm, scores, seconds in ((f"ours: {name}", ours, 2.0), (f"{name}, searched", theirs, 8.0))
        for i, score in enumerate(scores)
    ]
    rows = [row.replace(arm, f'"{arm}"') for row in rows for arm in [row.rpartition(",100,")[0].partition(",")[2]]]
    (tmp_path / "runs.csv").write_text("\n".join([",".join(script.COLUMNS), *rows]) + "\n")
    gain, low, high, n, times = script.search(tmp_path / "runs.csv")
    ends = ttest_1samp([1.0, 5.0, 0.0], 0).confidence_interval(0.95)
    assert (gain, low, high, n, times) == pytest.approx((2.0, ends.low, ends.high, 3, 4.0))


def test_pairs_are_compared_on_the_seeds_that_both_have(script: ModuleType, tmp_path: Path) -> None:
    ours, theirs = [0.5, 0.62, 0.7, 0.1], [0.4, 0.6, 0.61]
    rows = [f"usps,ours: raw,100,{i},{one},2.0" for i, one in enumerate(ours)]
    rows += [f"usps,{script.PAIRS['pixels'].called},100,{i},{one},4.0" for i, one in enumerate(theirs)]
    (tmp_path / "runs.csv").write_text("\n".join([",".join(script.COLUMNS), *rows]) + "\n")
    ends = ttest_rel(100 * np.array(ours[:3]), 100 * np.array(theirs)).confidence_interval(0.95)
    cells = [cell.strip() for cell in script.table(tmp_path / "runs.csv").splitlines()[2].split("|")[1:-1]]
    assert cells[:3] == ["usps", "100", "3"]
    assert [float(cells[i]) for i in (4, 5, 7, 8)] == pytest.approx([60.7, 2.0, 53.7, 4.0])
    assert cells[9] == f"+7.0 ({ends.low:+.1f} to {ends.high:+.1f})".replace("-", "−")


def test_the_mean_over_tasks_has_the_interval_of_welch(script: ModuleType, tmp_path: Path) -> None:
    """Two rows are two groups, one taken as its negative: half of the interval of their difference."""
    ours = {20: [0.5, 0.62, 0.7], 100: [0.8, 0.85, 0.81, 0.9]}
    theirs = {20: [0.4, 0.6, 0.61], 100: [0.79, 0.9, 0.75, 0.8]}
    sides = {"ours: raw": ours, script.PAIRS["pixels"].called: theirs}
    rows = [
        f"usps,{arm},{n},{i},{one},2.0"
        for arm, scores in sides.items()
        for n, of_seeds in scores.items()
        for i, one in enumerate(of_seeds)
    ]
    rows += ["svhn,ours: raw,20,0,0.5,2.0", f"svhn,{script.PAIRS['pixels'].called},20,0,0.1,2.0"]  # one seed: left out
    (tmp_path / "runs.csv").write_text("\n".join([",".join(script.COLUMNS), *rows]) + "\n")
    first, second = (100 * (np.array(ours[n]) - np.array(theirs[n])) for n in (20, 100))
    ends = ttest_ind(first, -second, equal_var=False).confidence_interval(0.95)
    said = f"{(first.mean() + second.mean()) / 2:+.1f} ({ends.low / 2:+.1f} to {ends.high / 2:+.1f})"
    assert said.replace("-", "−") in script.means(tmp_path / "runs.csv").splitlines()[2]


def test_runs_that_are_there_are_not_made_again(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, seen = np.random.default_rng(0), []
    part = LabelledSet(draw.normal(size=(40, 3)).astype(np.float32), np.arange(40) % 4, tuple("abcd"))
    monkeypatch.setattr(script, "task_of", lambda name, model: script.Task(name, Dataset(name, part, part)))

    def reference(given: Any) -> float:
        seen.append((given.seed, given.y.tolist()))
        return float(script.score(given.task, np.zeros(40)))

    pairs = {"one": script.Pair("raw", "zeros", reference, ("usps",))}
    monkeypatch.setattr(script, "PAIRS", pairs)
    asked = {"tasks": ["usps", "svhn"], "pairs": ["one"], "labels": [8, 80], "seeds": 2, "model": ""}
    for _ in range(2):
        script.run(tmp_path / "runs.csv", argparse.Namespace(**asked))
    runs = script.read(tmp_path / "runs.csv")
    assert [seed for seed, _ in seen] == [0, 1]
    assert all(sorted(labels) == [0, 0, 1, 1, 2, 2, 3, 3] for _, labels in seen)
    assert runs[["task", "arm", "labels", "seed"]].to_numpy().tolist() == [
        ["usps", arm, 8, seed] for seed in (0, 1) for arm in ("ours: raw", "zeros")
    ]
    assert set(runs.loc[runs["arm"] == "zeros", "score"]) == {0.25}
