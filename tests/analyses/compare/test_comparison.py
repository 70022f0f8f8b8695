import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from comparisons import baseline, candidate, difference
from fabricate import FORGOTTEN, GAINS, Fabrication, fabricate, fabricate_regression
from transferscope.analyses.compare.comparison import Call, Comparison, _call, compare_methods, gains_over
from transferscope.analyses.compare.page import study_parts
from transferscope.analyses.compare.summary import Summary, summarise_frames
from transferscope.analyses.compare.words import objective_in_words
from transferscope.study.frames import StudyFrames, read_study


def test_every_method_is_compared_at_every_size(summary: Summary) -> None:
    assert len(summary.comparisons) == 3 * 9
    assert sum(c.call == "baseline" for c in summary.comparisons) == 3


def test_differences_are_means_over_the_shared_seeds(summary: Summary) -> None:
    found = _one(summary, "merlin", "mnist", 50)  # seed 3 failed
    shared = [0, 1, 2, 4]
    merlin, scratch = _values(summary, "merlin", "mnist", 50), _values(summary, "scratch", "", 50)
    assert found.seeds == (0, 1, 2, 4)
    assert found.difference is not None
    assert found.difference.n == 4
    assert found.difference.mean == pytest.approx(np.mean([merlin[s] - scratch[s] for s in shared]))
    assert found.difference.covers == "seeds and test examples"


def test_one_method_without_predictions_is_the_paired_t_test_of_scipy(tmp_path: Path) -> None:
    study = Fabrication(gains={"a": {"fine-tune": 0.02}}, sizes=(600,), n_test=300)
    frames = replace(_frames(tmp_path, study), predictions={})
    scratch, tuned = compare_methods(frames)
    final = frames.final("accuracy").set_index(["method", "seed"])["value"]
    expected = stats.ttest_rel(final["fine-tune"].sort_index(), final["scratch"].sort_index())
    assert tuned.difference is not None
    assert tuned.difference.covers == "seeds"
    assert (tuned.difference.p, tuned.difference.p_alone) == pytest.approx((expected.pvalue,) * 2, abs=0.003)
    assert scratch.p_best + tuned.p_best == pytest.approx(1.0)


def test_calls_follow_from_the_adjusted_p_value_and_the_sign(summary: Summary) -> None:
    for c in summary.comparisons:
        if c.difference:
            sign = "positive" if c.difference.mean > 0 else "negative"
            leaning = f"leans {sign}" if c.difference.p < 0.2 else "undecided"
            leaning = "equivalent" if c.difference.within_margin else leaning
            assert c.call == (sign if c.difference.p < 0.05 else leaning)
            assert c.difference.p >= c.difference.p_alone
    calls = {c.call for c in summary.comparisons}
    assert calls >= {"baseline", "positive", "negative", "leans positive", "undecided"}


@pytest.mark.parametrize(("n_seeds", "call"), [(3, "leans positive"), (4, "positive")])
def test_three_seeds_take_a_smaller_p_value(n_seeds: int, call: Call) -> None:
    assert _call(difference(0.02, n_seeds, 0.03)) == call
    assert _call(difference(0.02, n_seeds, 0.01)) == "positive"


def test_what_lies_within_the_margin_is_equivalent(tmp_path: Path) -> None:
    """1 point, where every run has nearly the accuracy of its seed and errs on the same examples."""
    alike = Fabrication(gains={"a": {"fine-tune": 0.0, "joint": 0.0}}, sizes=(600,), n_seeds=8, spread=0.001)
    calls = [c.call for c in compare_methods(_frames(tmp_path, alike))]
    assert calls == ["baseline", "equivalent", "equivalent"]


def test_clear_harm_is_called_worse(tmp_path: Path) -> None:
    """One of 12 comparisons over 3 seeds loses 3.1 points."""
    harmful = {"fine-tune": 0.0, "l2-sp": 0.0, "joint": -0.031, "merlin": 0.0}
    gains = {"a": harmful, "b": dict.fromkeys(harmful, 0.0), "c": dict.fromkeys(harmful, 0.0)}
    found = summarise_frames(_frames(tmp_path, Fabrication(gains=gains, sizes=(50,), n_seeds=3, spread=0.002)))
    assert _one(found, "joint", "a", 50).call == "negative"
    assert "oint training from a is worse (" in str(found.verdict)
    assert "told apart" not in str(found.verdict)


