"""The published Syn2Real rows against the published and the independently verified numbers."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from typer.testing import CliRunner

from transferscope.errors import CorruptDataError, MissingDataError
from transferscope.scaling import common_d, fit_law
from transferscope.scaling.laws import law_named
from transferscope.scaling.observations import observe
from transferscope.scaling.surface import held_out_score
from transferscope_papers.command import app
from transferscope_papers.mikami2021.rows import (
    all_curves,
    extrapolation_table,
    paper_fit,
    read_errors,
    surface_rows,
    task_panels,
)

VERIFIED = {
    ("objdet", "objdet"): (0.4387, 0.9353),
    ("semseg", "objdet"): (0.5552, 0.9304),
    ("sinclass", "objdet"): (0.4798, 0.8124),
    ("objdet", "semseg"): (0.5167, 0.9524),
    ("semseg", "semseg"): (0.5293, 0.9352),
    ("sinclass", "semseg"): (0.4819, 0.8332),
    ("objdet", "mulclass"): (0.3160, 0.9217),
    ("semseg", "mulclass"): (0.7357, 0.9558),
    ("sinclass", "mulclass"): (0.2272, 0.7999),
    ("objdet", "normal"): (0.5746, 0.9504),
    ("semseg", "normal"): (1.5, 0.9503),
    ("sinclass", "normal"): (0.5180, 0.8180),
}
"""(fine-tuning task, pre-training task) -> (alpha, C) with D = 0.48: an independent fit by bounded least squares."""


@pytest.fixture(scope="module")
def errors() -> pd.DataFrame:
    return read_errors(Path(os.environ["TRANSFERSCOPE_DATA"]) / "scaling" / "syn2real_finetune.csv")


@pytest.mark.real_data
def test_figure_1_rates_and_gaps(errors: pd.DataFrame) -> None:
    for panel in task_panels(errors):
        for task, data in panel.curves.items():
            alpha, _, C = paper_fit(data).theta
            assert (alpha, C) == pytest.approx(VERIFIED[panel.title, task], abs=1e-4)


@pytest.mark.real_data
def test_the_first_pass_of_the_common_D_procedure(errors: pd.DataFrame) -> None:
    curves = all_curves(errors)
    assert len(curves) == 29
    result = common_d(curves, max_passes=1)
    assert result.history[0] == pytest.approx([0.490, 0.503], abs=5e-4)


@pytest.mark.real_data
def test_figure_5_the_law_with_a_floor_beats_the_power_law(errors: pd.DataFrame) -> None:
    table = extrapolation_table(errors).set_index(["model", "law"])["rmse"]
    expected = {"r50": (0.0112, 0.0022), "r101": (0.0131, 0.0025), "r152": (0.0135, 0.0031)}
    for model, (power, floor) in expected.items():
        assert table[model, "power"] == pytest.approx(power, abs=1e-4)
        assert table[model, "power+floor"] == pytest.approx(floor, abs=1e-4)


@pytest.mark.real_data
def test_the_full_law(errors: pd.DataFrame) -> None:
    rows = surface_rows(errors)
    rows = rows[rows["fratio"].isin((2, 4, 7, 16, 32, 64))]
    fit = fit_law(rows[["n", "s"]].to_numpy(), rows["error"].to_numpy(), law="full", loss="linear")
    alpha, beta, delta_gamma, delta = fit.theta
    assert len(rows) == 42
    assert [alpha, beta, delta_gamma / delta] == pytest.approx([0.5431, 0.3187, 0.4820], abs=1e-4)
    assert delta == pytest.approx(39.8, abs=0.05)
    assert fit.rmse == pytest.approx(0.00838, abs=1e-5)
    assert fit.estimates["beta"].status == "converged"
    assert fit.estimates["alpha"].status == "not_identified"


@pytest.mark.real_data
def test_effective_data_fits_better_and_extrapolates_worse_in_s(errors: pd.DataFrame) -> None:
    rows = surface_rows(errors)
    data = observe(rows[["n", "s"]].to_numpy(), rows["error"].to_numpy())
    full, effective = (held_out_score(law_named(name), data, "log") for name in ("full", "effective-data"))
    assert full.in_sample == pytest.approx(0.0317, abs=1e-4)
    assert effective.in_sample == pytest.approx(0.0076, abs=1e-4)
    assert (full.larger_s, effective.leave_s_out) == pytest.approx((0.0945, 0.0122), abs=1e-4)
    assert effective.larger_s > 2 * full.larger_s


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, pd.DataFrame]]:
    """The data of a figure's files, by what follows its name."""
    table = Path(os.environ["TRANSFERSCOPE_DATA"]) / "scaling" / "syn2real_finetune.csv"
    folder = tmp_path_factory.mktemp("figures")

    def draw(name: str) -> dict[str, pd.DataFrame]:
        arguments = ["draw", "mikami2021", name, "--table", str(table), "--out", str(folder), "--quiet"]
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        start = f"mikami2021-{name}"
        return {path.stem.removeprefix(start): pd.read_csv(path) for path in folder.glob(f"{start}*.csv")}

    return draw


