"""A table of runs is decided as the same numbers are that are given to `decide` by hand, however it is written."""

import io
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analyses.results.simulated import CONTROLS, WAYS, drawn, scores, table
from pages import held_tables
from transferscope.analyses.columns import measured_rows
from transferscope.analyses.compare import ResultsComparison, compare_results
from transferscope.analyses.compare.tasks import compare_tasks
from transferscope.analyses.results.frames import frames_of
from transferscope.analyses.results.runs import read_runs
from transferscope.decision import ArmFacts, Decision, decide, example_variance
from transferscope.errors import DataError, MissingDataError, SettingsError, TransferscopeError, UnknownNameError
from transferscope.estimate import Estimate
from transferscope.records import Cost, Record
from transferscope.settings.questions import RunColumns
from transferscope.store import Outcome, PlannedCell, Store, StudyRow
from transferscope.study.decisions import decisions
from transferscope.study.frames import read_study
from transferscope.study.measure import Measure

PERCENT = (-math.inf, math.inf)


def same(found: Decision, expected: Decision) -> bool:
    """Whether two decisions are one but for rounding, and chances but for their draws, which follow the order."""
    arms = ("recommended", "helping", "harmful", "best_transfer_arm", "best_baseline", "missing")
    if any(getattr(found, name) != getattr(expected, name) for name in ("outcome", "why", "covers", *arms)):
        return False
    chances = [(found.chance, expected.chance)]
    pairs = []
    for one, other in zip(found.arms, expected.arms, strict=True):
        chances.append((one.chance, other.chance))
        pairs.append((one.mean, other.mean))
        if one.gain is not None and other.gain is not None:
            pairs += [(one.gain.value, other.gain.value), (one.gain.low, other.gain.low)]
    near = all(abs(a - b) < 0.03 for a, b in chances)
    return near and all(math.isclose(a or 0.0, b or 0.0, rel_tol=1e-6, abs_tol=1e-6) for a, b in pairs)


def _written(frame: pd.DataFrame, path: Path) -> Path:
    match path.suffix:
        case ".jsonl":
            frame.to_json(path, orient="records", lines=True)
        case ".parquet":
            frame.to_parquet(path)
        case ".tsv":
            frame.to_csv(path, sep="\t", index=False)
        case _:
            frame.to_csv(path, index=False)
    return path


def _percent(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(accuracy=100 * frame["accuracy"])


def _wide(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.pivot(index="seed", columns="arm", values="accuracy").reset_index()


def _with_summaries(frame: pd.DataFrame) -> pd.DataFrame:
    rows = [
        {"arm": arm, "seed": word, "accuracy": of_arm.agg(how), "seconds": 20.0}
        for arm, of_arm in frame.groupby("arm")["accuracy"]
        for word, how in (("mean", "mean"), ("std", "std"), ("avg", "mean"))
    ]
    return pd.concat([frame.astype({"seed": str}), pd.DataFrame(rows)], ignore_index=True)


def _sourced(frame: pd.DataFrame) -> pd.DataFrame:
    is_way = ~frame["arm"].isin(CONTROLS)
    sourced = frame.assign(source=frame["arm"].where(is_way, None), method=frame["arm"].where(~is_way, "fine-tune"))
    return sourced.drop(columns="arm")


Change = Callable[[pd.DataFrame], pd.DataFrame]


def form(change: Change | None = None, *, suffix: str = ".csv", **columns: Any) -> tuple[Change, RunColumns, str]:
    """A way to write runs: what is changed of the table, the columns that are named, and the kind of file."""
    return change or (lambda frame: frame), RunColumns(**columns), suffix


def _measures(frame: pd.DataFrame, **values: float) -> pd.DataFrame:
    """A row for each run and measure."""
    plain = frame.rename(columns={"accuracy": "value"})
    others = [plain.assign(metric=name, value=value) for name, value in values.items()]
    return pd.concat([plain.assign(metric="accuracy"), *others])


OTHER_NAMES = {"arm": "who", "seed": "Fold", "accuracy": "eval_f1", "seconds": "secs"}
FORMS = {
    "csv": form(),
    "tab-separated": form(suffix=".tsv"),
    "json lines": form(suffix=".jsonl"),
    "parquet": form(suffix=".parquet"),
    "percent": form(_percent),
    "error": form(lambda frame: frame.assign(error=1 - frame["accuracy"]).drop(columns="accuracy"), unit="share"),
    "other names": form(lambda frame: frame.rename(columns=OTHER_NAMES), arm="who", cost="secs"),
    "a measure in every row": form(lambda frame: _measures(frame, loss=1.0), metric="accuracy"),
    "a measure in every row, and a column of its name": form(
        lambda frame: frame.rename(columns={"accuracy": "value"}).assign(metric="f1", f1=0.5)
    ),
    "arms of two columns, one of gaps": form(lambda frame: frame.assign(size=""), arm="arm+size"),
    "two measures": form(lambda frame: frame.assign(eval_loss=0.5), metric="accuracy"),
    "two data sets": form(
        lambda frame: pd.concat([frame.assign(data="sst2"), frame.assign(data="mnli", accuracy=0.5)]),
        where={"data": "sst2"},
    ),
    "rows in any order": form(lambda frame: frame.sample(frac=1, random_state=0)),
    "folds by name": form(lambda frame: frame.assign(seed="fold-" + frame["seed"].astype(str))),
    "signs of percent": form(lambda frame: frame.assign(accuracy=(100 * frame["accuracy"]).map("{:.6f} %".format))),
    "summary rows": form(_with_summaries),
}


@pytest.mark.parametrize(
    ("form", "seed"), [("csv", 1), ("csv", 2), ("percent", 2), *((form, i % 3) for i, form in enumerate(FORMS))]
)
def test_a_table_is_decided_as_its_numbers_are(form: str, seed: int, tmp_path: Path) -> None:
    values = drawn(seed, gain=[0.0, 3.0, 8.0][seed])
    values[3, 4] = values[1, 0] = np.nan  # runs that are missing
    change, columns, suffix = FORMS[form]
    path = _written(change(table(values)), tmp_path / f"runs{suffix}")
    found = compare_results(path, without=CONTROLS, columns=columns)
    by_name = {arm.name: arm for arm in found.summary.decided[0].arms}
    bounds = PERCENT if form in ("percent", "signs of percent") else (-100.0, 0.0) if form == "error" else (0.0, 100.0)
    expected = decide(scores(values - (100.0 if form == "error" else 0.0), bounds=bounds))
    in_order = _ordered(found.summary.decided[0], [by_name[arm.name] for arm in expected.arms])
    assert same(in_order, expected)
    helps = ", transfer helps" in found.verdict.headline
    assert helps == expected.outcome.startswith("helps")
    assert " CI over seeds " in found.verdict.headline
    if form == "summary rows":
        assert len(found.runs.rows) == np.isfinite(values).sum()


def _ordered(decision: Decision, arms: list[ArmFacts]) -> Decision:
    """A decision with its arms in the order of the simulation."""
    return replace(
        decision,
        arms=tuple(arms),
        missing=tuple(name for name in (*CONTROLS, *WAYS) if name in decision.missing),
    )


def test_objects_within_lines_of_json_are_columns(tmp_path: Path) -> None:
    rows = table(drawn(3))
    held = [
        {"config": {"model": arm, "seed": seed}, "summary": {"test": {"acc": accuracy}}}
        for arm, seed, accuracy in rows[["arm", "seed", "accuracy"]].itertuples(index=False)
    ]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, held)))
    columns = RunColumns(arm="config.model", seed="config.seed")
    found = compare_results(tmp_path / "own.jsonl", without=CONTROLS, columns=columns)
    assert found.runs.measure.name == "summary.test.acc"
    plain = compare_results(rows.drop(columns="seconds"), without=CONTROLS).runs.rows
    pd.testing.assert_frame_equal(found.runs.rows, plain)


