"""Roots of scalar equations, for whole arrays at once."""

import numpy as np
from jaxtyping import Float64

_STEPS = 100


def balanced_root(
    a: Float64[np.ndarray, "..."], b: Float64[np.ndarray, "..."], depth: Float64[np.ndarray, "..."]
) -> Float64[np.ndarray, "..."]:
    """The positive root t of t^(L-1) (t - b) = a.

    For a, b >= 0 (not both 0) there is exactly one, in [max(b, a^(1/L)), b + a^(1/L)]. In w = log(t - b) the equation
    reads (L - 1) log(b + e^w) + w = log a, whose left side is convex with slopes in [1, L]; so Newton's method that
    starts at the upper end, w = (log a)/L, comes down to the root without overshooting.

    Args:
        a: At least 0.
        b: At least 0.
        depth: L, at least 1 and finite.

    Returns:
        t, broadcast, to a relative accuracy near 1e-15; 0 where a and b are 0, infinite where a is.
    """
    a, b, depth = np.broadcast_arrays(a, b, depth)
    regular = (a > 0) & (b > 0) & np.isfinite(a)
    log_a = np.log(a, out=np.zeros(a.shape), where=regular)
    log_b = np.log(b, out=np.zeros(b.shape), where=regular)
    w = log_a / depth
    for _ in range(_STEPS):
        log_t = np.logaddexp(log_b, w)
        slope = 1 + (depth - 1) * np.exp(w - log_t)
        step = ((depth - 1) * log_t + w - log_a) / slope
        w = w - step
        if (
            np.abs(step) <= 1e-12 * (1 + np.abs(w))
        ).all():  # convergence is quadratic: the next step would be below 1e-16
            break
    with np.errstate(divide="ignore"):
        degenerate = np.where(a == 0, b, a ** (1 / depth))
    return np.asarray(np.where(regular, b + np.exp(w), degenerate))
