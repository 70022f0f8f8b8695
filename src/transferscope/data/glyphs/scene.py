"""Images of characters, composed of layers, with textures and light."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le
from jaxtyping import Float, Int, UInt8

from transferscope.data.arrays import LARGEST_SIDE
from transferscope.data.counter_random import uniform_rows
from transferscope.data.glyphs.atlas import Atlas
from transferscope.data.glyphs.layer import N_POSE_DRAWS, Canvas, Layer, draw_poses, place
from transferscope.data.portable import cosine, sine
from transferscope.errors import SettingsError
from transferscope.records import check_settings


@dataclass(frozen=True, slots=True)
class GlyphSettings:
    """The complexity of rendered characters.

    The four settings `appearance`, `light`, `background` and `texture` follow section 4.5 and appendix F of "A Scaling
    Law for Syn2Real Transfer" (Mikami et al. 2021), where they say what a rendered scene contains. At their defaults
    the images resemble MNIST: one white character on black.

    Attributes:
        characters: The classes, in label order; at least 1 character, all different.
        size: Height and width in pixels, from 8 to `arrays.LARGEST_SIDE`.
        colour: Whether images have three channels (light, backgrounds and textures are then coloured) or one.
        appearance: "single", or "several": up to 4 smaller characters or fragments around and behind the labelled one.
        light: "fixed" (from the front), or "random": from a random side with random strength, which shades the scene
            and makes the characters stand out in relief.
        background: "fixed" (black), or "random": a random texture, darker than the characters on average.
        texture: "without" (white characters), or "with": each character has its own stripes, as each object of the
            paper has its own surface. The texture then identifies the class as well as the shape does.
        pose: Strength of the random shift, scale, rotation, shear, stroke width and wobble; 0 for upright characters of
            equal size, 1 for about the variation of handwriting; in [0, 2].
        fonts: Folder with TrueType or OpenType fonts; None for those that come with matplotlib.

    Raises:
        SettingsError: A value is out of its range.
    """

    characters: str = "0123456789"
    size: Annotated[int, Ge(8), Le(LARGEST_SIDE)] = 28
    colour: bool = False
    appearance: Literal["single", "several"] = "single"
    light: Literal["fixed", "random"] = "fixed"
    background: Literal["fixed", "random"] = "fixed"
    texture: Literal["without", "with"] = "without"
    pose: Annotated[float, Ge(0), Le(2)] = 1.0
    fonts: str | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        if (
            not self.characters
            or len(set(self.characters)) != len(self.characters)
            or any(map(str.isspace, self.characters))
        ):
            raise SettingsError(f"characters = {self.characters!r}; expected at least one, each once, and no space")

    @property
    def n_channels(self) -> int:
        """Channels of an image: 3 in colour, 1 in grey."""
        return 3 if self.colour else 1


N_WAVES = 3
_GOLDEN = 0.61803399


def n_background_draws(size: int) -> int:
    """Return the uniform numbers per random background: two colours, three waves, the grain and its strength."""
    return 6 + 3 * N_WAVES + 1 + size * size


def backgrounds(uniforms: Float[np.ndarray, "n width"], n_channels: int, canvas: Canvas) -> Float[np.ndarray, "n C P"]:
    """Return random textures: two random colours mixed by three random waves and some grain.

    Args:
        uniforms: `n_background_draws(size)` for each, in [0, 1).

    Returns:
        Brightness in [0, 0.65], mostly darker than characters.
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
    """Return sin(2 pi (cycles (x cos angle + y sin angle) + phase)), shape (n, P); cycles per canvas unit."""
    across = np.outer(cycles * cosine(angle), canvas.x)
    down = np.outer(cycles * sine(angle), canvas.y)
    return sine(2 * np.pi * (across + down + phase[:, None]))


def stripes(layer: Layer, n_channels: int) -> Float[np.ndarray, "n C P"]:
    """Return each character's own stripes: white, alternating with grey, or with a hue of its own.

    The k-th character has stripes at the angle k * golden ratio * pi, with one of three widths. They are painted on
    the character and move with it.

    Returns:
        Brightness in [0, 1].
    """
    turn = np.pi * (layer.character * _GOLDEN % 1)
    cycles = np.array([1.2, 1.9, 2.7])[layer.character % 3]
    across = (cycles * cosine(turn)).astype(np.float32)[:, None] * layer.u
    down = (cycles * sine(turn)).astype(np.float32)[:, None] * layer.v
    paint = np.clip(0.5 + sine(np.float32(2 * np.pi) * (across + down)), 0, 1)[:, None]
    other: np.ndarray = np.full((len(turn), 1), 0.5, np.float32)
    if n_channels == 3:
        other = 0.6 + 0.4 * cosine(2 * np.pi * ((layer.character * _GOLDEN)[:, None] + np.array([0.0, 1 / 3, 2 / 3])))
    return np.asarray(1 - paint * (1 - other[:, :, None]))


_N_LIGHT_DRAWS = 8

_BEVEL = 0.15  # canvas units: how far characters rise from their outline inwards


