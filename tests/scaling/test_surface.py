from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from scaling.examples import GRID
from transferscope.cli.main import app
from transferscope.errors import DataError
from transferscope.scaling import next_surface_run
from transferscope.scaling.analysis import SurfaceAnalysis
from transferscope.scaling.laws import law_named
from transferscope.scaling.surface import fit_surface, varies_freely
from transferscope.scaling.table import Columns, found_columns
from transferscope.scaling.words import surface_in_words


def test_the_law_that_made_the_data_wins() -> None:
    truth = law_named("effective-data").value(GRID, np.array([[0.4, 0.5, 40.0, 9.0, 0.05]]))[0]
    noise = np.exp(0.002 * np.random.default_rng(0).standard_normal(len(GRID)))
    surface = fit_surface(GRID[:, 0], GRID[:, 1], truth * noise)
    assert surface.interpolating == "effective-data"
    assert sum(surface.weights.values()) == pytest.approx(1)
    assert surface.separate is not None
    assert surface.separate.theta.shape == (4, 3)
    np.testing.assert_allclose(surface.predict(GRID), truth, rtol=0.2)


def test_laws_with_and_without_a_value_at_zero_are_scored_on_the_same_points() -> None:
    errors = law_named("full").value(GRID, np.array([[0.4, 0.3, 1.0, 9.0]]))[0]
    n, s = np.concatenate([GRID[:, 0], np.zeros(4)]), np.concatenate([GRID[:, 1], np.unique(GRID[:, 1])])
    wild = np.concatenate([errors, [0.9, 0.1, 0.9, 0.1]])  # without pre-training, nothing like the rest
    surface = fit_surface(n, s, wild)
    alone = fit_surface(GRID[:, 0], GRID[:, 1], errors)
    assert surface.scores["full"] == alone.scores["full"]
    assert surface.interpolating in ("full", "full+floor")


def test_standard_errors_are_weights() -> None:
    errors = law_named("product").value(GRID, np.array([[0.2, 0.3, 5.0]]))[0]
    wrong = np.arange(len(GRID)) == 5
    stderr = np.where(wrong, 10.0, 0.001) * errors
    surface = fit_surface(GRID[:, 0], GRID[:, 1], np.where(wrong, 2 * errors, errors), stderr=stderr)
    assert surface.fits["product"].theta == pytest.approx([0.2, 0.3, 5.0], rel=1e-3)


def test_a_table_too_small_to_hold_any_out_is_judged_by_its_fit() -> None:
    n, s = np.array([1.0, 2, 4, 8, 1, 4, 8]) * 1000, np.array([100, 100, 100, 100, 200, 200, 200])
    surface = fit_surface(n, s, [0.3, 0.25, 0.22, 0.2, 1.28, 0.3, 0.15])
    scores = surface.scores
    without = [name for name, score in scores.items() if not np.isfinite(score.leave_s_out)]
    assert without
    assert surface.interpolating not in without or len(without) == len(scores)
    assert "nan" not in " ".join(surface_in_words(SurfaceAnalysis("all rows", surface, None, None, None)))


def test_an_error_of_zero_counts_as_measured() -> None:
    errors = law_named("product").value(GRID, np.array([[0.2, 0.3, 5.0]]))[0]
    errors[-1] = 0
    surface = fit_surface(GRID[:, 0], GRID[:, 1], errors)
    assert surface.least_error == 0
    assert surface.largest == tuple(GRID.max(axis=0))
    assert next_surface_run(surface, target_error=1e-3) is None


def test_too_small_a_table_is_a_sentence() -> None:
    with pytest.raises(DataError) as caught:
        fit_surface([1000, 2000, 4000], [100, 100, 100], [0.5, 0.4, 0.3])
    assert str(caught.value) == (
        "a surface over (n, s) was asked of 3 points with 3 values of n and 1 of s; it takes at least 7 points and 2 "
        "values of each"
    )


def language_models(seed: int = 0, m: int = 80) -> pd.DataFrame:
    """Losses of models of free sizes on free numbers of tokens, with the parameters of Besiroglu et al. 2024."""
    generator = np.random.default_rng(seed)
    params = np.exp(generator.uniform(np.log(5e7), np.log(1.6e10), m))
    tokens = params * np.exp(generator.uniform(np.log(1), np.log(150), m))
    loss = 1.8172 + 482.01 * params**-0.3478 + 2085.43 * tokens**-0.3658
    return pd.DataFrame(
        {"params": params, "tokens": tokens, "loss": loss * np.exp(0.002 * generator.standard_normal(m))}
    )


def test_where_both_sizes_vary_freely_the_surface_is_answered_and_bad_rows_are_named(tmp_path: Path) -> None:
    """The natural table: no option names a column. Three rows are broken; the Huber fit is not moved by them."""
    frame = language_models()
    frame.loc[[4, 17, 59], "loss"] *= [1.3, 1.5, 0.8]
    path, out = tmp_path / "models.csv", tmp_path / "page.html"
    frame.to_csv(path, index=False)
    result = CliRunner().invoke(
        app, ["scaling", str(path), "--loss", "huber", "--out", str(out)], catch_exceptions=False
    )
    assert result.exit_code == 0
    assert "params was read as the size n, tokens was read as the size s" in result.output
    assert "(3 of 80 points)" in result.output
    for row in (5, 18, 60):
        assert f"row {row}, " in result.output
    rows = {line.split()[0]: line for line in result.output.splitlines() if " to " in line and "  " in line}
    for name, true in {"alpha": 0.3478, "beta": 0.3658, "A": 482.01, "B": 2085.43, "E": 1.8172}.items():
        low, high = (float(end) for end in rows[name].split("  ")[-1].split(" to "))
        assert low <= true <= high
        assert high < 4 * low
    assert "too few" not in result.output
    assert "E n^" not in result.output
    assert "Far from the law" in out.read_text()


def test_sizes_on_a_grid_do_not_vary_freely() -> None:
    assert not varies_freely(GRID)
    frame = language_models()
    assert varies_freely(frame[["params", "tokens"]].to_numpy())


def test_only_columns_that_were_not_named_are_looked_for() -> None:
    frame = language_models()
    columns, said = found_columns(frame, Columns())
    assert (columns.error, columns.pretrain_size, columns.finetune_size) == ("loss", "params", "tokens")
    assert len(said) == 1
    named = Columns(error="loss", pretrain_size="tokens")
    assert found_columns(frame, named) == (named, ())
    plain = pd.DataFrame({"n": [1, 2], "error": [0.5, 0.4], "loss": [1.0, 0.9], "tokens": [5, 6]})
    assert found_columns(plain, Columns()) == (Columns(), ())
    twice = pd.DataFrame({"n": [1, 2], "loss": [1.0, 0.9], "val_loss": [5, 6]})
    assert found_columns(twice, Columns()) == (Columns(), ())  # then the missing column is named in a sentence