def test_arms_may_be_columns_and_numbers_of_labels_too() -> None:
    values = drawn(4)
    columns = RunColumns(wide="arms", metric="accuracy")
    found = compare_results(_wide(table(values)), without=CONTROLS, columns=columns)
    assert found.summary.decided[0].outcome == decide(scores(values)).outcome == "helps"
    assert [all(arm in note for arm in (*CONTROLS, *WAYS)) for note in found.runs.notes] == [True]
    by_labels = table(values).rename(columns={"accuracy": "100"}).assign(**{"400": 0.9012}).drop(columns="seconds")
    columns = RunColumns(wide="labels", metric="accuracy")
    found = compare_results(by_labels, without=CONTROLS, columns=columns)
    assert {n: decision.outcome for n, decision in found.summary.decided.items()} == {100: "helps", 400: "tie"}


@pytest.mark.parametrize("written", ["{}-shot", "{}_shots", "k={}", "n_train = {}", "{} labels"])
def test_columns_of_a_published_table_name_numbers_of_labels(written: str) -> None:
    wide = pd.DataFrame(
        {"arm": ["scratch", "bert"], "5": ["41.2 ± 0.9", "54.6 ± 1.1"], "20": ["61.9 ± 1.0", "66.5 ± 0.8"]}
    )
    wide = wide.rename(columns={size: written.format(size) for size in ("5", "20")})
    with pytest.raises(SettingsError, match=r"hold scores by the number of labels; add --wide labels .* --metric accu"):
        compare_results(wide, without=["scratch"])
    asked = RunColumns(wide="labels", metric="accuracy")
    found = compare_results(wide, without=["scratch"], columns=asked).table().set_index(["method", "n_target"])["mean"]
    expected = {("scratch", 5): 41.2, ("bert", 5): 54.6, ("scratch", 20): 61.9, ("bert", 20): 66.5}
    assert found.to_dict() == pytest.approx(expected)


@pytest.mark.parametrize("named", [None, "source"])
@pytest.mark.parametrize("other", [(), ("faces",)])
def test_a_table_of_sources_alone_has_an_arm_of_each(named: str | None, other: tuple[str, ...]) -> None:
    """Rows without a source are a baseline, whatever else is named as one: the same table with names says so."""
    values = pd.Series(0.6 + 0.01 * np.random.default_rng(0).standard_normal(16))
    values += np.repeat([0.0, 0.1, 0.2, -0.1], 4)
    rows = pd.DataFrame(
        {"source": np.repeat(["", "places", "birds", "faces"], 4), "seed": [0, 1, 2, 3] * 4, "f1": values}
    )
    spelled = rows.rename(columns={"source": "arm"}).replace({"": "no source"})
    found = compare_results(rows, without=other or None, columns=RunColumns(arm=named))
    assert same(found.summary.decided[0], compare_results(spelled, without=["no source", *other]).summary.decided[0])
    assert str(found.summary.decided[0].best_baseline) == "no source"


def test_sources_in_a_column_say_which_arms_need_none() -> None:
    found = compare_results(_sourced(table(drawn(2))))
    assert {arm.name for arm in found.summary.decided[0].arms if not arm.with_source} == set(CONTROLS)
    assert {arm.name for arm in found.summary.decided[0].arms if arm.with_source} == {
        f"fine-tune from {way}" for way in WAYS
    }


def test_an_arm_that_is_said_to_need_no_source_needs_none_whatever_its_source_is_called() -> None:
    rows = _sourced(table(drawn(0)[:, :2]))
    rows["source"] = rows["source"].fillna("none")
    found = compare_results(rows, without=["none", "gpt"])
    without = {arm.name for arm in found.summary.decided[0].arms if not arm.with_source}
    assert without == {*(f"{arm} from none" for arm in CONTROLS), "fine-tune from gpt"}
    more, arms = found.next(3), ["method", "source"]
    assert len(more)
    assert {*more[arms].itertuples(index=False)} <= {*rows[arms].itertuples(index=False)}


def test_runs_that_failed_and_runs_that_are_to_be_made() -> None:
    for status, expected in (("finished", (4, 0)), ("running", (3, 0)), ("PRUNED", (3, 1)), ("cancelled", (3, 1))):
        rows = ROWS[ROWS["seed"] < 4].assign(status="finished")
        rows.loc[0, "status"] = status
        (scratch,) = (
            arm for arm in compare_results(rows, without=CONTROLS).summary.decided[0].arms if arm.name == "scratch"
        )
        assert (scratch.n_seeds, scratch.n_failed) == expected
    rows = table(drawn(1)).assign(status="finished")
    rows.loc[0, "status"] = "crashed"
    rows.loc[1, "accuracy"] = np.nan
    found = compare_results(rows, without=CONTROLS)
    (scratch,) = (arm for arm in found.summary.decided[0].arms if arm.name == "scratch")
    assert (scratch.n_seeds, scratch.n_failed) == (3, 2)  # one that is finished without a score diverged
    states = compare_results(rows.drop(columns="status"), without=CONTROLS).runs.rows["state"]
    assert states.tolist()[:2] == ["done", "planned"]
    for measure in ("loss", "accuracy"):
        diverged = table(drawn(1)).rename(columns={"accuracy": measure})
        diverged.loc[0, measure] = np.inf
        (scratch, *_) = compare_results(diverged, without=CONTROLS).summary.decided[0].arms
        assert (scratch.n_seeds, scratch.n_failed) == (4, 1)