def shading(
    uniforms: Float[np.ndarray, "n 8"], height: Float[np.ndarray, "n P"], n_channels: int, canvas: Canvas
) -> Float[np.ndarray, "n C P"]:
    """Return brightness of every point under a random light.

    The light is at a random side. Points nearer to it are brighter, and so are slopes facing it (Lambert's law to first
    order in the slope):

        shade(p) = intensity * (1 + strength * (0.4 p . l - 0.7 grad(height) . l))

    Args:
        uniforms: `_N_LIGHT_DRAWS` for each, in [0, 1).
        height: Distance inside the outline of the topmost character, at most 0 elsewhere; canvas units.

    Returns:
        Factor of the scene's brightness, at least 0.
    """
    draws = uniforms.astype(np.float32)
    angle = 2 * np.pi * draws[:, :1]
    strength = 0.3 + 0.7 * draws[:, 1:2]
    intensity = 0.55 + 0.45 * draws[:, 2:3]
    side = (cosine(angle), sine(angle))
    bevel = np.clip(height, 0, _BEVEL).reshape(len(height), canvas.size, canvas.size)
    slope_y, slope_x = (slope.reshape(height.shape) for slope in np.gradient(bevel, canvas.pixel, axis=(1, 2)))
    near = canvas.x * side[0] + canvas.y * side[1]
    facing = slope_x * side[0] + slope_y * side[1]
    shade = np.maximum(intensity * (1 + strength * (0.4 * near - 0.7 * facing)), 0)
    colour = np.ones((len(draws), 1), np.float32) if n_channels == 1 else 1 - 0.4 * draws[:, 3:6]
    return np.asarray(shade[:, None] * colour[:, :, None])


_N_DISTRACTORS = 4
_DRAWS_PER_DISTRACTOR = 6 + N_POSE_DRAWS
_GAP = 1.2  # pixels left free around the labelled character, so that no distractor touches it

_WHITE = np.float32(1)


@dataclass(frozen=True)
class Scenes:
    """Finished images, and the index of the labelled character of each."""

    images: UInt8[np.ndarray, "n C size size"]
    labels: Int[np.ndarray, " n"]


def render(n: int, settings: GlyphSettings, atlas: Atlas, canvas: Canvas, *, seed: int, start: int) -> Scenes:
    """Return the images start, ..., start + n - 1 of a seed.

    Each aspect of a scene has its own random numbers, so two settings that differ only in the light show the same
    characters in the same poses.
    """
    subject = uniform_rows(n, 2 + N_POSE_DRAWS, seed=seed, purpose="glyphs/subject", start=start)
    labels = _pick(subject[:, 0], len(settings.characters))
    font = _pick(subject[:, 1], len(atlas.fonts))
    main = place(atlas, font, labels, draw_poses(subject[:, 2:], settings.pose), canvas)
    layers = [main]
    if settings.appearance == "several":
        layers = [*_distractors(n, settings, atlas, canvas, seed=seed, start=start), main]
    picture = _painted(n, settings, layers, canvas, seed=seed, start=start)
    if settings.light == "random":
        draws = uniform_rows(n, _N_LIGHT_DRAWS, seed=seed, purpose="glyphs/light", start=start)
        height = np.maximum.reduce([layer.depth for layer in layers])
        picture = picture * shading(draws, height, settings.n_channels, canvas)
    pixels = np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8)
    return Scenes(pixels.reshape(n, settings.n_channels, canvas.size, canvas.size), labels)


def _distractors(
    n: int, settings: GlyphSettings, atlas: Atlas, canvas: Canvas, *, seed: int, start: int
) -> list[Layer]:
    """Return up to 4 smaller characters per image, around the middle and partly outside the image."""
    width = _N_DISTRACTORS * _DRAWS_PER_DISTRACTOR
    draws = uniform_rows(n, width, seed=seed, purpose="glyphs/distractors", start=start)
    layers = []
    for slot, own in enumerate(np.split(draws, _N_DISTRACTORS, axis=1)):
        font = _pick(own[:, 0], len(atlas.fonts))
        character = _pick(own[:, 1], len(settings.characters))
        scale = (0.4 + 0.25 * own[:, 2]).astype(np.float32)
        radius = 0.7 + 0.3 * own[:, 3]
        angle = 2 * np.pi * (slot + own[:, 4]) / _N_DISTRACTORS
        present = (slot == 0) | (own[:, 5] < 0.7)
        radius = np.where(present, radius, 10.0)  # far outside the image
        centre = np.stack([radius * cosine(angle), radius * sine(angle)], axis=1).astype(np.float32)
        poses = draw_poses(own[:, 6:], settings.pose).scaled(scale, centre)
        layers.append(place(atlas, font, character, poses, canvas))
    return layers


def _painted(
    n: int, settings: GlyphSettings, layers: list[Layer], canvas: Canvas, *, seed: int, start: int
) -> Float[np.ndarray, "n C P"]:
    """Return the layers over the background, the last on top, in even light."""
    picture = np.zeros((n, settings.n_channels, len(canvas.x)), np.float32)
    if settings.background == "random":
        width = n_background_draws(canvas.size)
        draws = uniform_rows(n, width, seed=seed, purpose="glyphs/background", start=start)
        picture = backgrounds(draws, settings.n_channels, canvas)
    empty = picture
    for layer in layers:
        if layer is layers[-1] and len(layers) > 1:
            picture = _mixed(picture, empty, layer.coverage(_GAP))
        paint = stripes(layer, settings.n_channels) if settings.texture == "with" else _WHITE
        picture = _mixed(picture, paint, layer.coverage())
    return picture


def _mixed(below: np.ndarray, above: np.ndarray | np.float32, share: np.ndarray) -> np.ndarray:
    return np.asarray(below + share[:, None] * (above - below))


def _pick(uniforms: np.ndarray, n: int) -> Int[np.ndarray, " n"]:
    return (uniforms * n).astype(np.int64)
