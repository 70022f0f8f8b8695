"""What the linear-transfer model expects of a study that was placed, beside what was measured."""

import math
from collections.abc import Sequence
from typing import Literal

import pandas as pd

from transferscope.report.wording import counted, listed
from transferscope.theory.placement import Placement
from transferscope.theory.placement_document import KeptPlacement

Signs = Literal["same", "opposite", "open"]
"""Of expected and measured transferability; open where one of them is not known."""


def signs_of(placement: Placement) -> Signs:
    """Whether what is expected and what was measured are on one side of 0."""
    product = placement.expected.sign * placement.measured.sign
    return "open" if product == 0 else "same" if product > 0 else "opposite"


def signs_in_words(points: Sequence[KeptPlacement]) -> str:
    """In how many cases the signs are the same, opposite or not known, and why not."""
    if all(math.isnan(point.placement.measured.value) for point in points):
        return (
            "Nothing was measured to hold the linear-transfer model against; that takes a linear probe and training "
            "from scratch on the same seeds."
        )
    found = [signs_of(point.placement) for point in points]
    said = (
        f"The linear-transfer model and the measurement have the same sign in {found.count('same')} of "
        f"{counted(len(found), 'case')} and opposite signs in {found.count('opposite')}"
    )
    unknown = [point.placement for point, signs in zip(points, found, strict=True) if signs == "open"]
    if not unknown:
        return f"{said}."
    reasons = listed(list(dict.fromkeys(map(_why_open, unknown))), last="or")
    return f"{said}; in {len(unknown)} it cannot be told, because {reasons}."


def placement_rows(points: Sequence[KeptPlacement]) -> pd.DataFrame:
    """The numbers of all points.

    Returns:
        One row for each quantity of each point: source, method ("" when nothing was measured), n_target, name (a field
        of `Placement`), value, low, high, stderr (NaN when there is none), n and status.
    """
    return pd.DataFrame(
        [
            {
                "source": point.name,
                "method": point.placement.method,
                "n_target": point.placement.n_target,
                "name": name,
                "value": found.value,
                "low": found.interval.low if found.interval else math.nan,
                "high": found.interval.high if found.interval else math.nan,
                "stderr": math.nan if found.estimate.stderr is None else found.estimate.stderr,
                "n": found.estimate.n,
                "status": found.estimate.status,
            }
            for point in points
            for name, found in point.placement.quantities.items()
        ]
    )


def _why_open(placement: Placement) -> str:
    if math.isnan(placement.measured.value):
        return "nothing was measured"
    if placement.measured.interval is None:
        return "there is one seed"
    return "an interval holds 0"
