"""What is said of a fit and of a surface over (n, s)."""

from dataclasses import replace

import numpy as np

from scaling.examples import GRID, OBJDET, SIZES, product_surface
from transferscope.analyses.scaling.analysis import SurfaceAnalysis
from transferscope.analyses.scaling.words import identifiability, surface_in_words
from transferscope.scaling import fit_law
from transferscope.scaling.laws import law_named
from transferscope.scaling.surface import HeldOutScore


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
