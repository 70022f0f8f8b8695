import numpy as np
import pandas as pd
import pytest

from transferscope.report.figures.scaling_linear import draw_linearised
from transferscope.report.figures.scaling_parameters import draw_parameters
from transferscope.scaling.analysis import Analysis, analyse
from transferscope.scaling.question import Question
from transferscope.scaling.table import Columns, curves

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


def test_the_linearised_law_is_a_power_law() -> None:
    figure = draw_linearised(analysis_of(["a"]))
    assert figure is not None
    np.testing.assert_allclose(figure.data["error_above_C"], 2 * SIZES**-0.4, rtol=1e-3)
    assert draw_linearised(analysis_of(["a"], falls=False)) is None
