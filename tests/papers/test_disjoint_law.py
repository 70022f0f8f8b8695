"""The law over classes, images, labels and seeds: what it recovers of errors that are made by it."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from papers.pages import module_of
from transferscope.errors import DataError

LAW = module_of("studies/theory/disjoint_law.py")
SOURCES, LABELS, SIZES, SEEDS = ("few", "many"), (30, 100, 300), (256, 1024, 4096, 16384), 4
C = {"few": 2.0, "many": 1.0}
D = {"few": 3.0, "many": 4.0}


def made(alphas: dict[str, float], *, noise: float = 0.0, effect: float = 0.0, C: dict[str, float] = C) -> pd.DataFrame:
    """C s^-.5 + D s^-.7 (n / 256)^-alpha, with noise, and an effect of each seed on all errors at one s."""
    index = pd.MultiIndex.from_tuples(list(product(SOURCES, LABELS, SIZES)), names=["source", "s", "n"])
    random = np.random.default_rng(0)
    of_seed = {s: effect * random.normal(size=SEEDS) for s in LABELS}
    rows = [
        C[k] * s**-0.5 + D[k] * s**-0.7 * (n / 256) ** -alphas[k] + of_seed[s] + noise * random.normal(size=SEEDS)
        for k, s, n in index
    ]
    return pd.DataFrame(rows, index=index)


def test_what_is_made_by_the_law_is_found_whatever_a_seed_adds() -> None:
    errors = made({"few": 0.4, "many": 0.4}, noise=1e-6, effect=0.05)
    law = LAW.fit(errors)
    shift = errors.mean(axis=1) - made({"few": 0.4, "many": 0.4}).mean(axis=1)  # that of the seeds' mean at each s
    assert law.alpha == pytest.approx(0.4, abs=1e-4)
    for k, s in product(SOURCES, LABELS):
        assert law.D[k, s] == pytest.approx(D[k] * s**-0.7, rel=1e-3)
        assert law.C[k, s] == pytest.approx(C[k] * s**-0.5 + shift[k, s, 256], abs=1e-4)
    value, low, high = LAW.jackknife(errors)
    assert value == pytest.approx(0.4, abs=1e-4)
    assert high - low < 1e-3  # a draw of labels that moves all errors moves no exponent


def test_equality_of_alpha_and_of_c_is_told_from_noise() -> None:
    same = LAW.equality(made({"few": 0.4, "many": 0.4}, noise=0.002))
    assert same.alpha[1:] == (1, pytest.approx(float(stats.chi2.sf(same.alpha[0], 1))))
    assert same.C[1] == same.D[1] == 3
    assert same.alpha[2] > 0.01
    assert same.C[2] < 1e-6  # C of the two differ by a factor of 2
    assert LAW.equality(made({"few": 0.1, "many": 1.2}, noise=0.002)).alpha[2] < 1e-3
    equal = LAW.equality(made({"few": 0.4, "many": 0.4}, noise=0.002, C={"few": 1.0, "many": 1.0}))
    assert equal.C[2] > 0.01


def test_weights_leave_the_effect_of_a_seed_out() -> None:
    noise = 0.01
    quiet, loud = (LAW.weights_of(made({"few": 0.4, "many": 0.4}, noise=noise, effect=effect)) for effect in (0, 5.0))
    for s in LABELS:
        assert loud[s] == pytest.approx(quiet[s], rel=0.5)
        assert quiet[s] == pytest.approx(np.sqrt(SEEDS) / noise, rel=0.35)


def test_left_out_sizes_are_predicted_by_the_law_that_made_them() -> None:
    missed = LAW.held_out(made({"few": 0.4, "many": 0.4}, noise=1e-9))
    assert missed.loc["one alpha", "n"] < 1e-3 < 0.02 < missed.loc["power law", "n"]
    assert missed.loc["one alpha", "s"] < 1e-3 < missed.loc["power law", "s"]
    flat = made({"few": 0.4, "many": 0.4}, noise=1e-9).mean(axis=1).xs(4096, level="n")
    last = made({"few": 0.4, "many": 0.4}).mean(axis=1).xs(16384, level="n")
    expected = float(np.sqrt(np.mean(np.log(flat / last) ** 2)))
    assert missed.loc["last value", "n"] == pytest.approx(expected, rel=1e-4)


def test_two_seeds_give_no_interval() -> None:
    with pytest.raises(DataError, match="2 complete seeds; an interval of alpha takes three"):
        LAW.jackknife(made({"few": 0.4, "many": 0.4}, noise=0.01).loc[:, :1])