def means_of(values: np.ndarray) -> pd.DataFrame:
    """A row for each arm: number, mean and standard deviation of its runs, as any paper's table has them."""
    rows = [{"arm": arm, "n_seeds": int((~np.isnan(own)).sum())} for arm, own in zip((*CONTROLS, *WAYS), values)]  # noqa: B905
    return pd.DataFrame(rows).assign(accuracy=np.nanmean(values, 1) / 100, std=np.nanstd(values, 1, ddof=1) / 100)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "written",
    [
        lambda frame: frame,
        lambda frame: frame.rename(columns={"accuracy": "accuracy_mean", "std": "accuracy_std"}),
        lambda frame: frame.rename(columns={"accuracy": "mean accuracy", "std": "SD accuracy", "n_seeds": "runs"}),
        lambda frame: frame.assign(stderr=frame["std"] / np.sqrt(frame["n_seeds"])).drop(columns="std"),
        lambda frame: frame.rename(columns={"accuracy": "mean", "std": "sd"}).assign(source=None, n_failed=0),
    ],
    ids=["plain", "suffixes", "words", "standard errors", "our own"],
)
def test_means_are_decided_as_runs_that_share_no_seed(
    written: Callable[[pd.DataFrame], pd.DataFrame], seed: int
) -> None:
    """By hand: the single runs, each in a column of its own, so that none are pairs."""
    values = drawn(seed)
    values[0, 3:] = np.nan  # three runs of one arm
    apart = np.full((5, 25), np.nan)
    for arm in range(5):
        apart[arm, 5 * arm : 5 * arm + 5] = values[arm]
    rows = written(means_of(values))
    asked = RunColumns(metric="accuracy" if "mean" in rows else None)
    found = compare_results(rows, without=CONTROLS, columns=asked)
    cost = np.full(5, np.nan)
    expected = decide(scores(apart, cost=cost))
    (decision,) = found.summary.decided.values()
    assert (decision.outcome, decision.recommended) == (expected.outcome, expected.recommended)
    for one, other in zip(decision.arms, expected.arms, strict=True):
        assert one.n_seeds == other.n_seeds
        assert one.mean == pytest.approx(other.mean)
        if other.gain is not None:
            assert one.gain is not None
            assert (one.gain.low, one.gain.high) == pytest.approx((other.gain.low, other.gain.high), rel=1e-6)
    assert found.summary.frames.metric.name == "accuracy"
    with pytest.raises(SettingsError, match="holds means"):
        found.next(2)


def test_means_that_lack_something_are_asked_about() -> None:
    rows = means_of(drawn(1))
    with pytest.raises(SettingsError, match="column mean holds means of n_seeds runs"):
        compare_results(rows.rename(columns={"accuracy": "mean"}), without=CONTROLS)
    with pytest.raises(DataError, match="n_seeds = 5 and std = nan"):
        compare_results(rows.assign(std=[0.01, None, 0.01, 0.01, 0.01]), without=CONTROLS)
    without_std = compare_results(rows.drop(columns="std"), without=CONTROLS).runs.notes
    assert any('no column "std"' in one for one in without_std)
    alone = compare_results(rows.drop(columns="n_seeds"), without=CONTROLS).runs.notes
    assert any('"std" is not used' in one for one in alone)
    near_one = rows.assign(accuracy=[0.985, 0.99, 0.985, 0.98, 0.5], std=0.02)  # no normal runs: they would exceed 1
    found = compare_results(near_one, without=CONTROLS)
    assert found.summary.frames.metric.unit == "share"
    scores_of_arms = found.runs.rows.groupby("method", sort=False)["score"]
    assert scores_of_arms.mean().tolist() == pytest.approx(near_one["accuracy"].tolist())
    assert scores_of_arms.std().tolist() == pytest.approx([0.02] * 5)


@pytest.mark.parametrize(
    ("mean", "std", "exists"), [(0.99, 0.2, False), (0.99, 0.02, True), (1.0, 0.01, True), (1.0, 0.3, False)]
)
def test_a_mean_is_read_as_it_is_written_or_refused(mean: float, std: float, exists: bool) -> None:
    """Of three scores up to 1 with mean m the largest deviation is (1 - m) sqrt(3); both are rounded to two digits."""
    assert exists == (std - 0.005 <= (1 - mean + 0.005) * 3**0.5)
    rows = pd.DataFrame({"arm": ["scratch", "tuned"], "accuracy": [0.8, mean], "std": [0.1, std], "n_seeds": [3, 3]})
    if not exists:
        with pytest.raises(DataError, match=f"accuracy = {mean:g} of 3 runs with a standard deviation of {std:g}"):
            compare_results(rows, without=["scratch"])
        return
    found = compare_results(rows, without=["scratch"]).runs.rows.groupby("method")["score"].mean()
    assert found["tuned"] == pytest.approx(mean, abs=0.005)


def benchmark() -> pd.DataFrame:
    """A row for each measurement, as a benchmark of networks leaves it: three settings and two metrics."""
    rng = np.random.default_rng(0)
    rows = [
        {"dataset": task, "name": name, "bands": bands, "seed": 0, "metric_name": "accuracy", "metric_value": value}
        for task in ("eurosat", "forest", "so2sat")
        for bands in ("rgb", "all")
        for name, mean in (("rcf", 0.6), ("resnet", 0.7), ("vit", 0.8))
        for value in [mean + rng.normal(0, 0.01)]
    ]
    other = {**rows[0], "dataset": "trees", "metric_name": "mAP", "metric_value": 0.4}
    frame = pd.DataFrame([*rows, other]).assign(model=lambda all_rows: "bench")
    return frame.assign(ci_lower=frame["metric_value"] - 0.02)


