"""Parameters of the closed forms, and checks of their values.

Names and units are the same everywhere: `theta` angle between the teachers in radians; `gamma` target examples over
inputs, n/d; `sigma` standard deviation of the label noise; `source_norm` and `target_norm` norms of the teachers;
`depth` number of layers, which may be `math.inf`. Every parameter may be a number or an array; arrays are broadcast.
"""

import math
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float64, Num

from transferscope.errors import out_of_range

Numbers: TypeAlias = float | Num[np.ndarray, "..."]
"""A number or an array of numbers, broadcast with the others."""

Array: TypeAlias = Float64[np.ndarray, "..."]
"""A float64 array in the broadcast shape of the parameters; zero-dimensional if all are numbers."""


def at_least(name: str, value: Numbers, lower: float) -> Array:
    """Return a parameter as a float64 array; raises SettingsError with its name if a value is below `lower` or NaN."""
    array = np.asarray(value, dtype=np.float64)
    _check(np.asarray(array >= lower), name, array, f"at least {lower:g}")
    return array


def above(name: str, value: Numbers, lower: float) -> Array:
    """Return a parameter as a float64 array, with every value above `lower`; see `at_least`."""
    array = np.asarray(value, dtype=np.float64)
    _check(np.asarray(array > lower), name, array, f"a number above {lower:g}")
    return array


def counts(name: str, value: Numbers) -> Array:
    """Return finite numbers above 0 as a float64 array."""
    array = above(name, value, 0)
    _check(np.asarray(np.isfinite(array)), name, array, "a finite number")
    return array


def between(name: str, value: Numbers, lower: float, upper: float) -> Array:
    """Return a parameter as a float64 array, with every value in [lower, upper]; see `at_least`."""
    array = np.asarray(value, dtype=np.float64)
    _check(np.asarray((array >= lower) & (array <= upper)), name, array, f"{lower:g} to {upper:g}")
    return array


def angle(theta: Numbers) -> Array:
    """Return an angle in radians as a float64 array; raises SettingsError for values outside [0, pi]."""
    array = np.asarray(theta, dtype=np.float64)
    inside = np.asarray((array >= 0) & (array <= math.pi))
    _check(inside, "theta", array, "0 to pi (radians, not degrees)")
    return array


def _check(fine: Bool[np.ndarray, "..."], name: str, array: Array, range_: str) -> None:
    if not fine.all():
        first = float(np.atleast_1d(array)[~np.atleast_1d(fine)][0])
        raise out_of_range(name, f"{first:g}", range_)
