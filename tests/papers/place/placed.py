"""Placements made up for tests."""

import math

from transferscope.estimate import Estimate, Interval
from transferscope_papers.place.placement import Placement

NOT_MEASURED = Estimate(math.nan, None, 0, "undefined")


def ranged(value: float, low: float, high: float) -> Estimate:
    """A number with its interval; without standard error where it is infinite."""
    if math.isinf(value):
        return Estimate(value, None, 1000, "unbounded", Interval(low, high))
    return Estimate(value, (high - low) / 4 if math.isfinite(high - low) else None, 1000, "ok", Interval(low, high))


def point(
    source: str = "fashion",
    n_target: int = 50,
    *,
    modelled: Estimate,
    measured: Estimate,
    scratch: Estimate = NOT_MEASURED,
    method: str = "linear-probe",
) -> Placement:
    """A point; what lies outside is 10 % (3 to 13) with a noise of 0.1 (0 to 0.3) in 20 directions of the inputs."""
    return Placement(
        name=source,
        source=source,
        n_source=10_000,
        n_target=n_target,
        method=method,
        n_examples=1797,
        kind="classification",
        outside_share=ranged(0.1, 0.03, 0.13),
        noise_level=ranged(0.1, 0.0, 0.3),
        input_dimension=ranged(20.0, 19.0, 21.0),
        feature_dimension=ranged(5.0, 4.5, 5.5),
        examples_per_dimension=ranged(n_target / 20, n_target / 21, n_target / 19),
        critical_share=ranged(0.3, 0.2, 0.4),
        modelled=modelled,
        chance_negative=0.25,
        scratch_modelled=ranged(0.4, 0.3, 0.5),
        scratch_measured=scratch,
        measured=measured,
    )