def test_a_table_of_a_benchmark_is_asked_for_all_of_its_columns_at_once() -> None:
    rows = benchmark()
    with pytest.raises(SettingsError, match="several metrics in column metric_name") as several:
        compare_results(rows, columns=RunColumns(arm="model"))
    asks = ("--metric accuracy", "--columns task=dataset arm=model+", "--without BASELINES")
    assert all(one in str(several.value) for one in asks)
    with pytest.raises(DataError, match=r"--columns task=dataset arm=model\+(name\+bands|bands\+name),"):
        compare_results(rows, without=["none"], columns=RunColumns(metric="accuracy", arm="model"))
    asked = RunColumns(metric="accuracy", task="dataset", arm="name+bands")
    found = compare_tasks(rows, columns=asked, without=["rcf"])  # the text of one of the joined columns
    by_name = found.table().set_index("arm")["with_source"].to_dict()
    names = product(("rcf", "resnet", "vit"), ("rgb", "all"))
    assert by_name == {f"{name} {bands}": name != "rcf" for name, bands in names}
    assert list(found.results) == ["eurosat", "forest", "so2sat"]
    assert found.of_other_metrics == ("trees",)
    assert found.table()["arm"].tolist()[:2] in (["vit rgb", "vit all"], ["vit all", "vit rgb"])
    twice = pd.concat([rows, rows[:1].assign(metric_value=0.61, ci_lower=0.59)], ignore_index=True)
    left = compare_tasks(twice, columns=asked, without=["rcf rgb", "rcf all"])
    assert list(left.results) == ["forest", "so2sat"]
    assert list(left.unreadable) == ["eurosat"]
    said = "row 1 and row 20) are of the same run, name+bands = rcf rgb, seed = 0, and differ in results (ci_lower)"
    assert said in left.unreadable["eurosat"]
    assert sum(said in note for note in left.verdict.lines) == 1


@pytest.mark.parametrize("n_seeds", [1, 3])
def test_the_unit_of_a_loss_changes_nothing(n_seeds: int) -> None:
    """Also with fewer than three arms, of which runs alone do not say how much they vary."""
    values = 1 - drawn(5, gain=8.0, n_seeds=n_seeds)[[1, 2]] / 100
    frame = runs(dict(zip(("ridge", "bert"), values, strict=True)), "loss")
    mean_share, *means = (
        compare_results(change, without=["ridge"], margin=margin).summary.decided[0].chance
        for change, margin in (
            (frame.assign(accuracy=1 - frame["loss"]).drop(columns="loss"), 1.0),
            *((frame.assign(loss=factor * frame["loss"]), factor * 0.01) for factor in (1e-3, 1.0, 1e3)),
        )
    )
    assert means == pytest.approx([means[0]] * 3)
    assert means[0] >= mean_share - 0.03  # of percent a point is a hundredth of 100, and of a loss of what there is


def test_a_column_of_costs_is_said_to_be_read_as_seconds() -> None:
    notes = compare_results(ROWS.rename(columns={"seconds": "cost"}), without=CONTROLS).runs.notes
    assert [("cost" in note, "seconds" in note) for note in notes] == [(True, True)]


def test_an_error_above_1_beside_others_below_is_said() -> None:
    """Percent beside shares, or all percent, as of digits: nothing in the table tells."""
    for measure, notes in (("error", ["bert alone"]), ("loss", [])):
        rows = ROWS.rename(columns={"accuracy": measure})
        rows[measure] = rows[measure].where(rows["arm"] != "bert", 100 * rows[measure])
        found = compare_results(rows, without=CONTROLS).runs.notes
        assert len(found) == len(notes)
        assert all(words in note for words, note in zip(notes, found, strict=True))


def test_an_arm_that_is_called_as_a_method_of_ours_goes_by_its_own_name() -> None:
    rows = ROWS.assign(arm=ROWS["arm"].replace({"ridge": "raw", "gpt": "knn"}))
    found = compare_results(rows, without=["scratch", "raw"])
    assert not found.runs.notes
    shown = "\n".join((*found.verdict.lines, *found.verdict.sentences))
    assert "knn" in shown
    assert not [words for words in ("neighbours", "raw inputs", "rom scratch") if words in shown]


def test_none_alone_is_an_arm_of_this_name_or_no_arm() -> None:
    renamed = ROWS.assign(arm=ROWS["arm"].replace({"scratch": "none"}))
    for rows in (renamed, ROWS):
        with_source = {arm.method for arm in compare_results(rows, without=["none"]).runs.with_source}
        assert with_source == {*rows["arm"]} - {"none"}


@pytest.mark.parametrize(("yes", "no"), [("yes", "no"), (True, False), (1, 0), ("True", "none"), ("yes", None)])
def test_a_column_that_says_whether_a_run_is_pretrained_is_that_of_sources(yes: object, no: object) -> None:
    own = ROWS.assign(pretrained=pd.Series([no if arm in CONTROLS else yes for arm in ROWS["arm"]], dtype=object))
    found, named = compare_results(own), compare_results(ROWS, without=CONTROLS)
    assert found.runs.rows["source"].isin(("", "pretrained")).all()
    assert found.runs.with_source == {replace(arm, source="pretrained") for arm in named.runs.with_source}
    assert found.verdict.sentences[0].replace(" from pretrained", "") == named.verdict.sentences[0]


def test_tasks_that_have_seeds_of_their_own_are_said() -> None:
    rows = ROWS.assign(task=np.where(ROWS["seed"] < 2, "sst2", "mnli"), host=ROWS["arm"])
    assert ["differ in task" in note for note in compare_results(rows, without=CONTROLS).runs.notes] == [True]
    assert not compare_results(rows.assign(task="fold" + rows["seed"].astype(str)), without=CONTROLS).runs.notes


def _case(name: str, rows: str, path: Path, **given: Any) -> ResultsComparison:
    (path / f"{name}.csv").write_text(rows)
    return compare_results(path / f"{name}.csv", without=["scratch"], **given)


