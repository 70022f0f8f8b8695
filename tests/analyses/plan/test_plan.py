"""Plans of labels from tables and studies: what is read, what is said, what is refused."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.called import output
from fabricate import Fabrication, fabricate
from made_up import made_up
from transferscope import plan
from transferscope.analyses.compare.study_page import build_report
from transferscope.analyses.plan import LabelColumns, PlanQuestion
from transferscope.analyses.plan.facts import make_plan
from transferscope.analyses.plan.measurements import table_measurements
from transferscope.analyses.plan.statements import statements
from transferscope.analyses.plan.study import plan_of_study
from transferscope.analyses.plan.tables import arms_table, plan_rows
from transferscope.errors import TransferscopeError
from transferscope.study.decisions import decisions

SIZES = np.array([25.0, 50.0, 100.0, 200.0, 400.0])


def rows(scratch: np.ndarray, transfer: np.ndarray, *, seeds: int = 3) -> pd.DataFrame:
    """Accuracies with a little noise that the arms share, and that is 0 in the mean over seeds."""
    noise = 0.02 * np.random.default_rng(0).standard_normal((seeds, len(SIZES)))
    noise -= noise.mean(axis=0)
    found = []
    for seed in range(seeds):
        shared = 1 + noise[seed]
        for arm, errors in (("scratch", scratch), ("fine-tune", transfer)):
            found += [(n, arm, seed, 1 - e) for n, e in zip(SIZES, errors * shared, strict=True)]
    return pd.DataFrame(found, columns=["labels", "arm", "seed", "accuracy"])


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """2 n^-0.5 and 0.5 n^-0.25 cross at 256 labels, and reach an error of 0.1 at 400 and at 625."""
    return rows(2 * SIZES**-0.5, 0.5 * SIZES**-0.25)


def test_a_table_is_answered_as_its_laws_say(table: pd.DataFrame) -> None:
    result = plan(table, PlanQuestion(target_score=0.9, cost_label=2.0, cost_run=10.0))
    scratch, lead = result.plan.scratch, result.plan.lead
    assert (scratch.name, lead.name) == ("scratch", "fine-tune")
    assert lead.correlation > 0.5
    assert lead.catch_up.low <= 256 <= lead.catch_up.high
    assert lead.catch_up.value == pytest.approx(256, rel=0.2)
    assert scratch.labels.low <= 400 <= scratch.labels.high
    assert lead.labels.low <= 625 <= lead.labels.high
    row = result.table().set_index("role").loc["scratch"]
    assert row["cost"] == pytest.approx(2 * row["labels"] + 10)
    assert row["cost_of_more"] == 210
    bought = 100 * (2 * 400**-0.5 - 2 * 500**-0.5)
    assert row["gain_low"] <= bought <= row["gain_high"]
    assert str(result.verdict).startswith("Training from scratch catches up with fine-tune at about ")
    assert "which cost 210 with a run," in str(result.verdict)


def test_arms_that_come_to_an_accuracy_of_one_are_told_apart_before_it() -> None:
    scores = {"scratch": [0.7, 0.9, 0.96, 1.0, 1.0], "probe": [0.9, 0.97, 1.0, 1.0, 1.0], "ft": [0.9, 1, 1, 1, 1]}
    frame = pd.DataFrame(
        [(n, arm, score) for arm, line in scores.items() for n, score in zip(SIZES, line, strict=True)],
        columns=["labels", "arm", "accuracy"],
    )
    result = plan(frame, PlanQuestion(target_score=0.99))
    table = result.table().set_index("arm")
    assert table["score"].tolist() == [100.0] * 3  # with 400 labels
    both_have_1 = [table.loc["scratch", "labels"], table.loc["ft", "catch_up"]]
    assert both_have_1 == pytest.approx([200, 200])
    assert table.loc["ft", "labels"] == pytest.approx(50)
    assert table["gain"].tolist() == [0.0] * 3
    assert [s.kind for s in statements(result.plan)].count("at zero") == 2
    assert not [note for note in result.plan.notes if "left out" in note]


@pytest.mark.parametrize(
    ("scratch", "transfer", "said"),
    [(3.0, 0.5, "does not catch up with fine-tune up to 3,200"), (1.0, 2.0, "as good as fine-tune already with 25")],
)
def test_never_and_already_are_said(scratch: float, transfer: float, said: str) -> None:
    result = plan(rows(scratch * SIZES**-0.4, transfer * SIZES**-0.4))
    assert said in result.verdict.headline
    assert re.search(r"\(probability (> )?99 %\)\.$", result.verdict.headline)
    assert json.loads(result.to_json())["rows"][1]["catch_up"] in ("inf", 0.0)


def test_what_is_only_likely_is_not_said_as_if_it_were_sure() -> None:
    result = plan(rows(3 * SIZES**-0.4, 2.4 * SIZES**-0.4).query("labels <= 100"))
    assert 0.5 < result.table()["p_beyond"].iloc[1] < 0.8
    assert "probably does not catch up with fine-tune up to 800" in result.verdict.headline


@pytest.mark.long
def test_percent_r_squared_and_errors_give_the_same_numbers(table: pd.DataFrame) -> None:
    def numbers(frame: pd.DataFrame, target: float) -> list[float]:
        found = plan(frame, PlanQuestion(target_score=target)).table()
        return [float(found[name].iloc[1]) for name in ("catch_up", "catch_up_low", "catch_up_high", "labels")]

    share = numbers(table, 0.9)
    accuracy = table["accuracy"]
    for name, values, target in (("accuracy", 100 * accuracy, 90), ("r2", accuracy, 0.9), ("error", 1 - accuracy, 0.1)):
        other = table.drop(columns="accuracy").assign(**{name: values})
        assert numbers(other, target) == pytest.approx(share, rel=1e-6)


@pytest.mark.parametrize(("name", "top", "unit"), [("accuracy", 1, 100), ("error", 0, 1), ("error", 0, 100)])
def test_guessing_among_classes_has_the_unit_of_the_table(table: pd.DataFrame, name: str, top: int, unit: int) -> None:
    def ends(frame: pd.DataFrame) -> list[float]:
        more = plan(frame, PlanQuestion(classes=10)).plan.lead.more
        return [more[0], more[1].low, more[1].high]

    other = table.drop(columns="accuracy").assign(**{name: unit * np.abs(table["accuracy"] - 1 + top)})
    assert ends(other) == pytest.approx(np.multiply(unit, ends(table)))


def test_what_is_no_share_of_errors_has_no_error_of_guessing(table: pd.DataFrame) -> None:
    loss = table.drop(columns="accuracy").assign(loss=2 - table["accuracy"])
    for frame in (loss, table.rename(columns={"accuracy": "r2"})):
        with pytest.raises(TransferscopeError, match="applies to error rates only"):
            plan(frame, PlanQuestion(classes=10))


def test_an_error_that_rises_with_labels_may_be_called_a_score(table: pd.DataFrame) -> None:
    rising = table.rename(columns={"accuracy": "error"})
    assert plan(rising, columns=LabelColumns(better="higher")).plan.measure.bounds[1] == 1


def test_r_squared_may_be_below_zero() -> None:
    frame = rows(4 * SIZES**-0.4, 2 * SIZES**-0.4).rename(columns={"accuracy": "r2"})
    assert frame["r2"].min() < 0
    assert plan(frame).plan.measure.unit == "R²"


def test_seeds_that_are_paired_say_more(table: pd.DataFrame) -> None:
    apart = table.copy()
    apart.loc[apart["arm"] == "fine-tune", "seed"] += 10
    paired, unpaired = (plan(frame).plan.lead.catch_up for frame in (table, apart))
    assert np.log(paired.high / paired.low) < np.log(unpaired.high / unpaired.low)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json"])
def test_files_are_read_alike(table: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"curves.{suffix}"
    text = table.to_json(orient="records") if suffix == "json" else None
    path.write_text(text or table.to_csv(index=False, sep="\t" if suffix == "tsv" else ","))
    assert plan(path).table()["catch_up"][1] == pytest.approx(plan(table).table()["catch_up"][1], rel=1e-6)


def test_arms_without_training_from_scratch_are_each_answered(table: pd.DataFrame) -> None:
    """Each arm as in the table with both, beside which nothing is said of where scratch catches up."""
    both = plan(table, PlanQuestion(target_score=0.9)).table().set_index("arm")
    named = plan(table.replace({"arm": {"scratch": "probe"}}), PlanQuestion(target_score=0.9))
    alone = plan(table[table["arm"] == "scratch"].drop(columns="arm"), PlanQuestion(target_score=0.9))
    for result, arms in ((named, {"probe": "scratch", "fine-tune": "fine-tune"}), (alone, {"this arm": "scratch"})):
        rows = result.table().set_index("arm")
        assert list(rows["role"]) == ["lead", "transfer"][: len(arms)]
        assert rows[["catch_up", "worth"]].isna().to_numpy().all()
        for arm, same in arms.items():
            asked = ["score", "labels", "labels_low", "labels_high", "gain"]
            found, wanted = rows.loc[[arm], asked], both.loc[[same], asked]
            assert found.to_numpy() == pytest.approx(wanted.to_numpy().astype(float), rel=1e-6)
        assert next(statements(result.plan)).kind == "best"
        assert "catches up" not in " ".join(column.title for column in result.shown_tables()[0].columns)
    assert named.plan.lead.name == "probe"  # 90 % at 400 labels, where fine-tuning has 88.8


def test_arms_that_are_not_followed_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transferscope.analyses.plan.facts.MOST_ARMS", 2)
    errors = {f"arm{place}": (1 + place / 10) * SIZES**-0.4 for place in range(5)}
    frame = pd.DataFrame(errors).assign(labels=SIZES).melt("labels", var_name="arm", value_name="error")
    found = plan(frame).plan
    assert ([arm.name for arm in found.arms], found.left_out) == (["arm0", "arm1"], 3)
    assert next(iter(statements(found))).facts["n"] == 5


@pytest.mark.parametrize("of", ["both", "scratch", "fine-tune"])
def test_no_law_is_drawn_through_two_sizes(table: pd.DataFrame, of: str) -> None:
    two = table[(table["labels"] >= 200) | (table["arm"] != of if of != "both" else False)]
    result = plan(two, PlanQuestion(target_score=0.9))
    kinds = [one.kind for one in statements(result.plan)]
    assert kinds[0] == "no law"
    rows = result.table().set_index("arm")
    drawn = {"both": [], "scratch": ["fine-tune"], "fine-tune": ["scratch"]}[of]
    assert rows.index[rows["gain"].notna()].tolist() == rows.index[rows["labels"].notna()].tolist() == drawn
    assert rows["catch_up"].isna().all()
    assert rows.loc["scratch", "score"] == pytest.approx(90, abs=0.1)  # as measured
    assert kinds.count("more") == kinds.count("score") == len(drawn)


def test_what_is_open_is_in_no_outlet(table: pd.DataFrame) -> None:
    """Of two equal arms anything is possible, from already to never."""
    result = plan(rows(0.5 * SIZES**-0.25, 0.5001 * SIZES**-0.25, seeds=1).drop(columns="seed"))
    count = result.plan.lead.catch_up
    assert (count.low, count.high, count.open) == (0, np.inf, True)
    assert next(statements(result.plan)).kind == "not known"
    assert np.isnan(result.table()["catch_up"].iloc[1])
    assert result.shown_tables()[0].rows[1][3].text == "not known"


def test_what_was_cut_off_is_in_no_outlet(table: pd.DataFrame) -> None:
    read = table_measurements(table, LabelColumns(), None)
    made = make_plan(read, PlanQuestion(), cut_off=(25,))
    assert next(statements(made)).kind == "unfinished"
    assert plan_rows(made)[["catch_up", "catch_up_low", "p_beyond", "worth"]].isna().to_numpy().all()
    assert {row[3].text for row in arms_table(made).rows} == {"–"}
    assert made.next_sizes == ()


def test_wide_and_long_tables_are_read_alike(table: pd.DataFrame) -> None:
    mean = table.groupby(["arm", "labels"])["accuracy"].mean().reset_index()
    by_arm = mean.pivot(index="labels", columns="arm", values="accuracy").reset_index()
    by_size = mean.assign(labels=mean["labels"].astype(int).astype(str)).pivot(
        index="arm", columns="labels", values="accuracy"
    )
    long = plan(mean).table()
    for wide in (by_arm, by_size.reset_index()):
        pd.testing.assert_frame_equal(plan(wide, columns=LabelColumns(score="accuracy")).table(), long)
    other = by_arm.rename(columns={"scratch": "probe"})
    assert set(plan(other, columns=LabelColumns(score="accuracy", wide=True)).table()["arm"]) == {"probe", "fine-tune"}
    with pytest.raises(TransferscopeError, match=r"scores.* among labels, fine-tune and probe"):
        plan(other)


def of_two(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """The table of a and of b, which has better scores on other seeds."""
    other = {"seed": table["seed"] + 3, "accuracy": 0.4 + 0.6 * table["accuracy"]}
    return pd.concat([table.assign(**{name: "a"}), table.assign(**{name: "b"}, **other)])


def in_percent(table: pd.DataFrame, rows: "pd.Series[bool]") -> pd.DataFrame:
    return table.assign(accuracy=table["accuracy"].where(~rows, 100 * table["accuracy"]))


BROKEN: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], str]] = {
    "two called scratch": (
        lambda t: pd.concat([t, t.replace({"arm": {"fine-tune": "Random init"}})]),
        "scratch and Random init could each be training from scratch; choose one with --without",
    ),
    "one size": (lambda t: t[t["labels"] == 50], "no arm has two usable numbers of labels"),
    "no seed": (lambda t: t.drop(columns="seed"), "3 rows have arm = scratch, labels = 25.0, and no column"),
    "two tasks": (lambda t: pd.concat([t, t]), "2 rows have arm = scratch, labels = 25.0, seed = 0; keep one task"),
    "two measures": (lambda t: t.assign(metric=["acc"] * 15 + ["f1"] * 15), "column metric holds acc and f1"),
    "two columns": (
        lambda t: t.assign(f1=t["accuracy"]),
        "(accuracy and f1); choose one with --columns score=accuracy",
    ),
    "mixed units": (
        lambda t: in_percent(t, t["arm"] == "fine-tune"),
        "column accuracy mixes units: at most 1 for scratch, above 1 for fine-tune",
    ),
    "mixed inside": (
        lambda t: in_percent(t, t["labels"] > 150),
        "column accuracy mixes units: 18 values are at most 1 (up to 0.8485) and 12 above 1 (from 85.75)",
    ),
    "task, no seed": (
        lambda t: of_two("task", t).query("seed in (0, 3)").drop(columns="seed"),
        "the rows have 2 tasks (column task: a and b), but a plan is for one; add --where",
    ),
    "tasks with their seeds": (
        lambda t: of_two("group", t),
        "6 rows at arm = scratch, labels = 25 differ in group (a and b), so that they may be of several arms or tasks",
    ),
    "no labels": (lambda t: t.rename(columns={"labels": "when"}), "no column of numbers of labels among when, arm, "),
    "text": (lambda t: t.assign(accuracy=["high", *t["accuracy"][1:]]), "column accuracy holds 'high' in row 1"),
    "no arm": (lambda t: t.assign(arm=np.nan), "column arm is empty in every row"),
    "an error that rises": (lambda t: t.rename(columns={"accuracy": "error"}), "column error rises with the sizes"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_what_cannot_be_used_is_one_sentence(table: pd.DataFrame, how: str) -> None:
    change, said = BROKEN[how]
    with pytest.raises(TransferscopeError, match=re.escape(said)) as caught:
        plan(change(table))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--target-score", "85"), "the target 85 of accuracy is out of range; .*; if 85 % is meant, give"),
        (("--target-score", "1.4"), "the target 1.4 of accuracy is out of range; expected a number between 0 and 1"),
        (("--without", "probe"), "unknown arm 'probe': known are fine-tune, scratch"),
    ],
)
def test_options_out_of_range_are_one_sentence(
    table: pd.DataFrame, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    path = tmp_path / "curves.csv"
    table.to_csv(path, index=False)
    with pytest.raises(TransferscopeError, match=said):
        output("plan", path, *options)


@pytest.mark.parametrize(
    ("measure", "target", "meant"), [("accuracy", 0.85, "85"), ("error", 0.15, "15"), ("error", 0.005, None)]
)
def test_a_target_in_the_other_unit_is_refused(
    table: pd.DataFrame, measure: str, target: float, meant: str | None
) -> None:
    percent = 100 * (table["accuracy"] if measure == "accuracy" else 1 - table["accuracy"])
    frame = table.drop(columns="accuracy").assign(**{measure: percent})
    question = PlanQuestion(target_score=target)
    if meant is None:  # 0.5 % is far below every error as well
        assert plan(frame, question).plan.target_error == target
        return
    with pytest.raises(TransferscopeError, match=f"if {meant} % is meant, give --target-score {meant}"):
        plan(frame, question)


def test_rows_that_cannot_be_used_are_said(table: pd.DataFrame) -> None:
    frame = table.copy()
    frame.loc[0, "accuracy"], frame.loc[1, "labels"], frame.loc[2, "arm"] = np.nan, np.nan, None
    notes = plan(frame).plan.notes
    assert "left out 1 row without any arm" in notes
    assert any(note.startswith("scratch: left out 2 rows with a size or error that is missing") for note in notes)


def test_the_command_prints_and_writes(table: pd.DataFrame, tmp_path: Path) -> None:
    table.to_csv(tmp_path / "curves.csv", index=False)
    said = output("plan", tmp_path / "curves.csv", "--target-score", "0.9", "--out", tmp_path / "page.html")
    assert "A score of 90.0 % takes " in said
    assert (tmp_path / "page.html").read_text().count("<figure id=") == 1


def test_a_named_column_wins() -> None:
    frame = rows(2 * SIZES**-0.5, 0.5 * SIZES**-0.25).rename(columns={"labels": "k", "arm": "who", "seed": "s"})
    columns = LabelColumns(labels="k", arm="who", seed="s", scratch="fine-tune")
    assert plan(frame, columns=columns).plan.arms[0].name == "fine-tune"


def test_a_study_with_several_sizes_has_a_plan_on_its_page(tmp_path: Path) -> None:
    made = Fabrication(gains={"fashion": {"fine-tune": 0.08}}, n_seeds=3, n_test=300)
    with fabricate(tmp_path / "made.sqlite", made) as store:
        result = plan(tmp_path / "made.sqlite")
        assert result.plan.arms[0].name == "training from scratch"
        page = build_report(store, made.name, tmp_path / "page.html").html.read_text(encoding="utf-8")
    assert "A plan of labels" in page
    assert "With 3 numbers of labels, the intervals mostly reflect assumptions" in page


def test_a_study_with_one_size_is_told_how_to_get_more(tmp_path: Path, small: Fabrication) -> None:
    fabricate(tmp_path / "made.sqlite", small).close()
    with pytest.raises(TransferscopeError, match=r"only 600 labels, .* give labels = \[600, 1200, 2400\]"):
        plan(tmp_path / "made.sqlite")


@pytest.mark.parametrize("gain", [0.0, 0.1])
def test_of_a_study_only_what_is_significant_is_caught_up_with(gain: float) -> None:
    """Of three ways, alike but for noise, the most extreme is ahead by luck at every number of labels."""
    rng = np.random.default_rng(1)
    scores = {}
    for n in (25, 50, 100, 200):
        level, noise = 0.9 - 2.0 / n, 0.02 * rng.standard_normal((4, 4))
        for at, arm in enumerate([("scratch", ""), *((way, "mnist") for way in ("fine-tune", "l2-sp", "lora"))]):
            scores[arm, n] = level + noise[at] + (gain if arm[0] == "lora" else 0.0)
    frames = made_up(scores)
    helping = {name for decision in decisions(frames).values() for name in decision.helping}
    made = plan_of_study(frames, PlanQuestion())
    kinds = {one.kind for one in statements(made)}
    assert helping == ({"lora from mnist"} if gain else set())
    assert [arm.catch_up is not None for arm in made.others] == ([True, False, False] if gain else [False] * 3)
    assert ("not better" in kinds) == (not gain)
    assert bool(kinds & {"already", "never", "catches up", "worth"}) == bool(gain)
