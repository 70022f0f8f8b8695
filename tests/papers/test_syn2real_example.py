"""The script behind docs/results/syn2real.md, on errors that obey a known law."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest


def script() -> ModuleType:
    """The example as a module."""
    spec = spec_from_file_location("syn2real_example", Path(__file__).parents[2] / "examples" / "syn2real.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


syn2real = script()

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
    assert found.stderr[0] == pytest.approx(0.001 / 3**0.5)
