import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from fabricate import FORGOTTEN, Fabrication, fabricate, fabricate_regression
from transferscope.analyses.compare.comparison import Comparison, compare_methods
from transferscope.analyses.compare.frames import StudyFrames, read_study
from transferscope.analyses.compare.summary import Summary


def test_every_method_is_compared_at_every_size(summary: Summary) -> None:
    assert len(summary.comparisons) == 3 * 9
    assert sum(c.call == "baseline" for c in summary.comparisons) == 3


def test_differences_are_those_of_scipy_on_the_shared_seeds(summary: Summary) -> None:
    found = _one(summary, "merlin", "mnist", 50)  # seed 3 failed
    shared = [0, 1, 2, 4]
    merlin, scratch = _values(summary, "merlin", "mnist", 50), _values(summary, "scratch", "", 50)
    expected = stats.ttest_rel([merlin[s] for s in shared], [scratch[s] for s in shared])
    assert found.difference is not None
    assert found.difference.interval is not None
    assert found.seeds == (0, 1, 2, 4)
    assert found.difference.n == 4
    assert found.difference.sd == pytest.approx(np.std([merlin[s] - scratch[s] for s in shared], ddof=1))
    assert found.difference.p_value > expected.pvalue  # other test examples are covered as well
    assert found.difference.interval.low < expected.confidence_interval().low


def test_without_predictions_the_test_is_that_of_scipy_on_this_test_set(summary: Summary) -> None:
    found = next(
        c
        for c in compare_methods(replace(summary.frames, predictions={}))
        if (c.method, c.source, c.n_target) == ("merlin", "mnist", 200)
    )
    merlin, scratch = _values(summary, "merlin", "mnist", 200), _values(summary, "scratch", "", 200)
    expected = stats.ttest_rel([merlin[s] for s in range(5)], [scratch[s] for s in range(5)])
    assert found.difference is not None
    assert found.difference.interval is not None
    assert found.difference.test_sd is None
    assert found.difference.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.difference.interval.low == pytest.approx(expected.confidence_interval().low, rel=1e-9)


def test_p_values_are_corrected_over_the_whole_study(summary: Summary) -> None:
    tested = [c for c in summary.comparisons if c.difference]
    expected = multipletests([c.difference.p_value for c in tested if c.difference], method="holm")[1]
    assert [c.p_holm for c in tested] == pytest.approx(expected.tolist())


def test_calls_follow_from_the_corrected_p_value_and_the_sign(summary: Summary) -> None:
    for c in summary.comparisons:
        if c.difference:
            sign = "positive" if c.difference.mean > 0 else "negative"
            alone = f"leans {sign}" if c.difference.p_value < 0.05 else "undecided"
            assert c.call == (sign if c.p_holm < 0.05 else alone)
    calls = {c.call for c in summary.comparisons}
    assert calls >= {"baseline", "positive", "negative", "undecided"}


def test_clear_harm_among_many_comparisons_is_no_undecided_one(tmp_path: Path) -> None:
    """12 comparisons over 3 seeds: by Holm's factor a p-value of .005 is no call, and still it is harm."""
    harmful = {"fine-tune": 0.0, "l2-sp": 0.0, "joint": -0.031, "merlin": 0.0}
    study = Fabrication(gains={"a": harmful, "b": dict.fromkeys(harmful, 0.0)}, sizes=(50,), n_seeds=3, spread=0.002)
    found = [c for c in compare_methods(_frames(tmp_path, study)) if (c.method, c.source) == ("joint", "a")]
    assert [c.call for c in found] != ["undecided"]
    assert found[0].call.endswith("negative")


def test_two_seeds_have_no_interval_of_the_score(tmp_path: Path, small: Fabrication) -> None:
    for c in compare_methods(_frames(tmp_path, replace(small, n_seeds=2))):
        assert c.interval is None
        assert math.isfinite(c.score.sd)
        assert c.difference is None or c.difference.interval is not None


def test_the_probabilities_of_being_best_add_up_at_each_size(summary: Summary) -> None:
    for size in (50, 200, 600):
        assert sum(c.p_best for c in summary.comparisons if c.n_target == size) == pytest.approx(1.0)
    assert _one(summary, "merlin", "mnist", 200).p_best > 0.9


def test_forgetting_is_the_loss_since_the_pretraining_it_started_from(summary: Summary) -> None:
    found = _one(summary, "l2-sp", "fashion", 600)
    assert found.forgetting is not None
    assert found.forgetting.value == pytest.approx(FORGOTTEN["l2-sp"], abs=0.02)
    assert _one(summary, "joint", "fashion", 600).forgetting is None
    assert _one(summary, "joint", "fashion", 600).source_kept is not None


def test_cost_is_the_mean_over_runs(summary: Summary) -> None:
    assert _one(summary, "merlin", "mnist", 50).cost.seconds == pytest.approx(51.7)
    assert _one(summary, "fine-tune", "mnist", 50).cost.pretraining_seconds == pytest.approx(160.0)
    assert _one(summary, "merlin", "mnist", 50).cost.pretraining_seconds == 0.0


def test_the_pretraining_of_weights_that_were_given_is_unknown(tmp_path: Path, small: Fabrication) -> None:
    frames = _frames(tmp_path, small)
    spec = {**frames.study.spec, "sources": {"fashion": {"network": "net.safetensors"}}}
    found = compare_methods(replace(frames, study=replace(frames.study, spec=spec)))
    by_method = {c.method: c.cost.pretraining_seconds for c in found}
    assert math.isnan(by_method["joint"])  # needs no cell of pre-training: its network was given
    assert by_method["scratch"] == 0.0