@pytest.mark.long
def test_useless_sources_do_not_hide_one_that_helps(tmp_path: Path) -> None:
    useless = {f"useless {i}": dict.fromkeys(GAINS["mnist"], 0.0) for i in range(7)}
    for name, gains in {"alone": {}, "beside": useless}.items():
        (tmp_path / name).mkdir()
        study = Fabrication(gains={"mnist": GAINS["mnist"], **gains}, sizes=(50,), n_seeds=3, n_test=500)
        found = summarise_frames(_frames(tmp_path / name, study))
        assert found.verdict.outcomes == {50: "helps"}
        assert found.verdict.headline.startswith("Use MeRLin from mnist with 50 labels: +1")
    assert "By source: mnist: better than from scratch; useless 0: " in found.verdict.sentences[0]


def test_twelve_points_in_every_seed_are_decided_at_three_seeds(tmp_path: Path) -> None:
    gains = {s: {"fine-tune": 0.0, "l2-sp": 0.0, "joint": 0.0, "merlin": g} for s, g in (("a", 0.124), ("b", 0.0))}
    found = compare_methods(
        _frames(tmp_path, Fabrication(gains=gains, sizes=(50,), n_seeds=3, n_test=500, spread=0.01))
    )
    best = next(c for c in found if (c.method, c.source) == ("merlin", "a"))
    assert best.call == "positive"
    assert best.p_best == max(c.p_best for c in found)


@pytest.mark.long
def test_verdict_and_chance_of_being_best_never_contradict_each_other(tmp_path: Path) -> None:
    """Twenty studies of random effects, spreads and gaps, with the outcomes that matter among them."""
    (tmp_path / "s").mkdir()
    methods = ("fine-tune", "l2-sp", "joint")
    gains = {source: dict.fromkeys(methods, 0.0) for source in "ab"}
    frames = _frames(tmp_path / "s", Fabrication(gains=gains, sizes=(50,), n_seeds=5, n_test=300))
    is_run = frames.records["step"].isna() & (frames.records["part"] == "target_test")
    is_run &= (frames.records["name"] == "accuracy") & (frames.records["role"] == "method")
    runs, seen = frames.records[is_run], set()
    arms = runs["source"] + runs["method"]
    for repeat in range(20):
        rng = np.random.default_rng(repeat)
        effect = {arm: rng.choice([0.0, 0.02, 0.1]) * rng.normal() for arm in arms.unique()}
        sd = {arm: rng.choice([0.002, 0.01, 0.05]) for arm in arms.unique()}
        value = (
            0.6
            + arms.map(effect)
            + arms.map(sd) * rng.normal(size=len(arms))
            + 0.02 * runs["seed"].map(dict(enumerate(rng.normal(size=5))))
        )
        kept = (runs["seed"] < rng.integers(2, 6)) & ((rng.random(len(runs)) > 0.1) | (runs["method"] == "scratch"))
        records = frames.records.assign(value=frames.records["value"].where(~is_run, value.where(kept)))
        found = summarise_frames(replace(frames, records=records, predictions={} if repeat % 2 else frames.predictions))
        seen.add(found.verdict.outcomes[50])
        _check_agreement(found)
    assert seen >= {"helps", "seems to help", "undecided"}


def _check_agreement(found: Summary) -> None:
    known = [c for c in found.comparisons if not math.isnan(c.p_best)]
    assert not known or sum(c.p_best for c in known) == pytest.approx(1.0)
    scratch = next(c for c in found.comparisons if c.call == "baseline")
    outcome = found.verdict.outcomes[50]
    for c in known:
        assert c.call != "negative" or c.p_best < 0.05
        assert c.call != "undecided" or c.p_best <= 0.9
        assert c.call != "equivalent" or c.p_best < 0.975
    if math.isnan(scratch.p_best):
        return
    assert outcome != "helps" or scratch.p_best < 0.05
    assert outcome != "hurts" or scratch.p_best > 0.5
    if outcome == "undecided" and any(c.difference and c.difference.mean > 0 for c in known):
        assert scratch.p_best > 0.09
    top = max(known, key=lambda c: c.p_best)
    if outcome == "helps" and top.call != "positive":
        assert "but is not known to beat training from scratch" in found.verdict.sentences[0]
    if outcome not in ("helps", "hurts"):
        assert "with probability" not in found.verdict.sentences[0]


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


def test_seeds_that_are_all_alike_leave_only_the_test_examples(tmp_path: Path, small: Fabrication) -> None:
    """As with a method without chance on all labels there are: no interval of width 0."""
    frames = _frames(tmp_path, replace(small, n_seeds=3))
    first = {
        key: keys.iloc[0]
        for _, keys in frames.final("accuracy").groupby(["source", "method", "n_target"])["key"]
        for key in keys
    }
    value = frames.records.groupby(["method", "name", "part", "n_target", "source"])["value"].transform("first")
    alike = replace(
        frames,
        records=frames.records.assign(value=value),
        predictions={key: frames.predictions[first[key]] for key in first},
    )
    found = summarise_frames(alike)
    for c in found.comparisons:
        expected = stats.binomtest(round(c.score.value * 300), 300).proportion_ci(method="wilson")
        assert c.interval is not None
        assert (c.interval.low, c.interval.high) == pytest.approx((expected.low, expected.high))
        assert (c.score.n, c.interval_over) == (3, "test examples")
    gain = next(c.difference for c in found.comparisons if c.difference)
    assert gain.covers == "test examples"
    assert gain.interval is not None
    assert gain.interval.low < gain.mean < gain.interval.high
    assert set(found.table["interval_over"]) == {"test examples"}


