"""What is said of curves, surfaces, and parameters and tokens: the kinds of statements, and their numbers."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from scaling.examples import GRID, OBJDET, SIZES, language_models
from transferscope import scaling
from transferscope.analyses.scaling import Columns, ScalingQuestion, ScalingResult
from transferscope.analyses.scaling.figures import draw_curves
from transferscope.analyses.scaling.statements import MORE, statements
from transferscope.errors import SettingsError
from transferscope.scaling import advise
from transferscope.settings.questions import Loss

STEEP = 3.0 * SIZES**-0.4 + 0.05
RISING = np.array([0.2, 0.3, 0.35, 0.4, 0.45])


def result_of(
    n: np.ndarray, error: np.ndarray, question: ScalingQuestion | None = None, **columns: object
) -> ScalingResult:
    frame = pd.DataFrame({"n": n, "error": error, **columns})
    by = tuple(name for name in columns if name != "stderr")
    return scaling(frame, question, columns=Columns(by=by, stderr="stderr" if "stderr" in columns else None))


def kinds(result: ScalingResult) -> list[str]:
    return [statement.kind for statement in statements(result.analysis)]


@pytest.mark.parametrize(
    ("n", "errors", "target", "first", "others"),
    [
        (SIZES, STEEP, 0.2, "reached", {"forecast"}),
        (SIZES, STEEP, 0.07, "b", {"forecast", "next run"}),
        (SIZES, STEEP, 0.01, "change", {"forecast", "next run"}),
        (SIZES, OBJDET, 0.93, "a", {"forecast", "next run"}),
        (SIZES, OBJDET, None, "forecast", set()),
        (SIZES[:5], RISING, 0.1, "does not fall", {"forecast", "rises"}),
        (SIZES, np.array([0.5, 0.4, 0.3, 0.28, 0.33, 0.41, 0.5]), None, "forecast", {"rises"}),
        (SIZES[:3], STEEP[:3], None, "forecast", {"few sizes"}),
        (SIZES[:2], STEEP[:2], None, "too few", {"few sizes"}),
        (SIZES[:2], STEEP[:2], 0.1, "a", {"next run", "too few", "few sizes"}),
        (SIZES[:1], STEEP[:1], None, "no advice", set()),
        (SIZES, np.array([0.9, 0.5, 0.2, 0.05, 0, 0, 0]), None, "at zero", set()),
        (SIZES, np.array([0.9, 0.5, 0.2, 0.05, 0, 0, 0]), 0.01, "reached", {"at zero"}),
        (np.append(0.0, SIZES), np.append(0.05, STEEP), 0.01, "no help", {"change", "next run", "forecast"}),
        (np.append(0.0, SIZES), np.append(0.5, STEEP), 0.01, "change", {"next run", "forecast"}),
    ],
)
def test_the_answer_comes_first(
    n: np.ndarray, errors: np.ndarray, target: float | None, first: str, others: set[str]
) -> None:
    result = result_of(n, errors, ScalingQuestion(target_score=target))
    found = kinds(result)
    assert found[0] == first
    assert set(found[1:]) == others
    assert "nan" not in str(result.verdict)
    assert any(section.figures for section in result.sections()) == (len(n) > 1)


def test_a_repeated_measurement_that_rises_within_its_noise_is_not_pointed_out() -> None:
    errors = np.array([0.5, 0.4, 0.30, 0.32, 0.34])
    said = [kinds(result_of(SIZES[:5], errors, stderr=np.full(5, e))) for e in (0.002, 0.02)]
    assert ["rises" in found for found in said] == [True, False]


def test_other_data_is_named_where_it_is_better_and_not_where_it_is_not() -> None:
    n = np.tile(SIZES, 2)
    apart = result_of(n, np.concatenate([STEEP + 0.1, STEEP]), data=np.repeat(["a", "b"], len(SIZES)))
    alike = result_of(n, np.concatenate([STEEP, STEEP * 1.0001]), data=np.repeat(["a", "b"], len(SIZES)))
    (variant,) = (one for one in statements(apart.analysis) if one.kind == "variant")
    assert (variant.facts["variant"], variant.facts["fall"]) == ("b", pytest.approx(0.1, abs=0.02))
    (same,) = (one for one in statements(alike.analysis) if one.kind == "variant")
    assert variant.facts["chance"] > 0.95 > same.facts["chance"]


@pytest.mark.parametrize(("n_curves", "alone"), [(3, set()), (8, {"c6", "c7"})])
def test_every_curve_has_its_sentence_and_those_of_many_without_one_are_named(n_curves: int, alone: set[str]) -> None:
    """Only the first of them has its floor, of 0.05, below the target of 0.075; the others have 0.1, 0.11, ..."""
    names = [f"c{curve}" for curve in range(n_curves)]
    errors = np.concatenate([STEEP, *(STEEP + 0.04 + 0.01 * curve for curve in range(1, n_curves))])
    asked = ScalingQuestion(target_score=0.075)
    found = result_of(np.tile(SIZES, n_curves), errors, asked, data=np.repeat(names, len(SIZES)))
    said = {name: [line for line in str(found.verdict).splitlines() if f"of {name}:" in line.lower()] for name in names}
    assert {name for name, lines in said.items() if not lines} == alone
    assert [name for name, lines in said.items() if "it reaches" in " ".join(lines)] == ["c0"]
    assert [note for note in found.analysis.notes if "table alone" in note] == (
        ["in the table alone: c6 and c7"] if alone else []
    )


@pytest.mark.parametrize(("a", "b", "more"), [(0.05, 0.4, "labels"), (0.4, 0.05, "pretraining")])
def test_the_size_that_gains_more_is_named(a: float, b: float, more: str) -> None:
    """Of a product of powers, doubling a size multiplies the error by 2^-rate."""
    n, s = GRID.T
    errors = 5 * n**-a * s**-b * np.exp(0.002 * np.sin(np.arange(len(n)) ** 2))
    result = scaling(pd.DataFrame({"n": n, "s": s, "error": errors}), columns=Columns(finetune_size="s"))
    (said,) = (one for one in statements(result.analysis) if one.kind == "double")
    assert said.facts["more"] == more
    assert said.facts["with_n"] / said.facts["now"] == pytest.approx(2**-a, rel=0.03)
    assert said.facts["with_s"] / said.facts["now"] == pytest.approx(2**-b, rel=0.03)
    assert said.facts["n_interval"][0] < said.facts["with_n"] < said.facts["n_interval"][1]


def test_the_figure_draws_the_forecast_of_the_table() -> None:
    """With another loss than the default, at the largest size that both show; and where a curve may be at chance."""
    still = 0.9 + 0.01 * np.sin(2 * np.arange(len(SIZES)))
    waves = STEEP + 0.02 * np.sin(np.arange(len(SIZES)) ** 2)
    asked: tuple[tuple[np.ndarray, Loss], ...] = ((waves, "linear"), (still, "log"))
    for errors, loss in asked:
        frame = pd.DataFrame({"n": SIZES, "error": errors})
        analysis = scaling(frame, ScalingQuestion(loss=loss)).analysis
        (curve,) = analysis.curves
        drawn, told = draw_curves(analysis).data.iloc[-1], curve.advice.forecast.each[-1]
        assert drawn["n"] == pytest.approx(told.n)
        expected = [told.interval.low, told.error, told.interval.high]
        assert drawn[["low", "value", "high"]].tolist() == pytest.approx(expected)


@pytest.mark.long
@pytest.mark.parametrize(("share", "reached"), [(2.0, True), (0.5, False), (1.0, None)])
def test_a_target_beside_a_budget_is_answered(share: float, reached: bool | None) -> None:
    """Of noisy errors on 3 s^-0.4 + n^-0.5 a target at twice what the split gives is met, and at half of it not."""
    n, s = GRID.T
    errors = (3 * s**-0.4 + n**-0.5) * np.exp(0.02 * np.random.default_rng(0).standard_normal(len(n)))
    asked = ScalingQuestion(cost_pretrain=0.01, cost_label=1.0, budget=2e5)
    frame, columns = pd.DataFrame({"n": n, "s": s, "error": errors}), Columns(finetune_size="s")
    split = statements(scaling(frame, asked, columns=columns).analysis)[0].facts
    target = share * float(3 * split["s"] ** -0.4 + split["n"] ** -0.5)
    found = scaling(frame, replace(asked, target_score=target), columns=columns)
    assert statements(found.analysis)[0].facts["reached"] is reached
    assert f"the target {target:.3g}" in found.verdict.headline
    assert "target" not in scaling(frame, asked, columns=columns).verdict.headline


BESIROGLU = (0.3478, 0.3658, 482.01, 2085.43, 1.8172)


@pytest.mark.long
@pytest.mark.parametrize("loss", ["log", "huber"])
def test_a_budget_of_compute_is_answered_in_parameters_and_tokens(loss: str) -> None:
    frame = language_models()
    frame.loc[[4, 17], "loss"] *= [1.3, 0.8] if loss == "huber" else [1.0, 1.0]
    result = scaling(frame, ScalingQuestion(budget=1e23, loss=loss, at=((7e9, 1.4e12),)))  # type: ignore[arg-type]
    found = {one.kind: one.facts for one in statements(result.analysis)}
    a, b, A, B, E = BESIROGLU
    best = (a * A / (b * B)) ** (1 / (a + b)) * (1e23 / 6) ** (b / (a + b))
    assert found["optimum"]["n"] == pytest.approx(best, rel=0.15)
    assert found["optimum"]["n"] * found["optimum"]["s"] * 6 == pytest.approx(1e23, rel=1e-6)
    low, high = found["forecast at"]["interval"]
    assert low < E + A * 7e9**-a + B * 1.4e12**-b < high
    assert found.get("outliers", {}).get("rows", []) == (["row 5", "row 18"] if loss == "huber" else [])
    said = str(result.verdict)
    assert "parameters" in said
    assert "tokens" in said
    assert "pretraining" not in said
    (table,) = result.shown_tables()
    assert len(table.rows) == 5
    rates = result.table().query("law == 'additive'").set_index("parameter").loc[["alpha", "beta"]]
    assert ((rates["low"] < [a, b]) & (rates["high"] > [a, b])).all()


def test_the_sizes_that_are_asked_for_are_answered_of_every_curve() -> None:
    n, question = np.tile(SIZES, 2), ScalingQuestion(at=((3000.0,), (4 * SIZES.max(),)))
    result = result_of(n, np.concatenate([STEEP, STEEP + 0.1]), question, data=np.repeat(["a", "b"], len(SIZES)))
    asked = [one.facts for one in statements(result.analysis) if one.kind == "forecast at"]
    for facts, size, beyond in zip(asked, (3000.0, 4 * SIZES.max()), (False, True), strict=True):
        assert (facts["n"], facts["beyond"]) == (size, beyond)
        assert facts["error"] == pytest.approx(3.0 * size**-0.4 + 0.05, rel=0.05)
    (table,) = result.shown_tables()
    assert [len(row) for row in table.rows] == 2 * [len(table.columns)] == [7, 7]


@pytest.mark.parametrize("names", [("n", "s"), ("params", "tokens")])
def test_sizes_over_both_are_not_answered_by_curves_and_a_note_says_so(names: tuple[str, str]) -> None:
    n, s, errors = [1, 2, 4] * 2, [10] * 3 + [20] * 3, [0.5, 0.4, 0.35, 0.4, 0.3, 0.25]
    frame = pd.DataFrame({names[0]: n, names[1]: s, "error": errors})
    columns = Columns(pretrain_size=names[0], finetune_size=names[1])
    result = scaling(frame, ScalingQuestion(at=((8, 20),)), columns=columns)
    assert len(result.shown_tables()[0].columns) == 5
    assert not any(one.kind == "forecast at" for one in statements(result.analysis))
    assert any("takes laws over both sizes" in note for note in result.analysis.notes)


def test_accuracies_over_parameters_and_tokens_are_answered_as_accuracies() -> None:
    """A quality of 1 - loss / 8 has the optimum of the loss, and falls nowhere."""
    frame = language_models()
    quality = frame.assign(accuracy=1 - frame["loss"] / 8).drop(columns="loss")
    question = ScalingQuestion(budget=1e22, at=((1e9, 1e10),))
    scored, lost = scaling(quality, question), scaling(frame, question)
    found, same = ({one.kind: one.facts for one in statements(one.analysis)} for one in (scored, lost))
    assert 8 * found["forecast at"]["error"] == pytest.approx(same["forecast at"]["error"], rel=0.01)
    said = str(scored.verdict) + str(scored.shown_tables()[0])
    assert " %" in said
    assert "loss" not in said.lower()
    (picture,) = (one for section in scored.sections() for one in section.figures)
    assert 50 < picture.data["value"].max() < 100
    drawn = np.concatenate([np.asarray(line.get_ydata()) for line in picture.canvas.axes[0].lines])
    assert 100 * (1 - frame["loss"].max() / 8) - 5 < drawn.min() < drawn.max() < 100


@pytest.mark.parametrize(("names", "of_compute"), [(("n", "s"), False), (("params", "tokens"), True)])
def test_what_gets_worse_as_both_sizes_grow_is_said_before_any_answer(names: tuple[str, str], of_compute: bool) -> None:
    n, s = GRID.T
    frame = pd.DataFrame({names[0]: 1e6 * n, names[1]: 1e6 * s, "error": 5 * n**-0.2 * s**-0.2})
    columns = Columns(pretrain_size=names[0], finetune_size=names[1])
    falls, rises = scaling(frame, columns=columns), scaling(frame.assign(error=1 - frame["error"]), columns=columns)
    assert falls.analysis.compute == rises.analysis.compute == of_compute
    assert kinds(rises)[0] == "rises"
    assert "rises" not in kinds(falls)


@pytest.mark.parametrize(("units", "hinted"), [((1.0, 1.0), False), ((1e-6, 1e-9), True), ((1.0, 1e-9), True)])
def test_parameters_and_tokens_in_millions_and_billions_are_pointed_out(
    units: tuple[float, float], hinted: bool
) -> None:
    frame = language_models()
    frame[["params", "tokens"]] *= np.array(units)
    assert any("plain numbers" in note for note in scaling(frame).analysis.notes) == hinted


@pytest.mark.parametrize(
    ("question", "frame", "sentence"),
    [
        (ScalingQuestion(at=((1e3,),)), "compute", "--at 1000 has 1 sizes, but the table has 2"),
        (ScalingQuestion(at=((SIZES.min() / 10,),)), "curve", "the smallest measured size"),
        (ScalingQuestion(at=((1e3, 1e4),)), "curve", "--at 1000,10000 has 2 sizes, but the table has 1"),
        (ScalingQuestion(cost="6*N*D"), "curve", "is of parameters and tokens"),
        (ScalingQuestion(budget=10.0), "curve", "budget = 10 needs costs"),
        (ScalingQuestion(cost_pretrain=1.0), "compute", "cost nothing"),
    ],
)
def test_questions_that_do_not_fit_the_sizes_are_a_sentence(
    question: ScalingQuestion, frame: str, sentence: str
) -> None:
    table = language_models() if frame == "compute" else pd.DataFrame({"n": SIZES, "error": STEEP})
    with pytest.raises(SettingsError, match=re.escape(sentence)):
        scaling(table, question)


def test_accuracies_are_answered_as_accuracies() -> None:
    frame = pd.DataFrame({"n": SIZES, "accuracy": 1 - STEEP})
    result = scaling(frame, ScalingQuestion(target_score=0.93))
    errors = result_of(SIZES, STEEP, ScalingQuestion(target_score=0.07))
    assert "93.0 %" in str(result.verdict)
    assert "error" not in str(result.verdict)
    shifted = [frame.assign(data=name, accuracy=frame["accuracy"] - by) for name, by in (("a", 0.1), ("b", 0.0))]
    several = scaling(pd.concat(shifted), columns=Columns(by=("data",)))
    assert "variant" in kinds(several)
    assert not re.search("lower|fall", str(several.verdict))
    forecasts = [statements(one.analysis)[-1].facts["error"] for one in (result, errors)]
    assert forecasts[0] == pytest.approx(forecasts[1])
    picture = next(section for section in result.sections() if section.figures).figures[0]
    assert picture.data["value"].max() > 90


@pytest.mark.long
def test_programs_read_the_numbers_of_the_answer() -> None:
    """As of the true laws, and as the functions give that the answer comes from."""
    frame = pd.DataFrame({"n": SIZES, "accuracy": 1 - STEEP})
    question = ScalingQuestion(target_score=0.93, at=((1.5 * SIZES.max(),),))
    read = scaling(frame, question).to_dict()
    runs = pd.DataFrame(read["runs"]).set_index("run")
    ahead = runs.loc[["forecast", "asked"]].astype({"n": float, "low": float, "high": float})
    assert ahead["n"].tolist() == [SIZES.max() * times for times in (2, 4, 8, 16, 1.5)]
    truth = 1 - 3.0 * ahead["n"] ** -0.4 - 0.05
    assert ((ahead["low"] <= truth) & (truth <= ahead["high"])).all()
    in_percent = scaling(frame.assign(accuracy=100 * frame["accuracy"])).to_dict()["runs"]
    assert [one["expected"] for one in in_percent[:4]] == pytest.approx(100 * ahead["expected"].astype(float)[:4])
    (target,) = read["targets"]
    found = advise(SIZES, STEEP, target_error=0.07)
    assert (target["target"], target["scenario"]) == (pytest.approx(0.93), "b")
    assert target["feasible"] == pytest.approx(found.decision.feasible)
    assert target["low"] < (3.0 / 0.02) ** 2.5 < target["high"]
    assert runs.loc["next", "n"] == found.next_run.sizes[0]
    n, s = np.array(GRID).T
    table = pd.DataFrame({"n": n, "s": s, "error": 0.1 + 3 * n**-0.3 + 2 * s**-0.4})
    asked_of = ScalingQuestion(at=((2 * n.max(), s.max()),))
    over_both = scaling(table, asked_of, columns=Columns(finetune_size="s")).to_dict()["runs"]
    (asked,) = (run for run in over_both if run["run"] == "asked")
    assert asked["low"] < 0.1 + 3 * asked["n"] ** -0.3 + 2 * asked["s"] ** -0.4 < asked["high"]
    models = scaling(language_models(), ScalingQuestion(budget=1e23)).to_dict()["runs"]
    assert 1e23 in [pytest.approx(run["cost"]) for run in models if run["run"] == "the budget"]


def test_on_a_telephone_the_figure_shows_the_same() -> None:
    figure = next(section for section in result_of(SIZES, STEEP).sections() if section.figures).figures[0]
    wide, narrow = figure.canvas.axes[0], figure.narrow_canvas.axes[0]
    for one, same in zip(wide.lines, narrow.lines, strict=True):
        np.testing.assert_array_equal(np.asarray(one.get_xydata()), np.asarray(same.get_xydata()))


@pytest.mark.parametrize(
    ("name", "sizes"), [("epoch", [10, 20, 40]), ("train_steps", [100, 200, 400]), ("n", [1, 2, 3, 4])]
)
def test_epochs_of_one_run_are_no_sizes(name: str, sizes: list[int]) -> None:
    frame = pd.DataFrame({name: sizes, "loss": 2.0 * np.array(sizes) ** -0.3})
    result = scaling(frame, columns=Columns(pretrain_size=name))
    assert [caution.split(" seems")[0] for caution in result.analysis.cautions] == [f"Column {name}"]
    kept = scaling(pd.DataFrame({"n": [1, 2, 4, 8], "loss": [0.5, 0.4, 0.3, 0.2]}))
    assert kept.analysis.cautions == ()


def test_a_target_score_alone_needs_no_question() -> None:
    frame = pd.DataFrame({"n": SIZES, "error": STEEP})
    asked = scaling(frame, ScalingQuestion(target_score=0.07))
    assert str(scaling(frame, target_score=0.07).verdict) == str(asked.verdict)
    with pytest.raises(SettingsError, match="target_score was given too"):
        scaling(frame, ScalingQuestion(), target_score=0.07)


def test_pretraining_has_a_worth_at_each_s_by_the_runs_without_it() -> None:
    """Training from scratch is 3 s^-.5; pretraining replaces .5 s + 100 further labels, in closed form."""
    s = 50.0 * 2.0 ** np.arange(6)
    labels = {n: s + (0.5 * s + 100) * n / 4000 for n in (0, 1000, 4000)}
    frame = pd.concat([pd.DataFrame({"n": n, "s": s, "error": 3 * worth**-0.5}) for n, worth in labels.items()])
    found = scaling(frame, columns=Columns(finetune_size="s")).analysis.surfaces[0].worth
    assert [size for size, _ in found] == s.tolist()
    assert [count.value for _, count in found][:4] == pytest.approx(1.5 * s[:4] + 100, rel=0.1)
    assert all(count.low <= 1.5 * size + 100 <= count.high for size, count in found)


def test_every_group_over_both_sizes_has_its_sentence() -> None:
    """Of one group pretraining is worth more labels than any number that training from scratch was measured with."""
    n, s = (one.ravel() for one in np.meshgrid([0.0, 1000, 4000, 16_000], 50.0 * 4 ** np.arange(4)))
    groups = [0.4 * (n == 0) + (n + 100) ** -0.3 + 2 * s**-0.4 + floor for floor in (0.05, 0.1)]
    rows = [(*row, name) for name, errors in zip("ab", groups, strict=True) for row in zip(n, s, errors, strict=True)]
    frame = pd.DataFrame(rows, columns=["n", "s", "error", "data"])
    lines = str(scaling(frame, columns=Columns(finetune_size="s", by=("data",))).verdict).splitlines()
    assert {line[:6] for line in lines} == {"Of a: ", "Of b: "}
    (worth,) = (line for line in lines if "worth" in line)
    assert "more than" in worth
    assert "any size" not in worth


@pytest.mark.parametrize(("fixed", "kept"), [("ratio", "params"), ("tokens", "params"), ("params", "tokens")])
def test_sizes_that_do_not_vary_apart_leave_a_law_over_one(fixed: str, kept: str) -> None:
    size = 1e8 * 2.0 ** np.arange(6)
    n, d = {"ratio": (size, 20 * size), "tokens": (size, 2e10 + 0 * size), "params": (1e9 + 0 * size, size)}[fixed]
    frame = pd.DataFrame({"params": n, "tokens": d, "loss": 1.7 + 400 * n**-0.34 + 400 * d**-0.28})
    result = scaling(frame, ScalingQuestion(at=((1e10,),)))
    assert any(f"the law is over {kept} alone" in note for note in result.analysis.notes)
    (curve,) = result.analysis.curves
    assert next(iter(statements(result.analysis))).facts["more"] == MORE[kept == "tokens"]
    truth = {"ratio": (1e10, 2e11), "tokens": (1e10, 2e10), "params": (1e9, 1e10)}[fixed]
    assert curve.asked.predicted[0] == pytest.approx(1.7 + 400 * truth[0] ** -0.34 + 400 * truth[1] ** -0.28, rel=0.02)


@pytest.mark.long
def test_a_column_of_budgets_is_the_group_and_the_cost() -> None:
    generator = np.random.default_rng(0)
    budgets = np.repeat(np.geomspace(6e18, 1e20, 4), 7)
    n = np.sqrt(budgets / 120) * np.tile(np.geomspace(0.2, 5, 7), 4)
    tokens = budgets / 6 / n / generator.uniform(0.93, 1.35, len(n))
    loss = 1.69 + 406.4 * n**-0.34 + 410.7 * tokens**-0.28
    frame = pd.DataFrame({"params": n, "tokens": tokens, "flops": budgets, "loss": loss})
    result = scaling(frame)
    (one,) = result.analysis.surfaces
    assert one.optima[0].budget == pytest.approx(1e20)
    assert one.optima[0].plan.cost == pytest.approx(1e20)
    columns = Columns(pretrain_size="params", finetune_size="tokens", budget="spent", error="loss")
    of_name = scaling(frame.rename(columns={"flops": "spent"}), columns=columns)
    assert of_name.analysis.surfaces[0].optima[0].budget == pytest.approx(1e20)
    plain = scaling(frame.drop(columns="flops")).analysis.surfaces[0]
    assert plain.largest_cost == pytest.approx((6 * n * tokens).max())


def test_the_multiple_of_the_largest_measured_size_is_said() -> None:
    result = scaling(language_models(), ScalingQuestion(at=((1e12, 1e11),)))
    (said,) = [one for one in statements(result.analysis) if one.kind == "forecast at"]
    measured = language_models()
    assert said.facts["several"] == [("N", pytest.approx(1e12 / measured["params"].max()))]


@pytest.mark.parametrize("name", ["tokens", "compute", "flops", "train_size", "num_samples"])
def test_a_single_size_goes_by_its_common_names(name: str) -> None:
    size = 1e8 * 4.0 ** np.arange(5)
    frame = pd.DataFrame({name: size, "val_loss": 1.7 + 400 * size**-0.3})
    result = scaling(frame, ScalingQuestion(at=((4e11,),)))
    (curve,) = result.analysis.curves
    assert curve.asked.predicted[0] == pytest.approx(1.7 + 400 * 4e11**-0.3, rel=0.02)
    assert any(name in note and "size n" in note for note in result.analysis.notes)
