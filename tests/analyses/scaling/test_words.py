"""What is said of a fit and of a surface over (n, s)."""

import re
from dataclasses import replace

import numpy as np
import pytest

from scaling.examples import GRID, OBJDET, SIZES, product_surface
from transferscope.analyses.scaling.analysis import SurfaceAnalysis
from transferscope.analyses.scaling.words import identifiability, surface_in_words
from transferscope.scaling import fit_law
from transferscope.scaling.advice import Costs, best_split, cheapest_split
from transferscope.scaling.laws import law_named
from transferscope.scaling.surface import HeldOutScore, Surface, fit_surface


def test_what_the_data_do_not_determine_is_said_with_its_set() -> None:
    fit = fit_law(SIZES, OBJDET)
    end = f"{fit.profiles['alpha'].high:.4g}"
    assert identifiability(fit)[0] == (
        f"alpha (pre-training rate) is not determined by these points (95 % set: at most {end})."
    )
    few = fit_law(SIZES[:3], OBJDET[:3])
    assert identifiability(few) == ("Too few points: power+floor needs 4 different sizes and there are 3.",)


def test_a_table_too_small_to_hold_any_out_is_not_given_a_score() -> None:
    surface = product_surface(law_named("product").value(GRID, np.array([[0.2, 0.3, 5.0]]))[0])
    without = replace(surface, scores={"product": HeldOutScore(0.01, np.nan, np.nan, np.nan)})
    (sentence,) = surface_in_words(SurfaceAnalysis("all rows", without, None, None, None))
    assert "nan" not in sentence
    assert "by its fit: too few points to hold any out" in sentence


PARAMETERS, TOKENS = np.exp(np.random.default_rng(3).uniform([np.log(5e7), np.log(1e9)], np.log(1e11), (80, 2))).T
TABLES = {
    "one law, both sizes free": (PARAMETERS, TOKENS, 1.7 + 400 / PARAMETERS**0.34 + 410 / TOKENS**0.28),
    "effective data": (*GRID.T, 0.05 + 3 * (GRID[:, 1] + 20 * GRID[:, 0] ** 0.6) ** -0.4),
    "a product": (*GRID.T, 9 * GRID[:, 0] ** -0.2 * GRID[:, 1] ** -0.3),
}


def _noisy(name: str, seed: int = 0) -> Surface:
    n, s, errors = TABLES[name]
    return fit_surface(n, s, errors * np.exp(0.01 * np.random.default_rng(seed).standard_normal(len(n))))


@pytest.mark.parametrize(
    "name", [name if "free" in name else pytest.param(name, marks=pytest.mark.long) for name in TABLES]
)
def test_no_interval_is_the_spread_over_one_law(name: str) -> None:
    """However many laws were fitted, what is said of points with noise has an interval of some width, or none."""
    surface = _noisy(name)
    costs = Costs(per_pretrain=1.0, per_label=1.0)
    budget = 4 * float(surface.observations.sizes.max(axis=0).sum())
    split = best_split(surface, costs, budget)
    cheapest = cheapest_split(surface, costs, 1.02 * split.error)
    sentences = surface_in_words(SurfaceAnalysis("all rows", surface, split, cheapest, None))
    assert cheapest is not None
    for plan in (split, cheapest):
        assert plan.interval is not None
        assert plan.interval.low < plan.error < plan.interval.high
    said = [part for text in sentences for part in re.findall(r"\(([^()]* to [^()]*)\)", text)]
    assert sum("if the law holds" in part for part in said) == (2 if surface.free else 0)
    for part in said:
        low, high = (float(end.replace(",", "")) for end in part.split(",  ")[0].split(", 95")[0].split(" to "))
        assert low < high
    worth = [text for text in sentences if "pre-training is worth" in text]
    assert bool(worth) == (surface.interpolating == "effective-data")


@pytest.mark.long
def test_what_pre_training_is_worth_is_said_at_each_size_with_an_interval() -> None:
    """20 n^0.6 fine-tuning examples, by the law that the errors were made with."""
    surface = _noisy("effective data")
    assert surface.interpolating == "effective-data"
    (worth,) = (t for t in surface_in_words(SurfaceAnalysis("", surface, None, None, None)) if "is worth" in t)
    found = re.findall(r"([\d,.]+) \(([\d,.]+) to ([\d,.]+)\) on n = ([\d,]+)", worth)
    assert len(found) == 4
    for value, low, high, n in ([float(text.replace(",", "")) for text in each] for each in found):
        assert low < value < high
        assert low < 20 * n**0.6 < high


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one law, both sizes free", "effective data"])
def test_intervals_of_plans_cover_what_the_law_gives_there(name: str) -> None:
    """95 % in 30 tables, of a plan for four times the largest sizes."""
    costs, covered = Costs(per_pretrain=1.0, per_label=1.0), 0
    for seed in range(30):
        surface = _noisy(name, seed)
        plan = best_split(surface, costs, 4 * float(surface.observations.sizes.max(axis=0).sum()))
        n, s = plan.pretrain_size, plan.finetune_size
        truth = 1.7 + 400 / n**0.34 + 410 / s**0.28 if surface.free else 0.05 + 3 * (s + 20 * n**0.6) ** -0.4
        assert plan.interval is not None
        covered += plan.interval.low <= truth <= plan.interval.high
    assert covered >= 25
