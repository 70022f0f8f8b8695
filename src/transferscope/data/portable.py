"""Single-precision functions with the same results on every processor and with any number of threads.

Everything is computed in double precision and rounded to single: processors and numbers of threads change the last
digits of a double, and a single about once in a billion. Sums, products, quotients and square roots of scalars are
exact everywhere (IEEE 754).
"""

import numpy as np
from jaxtyping import Float


def sine(x: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Return sin x, float32."""
    return _in_double(np.sin, x)


def cosine(x: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Return cos x, float32."""
    return _in_double(np.cos, x)


def tangent(x: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Return tan x, float32."""
    return _in_double(np.tan, x)


def exponential(x: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Return exp x, float32."""
    return _in_double(np.exp, x)


def product(left: Float[np.ndarray, "*batch n k"], right: Float[np.ndarray, "k m"]) -> Float[np.ndarray, "*batch n m"]:
    """Return the matrix product, float32."""
    return (left.astype(np.float64) @ right.astype(np.float64)).astype(np.float32)


def _in_double(function: np.ufunc, x: np.ndarray) -> np.ndarray:
    result = np.empty(x.shape, np.float32)
    function(x, out=result, dtype=np.float64, casting="same_kind")  # in pieces, which avoids a double-precision copy
    return result
