import numpy as np
import pandas as pd
import pytest
from scipy import optimize

from transferscope.analyses.scaling.analysis import Analysis, analyse
from transferscope.analyses.scaling.figures import draw_linearised, draw_parameters, landscape
from transferscope.analyses.scaling.measurements import Columns, curves
from transferscope.analyses.scaling.question import Question
from transferscope.scaling.observations import observe

SIZES = 1000.0 * 2.0 ** np.arange(6)


def analysis_of(names: list[object], *, falls: bool = True) -> Analysis:
    error = 2 * SIZES**-0.4 + 0.1
    frame = pd.concat(
        [pd.DataFrame({"g": name, "n": SIZES, "error": error if falls else error[::-1]}) for name in names]
    )
    return analyse(curves(frame, Columns(by=("g",))), Question())


@pytest.mark.parametrize(("names", "title"), [([18, 34, 50], "g"), (["a", "b", "c"], "Pre-training rate alpha")])
def test_curves_told_apart_by_numbers_are_drawn_over_them(names: list[object], title: str) -> None:
    figure = draw_parameters(analysis_of(names))
    assert figure is not None
    assert figure.canvas.axes[0].get_xlabel() == title


@pytest.mark.long
def test_on_a_telephone_the_same_panels_stand_below_each_other() -> None:
    figure = draw_linearised(analysis_of(["a", "b", "c"]))
    assert figure is not None
    assert figure.narrow_canvas is not None
    wide, narrow = (
        [axes for axes in canvas.axes if axes.get_visible()] for canvas in (figure.canvas, figure.narrow_canvas)
    )
    assert len({axes.get_position().x0 for axes in wide}) == 3
    assert len({axes.get_position().x0 for axes in narrow}) == 1
    for one, same in zip(wide, narrow, strict=True):
        assert same.get_title(loc="left") == one.get_title(loc="left")
        np.testing.assert_array_equal(same.lines[0].get_xydata(), one.lines[0].get_xydata())


def test_the_linearised_law_is_a_power_law() -> None:
    figure = draw_linearised(analysis_of(["a"]))
    assert figure is not None
    np.testing.assert_allclose(figure.data["error_above_C"], 2 * SIZES**-0.4, rtol=1e-3)
    assert draw_linearised(analysis_of(["a"], falls=False)) is None


@pytest.mark.parametrize(("alpha", "D"), [(0.02, 0.02), (0.27, 0.27), (0.52, 1.52), (1.0, 2.0)])
def test_the_landscape_is_that_of_constrained_least_squares(alpha: float, D: float) -> None:
    n = 1000 * 2.0 ** np.arange(7)
    y = np.array([0.30, 0.25, 0.22, 0.18, 0.17, 0.15, 0.14])
    _, distance = optimize.nnls(np.ones((7, 1)), y - D * n**-alpha)
    found = landscape(observe(n, y), np.array([0.5, alpha]), np.array([D, 0.7]))
    assert found[1, 0] == pytest.approx(distance / np.sqrt(7))
