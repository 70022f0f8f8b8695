"""Images of characters: layers, surfaces and light put together."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt8

from transferscope.data.counter_random import uniform_rows
from transferscope.data.glyphs import light, pose, surface
from transferscope.data.glyphs.atlas import Atlas
from transferscope.data.glyphs.layer import Canvas, Layer, place
from transferscope.data.glyphs.settings import GlyphSettings

_N_DISTRACTORS = 4
_DRAWS_PER_DISTRACTOR = 6 + pose.N_DRAWS
_GAP = 1.2  # pixels left free around the labelled character, so that no distractor touches it

_WHITE = np.float32(1)


@dataclass(frozen=True)
class Scenes:
    """Finished images.

    Attributes:
        images: Shape (n, C, size, size).
        labels: Index of the labelled character, shape (n,).
    """

    images: UInt8[np.ndarray, "n C size size"]
    labels: Int[np.ndarray, " n"]


def render(n: int, settings: GlyphSettings, atlas: Atlas, canvas: Canvas, *, seed: int, start: int) -> Scenes:
    """The images start, ..., start + n - 1 of a seed.

    Each aspect of a scene has random numbers of its own, so that two settings that differ in the light alone show the
    same characters in the same poses.

    Args:
        n: Number of images, at least 1.
        settings: What they look like.
        atlas: The characters of these settings.
        canvas: The canvas of these settings.
        seed: Seed of the random numbers, at least 0.
        start: Index of the first image, at least 0.

    Returns:
        The images with their labels.
    """
    subject = uniform_rows(n, 2 + pose.N_DRAWS, seed=seed, purpose="glyphs/subject", start=start)
    labels = _pick(subject[:, 0], len(settings.characters))
    font = _pick(subject[:, 1], len(atlas.fonts))
    main = place(atlas, font, labels, pose.draw_poses(subject[:, 2:], settings.pose), canvas)
    layers = [main]
    if settings.appearance == "several":
        layers = [*_distractors(n, settings, atlas, canvas, seed=seed, start=start), main]
    picture = _painted(n, settings, layers, canvas, seed=seed, start=start)
    if settings.light == "random":
        draws = uniform_rows(n, light.N_DRAWS, seed=seed, purpose="glyphs/light", start=start)
        height = np.maximum.reduce([layer.depth for layer in layers])
        picture = picture * light.shading(draws, height, settings.n_channels, canvas)
    pixels = np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8)
    return Scenes(pixels.reshape(n, settings.n_channels, canvas.size, canvas.size), labels)


def _distractors(
    n: int, settings: GlyphSettings, atlas: Atlas, canvas: Canvas, *, seed: int, start: int
) -> list[Layer]:
    """Up to 4 smaller characters per image, around the middle and partly outside the image."""
    width = _N_DISTRACTORS * _DRAWS_PER_DISTRACTOR
    draws = uniform_rows(n, width, seed=seed, purpose="glyphs/distractors", start=start)
    return [
        _distractor(own, slot, settings, atlas, canvas)
        for slot, own in enumerate(np.split(draws, _N_DISTRACTORS, axis=1))
    ]


def _distractor(draws: np.ndarray, slot: int, settings: GlyphSettings, atlas: Atlas, canvas: Canvas) -> Layer:
    font = _pick(draws[:, 0], len(atlas.fonts))
    character = _pick(draws[:, 1], len(settings.characters))
    scale = (0.4 + 0.25 * draws[:, 2]).astype(np.float32)
    radius = 0.7 + 0.3 * draws[:, 3]
    angle = 2 * np.pi * (slot + draws[:, 4]) / _N_DISTRACTORS
    present = (slot == 0) | (draws[:, 5] < 0.7)
    radius = np.where(present, radius, 10.0)  # far outside the image
    centre = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).astype(np.float32)
    poses = pose.draw_poses(draws[:, 6:], settings.pose).scaled(scale, centre)
    return place(atlas, font, character, poses, canvas)


def _painted(
    n: int, settings: GlyphSettings, layers: list[Layer], canvas: Canvas, *, seed: int, start: int
) -> Float[np.ndarray, "n C P"]:
    """The layers over the background, the last on top, in even light."""
    picture = np.zeros((n, settings.n_channels, len(canvas.x)), np.float32)
    if settings.background == "random":
        width = surface.n_background_draws(canvas.size)
        draws = uniform_rows(n, width, seed=seed, purpose="glyphs/background", start=start)
        picture = surface.backgrounds(draws, settings.n_channels, canvas)
    empty = picture
    for layer in layers:
        if layer is layers[-1] and len(layers) > 1:
            picture = _mixed(picture, empty, layer.coverage(_GAP))
        paint = surface.stripes(layer, settings.n_channels) if settings.texture == "with" else _WHITE
        picture = _mixed(picture, paint, layer.coverage())
    return picture


def _mixed(below: np.ndarray, above: np.ndarray | np.float32, share: np.ndarray) -> np.ndarray:
    """`above` where `share` is 1 and `below` where it is 0."""
    return np.asarray(below + share[:, None] * (above - below))


def _pick(uniforms: np.ndarray, n: int) -> Int[np.ndarray, " n"]:
    """Whole numbers 0..n-1 from uniform numbers."""
    return (uniforms * n).astype(np.int64)