def test_what_seeds_and_examples_share_is_taken_from_predictions(summary: Summary) -> None:
    """The part of the test set, from a two-way analysis of variance by hand."""
    frames, found = summary.frames, _one(summary, "merlin", "fashion", 200)
    cells = frames.method_cells
    keys = dict(
        zip(zip(*(cells[c] for c in ("method", "source", "n_target", "seed")), strict=True), cells["key"], strict=True)
    )
    right = {
        name: np.array([frames.predictions[keys[(*name, 200, s)]] == frames.test_labels for s in range(5)])
        for name in (("merlin", "fashion"), ("scratch", ""))
    }
    g = right["merlin", "fashion"].astype(float) - right["scratch", ""].astype(float)
    n_seeds, n = g.shape
    between = n_seeds * ((g.mean(0) - g.mean()) ** 2).sum() / (n - 1)
    rest = ((g - g.mean(0) - g.mean(1, keepdims=True) + g.mean()) ** 2).sum() / ((n - 1) * (n_seeds - 1))
    assert found.difference is not None
    assert found.difference.test_sd == pytest.approx(math.sqrt(max(0, (between - rest) / n_seeds / n)))


def test_one_seed_leaves_only_the_test_examples(tmp_path: Path, small: Fabrication) -> None:
    comparisons = compare_methods(_frames(tmp_path, replace(small, n_seeds=1)))
    fine_tune = next(c for c in comparisons if c.method == "fine-tune")
    assert fine_tune.difference is not None
    assert (fine_tune.score.interval, fine_tune.difference.status, fine_tune.call) == (None, "too_few", "undecided")
    expected = stats.binomtest(round(fine_tune.score.value * 300), 300).proportion_ci(method="wilson")
    assert fine_tune.interval is not None
    assert fine_tune.interval.low == pytest.approx(expected.low)
    assert fine_tune.difference_interval == fine_tune.difference_test_interval


def test_without_a_baseline_nothing_is_called(tmp_path: Path, small: Fabrication) -> None:
    comparisons = compare_methods(_frames(tmp_path, replace(small, baseline=False)))
    assert {c.call for c in comparisons} == {"no baseline"}
    assert all(c.difference is None and math.isnan(c.p_holm) for c in comparisons)


def test_without_predictions_or_a_second_seed_the_best_is_unknown(tmp_path: Path, small: Fabrication) -> None:
    frames = replace(_frames(tmp_path, small), predictions={})
    assert all(math.isnan(c.p_best) and c.test_interval is None for c in compare_methods(frames))
    (tmp_path / "one").mkdir()
    lonely = compare_methods(_frames(tmp_path / "one", replace(small, n_seeds=1)))
    assert all(math.isnan(c.p_best) and c.test_interval is not None for c in lonely)


def test_methods_without_a_common_seed_leave_the_best_unknown(tmp_path: Path, small: Fabrication) -> None:
    missing = {("fashion", "joint", 600, s) for s in (0, 1)} | {("", "scratch", 600, 2)}
    comparisons = compare_methods(_frames(tmp_path, replace(small, not_done=frozenset(missing))))
    assert all(math.isnan(c.p_best) for c in comparisons)
    assert next(c for c in comparisons if c.method == "joint").difference is None


def test_a_regression_saves_risk(tmp_path: Path) -> None:
    with fabricate_regression(tmp_path / "s.sqlite") as store:
        comparisons = compare_methods(read_study(store, "numbers"))
    better = next(c for c in comparisons if c.method == "fine-tune")
    assert better.difference is not None
    assert better.difference.mean == pytest.approx(0.08, abs=0.02)
    assert better.call == "positive"
    assert better.p_best > 0.95


def test_false_calls_are_as_rare_as_the_level_says(tmp_path: Path, small: Fabrication) -> None:
    """Ten studies of two methods that change nothing: more than three with a false call has probability 0.001."""
    alike = replace(small, gains={"fashion": {"fine-tune": 0.0, "joint": 0.0}}, n_seeds=4)
    frames = _frames(tmp_path, alike)
    runs = frames.records["step"].isna() & (frames.records["part"] == "target_test")
    false = 0
    for repeat in range(10):
        noise = np.random.default_rng(repeat).normal(0.9, 0.01, size=len(frames.records))
        records = frames.records.assign(value=frames.records["value"].where(~runs, noise))
        calls = {c.call for c in compare_methods(replace(frames, records=records, predictions={}))}
        false += bool(calls & {"positive", "negative"})
    assert false <= 3


def _frames(tmp_path: Path, fabrication: Fabrication) -> StudyFrames:
    with fabricate(tmp_path / "s.sqlite", fabrication) as store:
        return read_study(store, fabrication.name)


def _one(summary: Summary, method: str, source: str, n_target: int) -> Comparison:
    wanted = (method, source or None, n_target)
    return next(c for c in summary.comparisons if (c.method, c.source, c.n_target) == wanted)


def _values(summary: Summary, method: str, source: str, n_target: int) -> dict[int, float]:
    runs = summary.runs
    chosen = (runs["method"] == method) & (runs["source"] == source) & (runs["n_target"] == n_target)
    return dict(zip(runs.loc[chosen, "seed"], runs.loc[chosen, "value"], strict=True))