def test_one_seed_leaves_only_the_test_examples(tmp_path: Path, small: Fabrication) -> None:
    comparisons = compare_methods(_frames(tmp_path, replace(small, n_seeds=1)))
    fine_tune = next(c for c in comparisons if c.method == "fine-tune")
    assert fine_tune.difference is not None
    assert (fine_tune.score.interval, fine_tune.difference.tested, fine_tune.call) == (None, False, "undecided")
    expected = stats.binomtest(round(fine_tune.score.value * 300), 300).proportion_ci(method="wilson")
    assert fine_tune.interval is not None
    assert fine_tune.interval.low == pytest.approx(expected.low)
    assert fine_tune.difference.covers == "test examples"
    assert fine_tune.difference.interval is not None


def test_without_a_baseline_nothing_is_called(tmp_path: Path, small: Fabrication) -> None:
    comparisons = compare_methods(_frames(tmp_path, replace(small, baseline=False)))
    assert {c.call for c in comparisons} == {"no baseline"}
    assert all(c.difference is None for c in comparisons)
    assert sum(c.p_best for c in comparisons) == pytest.approx(1.0)


def test_without_a_baseline_the_best_control_stands_in_for_it(tmp_path: Path, small: Fabrication) -> None:
    """The runs from scratch under the name of a control: every gain over it is what the gain over scratch was."""
    whole = _frames(tmp_path, small)
    named = {frame: getattr(whole, frame).replace({"method": {"scratch": "raw"}}) for frame in ("cells", "records")}
    methods: dict[str, object] = {**{c.method: {} for c in compare_methods(whole) if c.method != "scratch"}, "raw": {}}
    study = replace(whole.study, spec={**whole.study.spec, "methods": methods})
    over_scratch = {(c.source, c.method): c.difference for c in compare_methods(whole)}
    found = compare_methods(replace(whole, study=study, **named))
    assert {c.call for c in found} == {"no baseline"}
    assert all(c.difference is None for c in found)
    for c in found:
        assert c.over_control == (None if c.method == "raw" else over_scratch[c.source, c.method])
        assert c.control == ("" if c.method == "raw" else "raw")
    assert all(c.over_control is None for c in compare_methods(whole))


def test_what_merlin_owes_to_its_source_is_its_gain_over_its_objective_alone(
    tmp_path: Path, small: Fabrication
) -> None:
    """Runs of the objective alone that are those from scratch: every gain over them is what it was over scratch."""
    whole = _frames(tmp_path, replace(small, gains={"fashion": {"merlin": 0.12, "joint": 0.01}}))
    parts = {}
    for frame in ("cells", "records"):
        rows = getattr(whole, frame)
        copied = rows[rows["method"] == "scratch"].assign(method="alone", key=lambda found: found["key"] + "-alone")
        parts[frame] = pd.concat([rows, copied], ignore_index=True)
    predictions = {f"{key}-alone": values for key, values in whole.predictions.items()} | dict(whole.predictions)
    alone = {"method": "merlin", "source_term": False}
    spec = {**whole.study.spec, "methods": {**whole.study.spec["methods"], "alone": alone}}
    frames = replace(whole, study=replace(whole.study, spec=spec), predictions=predictions, **parts)
    gains = gains_over(frames, "alone")
    comparisons = compare_methods(whole)
    for c in comparisons:
        if c.source:
            assert c.difference is not None
            found = gains[c.source, c.method, c.n_target]
            assert found.mean == c.difference.mean
            assert found.interval is not None
            assert c.difference.interval is not None  # of another family, whose variances are shared
            assert found.interval.low == pytest.approx(c.difference.interval.low, abs=0.001)
    lead = next(c for c in comparisons if c.method == "merlin")
    assert lead.difference is not None
    owed = objective_in_words(compare_methods(frames), frames)
    assert (owed.headline, owed.alone) == ("", ())
    (said,) = owed.sentences
    assert said.startswith(
        f"With 600 labels MeRLin from fashion is {100 * lead.difference.mean:.1f} points above the same objective "
        "without a source ("
    )
    assert said.endswith("so that its gain is owed to the source by as much.")
    owed = objective_in_words(comparisons, whole)
    assert (owed.headline, owed.alone) == ("", ())
    (missing,) = owed.sentences
    assert missing.endswith("the method merlin-target-only would tell.")


