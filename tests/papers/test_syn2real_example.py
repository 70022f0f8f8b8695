"""The script behind docs/results/syn2real.md, on errors that obey a known law."""

import numpy as np
import pandas as pd
import pytest

from papers.pages import module_of

syn2real = module_of("examples/syn2real.py")

SIZES = (250, 500, 1000, 2000, 4000, 8000, 16_000)
LAWS = {"plain": (0.5, 6.0, 0.30), "several": (0.4, 3.0, 0.20), "all": (0.6, 10.0, 0.10)}


def made(noise: float = 0.001) -> pd.DataFrame:
    """Errors D n^-alpha + C of three sources with three seeds, and 0.6 from scratch."""
    generator = np.random.default_rng(0)
    rows: list[tuple[object, ...]] = [("t", "8", "", 0, 300, seed, 0.6, noise) for seed in range(3)]
    for name, (alpha, scale, gap) in LAWS.items():
        for n in SIZES:
            for seed in range(3):
                error = scale * n**-alpha + gap + noise * generator.normal()
                rows.append(("t", "8", name, n, 300, seed, error, noise))
    return pd.DataFrame(rows, columns=["target", "network", "source", "n", "s", "seed", "error", "stderr"])


@pytest.mark.long
def test_intervals_hold_the_law_that_the_errors_obey() -> None:
    table = syn2real.fits(made()).set_index("source")
    for name, (alpha, _, gap) in LAWS.items():
        assert table.loc[name, "alpha 0.05"] < alpha < table.loc[name, "alpha 0.95"]
        assert table.loc[name, "C 0.05"] < gap < table.loc[name, "C 0.95"]
    best = min(syn2real.curve(made().query(f"source == '{name}'")).errors.min() for name in LAWS)
    assert table["wanted"].to_numpy() == pytest.approx(0.95 * best)
    assert table.loc["plain", "scenario"] == "c"  # its transfer gap lies above what is wanted


def test_the_law_with_a_floor_extrapolates_better_than_the_power_law_where_it_holds() -> None:
    table = syn2real.held_out(made())
    assert (table["law (1)"] < table["power law"]).all()
    assert (table["law (1)"] < table["last value"]).all()


def test_a_curve_is_the_mean_over_seeds_without_scratch() -> None:
    rows = made()
    found = syn2real.curve(rows[rows["source"].isin(["", "plain"])])
    assert found.sizes[:, 0].tolist() == list(SIZES)
    own = rows[(rows["source"] == "plain") & (rows["n"] == 250)]
    assert found.errors[0] == pytest.approx(own["error"].mean())
    assert found.stderr is not None
    plain = rows[rows["source"] == "plain"]
    over_seeds = plain.groupby("n")["error"].var().mean() ** 0.5  # all sizes have as many seeds
    assert found.stderr.tolist() == pytest.approx([over_seeds / 3**0.5] * len(SIZES))
    alone = syn2real.curve(plain[plain["seed"] == 0])
    assert alone.stderr is not None
    assert alone.stderr[0] == pytest.approx(0.001)  # over test examples


def test_a_curve_that_rises_is_shown_without_a_law() -> None:
    rows = made()
    rises = rows["source"] == "several"
    rows.loc[rises, "error"] = 0.2 + 0.02 * np.log(rows.loc[rises, "n"].astype(float)) + 0.001 * rows.loc[rises, "seed"]
    table = syn2real.fits(rows).set_index("source")
    assert table.index.tolist() == list(LAWS)
    assert table.loc["several", "slope"] == pytest.approx(0.02)
    assert table.loc["several", ["alpha 0.5", "C 0.5"]].isna().all()
    assert table.loc[["plain", "all"], ["alpha 0.5", "C 0.5"]].notna().all(axis=None)
