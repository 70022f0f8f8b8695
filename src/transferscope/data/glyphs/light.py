"""Illumination of a rendered scene."""

import numpy as np
from jaxtyping import Float

from transferscope.data.glyphs.layer import Canvas

N_DRAWS = 8

_BEVEL = 0.15  # canvas units: how far characters rise from their outline inwards


def shading(
    uniforms: Float[np.ndarray, "n 8"], height: Float[np.ndarray, "n P"], n_channels: int, canvas: Canvas
) -> Float[np.ndarray, "n C P"]:
    """Brightness of every point under a random light.

    The light stands at a random side. What is nearer to it is brighter, and so are the slopes that face it (Lambert's
    law to first order in the slope):

        shade(p) = intensity * (1 + strength * (0.4 p . l - 0.7 grad(height) . l))

    Args:
        uniforms: Shape (n, `N_DRAWS`), in [0, 1).
        height: Distance inside the outline of the topmost character, at most 0 elsewhere; canvas units, shape (n, P).
        n_channels: 1, or 3 for coloured light.
        canvas: Where it falls.

    Returns:
        Factor of the scene's brightness, at least 0; shape (n, C, P).
    """
    draws = uniforms.astype(np.float32)
    angle = 2 * np.pi * draws[:, :1]
    strength = 0.3 + 0.7 * draws[:, 1:2]
    intensity = 0.55 + 0.45 * draws[:, 2:3]
    side = (np.cos(angle), np.sin(angle))
    slope_x, slope_y = _slopes(height, canvas)
    near = canvas.x * side[0] + canvas.y * side[1]
    facing = slope_x * side[0] + slope_y * side[1]
    shade = np.maximum(intensity * (1 + strength * (0.4 * near - 0.7 * facing)), 0)
    return np.asarray(shade[:, None] * _colours(draws, n_channels)[:, :, None])


def _slopes(height: np.ndarray, canvas: Canvas) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of the bevelled height along x and y, each (n, P)."""
    bevel = np.clip(height, 0, _BEVEL).reshape(len(height), canvas.size, canvas.size)
    slope_y, slope_x = np.gradient(bevel, canvas.pixel, axis=(1, 2))
    return slope_x.reshape(height.shape), slope_y.reshape(height.shape)


def _colours(draws: np.ndarray, n_channels: int) -> np.ndarray:
    """Colour of the light, shape (n, C); white when images are grey."""
    if n_channels == 1:
        return np.ones((len(draws), 1), np.float32)
    return np.asarray(1 - 0.4 * draws[:, 3:6])
