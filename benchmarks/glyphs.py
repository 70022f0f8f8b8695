"""Rendered characters per second, against a loop that asks Pillow for every image."""

import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from transferscope.data.glyphs import GlyphSettings, glyphs
from transferscope.data.glyphs.atlas import find_fonts, load_font

DIGITS = "0123456789"
SIZE = 28
PLAIN = GlyphSettings()
EVERYTHING = GlyphSettings(appearance="several", light="random", background="random", texture="with")


def pillow_loop(n: int) -> np.ndarray:
    """What a loop would do: one character drawn and one affine map per image, white on black."""
    random = np.random.default_rng(0)
    fonts = find_fonts(None, DIGITS)
    images = np.empty((n, 1, SIZE, SIZE), np.uint8)
    for index in range(n):
        font = cached_font(fonts[random.integers(len(fonts))])
        images[index, 0] = pillow_image(font, DIGITS[random.integers(len(DIGITS))], random)
    return images


@lru_cache
def cached_font(file: Path) -> ImageFont.FreeTypeFont:
    return load_font(file, 2 * SIZE)


def pillow_image(font: ImageFont.FreeTypeFont, character: str, random: np.random.Generator) -> np.ndarray:
    large = Image.new("L", (3 * SIZE, 3 * SIZE))
    ImageDraw.Draw(large).text((1.5 * SIZE, 1.5 * SIZE), character, fill=255, font=font, anchor="mm")
    angle, shear = random.uniform(-0.3, 0.3), random.uniform(-0.35, 0.35)
    scale = 2 * random.uniform(0.9, 1.1)
    cos, sin = scale * np.cos(angle), scale * np.sin(angle)
    a, b, d, e = cos, shear * cos - sin, sin, shear * sin + cos
    middle, half = 1.5 * SIZE, SIZE / 2
    x, y = random.uniform(-2, 2, 2) * scale
    affine = (a, b, middle - a * half - b * half + x, d, e, middle - d * half - e * half + y)
    small = large.transform((SIZE, SIZE), Image.Transform.AFFINE, affine, Image.Resampling.BILINEAR)
    return np.asarray(small)


def images_per_second(make: Callable[[int], object], n: int) -> float:
    """The best of three runs on one core, after one to warm up."""
    make(10)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        make(n)
        seconds.append(time.perf_counter() - start)
    return n / min(seconds)


def main() -> None:
    loop = images_per_second(pillow_loop, 1000)
    plain = images_per_second(lambda n: glyphs(n, PLAIN, seed=0), 4000)
    everything = images_per_second(lambda n: glyphs(n, EVERYTHING, seed=0), 4000)
    print(f"{'28 x 28 grey images':<44}{'images/s':>10}{'10,000 in':>12}{'ratio':>8}")
    for name, rate in (
        ("Pillow, image by image (shape only)", loop),
        ("glyphs, shape with stroke and wobble", plain),
        ("glyphs, several, light, background, texture", everything),
    ):
        print(f"{name:<44}{rate:>10,.0f}{10_000 / rate:>10.1f} s{rate / loop:>8.1f}")


if __name__ == "__main__":
    main()
