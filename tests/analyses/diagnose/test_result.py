"""What is said of one network: which side of its start a number is on, and numbers that do not exist."""

from dataclasses import replace

import numpy as np
import pytest

from transferscope.analyses.diagnose.result import Measured, measured_rows
from transferscope.diagnostics import ClassSeparation, FeatureAlignment, Findings, Landscape
from transferscope.diagnostics.diagnostic import Diagnostic
from transferscope.estimate import Estimate, Status
from transferscope.records import Record


def found(diagnostic: Diagnostic, value: float, stderr: float | None, status: Status) -> Findings:
    return Findings((Record(diagnostic.headline, Estimate(value, stderr, 9, status), "target_test"),))


@pytest.mark.parametrize(
    ("value", "start", "stderr", "status", "side"),
    [
        (0.5, 0.9, 0.05, "ok", "lower"),  # t of 8 degrees of freedom: 2.31 standard errors on each side
        (0.9, 0.5, 0.05, "ok", "higher"),
        (0.5, 0.7, 0.05, "ok", ""),  # 0.385 to 0.615 meets 0.585 to 0.815
        (0.5, 0.51, None, "ok", "lower"),  # exact numbers
        (0.5, 0.5, None, "ok", ""),
        (0.5, 0.9, 0.01, "max_steps", ""),  # not settled
        (float("nan"), 0.9, None, "undefined", ""),
    ],
)
def test_a_side_is_said_where_intervals_do_not_meet(
    value: float, start: float, stderr: float | None, status: Status, side: str
) -> None:
    for diagnostic in (ClassSeparation(), FeatureAlignment()):
        one = Measured(diagnostic, found(diagnostic, value, stderr, status), found(diagnostic, start, stderr, "ok"))
        assert one.side == side
    assert measured_rows([one])["at"].tolist() == ["end", "start"]
    assert replace(one, others=None).side == ""


def test_a_picture_is_drawn_anew_at_the_width_of_a_phone() -> None:
    axis = np.linspace(-0.5, 0.5, 5)
    arrays = {"landscape_axis": axis, "landscape_loss": np.add.outer(axis**2, axis**2)}
    picture = Measured(Landscape(), Findings((), arrays)).figure()
    assert picture.narrow_canvas.get_size_inches()[0] * 96 < 360 < picture.canvas.get_size_inches()[0] * 96
