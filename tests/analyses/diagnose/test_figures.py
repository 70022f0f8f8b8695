"""Figures of what diagnostics saw: what is drawn is what was measured."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from transferscope.analyses.diagnose.figures import draw_descent, draw_gradients, draw_landscape
from transferscope.report.figures.style import drawing, new_figure, to_svg

pytestmark = pytest.mark.drawn

AXIS = np.linspace(-1, 1, 5)


@pytest.fixture
def canvas() -> Figure:
    with drawing():
        return new_figure(4, 3)


@pytest.mark.parametrize(
    "loss", [np.add.outer(AXIS**2, 3 * AXIS**2), 10.0 ** np.add.outer(AXIS, AXIS), np.ones((5, 5))]
)
def test_contours_span_the_loss_and_the_first_direction_is_to_the_right(loss: np.ndarray, canvas: Figure) -> None:
    draw_landscape(canvas, {"landscape_axis": AXIS, "landscape_loss": loss})
    assert canvas.axes[0].get_xlabel().endswith("direction 1")
    if loss.min() < loss.max():
        levels = canvas.axes[1].get_ylim()
        assert levels == pytest.approx((loss.min(), loss.max()))
    assert to_svg(canvas).startswith("<?xml")


@pytest.mark.parametrize("size", [(4.6, 3.6), (3.3, 2.4)])
def test_no_label_of_the_landscape_is_cut_off(size: tuple[float, float]) -> None:
    with drawing():
        canvas = new_figure(*size)
        draw_landscape(canvas, {"landscape_axis": AXIS, "landscape_loss": np.add.outer(AXIS**2, 3 * AXIS**2)})
        to_svg(canvas)
        drawn = canvas.get_tightbbox()
    assert drawn.x0 > 0.03
    assert drawn.y0 > 0.03
    assert drawn.x1 < size[0] - 0.03
    assert drawn.y1 < size[1] - 0.03


def test_levels_close_to_each_other_are_told_apart(canvas: Figure) -> None:
    draw_landscape(canvas, {"landscape_axis": AXIS, "landscape_loss": 2.3 + 0.001 * np.add.outer(AXIS, AXIS)})
    canvas.draw_without_rendering()
    ticks = [tick.get_text() for tick in canvas.axes[1].get_yticklabels()]
    assert len(set(ticks)) == len(ticks) > 2
    assert canvas.axes[0].get_ylabel().endswith("direction 2")


def test_boxes_hold_the_quantiles_of_each_layer(canvas: Figure) -> None:
    percent = np.linspace(1, 101, 101)
    draw_gradients(canvas, {"gradient_quantiles/a": percent, "gradient_quantiles/b": 0 * percent, "other": AXIS})
    ticks = [tick.get_text() for tick in canvas.axes[0].get_xticklabels()]
    medians = [
        float(np.max(np.asarray(line.get_ydata()))) for line in canvas.axes[0].lines if line.get_color() == "#0072b2"
    ]
    assert ticks == ["a", "b"]
    assert medians == [51.0, 1.0]  # zeros lie on the lower edge of a logarithmic axis


def test_descent_is_drawn_against_the_length_of_the_way(canvas: Figure) -> None:
    losses = {"descent_gradient_step": [3.0, 2.0, 1.0], "descent_fixed_step": [3.0, np.nan, np.nan]}
    draw_descent(canvas, {name: np.array(loss) for name, loss in losses.items()})
    left, right = (axes.lines[0] for axes in canvas.axes)
    np.testing.assert_array_equal(left.get_xdata(), [0.0, 0.01, 0.02])
    np.testing.assert_array_equal(right.get_ydata(), [3.0, np.nan, np.nan])
