"""Predicates of papers.md: what they say of made-up runs, and their numbers computed again from the CSVs."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from papers.pages import RESULTS, module_of, numbers, rows_of
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


def test_intervals_of_several_comparisons_hold_at_once() -> None:
    first, second = pd.Series([0.80, 0.84, 0.85]), pd.Series([0.70, 0.76, 0.72])
    found = MODULE.apart(first, second, among=4)
    differences = np.asarray([10.0, 8.0, 13.0])
    half = stats.t.ppf(1 - 0.05 / 8, 2) * differences.std(ddof=1) / math.sqrt(3)
    assert found.interval is not None
    assert (found.value, found.interval.low) == pytest.approx((differences.mean(), differences.mean() - half))


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


def test_table_1_of_merlin_by_hand() -> None:
    runs = raw("methods-fashion-mnist-usps.csv")
    arms = runs[runs["n_target"] == 600].pivot(index="seed", columns="method", values="accuracy")
    published = {"scratch": 91.07, "joint": 89.59, "fine-tune": 90.80, "l2-sp": 89.74, "merlin": 93.34}
    said = MODULE.merlin_table_1()
    for name, level in published.items():
        assert f"{name} {100 * arms[name].mean():.1f} ({level:.1f})" in said.ours
    lows = []
    for name in ("scratch", "joint", "fine-tune", "l2-sp"):
        apart = 100 * (arms["merlin"] - arms[name])
        lows.append(apart.mean() - stats.t.ppf(1 - 0.05 / 8, 4) * apart.std() / math.sqrt(5))
    assert said.word == ("order only" if min(lows) > 0 else "inconclusive")


def test_the_source_of_figure_9_gains_before_it_loses() -> None:
    runs = raw("why-overfitted.csv")
    accuracy = runs[(runs["part"] == "target_test") & (runs["name"] == "accuracy")]
    scratch = accuracy[accuracy["method"] == "scratch"].set_index("seed")["value"]
    tuned = accuracy[accuracy["method"] == "fine-tune"].pivot(index="seed", columns="pretrain_step", values="value")
    gains = tuned.sub(scratch, axis=0).mean()
    assert (gains < 0).all()  # why the row reads other runs


def test_the_rise_of_figure_9_is_sure_and_its_fall_is_not() -> None:
    runs = raw("why-long.csv")
    accuracy = runs[(runs["part"] == "target_test") & (runs["name"] == "accuracy")]
    scratch = accuracy[accuracy["method"] == "scratch"].set_index("seed")["value"]
    tuned = accuracy[accuracy["method"] == "fine-tune"].fillna({"pretrain_step": 6000})
    table = tuned.pivot(index="seed", columns="pretrain_step", values="value")
    gains, shown = 100 * table.sub(scratch, axis=0), rows_of("why.md", "How long to pretrain (Figure 9)")
    half = stats.t.ppf(1 - 0.05 / 12, 4) * gains.std() / math.sqrt(5)
    assert [numbers(cell)[0] for cell in shown["fine-tuning"]] == pytest.approx(100 * table.mean(), abs=0.051)
    for cell, mean, width in zip(shown["over scratch"], gains.mean(), half, strict=True):
        assert numbers(cell) == pytest.approx([mean, mean - width, mean + width], abs=0.051)
    lost = 100 * (table[1000.0] - table[6000.0])
    assert lost.mean() > 0 > lost.mean() - stats.t.ppf(0.975, 4) * lost.std() / math.sqrt(5)
    assert MODULE.liu_figure_9().word == "inconclusive"


def test_half_images_fail_the_acceptance_test_of_the_paper() -> None:
    runs = raw("halves-length.csv")
    joint = runs[(runs["method"] == "joint") & (runs["name"] == "accuracy")].groupby("part")["value"].mean()
    assert abs(joint["source_test/A"] - 0.46) > 0.3
    assert MODULE.merlin_figure_1().word == "not tested"


def test_heads_that_fit_have_the_papers_rank_correlation() -> None:
    runs = raw("imagenet-heads.csv").query("step != step")  # NaN: the end
    runs["target"] = runs["study"].str.removeprefix("imagenet-heads-")
    five = runs[runs["target"].isin(["cifar10", "svhn", "fashion-mnist", "usps", "mnist"])]
    by_part = {part: five[five["part"] == part] for part in ("target_test", "target_train")}
    assert (by_part["target_train"].query("name == 'accuracy'")["value"] == 1).all()
    error = 100 * (1 - by_part["target_test"].groupby("target")["value"].mean())
    moved = by_part["target_train"].query("name == 'weight_deviation'").groupby("target")["value"].mean()
    ranks = [sorted(one).index(value) for one in (list(error), list(moved)) for value in one]
    apart = sum((first - second) ** 2 for first, second in zip(ranks[:5], ranks[5:], strict=True))
    assert 1 - 6 * apart / (5 * 24) == pytest.approx(0.70)  # that of Table 1 of the paper, fixed
    shown = rows_of("imagenet-why.md", "Heads trained to convergence")
    assert [float(cell) for cell in shown["error %"]] == pytest.approx(sorted(error), abs=0.051)
    assert [float(cell) for cell in shown["deviation"]] == pytest.approx(moved[error.sort_values().index], abs=5.1e-4)
    assert "rank correlation of deviation and error over five targets .70" in MODULE.liu_table_1().ours


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
        mean, error = float(found.mean()), float(found.std()) / math.sqrt(len(found))
        ends = [math.exp(mean + side * stats.t.ppf(0.975, len(found) - 1) * error) for side in (0, -1, 1)]
        assert numbers(shown[row][0]) == pytest.approx(ends, abs=0.0051), row
    assert MODULE.liu_figure_4().word == MODULE.liu_figure_6().word == "not reproduced"


def test_what_the_source_adds_to_merlin_by_hand() -> None:
    runs = raw("merlin-labels-few.csv").query("part == 'target_test' and n_target == 50")
    arms = runs.pivot_table(index="seed", columns="method", values="value")
    added = 100 * (arms["merlin"] - arms["merlin-target-only"]).dropna()
    width = stats.t.ppf(0.975, len(added) - 1) * added.std() / math.sqrt(len(added))
    text = (RESULTS / "protocols.md").read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith("| merlin-labels | mnist | 10 | 50 |"))
    assert numbers(row)[:3] == pytest.approx([added.mean(), added.mean() - width, added.mean() + width], abs=0.051)


def test_the_map_of_sources_by_hand() -> None:
    runs = pd.read_csv(RESULTS / "runs" / "methods-cifar-classes.csv").query("n_target == 600")
    arms = runs.pivot(index="seed", columns="method", values="accuracy")
    expected = []
    for first, second in (("merlin", "merlin-target-only"), ("fine-tune", "scratch")):
        apart = 100 * (arms[first] - arms[second])
        width = stats.t.ppf(0.975, len(apart) - 1) * apart.std() / math.sqrt(len(apart))
        expected += [apart.mean(), apart.mean() - width, apart.mean() + width]
    lines = (RESULTS / "protocols.md").read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith("| methods-cifar-classes | first-five | 5 | 600 | searched |")]
    assert numbers(row) == pytest.approx(expected, abs=0.051)
    below = lines[lines.index("## When MeRLin gains from its source") :]
    rows = [numbers(line) for line in below if (line.count("|") == 8 and "+" in line) or ("−" in line and "|" in line)]
    rows = [row for row in rows if len(row) == 6]
    rank = stats.spearmanr([row[0] for row in rows], [row[3] for row in rows]).statistic
    (said,) = [line for line in below if "rank correlation" in line]
    assert float(said.partition("rank correlation ")[2].split()[0]) == pytest.approx(rank, abs=0.02)
    assert f"surely pays in {sum(row[1] > 0 for row in rows)} of {len(rows)} cases" in said
    assert f"surely harms in {sum(row[2] < 0 for row in rows)}." in said


def test_what_a_source_adds_under_recipes_is_that_of_the_page_of_competence() -> None:
    page = (RESULTS / "competence.md").read_text(encoding="utf-8").partition("with all its default arms")[2]
    arms = {}
    for name in ("MeRLin's objective without a source", "MeRLin-ft", "MeRLin", "fine-tuning", "scratch"):
        (line,) = [one for one in page.splitlines() if one.startswith(f"| {name} |")]
        arms[name] = pd.Series(numbers(line.partition("(")[2].partition(")")[0]))
    runs = raw("merlin-recipes.csv")
    names = ("merlin-target-only", "merlin-ft", "merlin", "fine-tune", "scratch")
    for (name, printed), method in zip(arms.items(), names, strict=True):
        own = runs[runs["method"] == method].sort_values("seed")["accuracy"]
        assert [100 * one for one in own] == pytest.approx(list(printed)), name
    expected = []
    for first, second in (("MeRLin", "MeRLin's objective without a source"), ("fine-tuning", "scratch")):
        apart = arms[first] - arms[second]
        width = stats.t.ppf(0.975, 2) * apart.std() / math.sqrt(3)
        expected += [apart.mean(), apart.mean() - width, apart.mean() + width]
    lines = (RESULTS / "protocols.md").read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith("| merlin-recipes | fashion-mnist | 10 | 100 | recipes |")]
    assert numbers(row) == pytest.approx(expected, abs=0.051)
    assert expected[1] < 0 < expected[2]
    (said,) = [line for line in lines if "By recipes with augmentation" in line]
    assert "pays in 1 of 3 cases" in said


@pytest.mark.parametrize("labels", [50, 100])
def test_what_a_near_source_adds_under_recipes(labels: int) -> None:
    runs = raw("merlin-recipes-mnist.csv")
    arms = runs[runs["n_target"] == labels].pivot(index="seed", columns="method", values="accuracy")
    apart = 100 * (arms["merlin"] - arms["merlin-target-only"])
    width = stats.t.ppf(0.975, 2) * apart.std() / math.sqrt(3)
    lines = (RESULTS / "protocols.md").read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith(f"| merlin-recipes-mnist | mnist | 10 | {labels} | recipes |")]
    assert numbers(row)[:3] == pytest.approx([apart.mean(), apart.mean() - width, apart.mean() + width], abs=0.051)
    assert (apart.mean() - width > 0) == (labels == 100)


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
    kept.to_csv(tmp_path / "why.csv", index=False)  # the name of one that is known to lack them
    monkeypatch.setitem(MODULE.runs_of.__globals__, "RUNS", tmp_path)
    for name, sentence in (
        ("unfitted.csv", "no accuracy on training labels"),
        ("columns.csv", "no column seed"),
        ("why.csv", "out of UNFITTED"),
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
