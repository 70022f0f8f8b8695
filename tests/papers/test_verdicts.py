"""Predicates of papers.md: what they say of made-up runs, and their numbers computed again from the CSVs."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from papers.pages import RESULTS, ends, module_of, numbers, over_seeds, rows_of
from transferscope.errors import DataError
from transferscope.estimate import Estimate
from transferscope.numerics.intervals import t_interval

MODULE = module_of("studies/theory/verdicts.py")
UP, DOWN, WIDE = (t_interval(np.asarray(values)) for values in ([2.0, 2.1, 1.9], [-2.0, -2.1, -1.9], [3.0, -1.0, 0.5]))


@pytest.mark.parametrize(
    ("premise", "claimed", "numbers", "word"),
    [
        (True, [UP, True], True, "reproduced"),
        (True, [UP, True], False, "order only"),
        (True, [UP, WIDE], True, "inconclusive"),
        (True, [WIDE, DOWN], True, "not reproduced"),
        (True, [UP, False], True, "not reproduced"),
        (False, [UP, True], True, "not tested"),
    ],
)
def test_words(premise: bool, claimed: list[Estimate | bool], numbers: bool, word: str) -> None:
    found = MODULE.judge({"the premise": premise}, claimed, "seen", differs="network", numbers=numbers)
    assert found.word == word
    assert found.why == ("network" if premise else "not met: the premise")


@pytest.mark.parametrize(
    ("claims", "word"),
    [
        ([("paper, Figure 1", "holds"), ("paper", "holds")], "reproduced"),
        ([("paper, Figure 1", "holds"), ("paper", "does not hold")], "in part"),
        ([("paper, Figure 1", "holds"), ("paper", "undecided")], "in part"),
        ([("paper, Figure 1", "does not hold"), ("corrects paper, eq. 1", "holds")], "corrected"),
        ([("paper, Figure 1", "holds"), ("corrects paper, eq. 1", "does not hold")], "in part"),
        ([("paper, Figure 1", "does not hold")], "not reproduced"),
        ([("paper, Figure 1", "holds"), ("paper, premise of Figure 1", "does not hold")], "not reproduced"),
        ([("paper, Figure 1", "does not hold"), ("paper, premise of Figure 1", "holds")], "in part"),
    ],
)
def test_words_of_the_claims_of_a_figure(claims: list[tuple[str, str]], word: str) -> None:
    assert MODULE.word_of_claims(pd.DataFrame(claims, columns=["source", "verdict"])) == word


def test_what_is_corrected_has_an_erratum() -> None:
    found = MODULE.corrected("seen", formula="merlin2020 eq. 7, Alg. 2", why="wrong shape")
    assert (found.word, found.ours, found.why) == ("corrected", "seen", "wrong shape")
    assert MODULE.corrected("seen", formula="merlin2020 eq. 999", why="wrong shape").word == "not tested"


def raw(name: str) -> pd.DataFrame:
    return pd.read_csv(RESULTS / "runs" / name, comment="#")


def by_seed(name: str, columns: str, **chosen: object) -> pd.DataFrame:
    """Accuracies of runs, rows seeds."""
    runs = raw(name)
    if "accuracy" not in runs:
        runs = runs[runs["part"].eq("target_test") & runs["name"].eq("accuracy")].rename(columns={"value": "accuracy"})
    for column, value in chosen.items():
        runs = runs[runs[column] == value]
    table: pd.DataFrame = runs.fillna({"pretrain_step": math.inf}).pivot_table(
        index="seed", columns=columns, values="accuracy"
    )
    return table


def test_intervals_of_several_comparisons_hold_at_once() -> None:
    first, second = pd.Series([0.80, 0.84, 0.85]), pd.Series([0.70, 0.76, 0.72])
    found, half = (
        MODULE.apart(first, second, among=4),
        stats.t.ppf(1 - 0.05 / 8, 2) * np.std([10, 8, 13], ddof=1) / 3**0.5,
    )
    assert (found.value, found.interval.low) == pytest.approx((31 / 3, 31 / 3 - half))


def test_arms_whose_training_accuracy_was_not_kept_or_is_low_fit_nothing() -> None:
    full, low, none = pd.Series([1.0, 0.995]), pd.Series([1.0, 0.9]), pd.Series([], dtype=float)
    assert MODULE.fitted([full, full])
    assert not MODULE.fitted([full, low])
    assert not MODULE.fitted([full, none])


def test_what_study_files_say() -> None:
    assert MODULE.one_task("why-resnet", "cifar10")
    assert not MODULE.one_task("why-resnet", "brightness")  # the same images under other labels
    assert not MODULE.one_task("why", "mnist")
    assert not MODULE.one_rate("imagenet-why-usps")
    assert MODULE.one_rate("why-resnet")


def test_the_source_of_figure_9_gains_before_it_loses() -> None:
    tuned = by_seed("why-overfitted.csv", "pretrain_step", method="fine-tune")
    gains = tuned.sub(by_seed("why-overfitted.csv", "method")["scratch"], axis=0).mean()
    assert (gains < 0).all()  # why the row reads other runs


def test_the_rise_of_figure_9_on_its_page() -> None:
    scratch = by_seed("why-long.csv", "method")["scratch"]
    table = by_seed("why-long.csv", "pretrain_step", method="fine-tune")
    shown = rows_of("why.md", "How long to pretrain (Figure 9)")
    assert [numbers(cell)[0] for cell in shown["fine-tuning"]] == pytest.approx(100 * table.mean(), abs=0.051)
    for cell, arm in zip(shown["over scratch"], table, strict=True):
        assert numbers(cell) == pytest.approx(over_seeds(table[arm], scratch, among=6), abs=0.051)


def test_heads_that_fit_on_their_page() -> None:
    runs = raw("imagenet-heads.csv").query("step != step")  # NaN: the end
    runs["target"] = runs["study"].str.removeprefix("imagenet-heads-")
    five = runs[runs["target"].isin(["cifar10", "svhn", "fashion-mnist", "usps", "mnist"])]
    assert (five.query("part == 'target_train' and name == 'accuracy'")["value"] == 1).all()
    error = 100 * (1 - five[five["part"] == "target_test"].groupby("target")["value"].mean())
    moved = five[five["name"] == "weight_deviation"].groupby("target")["value"].mean()
    shown = rows_of("imagenet-why.md", "Heads trained to convergence")
    assert [float(cell) for cell in shown["error %"]] == pytest.approx(sorted(error), abs=0.051)
    assert [float(cell) for cell in shown["deviation"]] == pytest.approx(moved[error.sort_values().index], abs=5.1e-4)


def test_arms_at_one_rate_by_hand() -> None:
    runs = raw("why-equal.csv")
    shown = rows_of("why.md", "One learning rate, trained to convergence (Figures 3 to 6)")
    fitted = runs[(runs["part"] == "target_train") & (runs["name"] == "accuracy")]
    assert (fitted["value"] == 1).all()

    def logs(name: str, steps: pd.Series) -> pd.Series:
        own = runs[(runs["name"] == name) & steps]
        table = own.pivot_table(index=["seed", "step"], columns="method", values="value", dropna=False).map(math.log)
        found: pd.Series = (table["scratch"] - table["fine-tune"]).groupby("seed").mean()
        return found

    end, at = runs["step"].isna(), runs["step"] == 0
    runs["step"] = runs["step"].fillna(-1)
    varies = "loss_variation_fixed_step"
    for row, found in {
        "largest eigenvalue at the end (Figure 3)": logs("hessian_eigenvalue/1", end),
        "deviation of the weights (Figure 4)": logs("weight_deviation", end),
        "change of the loss along the gradient before the first step (Figure 6)": logs(varies, at),
        "the same over all steps": logs(varies, end | True),
    }.items():
        assert numbers(shown[row][0]) == pytest.approx([math.exp(one) for one in ends(found)], abs=0.0051), row
    assert MODULE.liu_figure_4().word == MODULE.liu_figure_6().word == "not reproduced"


PROTOCOLS = (RESULTS / "protocols.md").read_text(encoding="utf-8").splitlines()
ADDED = {
    ("merlin-labels | mnist | 10", 50): "merlin-labels-few.csv",
    ("methods-cifar-classes | first-five | 5", 600): "methods-cifar-classes.csv",
    ("merlin-recipes | fashion-mnist | 10", 100): "merlin-recipes.csv",
    ("merlin-recipes-mnist | mnist | 10", 50): "merlin-recipes-mnist.csv",
    ("merlin-recipes-mnist | mnist | 10", 100): "merlin-recipes-mnist.csv",
}
"""Rows of the map of sources, with their runs."""


@pytest.mark.parametrize(("row", "labels"), ADDED)
def test_what_a_source_adds_to_merlin_and_to_training_from_scratch(row: str, labels: int) -> None:
    arms = by_seed(ADDED[row, labels], "method", n_target=labels)
    (line,) = [one for one in PROTOCOLS if one.startswith(f"| {row} | {labels} |")]
    expected = [
        *over_seeds(arms["merlin"], arms["merlin-target-only"]),
        *over_seeds(arms["fine-tune"], arms["scratch"]),
    ]
    assert numbers(line) == pytest.approx(expected, abs=0.051)


def test_the_sentence_of_the_map_of_sources_is_that_of_its_rows() -> None:
    below = PROTOCOLS[PROTOCOLS.index("## When MeRLin gains from its source") :]
    rows = [numbers(line) for line in below if line.startswith("| ") and line.count("|") == 8][1:]
    both = [row for row in rows if len(row) == 6]
    (said,) = [line for line in below if "rank correlation" in line]
    rank = stats.spearmanr([row[0] for row in both], [row[3] for row in both]).statistic
    assert float(said.partition("rank correlation ")[2].split()[0]) == pytest.approx(rank, abs=0.02)
    assert f"surely pays in {sum(row[1] > 0 for row in rows)} of {len(rows)} cases" in said
    assert f"surely harms in {sum(row[2] < 0 for row in rows)}." in said
    recipes = [numbers(line)[1] > 0 for line in below if "| recipes |" in line]
    assert any(f"pays in {sum(recipes)} of {len(recipes)} cases" in line for line in below)


def test_runs_by_recipes_are_those_that_the_page_of_competence_prints() -> None:
    page = (RESULTS / "competence.md").read_text(encoding="utf-8").partition("with all its default arms")[2]
    arms = by_seed("merlin-recipes.csv", "method")
    for name, method in {
        "MeRLin's objective without a source": "merlin-target-only",
        "MeRLin-ft": "merlin-ft",
        "MeRLin": "merlin",
        "fine-tuning": "fine-tune",
        "scratch": "scratch",
    }.items():
        (line,) = [one for one in page.splitlines() if one.startswith(f"| {name} |")]
        assert numbers(line.partition("(")[2].partition(")")[0]) == pytest.approx(100 * arms[method]), name


def test_numbers_above_ten_keep_their_digits() -> None:
    assert [MODULE.share(value) for value in (20.23, 10.05, 0.5, -0.5, 1.0)] == [
        "20.23",
        "10.05",
        ".50",
        "−.50",
        "1.00",
    ]


def test_runs_without_training_accuracies_other_columns_or_none_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = raw("why-long.csv")
    kept[kept["part"] != "target_train"].to_csv(tmp_path / "unfitted.csv", index=False)
    kept.drop(columns="seed").to_csv(tmp_path / "columns.csv", index=False)
    monkeypatch.setitem(MODULE.runs_of.__globals__, "RUNS", tmp_path)
    for name, sentence in (
        ("unfitted.csv", "no accuracy on training labels"),
        ("columns.csv", "no column seed"),
        ("absent.csv", "not in docs/results/runs"),
    ):
        with pytest.raises(DataError, match=sentence) as caught:
            MODULE.runs_of(name)
        assert name in str(caught.value)


def test_a_page_whose_runs_are_missing_is_not_written_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = MODULE.runs_of.__globals__
    monkeypatch.setitem(names, "RUNS", tmp_path / "runs")
    with pytest.raises(SystemExit) as ended:
        names["write_page"]("papers.md", lambda: str(MODULE.liu_table_1()))
    assert ended.value.code == (
        "papers.md is not written: imagenet-heads.csv is not in docs/results/runs; run its study and write it with "
        "runs_csv.py"
    )
    assert not (tmp_path / "papers.md").exists()
    names["write_page"]("papers.md", lambda: "text")
    assert (tmp_path / "papers.md").read_text(encoding="utf-8") == "text"
