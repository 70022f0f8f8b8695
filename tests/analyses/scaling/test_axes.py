import pytest

from transferscope.analyses.scaling.axes import dashes, log_axes, new_panels, short_size
from transferscope.report.figures.style import drawing, mark_styles


@pytest.mark.parametrize(
    ("size", "text"), [(500, "500"), (1000, "1k"), (12811.67, "12.8k"), (1_281_167, "1.28M"), (2e9, "2B")]
)
def test_sizes_are_short(size: float, text: str) -> None:
    assert short_size(size) == text


@pytest.mark.parametrize(
    ("low", "high"), [(11.0, 60.0), (1000.0, 64_000.0), (1000.0, 1_280_000.0), (0.002, 0.03), (0.09, 0.11)]
)
def test_every_axis_has_a_few_labels(low: float, high: float) -> None:
    with drawing():
        canvas, (axes,) = new_panels(1)
        axes.plot([low, high], [low, high], "o")
        log_axes(axes, x_title="x", y_title="y", strictly=True)
        canvas.draw_without_rendering()
        for axis, (start, end) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            shown = [tick for tick in axis.get_majorticklocs() if start <= tick <= end]
            assert 2 < len(shown) < 9


def test_a_colour_that_comes_again_is_dashed() -> None:
    styles = mark_styles([f"variant {name}" for name in "abcdefghi"], None)
    assert [dashes(styles, name) for name in styles] == ["-"] * 6 + ["--"] * 3