def test_diverged_and_failed_runs_are_counted_beside_the_recommendation(tmp_path: Path) -> None:
    """Four of eight runs of the better arm gave nothing: as NaN, with a state or without, or as failed."""
    head, lost = "arm,seed,state,accuracy\n", {"finished": "NaN", "failed": "", "": "nan", "FINISHED": ""}
    for word, score in lost.items():
        rows = [f"scratch,{s},finished,{0.7 + s / 500}" for s in range(8)]
        rows += [f"pre,{s},{word},{score}" if s % 2 else f"pre,{s},finished,{0.72 + s / 500}" for s in range(8)]
        found = _case(f"as-{word}", head + "\n".join(rows), tmp_path)
        arms = {arm.name: arm for arm in found.summary.decided[0].arms}
        assert (arms["pre"].n_seeds, arms["pre"].n_failed, arms["scratch"].n_failed) == (4, 4, 0)
        assert found.summary.decided[0].recommended == "pre"
        assert "4 of 8 runs of pre" in found.verdict.headline
        assert "4 of 8 runs of pre" in " ".join(" ".join(found.verdict.lines).split())
        assert not [note for note in found.runs.notes if "to be run" in note]
        (told,) = (one for one in found.to_dict()["decisions"]["0"]["arms"] if one["name"] == "pre")
        assert told["n_failed"] == 4
        assert found.table().query("method == 'pre'")["n_failed"].tolist() == [4]
    kept = [f"pre,{s},failed," if s < 3 else f"pre,{s},finished,{0.72 + s / 500}" for s in range(8)]
    found = _case("fewer", head + "\n".join([*rows[:8], *kept]), tmp_path)
    assert "3 of 8 runs of pre" in found.verdict.headline


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_nan_in_json_is_a_run_that_diverged_and_null_one_to_come(suffix: str, tmp_path: Path) -> None:
    rows = [
        {"arm": arm, "seed": s, "accuracy": 0.7 + s / 100, "seconds": 3.0}
        for arm in ("scratch", "pre")
        for s in range(4)
    ]
    rows[-1] |= {"accuracy": math.nan, "seconds": math.nan}
    rows[-2]["accuracy"] = None
    text = json.dumps(rows) if suffix == "json" else "\n".join(map(json.dumps, rows))
    (tmp_path / f"runs.{suffix}").write_text(text)
    states = compare_results(tmp_path / f"runs.{suffix}", without=["scratch"]).runs.rows["state"].tolist()
    assert states == ["done"] * 6 + ["planned", "failed"]


def test_the_state_of_a_run_is_read_before_its_other_cells(tmp_path: Path) -> None:
    """What a run without a score holds is not read: no arm or seed, words as a score; a retry counts."""
    rows = "\n".join(f"{arm},{seed},finished,{at + seed / 100}" for arm, at in (("scratch", 0.7), ("pre", 0.8))
                     for seed in range(4))  # fmt: skip
    lost = ["pre,9,failed,out of memory,no end", ",,killed,", "pre,0,failed,", "scratch,3,running,0.2"]
    found = _case("lost", "arm,seed,state,accuracy,seconds\n" + rows + "\n" + "\n".join(lost) + "\n", tmp_path)
    arms = {arm.name: (arm.n_seeds, arm.n_failed) for arm in found.summary.decided[0].arms}
    assert arms == {"scratch": (4, 0), "pre": (4, 1)}
    assert sum("without arm or seed" in note for note in found.runs.notes) == 1
    assert sum("run again: 2 runs" in note for note in found.runs.notes) == 1


def test_equal_rows_are_one_run_and_single_strange_scores_are_said(tmp_path: Path) -> None:
    seeds = range(6)
    losses = {("scratch", s): 0.7 + s / 100 for s in seeds} | {("pre", s): 0.4 + s / 100 for s in seeds}
    head = "arm,seed,loss\n"

    def written(scores: dict[tuple[str, int], float]) -> str:
        return head + "\n".join(f"{arm},{seed},{score:.4g}" for (arm, seed), score in scores.items())

    plain = _case("plain", written(losses), tmp_path)
    assert (plain.title, plain.study) == ("plain", tmp_path / "plain.csv")
    assert not plain.runs.notes
    twice = _case("twice", written(losses) + "\n\npre,2,0.42\n", tmp_path)
    assert twice.summary.decided == plain.summary.decided
    (note,) = twice.runs.notes
    assert "line 15" in note  # below a header, twelve rows and a blank line
    (note,) = _case("sign", written(losses | {("pre", 3): -0.43}), tmp_path).runs.notes
    assert all(words in note for words in ("line 11", "pre", "seed 3", "-0.43"))
    (note,) = _case("unit", written(losses | {("scratch", 4): 7.4}), tmp_path).runs.notes
    assert all(words in note for words in ("line 6", "scratch", "seed 4", "7.4"))
    assert not _case("spread", written(losses | {("scratch", 4): 2.0}), tmp_path).runs.notes


@pytest.mark.parametrize(
    ("name", "metric"), [("seed{}", "accuracy"), ("fold {}", "accuracy"), ("test_acc_seed_{}", None)]
)
def test_a_column_for_each_seed_needs_no_option(name: str, metric: str | None, tmp_path: Path) -> None:
    values = drawn(4)
    rows = table(values).drop(columns="seconds").rename(columns={"arm": "method"})
    wide = rows.pivot(index="method", columns="seed", values="accuracy").rename(columns=name.format).reset_index()
    wide.to_csv(tmp_path / "wide.csv", index=False)
    found = compare_results(tmp_path / "wide.csv", without=CONTROLS, columns=RunColumns(metric=metric))
    by_row = compare_results(table(values).drop(columns="seconds"), without=CONTROLS)
    mine, other = (one.runs.rows.sort_values(["method", "seed"], ignore_index=True) for one in (found, by_row))
    pd.testing.assert_frame_equal(mine, other)
    if metric is not None:
        with pytest.raises(SettingsError, match="--metric accuracy"):
            compare_results(tmp_path / "wide.csv", without=CONTROLS)


