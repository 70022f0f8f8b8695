"""Weights of deep linear networks: small ones to start from, balanced ones that know the source."""

import itertools

import numpy as np
from jaxtyping import Float64

from transferscope.data.problems.sample import check_at_least


def small_layers(
    d: int, *, depth: int, scale: float, generator: np.random.Generator
) -> tuple[Float64[np.ndarray, "d _"], ...]:
    """Layers W_1..W_L of independent N(0, scale^2/d) entries: the near-zero start of tahir2024 and shachaf2021.

    Args:
        d: Number of inputs and width of every hidden layer, at least 1.
        depth: Number of layers L, at least 1.
        scale: The alpha of tahir2024; the theorems are about scale -> 0.
        generator: Source of randomness.

    Returns:
        L arrays: (d, d) for all but the last, which is (d, 1). The network is f(x) = x'W_1...W_L.
    """
    _check_shape(d, depth)
    shapes = [(d, d)] * (depth - 1) + [(d, 1)]
    return tuple(generator.standard_normal(shape) * (scale / np.sqrt(d)) for shape in shapes)


def balanced_layers(
    weights: Float64[np.ndarray, " d"], *, depth: int, generator: np.random.Generator
) -> tuple[Float64[np.ndarray, "d _"], ...]:
    """The 0-balanced rank-one layers whose product is `weights` (shachaf2021, Def. 5.1; limit of tahir2024, Thm. 3.4).

    W_l = ||w||^(1/L) u_l u_{l+1}' with unit vectors u_1 = w/||w||, u_2..u_L random and u_{L+1} = 1.

    Args:
        weights: End-to-end weights w, shape (d,), not zero.
        depth: Number of layers L, at least 1.
        generator: Draws u_2..u_L.

    Returns:
        L arrays: (d, d) for all but the last, which is (d, 1).
    """
    d = len(weights)
    _check_shape(d, depth)
    size = float(np.linalg.norm(weights))
    inner = generator.standard_normal((depth - 1, d))
    units = [weights / size, *(inner / np.linalg.norm(inner, axis=1, keepdims=True)), np.ones(1)]
    return tuple(size ** (1 / depth) * np.outer(u, v) for u, v in itertools.pairwise(units))


def end_to_end(layers: tuple[Float64[np.ndarray, "d _"], ...]) -> Float64[np.ndarray, " d"]:
    """The linear map W_1...W_L of a network, shape (d,)."""
    product = layers[-1]
    for layer in reversed(layers[:-1]):
        product = layer @ product
    return product[:, 0]


def _check_shape(d: int, depth: int) -> None:
    check_at_least("d", d, 1)
    check_at_least("depth", depth, 1)
