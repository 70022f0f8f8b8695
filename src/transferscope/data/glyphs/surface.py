"""What the background and the characters are painted with."""

import numpy as np
from jaxtyping import Float

from transferscope.data.glyphs.layer import Canvas, Layer

N_WAVES = 3
_GOLDEN = 0.61803399


def n_background_draws(size: int) -> int:
    """Uniform numbers per random background: two colours, three waves, the grain's strength and the grain."""
    return 6 + 3 * N_WAVES + 1 + size * size


def backgrounds(uniforms: Float[np.ndarray, "n width"], n_channels: int, canvas: Canvas) -> Float[np.ndarray, "n C P"]:
    """Random textures: two random colours mixed by three random waves and some grain.

    Args:
        uniforms: Shape (n, `n_background_draws(size)`), in [0, 1).
        n_channels: 1, or 3 for coloured textures.
        canvas: Where they are painted.

    Returns:
        Brightness in [0, 0.65], mostly darker than characters; shape (n, C, P).
    """
    draws = uniforms.astype(np.float32)
    dark, bright = draws[:, :n_channels, None] * 0.35, 0.1 + 0.5 * draws[:, 3 : 3 + n_channels, None]
    waves = np.zeros((len(draws), len(canvas.x)), np.float32)
    for index in range(N_WAVES):
        angle, cycles, phase = draws[:, 6 + 3 * index : 9 + 3 * index].T
        waves += _waves(angle * np.pi, 0.3 + 2.7 * cycles**2, phase, canvas)
    grain = 2 * draws[:, -len(canvas.x) :] - 1
    strength = 0.5 * draws[:, 6 + 3 * N_WAVES, None]
    mix = np.clip(0.5 + 0.3 * waves + strength * grain, 0, 1)[:, None]
    return np.asarray(np.clip(dark + (bright - dark) * mix, 0, 0.65))


def _waves(angle: np.ndarray, cycles: np.ndarray, phase: np.ndarray, canvas: Canvas) -> np.ndarray:
    """sin(2 pi (cycles (x cos angle + y sin angle) + phase)), shape (n, P); cycles per canvas unit."""
    across = np.outer(cycles * np.cos(angle), canvas.x)
    down = np.outer(cycles * np.sin(angle), canvas.y)
    return np.asarray(np.sin(2 * np.pi * (across + down + phase[:, None])))


def stripes(layer: Layer, n_channels: int) -> Float[np.ndarray, "n C P"]:
    """Each character's own stripes: white, alternating with grey, or with a hue of its own.

    The k-th character has stripes at the angle k * golden ratio * pi, with one of three widths. They are painted on
    the character and move with it.

    Args:
        layer: The characters.
        n_channels: 1, or 3 for coloured stripes.

    Returns:
        Brightness in [0, 1], shape (n, C, P).
    """
    turn = np.pi * (layer.character * _GOLDEN % 1)
    cycles = np.array([1.2, 1.9, 2.7])[layer.character % 3]
    across = (cycles * np.cos(turn)).astype(np.float32)[:, None] * layer.u
    down = (cycles * np.sin(turn)).astype(np.float32)[:, None] * layer.v
    paint = np.clip(0.5 + np.sin(np.float32(2 * np.pi) * (across + down)), 0, 1)[:, None]
    other = _paints(layer.character, n_channels)[:, :, None]
    return np.asarray(1 - paint * (1 - other))


def _paints(character: np.ndarray, n_channels: int) -> np.ndarray:
    """The second colour of each character's stripes, shape (n, C)."""
    if n_channels == 1:
        return np.full((len(character), 1), 0.5, np.float32)
    hue = (character * _GOLDEN)[:, None] + np.array([0.0, 1 / 3, 2 / 3])
    return np.asarray(0.6 + 0.4 * np.cos(2 * np.pi * hue), np.float32)
