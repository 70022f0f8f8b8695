"""Expectations under Gaussian inputs that have closed forms."""

import numpy as np
from jaxtyping import Float64


def cosines(left: Float64[np.ndarray, "m d"], right: Float64[np.ndarray, "k d"]) -> Float64[np.ndarray, "m k"]:
    """Cosine of the angle between every row of `left` and every row of `right`, within [-1, 1]; 0 for a zero row."""
    sizes = np.outer(np.linalg.norm(left, axis=1), np.linalg.norm(right, axis=1))
    inner = left @ right.T
    u = np.divide(inner, sizes, out=np.zeros_like(inner), where=sizes > 0)
    return np.asarray(np.clip(u, -1.0, 1.0))


def relu_overlap(left: Float64[np.ndarray, "m d"], right: Float64[np.ndarray, "k d"]) -> Float64[np.ndarray, "m k"]:
    """E relu(w'x) relu(v'x) for x ~ N(0, I): the arc-cosine kernel of degree 1 (Cho and Saul 2009).

    ||w|| ||v|| / (2 pi) [ sqrt(1 - u^2) + u (pi - arccos u) ] with u the cosine between w and v.

    Args:
        left: Vectors w, shape (m, d).
        right: Vectors v, shape (k, d).

    Returns:
        The overlaps, shape (m, k); symmetric and positive semi-definite when both are the same.
    """
    u = cosines(left, right)
    sizes = np.outer(np.linalg.norm(left, axis=1), np.linalg.norm(right, axis=1))
    return np.asarray(sizes / (2 * np.pi) * (np.sqrt(1 - u**2) + u * (np.pi - np.arccos(u))))
