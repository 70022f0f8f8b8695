"""What the linear-transfer model says of a study that was placed, beside what was measured."""

import math
from collections.abc import Sequence
from typing import Literal

import pandas as pd

from transferscope.theory.placement import Placement
from transferscope.theory.placement_document import KeptPlacement
from transferscope.wording import counted, listed

Signs = Literal["same", "opposite", "open"]
"""Of the model's and the measured transferability; open where one of them is not known."""


def signs_of(placement: Placement) -> Signs:
    """Whether what the model says and what was measured are on one side of 0."""
    product = placement.modelled.sign * placement.measured.sign
    return "open" if product == 0 else "same" if product > 0 else "opposite"


def description_in_words(points: Sequence[KeptPlacement]) -> str:
    """In how many cases the model gives the measured error of training from scratch, which is what it has to do first.

    Cases of one source and number of labels that differ in their linear probe alone count once.
    """
    cases = {(point.name, point.placement.n_target): point.placement.described for point in points}
    known = [described for described in cases.values() if described is not None]
    if not known:
        return (
            "Whether the linear-transfer model describes these pairs cannot be told: that takes two seeds of training "
            "from scratch to compare with."
        )
    described, n = known.count(True), len(known)
    verdict = (
        "describes these pairs"
        if described == n
        else "does not describe these pairs"
        if not described
        else f"describes {described} of {n} pairs and numbers of labels, and not the others"
    )
    return (
        f"This model {verdict}: held against the error of training from scratch on held-out examples, what it says "
        f"agrees within what is known of both in {described} of {counted(n, 'case')}."
    )


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
                "stderr": math.nan if found.stderr is None else found.stderr,
                "n": found.n,
                "status": found.status,
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