@pytest.mark.real_data
@pytest.mark.long
@pytest.mark.parametrize(("name", "part"), [("fig1", ""), ("fig4", "-left"), ("fig6", "-left"), ("fig10", "")])
def test_the_curves_fall_and_lie_on_the_points(
    name: str, part: str, drawn: Callable[[str], dict[str, pd.DataFrame]]
) -> None:
    data = drawn(name)[part]
    for _, curve in data.groupby(["panel", "series"]):
        curve = curve.sort_values("n")
        assert (np.diff(curve["fitted"]) < 0).all()
        assert np.sqrt(((curve["fitted"] - curve["error"]) ** 2).mean()) < 0.015


@pytest.mark.real_data
@pytest.mark.long
def test_the_drawn_rates_and_gaps_are_those_of_the_independent_fit(
    drawn: Callable[[str], dict[str, pd.DataFrame]],
) -> None:
    data = drawn("fig8")[""].set_index(["curve", "parameter"])[["median", "low", "high"]].T.to_dict()
    shown = 0
    for (target, source), (alpha, gap) in VERIFIED.items():
        for parameter, value in (("alpha", alpha), ("C", gap)):
            if row := data.get((f"{source} to {target}", parameter)):
                assert row["median"] == pytest.approx(value, abs=1e-4)
                assert row["low"] < value < row["high"]
                shown += 1
    assert shown >= len(VERIFIED)  # rates without a standard error are left out


@pytest.mark.real_data
@pytest.mark.long
def test_of_the_two_surfaces_that_with_effective_data_lies_nearer(
    drawn: Callable[[str], dict[str, pd.DataFrame]],
) -> None:
    residual = {
        part: float(((data["fitted"] - data["error"]) ** 2).mean() ** 0.5) for part, data in drawn("fig9").items()
    }
    assert residual["-effective-data"] < 0.01 < residual["-full"] < 0.03


@pytest.mark.real_data
@pytest.mark.long
def test_the_gap_falls_with_the_size_of_the_model(drawn: Callable[[str], dict[str, pd.DataFrame]]) -> None:
    data = drawn("fig4")["-right"]
    for _, panel in data.groupby("panel"):
        assert scipy.stats.spearmanr(panel["millions"], panel["C"]).statistic < -0.5


@pytest.mark.real_data
@pytest.mark.long
def test_the_landscape_has_a_valley(drawn: Callable[[str], dict[str, pd.DataFrame]]) -> None:
    """Along it other rates with other D fit as well, which the paper holds fixed for that reason."""
    (data,) = (table for table in drawn("fig13").values() if "rmse" in table)
    for _, fit in data.groupby("series"):
        valley = fit[fit["rmse"] < 1.1 * fit["rmse"].min()]
        assert valley["alpha"].max() > 1.5 * valley["alpha"].min()


def test_another_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    with pytest.raises(MissingDataError):
        read_errors(path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(CorruptDataError) as caught:
        read_errors(path)
    assert str(caught.value) == (
        f"{path} lacks the column(s) n_eval, value, pretrain.data, nparam, ptask, fdata, ftask, model, pscale, fratio, "
        "pdata; expected the authors' table"
    )
