"""Features after pretraining: sparsification with finite initial scale, width and source sample.

A deep linear network x'W_1...W_L starts from independent N(0, alpha^2) entries, with d inputs and width h, and learns a
source x'theta_S, s = ||theta_S||. Its features are Phi = W_1...W_(L-1). tahir2024 Theorem 3.4 is the limit alpha -> 0:
one feature, the direction of theta_S. Gradient descent adds little more than one outer product to each layer, so that
the rest of the initial weights remains. Besides s^((L-1)/L), the features have the singular values of

    alpha^(L-1) E_1 E_2 ... E_(L-1),    entries N(0, 1)

The S-transform of the product of squares is (h + d z)^-(L-1) (free probability), so that the largest square is

    min over z > 0 of (1+z)/z (h + d z)^(L-1)

for d and h large (L = 2: (sqrt d + sqrt h)^2; h = d: d^(L-1) L^L/(L-1)^(L-1)). At d = 40 it is about 5 % lower.
"""

import numpy as np
from jaxtyping import Float64
from scipy import optimize

from transferscope_papers.parameters import Array, Numbers, above, angle, at_least
from transferscope_papers.theory.linear_scratch import variance_finite


def remaining_features(
    scale: Numbers, n_inputs: Numbers, *, depth: Numbers, width: Numbers, source_norm: Numbers = 1.0
) -> Array:
    """Return the second singular value of the features over the first, for a start of small scale.

        alpha^(L-1) sqrt( min_z (1+z)/z (h + d z)^(L-1) ) / s^((L-1)/L)

    It holds if it is far below 1: from a few tenths on, the initial weights affect learning the source.

    Args:
        scale: alpha, the standard deviation of every entry at the start, at least 0.
        n_inputs: d, at least 1.
        depth: L, at least 2.
        width: h, at least 1.
        source_norm: s, above 0.

    Raises:
        SettingsError: A parameter is out of range.
    """
    alpha, s = at_least("scale", scale, 0), above("source_norm", source_norm, 0)
    d, depth, h = at_least("n_inputs", n_inputs, 1), at_least("depth", depth, 2), at_least("width", width, 1)
    sizes = np.broadcast_arrays(d, depth, h)
    edges = [_largest(*one) for one in zip(*(size.ravel().tolist() for size in sizes), strict=True)]
    edge = np.array(edges).reshape(sizes[0].shape)
    return np.asarray(alpha ** (depth - 1) * edge / s ** (1 - 1 / depth))


def leftover_features(
    source: Float64[np.ndarray, " d"], *, scale: float, depth: int, width: int, generator: np.random.Generator
) -> Float64[np.ndarray, "d h"]:
    """Draw features after pretraining: the direction of the source, and a random remainder of the initial weights.

    Args:
        source: theta_S, shape (d,), not zero.
        scale: alpha, at least 0.
        depth: L, at least 2.
        width: h, at least 1.

    Returns:
        theta_S/||theta_S||^(1/L) v' + alpha^(L-1) E_1...E_(L-1) (I - v v'), with a random unit vector v; shape (d, h).
        Once the source is learnt perfectly, the head is along v and the features times the head along theta_S, so that
        the remainder of the start is orthogonal to the head.
    """
    product = np.eye(len(source))
    for _ in range(int(at_least("depth", depth, 2)) - 1):
        product = product @ generator.standard_normal((product.shape[1], width))
    head = generator.standard_normal(width)
    head /= np.linalg.norm(head)
    product = product - np.outer(product @ head, head)
    size = float(above("source_norm", float(np.linalg.norm(source)), 0))
    learnt = np.outer(source / size ** (1 / depth), head)
    return np.asarray(learnt + float(at_least("scale", scale, 0)) ** (depth - 1) * product)


def estimated_source_outside(
    theta: Numbers, n_source: Numbers, d: Numbers, *, sigma: Numbers, source_norm: Numbers = 1.0
) -> Array:
    """Return the share of a target outside the feature of a finite noisy source, in place of sin^2(theta).

    The feature is the direction of b = X^+ y, the interpolator of least norm or least squares on n_S source examples.
    With t the target's direction, c = cos(theta) and v = E ||X^+ eps||^2 (`variance_finite`),

        1 - E (b't)^2 / E ||b||^2
        n_S >= d:  E (b't)^2 = s^2 c^2 + v/d,                                      E ||b||^2 = s^2 + v
        n_S < d:   E (b't)^2 = s^2 (c^2 p + (1-c^2) (n_S/d - p)/(d-1)) + v/d,      E ||b||^2 = s^2 n_S/d + v
                   p = n_S (n_S+2)/(d (d+2))

    A ratio of means approximates the mean of ratios, with an error of O(1/d).

    Args:
        theta: Angle between the teachers in radians, in [0, pi].
        n_source: n_S, at least 1; infinity gives sin^2(theta).
        d: Number of inputs, at least 2.
        sigma: Label noise of the source, at least 0.
        source_norm: s, above 0.

    Returns:
        The share, broadcast; if v is infinite, that of a random direction, 1 - 1/d.
    """
    n, d, s = at_least("n_source", n_source, 1), at_least("d", d, 2), above("source_norm", source_norm, 0)
    c_squared, sigma = np.cos(angle(theta)) ** 2, at_least("sigma", sigma, 0)
    held = np.minimum(n, d)
    p = held * (held + 2) / (d * (d + 2))
    seen = np.where(n < d, c_squared * p + (1 - c_squared) * (held / d - p) / (d - 1), c_squared)
    with np.errstate(invalid="ignore"):
        v = np.where(np.isinf(n), 0.0, variance_finite(n, d, sigma))
        share = (s**2 * seen + v / d) / (s**2 * held / d + v)
    return np.asarray(1 - np.where(np.isinf(v), 1 / d, share))


def _largest(d: float, depth: float, width: float) -> float:
    """Return the largest singular value of E_1...E_(L-1), of shapes (d, h), (h, h), ..., for d and h large."""

    def log_square(log_z: float) -> float:
        z = np.exp(log_z)
        return float(np.log1p(z) - log_z + (depth - 1) * np.log(width + d * z))

    least = optimize.minimize_scalar(log_square, bracket=(-2.0, 0.0))
    return float(np.exp(least.fun / 2))