def test_text_files_count_lines_from_their_header(tmp_path: Path) -> None:
    for name, text, place in (
        ("a.csv", "arm,seed,accuracy\nscratch,0,0.5\n\npre,0,high\n", "line 4"),
        ("a.tsv", "arm\tseed\taccuracy\nscratch\t0\t0.5\npre\t0\thigh\n", "line 3"),
        ("a.jsonl", '{"arm": "scratch", "accuracy": 0.5}\n{"arm": "pre", "accuracy": "high"}\n', "line 2"),
        ("b.csv", "arm,seed,accuracy,state\nscratch,0,0.5,ok\npre,0,0.6,what\n", "line 3"),
        ("c.csv", "method,seed0,seed1\nscratch,0.5,0.6\n,0.5,0.6\n", "line 3, column seed0"),
        ("d.csv", "arm,seed,accuracy\nscratch,0,0.5\npre,,0.6\npre,0,0.7\n", "line 3"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(DataError, match=f"{place}[^0-9,]"):
            compare_results(tmp_path / name, without=["scratch"], columns=RunColumns(metric="accuracy"))


def test_seeds_that_no_two_arms_share_are_no_pairs() -> None:
    rows = table(drawn(1))
    found = compare_results(rows.assign(seed=range(len(rows))), without=CONTROLS)
    assert not found.summary.decided[0].missing
    assert found.summary.decided[0].outcome == compare_results(rows, without=CONTROLS).summary.decided[0].outcome
    unnamed = compare_results(rows.drop(columns="seed"), without=CONTROLS)
    assert unnamed.summary.decided[0] == found.summary.decided[0]
    of_each_run = rows.drop(columns="seed").assign(power=np.arange(len(rows)) / 7)  # which no two arms share
    assert compare_results(of_each_run, without=CONTROLS).summary.decided[0] == found.summary.decided[0]


ROWS = table(drawn(0))
TWICE = pd.concat([ROWS, ROWS.iloc[:1].assign(accuracy=0.5)])


def refused(
    rows: pd.DataFrame, error: type[TransferscopeError], *facts: str, margin: float | None = None, **columns: Any
) -> tuple[pd.DataFrame, type[TransferscopeError], tuple[str, ...], dict[str, Any]]:
    """A table, the error that it gets, facts that are said, and what is given beside the table."""
    without = columns.pop("without", CONTROLS)
    return rows, error, facts, {"without": without, "margin": margin, "columns": RunColumns(**columns)}


def each(column: str, *values: Any, **others: Any) -> pd.DataFrame:
    """The rows once for each value of a column, and the same values of others."""
    return pd.concat([ROWS.assign(**{column: value}, **others) for value in values])


def in_percent(rows: "pd.Series[bool]") -> pd.DataFrame:
    return ROWS.assign(accuracy=ROWS["accuracy"].where(~rows, 100 * ROWS["accuracy"]))


def called(name: str) -> pd.DataFrame:
    """The rows with another name of the score."""
    return ROWS.rename(columns={"accuracy": name})


TEXTS = ROWS["accuracy"].astype(object)
SCORES_OF_PARTS = {"train/loss": 1.0, "val/acc": 0.5, "test/acc": 0.5}
NAMED_AS_MEASURE = ROWS.replace({"arm": {"bert": "accuracy"}})
BY_EPOCH = ROWS.rename(columns={"seed": "epoch"})
NAMED_RUNS = ROWS.rename(columns={"seed": "lr"}).assign(run=[f"r{i}" for i in range(len(ROWS))])
F1_AND_AUC = each("metric", "f1", "auc", value=0.5)[["arm", "seed", "metric", "value"]]
SETTINGS = pd.concat([ROWS.assign(lr="1e-3", f1=0.5), ROWS.assign(lr="1e-4", f1=0.6)])

REFUSED = {
    "which arms need no source": refused(ROWS, SettingsError, "--without", "scratch", "bert", without=None),
    "an arm that is not there": refused(ROWS, UnknownNameError, "rigde", "ridge", without=["rigde"]),
    "no arms": refused(ROWS.rename(columns={"arm": "x"}), SettingsError, "--columns arm="),
    "no measure": refused(called("x"), SettingsError, "--metric"),
    "several measures": refused(ROWS.assign(loss=1.0), SettingsError, "accuracy and loss", "--metric accuracy"),
    "several measures, the first of them of training": refused(
        ROWS.drop(columns="accuracy").assign(**SCORES_OF_PARTS), SettingsError, "--metric test/acc"
    ),
    "several measures in rows": refused(F1_AND_AUC, SettingsError, "f1 and auc", "--metric f1"),
    "a direction that nothing tells": refused(called("x"), SettingsError, "--better", metric="x"),
    "percent beside shares": refused(in_percent(ROWS["arm"] == "bert"), DataError, "mixes units", "bert"),
    "percent beside shares by seed": refused(in_percent(ROWS["seed"] == 3), DataError, "mixes units", "3"),
    "a run twice": refused(TWICE, DataError, "2 rows", "arm = scratch, seed = 0", "one row per run"),
    "several tasks": refused(
        each("task", "a", "b"), DataError, "differ in task", "--columns task=task", '--where "task=a"'
    ),
    "several settings of an arm, and another measure": refused(
        SETTINGS, DataError, "differ in lr; keep", '--where "lr=0.001"', "or arm=arm+lr", metric="accuracy"
    ),
    "several tasks without seeds": refused(each("task", "a", "b").drop(columns="seed"), DataError, "differ in task"),
    "epochs of runs without seeds": refused(
        BY_EPOCH, DataError, "arm = scratch, but differ in epoch", '--where "epoch=4"', "--columns seed="
    ),
    "learning rates of runs with a name each": refused(NAMED_RUNS, DataError, "arm = scratch, but differ in lr"),
    **{
        f"a direction that {name} does not tell": refused(called(name), SettingsError, name, "--better")
        for name in ("neg_mean_squared_error", "accuracy_drop")
    },
    "percent called shares": refused(_percent(ROWS), DataError, "not shares of 1", unit="share"),
    "shares called percent": refused(ROWS, DataError, "not percent", unit="%"),
    "a state that is none": refused(ROWS.assign(status=0), DataError, "column status holds '0' in row 1"),
    "a score that is none": refused(
        ROWS.assign(accuracy=TEXTS.where(ROWS.index != 2, "??!")), DataError, "row 3", "'??!'", metric="accuracy"
    ),
    "scores with what they may be off": refused(
        ROWS.assign(accuracy=ROWS["accuracy"].map("{:.3f} of 0.01".format)),
        DataError,
        *("column accuracy", "of 0.01' in row 1", "a score, such as 0.91"),
    ),
    "no score at all": refused(ROWS.assign(accuracy=np.nan), DataError, "column accuracy is empty in every row"),
    "labels in words": refused(
        ROWS.assign(labels="1k of 2"), DataError, "'1k of 2' in row 1", "a number of labels, such as 1000"
    ),
    "labels that are none": refused(ROWS.assign(labels=0), DataError, "row 1", "at least 1"),
    "a seed that is missing": refused(ROWS.assign(seed=ROWS["seed"].where(ROWS.index != 4)), DataError, "row 5"),
    "an arm in two spellings": refused(
        ROWS.assign(arm=ROWS["arm"].where(ROWS.index != 4, "Scratch")), DataError, "capital"
    ),
    "rows that there are none of": refused(ROWS.assign(task="a"), UnknownNameError, "'b'", "a", where={"task": "b"}),
    "a column that there is none of": refused(ROWS, UnknownNameError, "arm", arm="amr"),
    "nothing wide": refused(ROWS, SettingsError, "--wide labels", wide="labels", metric="x"),
    "wide, of which nothing tells what is better": refused(_wide(ROWS), SettingsError, "--metric", wide="arms"),
    "wide, with an arm that is called as the measure": refused(
        _wide(NAMED_AS_MEASURE), SettingsError, "column accuracy", wide="arms", metric="accuracy"
    ),
    "wide, with a column of arms": refused(
        _wide(ROWS).assign(arm="x"), SettingsError, "column arm", wide="arms", metric="accuracy"
    ),
    "a margin of nothing": refused(ROWS, SettingsError, "margin", margin=0.0),
    "no predictions": refused(ROWS.assign(predictions="gone.csv"), MissingDataError, "gone.csv"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_must_be_said_is_asked_in_one_sentence(case: str) -> None:
    rows, error, facts, given = REFUSED[case]
    with pytest.raises(error) as caught:
        compare_results(rows.reset_index(drop=True), **given)
    said = str(caught.value)
    assert "\n" not in said
    assert all(fact in said for fact in facts), said


@pytest.mark.parametrize("form", ["csv", "npz", "folder"])
def test_predictions_say_how_it_is_on_other_test_examples(form: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    n = 400
    hard = rng.normal(size=n)  # an example is as hard for all arms
    skill = np.array([0.3, 0.5, 1.5, 1.4, 0.4])
    right = (skill[:, None, None] + 0.7 * hard + rng.normal(size=(5, 4, n)) > 0).astype(np.float64)
    values = 100 * right.mean(axis=2)
    rows = table(values)
    expected = decide(scores(values, example_variance=example_variance(100 * right), test_units=n))
    paths, label = [], rng.integers(0, 2, n)
    for arm, of_arm in zip((*CONTROLS, *WAYS), right, strict=True):
        for seed, one in enumerate(of_arm):
            path = tmp_path / arm / f"{seed}{'.npz' if form == 'npz' else '.csv'}"
            path.parent.mkdir(exist_ok=True)
            guess = np.where(one == 1, label, 1 - label)
            if form == "npz":
                np.savez(path, prediction=guess, label=label)
            else:
                pd.DataFrame({"id": range(n), "prediction": guess, "label": label}).to_csv(path, index=False)
            paths.append(str(path.relative_to(tmp_path)))
    folder = tmp_path if form == "folder" else None
    if form != "folder":
        rows = rows.assign(predictions=paths)
    _written(rows, tmp_path / "runs.csv")
    found = compare_results(tmp_path / "runs.csv", without=CONTROLS, predictions=folder)
    assert same(found.summary.decided[0], expected)
    assert expected.covers == "seeds and test examples"
    assert "on this test set" not in found.verdict.headline


def test_predictions_of_another_run_are_noticed(tmp_path: Path) -> None:
    pd.DataFrame({"score": [1, 0, 1, 0]}).to_csv(tmp_path / "p.csv", index=False)
    rows = ROWS.assign(predictions="p.csv")
    _written(rows, tmp_path / "runs.csv")
    with pytest.raises(DataError, match=r"mean 0\.5, but the score of the run is 0\.7"):
        compare_results(tmp_path / "runs.csv", without=CONTROLS)


def test_predictions_in_another_order_are_noticed(tmp_path: Path) -> None:
    one = pd.DataFrame({"prediction": [0, 1, 2, 2], "label": [0, 1, 2, 0]})
    one.to_csv(tmp_path / "one.csv", index=False)
    one.astype(float).to_csv(tmp_path / "same.csv", index=False)
    one[::-1].to_csv(tmp_path / "other.csv", index=False)
    rows = pd.DataFrame({"arm": ["scratch", "bert"], "seed": 0, "accuracy": 0.75, "predictions": "one.csv"})
    for file in ("one.csv", "same.csv", "other.csv"):
        _written(rows.assign(predictions=["one.csv", file]), tmp_path / "runs.csv")
        if file != "other.csv":
            assert len(compare_results(tmp_path / "runs.csv", without=["scratch"]).runs.examples) == 2
            continue
        with pytest.raises(DataError, match=r"other\.csv .* starting at example 2"):
            compare_results(tmp_path / "runs.csv", without=["scratch"])


def _own_seeds(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(seed=np.arange(1, 2 * len(rows), 2))


def _in_parts(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(model=rows["arm"].str[:2], size=rows["arm"].str[2:]).drop(columns="arm")


ASKED: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], RunColumns]] = {
    "seeds": (lambda rows: rows, RunColumns()),
    "seeds by name": (lambda rows: rows.assign(seed=[["2", "x"][seed] for seed in rows["seed"]]), RunColumns()),
    "seeds of each arm": (_own_seeds, RunColumns()),
    "no seeds": (lambda rows: rows.drop(columns="seed"), RunColumns()),
    "arms of two columns": (_in_parts, RunColumns(arm="model+size")),
}


@pytest.mark.parametrize("form", ASKED)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_ask_and_tell_end_in_an_answer(form: str, seed: int) -> None:
    """Rows are added as they are asked for, until no further run can change the answer; none is asked for twice."""
    change, columns = ASKED[form]
    truth = drawn(seed, gain=6.0, n_seeds=16) / 100
    arms = (*CONTROLS, *WAYS)
    rows = change(table(drawn(seed, gain=6.0, n_seeds=16)[:, : 1 + (form != "seeds")]))
    without = [f"{arm[:2]} {arm[2:]}" for arm in CONTROLS] if form == "arms of two columns" else CONTROLS
    found = compare_results(rows, without=without, columns=columns)
    while not (more := found.next(4)).empty:
        assert list(more.columns) == list(rows.columns)
        assert more["accuracy"].isna().all()
        for _, row in more.iterrows():
            arm = row["arm"] if "arm" in row else row["model"] + row["size"]
            own = rows["arm"] if "arm" in row else rows["model"] + rows["size"]
            score = truth[arms.index(arm), int((own == arm).sum())]
            rows = pd.concat([rows, row.to_frame().T.assign(accuracy=score, seconds=20.0)], ignore_index=True)
        rows = rows.astype({"accuracy": float, "seconds": float})
        assert "seed" not in rows or not rows.duplicated([*({"arm", "model", "size"} & {*rows}), "seed"]).any()
        found = compare_results(rows, without=without, columns=columns)
    assert found.summary.decided[0].decided
    assert found.summary.decided[0].recommended == ("be rt" if "model" in rows else "bert")
    assert len(rows) < 5 * 12


def test_runs_that_the_table_has_without_a_score_are_not_asked_for_again() -> None:
    rows = table(drawn(0, gain=1.0)[:, :2])
    asked = [compare_results(rows, without=CONTROLS).next(4)]
    asked.append(compare_results(pd.concat([rows, *asked]), without=CONTROLS).next(4))
    assert len(asked[0])
    assert len(asked[1])
    assert not pd.concat([rows, *asked]).duplicated(["arm", "seed"]).any()


@pytest.mark.long
@pytest.mark.parametrize(("gap", "n_seeds", "expected"), [(0.0, 5, 0.003), (4.0, 3, 0.59), (4.0, 5, 0.95)])
def test_error_and_power_on_tables_are_those_on_stores(
    gap: float, n_seeds: int, expected: float, tmp_path: Path
) -> None:
    """80 draws of six ways of a source and three arms without, one way `gap` standard deviations above these.

    Each draw has a number of labels of its own, so that a table holds all of them, and a store the first 16. Expected
    is the share of "helps" in docs/results/decision.md.
    """
    n_draws, arms = 80, ("plain", "ridge", "trees", *(f"way {way}" for way in range(6)))
    rng = np.random.default_rng([37, int(gap), n_seeds])
    values = 70 + 1.5 * rng.normal(size=(n_draws, 1, n_seeds)) + rng.normal(size=(n_draws, 9, n_seeds))
    values[:, 3] += gap
    rows = [
        {
            "method": arms[arm],
            "source": "near" if arm > 2 else None,
            "labels": draw + 1,
            "seed": seed,
            "accuracy": value / 100,
        }
        for (draw, arm, seed), value in np.ndenumerate(values)
    ]
    read = read_runs(measured_rows(pd.DataFrame(rows)), RunColumns(), None, folder=Path())
    of_table = decisions(frames_of(read, "simulated"))
    stored = [row for row in rows if row["labels"] <= 16]
    with Store.open(tmp_path / "store.sqlite") as store:
        measure = Measure("accuracy", "share", record="score").as_json()
        cells = []
        for at, row in enumerate(stored):
            labels = {"n_target": row["labels"], "n_source": None}
            labels |= {name: row[name] for name in ("method", "source", "seed")}
            cells.append(PlannedCell(str(at), "command", labels, {}))
        study = StudyRow("simulated", {}, {"measure": measure, "controls": [*arms[:3]]}, "2026-11-21T09:00:00+00:00")
        store.plan(study, cells)
        for cell, row in zip(cells, stored, strict=True):
            score = Record("score", Estimate(float(row["accuracy"]), None, 1))
            store.finish(cell.key, Outcome((score,), Cost(seconds=20.0), {}, {"status": "ok"}))
        of_store = decisions(read_study(store, "simulated"))
    assert len(of_store) == 16
    for n, of_cells in of_store.items():
        assert of_table[n].outcome == of_cells.outcome
        for one, other in zip(of_table[n].arms, of_cells.arms, strict=True):
            assert one.mean == pytest.approx(other.mean)
    helped = np.mean([one.outcome.startswith("helps") for one in of_table.values()])
    assert helped == pytest.approx(expected, abs=3 * max(expected * (1 - expected), 0.005) ** 0.5 / n_draws**0.5)


def runs(scores: Mapping[str, Iterable[float]], score: str = "accuracy") -> pd.DataFrame:
    """A row for each run of an arm, with seeds from 0 on."""
    rows = [(arm, seed, one) for arm, of_arm in scores.items() for seed, one in enumerate(of_arm)]
    return pd.DataFrame(rows, columns=["arm", "seed", score])


def test_what_is_unstable_is_named_and_not_the_arm_that_is_best() -> None:
    rows = runs({"scratch": (0.59, 0.62, 0.63), "steady": (0.65, 0.66, 0.69), "wild": (0.79, 0.68, 0.61)})
    found = compare_results(rows, without=["scratch"])
    decision = found.summary.decided[0]
    assert (decision.why, decision.unstable, decision.best_transfer_arm) == ("unstable", ("wild",), "steady")
    assert "wild varies far more between seeds" in found.verdict.headline


def test_the_page_says_what_the_runs_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ROWS.assign(status=np.where(ROWS.index == 0, "failed", "finished"))
    rows.loc[0, "accuracy"] = 97.0
    found: ResultsComparison = compare_results(rows, without=CONTROLS, name="mine")
    assert (found.title, found.store, found.study) == ("mine", "mine", Path("mine"))
    page = found.report(tmp_path / "page.html").html.read_text(encoding="utf-8")
    assert found.verdict.headline.split(" (")[0] in page.replace("\u00a0", " ")
    assert page.count('download="runs.csv"') == 1
    assert pd.read_csv(io.StringIO(held_tables(page)["runs"]))["value"].max() < 1
    assert not [words for words in (">0 labels", " 0 labels", "study file", "STUDY.toml") if words in page]
    assert "Of 25 runs, 1 failed" in page.replace("\u00a0", " ")
    assert found.to_dict()["decisions"]["0"]["outcome"] == found.summary.decided[0].outcome
    assert "&" in found.to_latex()
    monkeypatch.setattr("transferscope.analyses.compare.tables._MOST_RUNS", 23)
    assert "runs" not in held_tables(found.report(tmp_path / "page.html").html.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("gain", "margin", "said"), [(0.001, None, True), (0.001, 0.01, False), (0.05, None, False)])
def test_a_sure_gain_below_the_margin_is_said_to_be_one(gain: float, margin: float | None, said: bool) -> None:
    scratch = 0.8 + np.array([0.001, -0.001, 0.0, 0.0005, -0.0005, 0.0])
    found = compare_results(runs({"scratch": scratch, "pre": scratch + gain}), without=["scratch"], margin=margin)
    assert found.verdict.outcomes == {0: "helps"}
    assert ("less than 1 point" in found.verdict.headline) == said


@pytest.mark.parametrize(("level", "harms"), [(0.60, True), (0.70, False), (0.80, False)])
def test_only_transfer_that_is_significantly_worse_is_said_to_harm(level: float, harms: bool) -> None:
    steps = np.array([-0.01, -0.005, 0.0, 0.005, 0.01, 0.002])
    found = compare_results(runs({"ours": level + steps, "scratch": 0.70 - steps}), without=["scratch"])
    assert ("harms" in found.verdict.headline.partition(".")[0]) is harms
