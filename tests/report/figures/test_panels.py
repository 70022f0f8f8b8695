import pytest

from transferscope.report.figures.panels import panels, side_by_side
from transferscope.report.figures.style import drawing


@pytest.mark.parametrize(("n", "most", "rows", "columns"), [(1, 3, 1, 1), (3, 3, 1, 3), (5, 3, 2, 3), (7, 2, 4, 2)])
def test_a_figure_of_panels_is_as_high_as_its_rows(n: int, most: int, rows: int, columns: int) -> None:
    with drawing():
        canvas, axes = panels(n, most, width=6.0, height=1.5, around=0.5)
    assert canvas.get_size_inches().tolist() == [6.0, 0.5 + 1.5 * rows]
    assert len(axes) == n
    assert len(canvas.axes) == rows * columns
    assert [one.get_visible() for one in canvas.axes] == [True] * n + [False] * (rows * columns - n)


def test_panels_that_fit_side_by_side() -> None:
    assert [side_by_side(width, 2.6) for width in (1.0, 5.5, 7.8)] == [1, 2, 3]