def _beside_its_objective(tmp_path: Path, kind: str, wanted: Fabrication) -> StudyFrames:
    """Fabricated MeRLin, or MeRLin-ft, with the runs of joint training as those of its objective without a source."""
    whole = _frames(tmp_path, wanted)
    alone = {frame: getattr(whole, frame).copy() for frame in ("cells", "records")}
    for rows in alone.values():
        rows.loc[rows["method"] == "joint", "source"] = ""
    named = {"merlin": {"method": kind}, "joint": {"method": "merlin", "source_term": False}}
    spec = {**whole.study.spec, "methods": {**whole.study.spec["methods"], **named}}
    return replace(whole, study=replace(whole.study, spec=spec), **alone)


@pytest.mark.parametrize("kind", ["merlin", "merlin-ft"])
def test_an_objective_that_does_as_well_without_its_source_is_in_the_headline(
    kind: str, tmp_path: Path, small: Fabrication
) -> None:
    wanted = replace(small, gains={"fashion": {"merlin": 0.12, "joint": 0.11}})
    found = summarise_frames(_beside_its_objective(tmp_path, kind, wanted))
    end = (
        "MeRLin's objective without a source is not shown to be worse than MeRLin, whose gain is therefore no "
        "evidence of transfer."
    )
    assert found.verdict.headline.startswith("Use MeRLin from fashion with 600 labels: ")
    assert found.verdict.headline.endswith(f"\nWith 600 labels {end}")
    assert found.verdict.outcomes == {600: "no more than an objective"}
    whether = next(part for part in study_parts(found) if part.question == "whether")
    says = "MeRLin alone is better than training from scratch, and need not owe it to a source, with 600 labels."
    assert whether.sentence == f"{says} With 600 labels {end}"  # no card says less
    assert any(
        sentence.endswith("so that its gain need not be owed to the source.") for sentence in found.verdict.sentences
    )


def test_transfer_helps_where_another_way_does_whatever_merlin_owes_to_its_objective(
    tmp_path: Path, small: Fabrication
) -> None:
    wanted = replace(small, gains={"fashion": {"merlin": 0.12, "joint": 0.11, "fine-tune": 0.1}})
    found = summarise_frames(_beside_its_objective(tmp_path, "merlin", wanted))
    calls = {c.method: c.call for c in found.comparisons}
    assert calls["merlin"] == calls["fine-tune"] == "positive"
    assert found.verdict.outcomes == {600: "helps"}
    assert "MeRLin's objective without a source is not shown to be worse" in found.verdict.headline


def test_merlin_is_not_said_to_owe_nothing_where_one_of_its_arms_surely_does(
    tmp_path: Path, small: Fabrication, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lead has the better mean over the objective and the wider interval; the other arm is surely above it."""
    frames = _beside_its_objective(
        tmp_path, "merlin", replace(small, gains={"fashion": {"merlin": 0.12, "joint": 0.1}})
    )
    group = [candidate("merlin", 0.12, "positive", source=name) for name in ("fashion", "mnist")]
    gains = {("fashion", "merlin", 600): difference(0.005, 5, 0.4), ("mnist", "merlin", 600): difference(0.004, 5, 0.4)}
    monkeypatch.setattr("transferscope.analyses.compare.words.gains_over", lambda *_: gains)
    assert objective_in_words([baseline(), *group], frames).alone == (600,)
    gains["mnist", "merlin", 600] = difference(0.02, 5, 0.01)
    found = objective_in_words([baseline(), *group], frames)
    assert found.alone == ()
    assert found.headline  # which speaks of the lead


def test_without_a_second_seed_the_best_is_unknown(tmp_path: Path, small: Fabrication) -> None:
    lonely = compare_methods(_frames(tmp_path, replace(small, n_seeds=1)))
    assert all(math.isnan(c.p_best) and c.test_interval is not None for c in lonely)


def test_a_method_without_a_seed_in_common_has_no_difference(tmp_path: Path, small: Fabrication) -> None:
    missing = {("fashion", "joint", 600, s) for s in (0, 1)} | {("", "scratch", 600, 2)}
    comparisons = compare_methods(_frames(tmp_path, replace(small, not_done=frozenset(missing))))
    joint = next(c for c in comparisons if c.method == "joint")
    assert (joint.difference, joint.call) == (None, "undecided")
    assert math.isnan(joint.p_best)
    assert sum(c.p_best for c in comparisons if c is not joint) == pytest.approx(1.0)


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
