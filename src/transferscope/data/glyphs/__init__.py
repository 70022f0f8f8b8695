"""Rendered characters: an unlimited synthetic source with adjustable complexity.

`atlas` renders a character once per font, as distances to its outline; `layer` samples these at a random pose; `scene`
paints and lights the images, many at a time.
"""

from functools import lru_cache

import numpy as np
import PIL

from transferscope.data.counter_random import TEST_START
from transferscope.data.glyphs.atlas import make_atlas
from transferscope.data.glyphs.layer import make_canvas
from transferscope.data.glyphs.scene import GlyphSettings, Scenes, render
from transferscope.data.task import Dataset, LabelledSet
from transferscope.errors import out_of_range

# Images drawn at once; their intermediate arrays fit in a processor's cache. Chunks are always whole and start at its
# multiples, as matrix products round differently for other numbers of rows.
_CHUNK = 256
_CHUNKS_KEPT = 64  # chunks of 16,000 images, about 50 MB for 32 x 32 pixels in colour
_DEFAULT = GlyphSettings()


def glyphs(n: int, settings: GlyphSettings = _DEFAULT, *, seed: int, start: int = 0) -> LabelledSet:
    """Return images of characters in random fonts and poses.

    The i-th image of a seed does not depend on the number of images, calls or threads, nor on the processor. It depends
    on the fonts and on the version of Pillow's font renderer; `load_glyphs` notes both.

    Args:
        n: Number of images, at least 1.
        seed: Seed of everything random, at least 0.
        start: Index of the first image, at least 0.

    Returns:
        uint8 images (n, C, size, size) with C = 1 or 3, white on black at the default settings, and the index of the
        character as label; all characters are equally likely.

    Raises:
        SettingsError: `n` is below 1, or `start` or `seed` negative.
        MissingDataError: The folder of fonts does not exist or holds none.
        DataError: No font has all the characters.

    Example:
        >>> ten = glyphs(10, GlyphSettings(characters="abc", size=16), seed=0)
        >>> ten.inputs.shape, ten.classes
        ((10, 1, 16, 16), ('a', 'b', 'c'))
    """
    for name, value, least in (("n", n, 1), ("start", start, 0)):
        if value < least:
            raise out_of_range(name, value, f"at least {least}")
    images = np.empty((n, settings.n_channels, settings.size, settings.size), np.uint8)
    labels = np.empty(n, np.int64)
    stop = start + n
    for first in range(start - start % _CHUNK, stop, _CHUNK):
        scenes = _chunk(settings, seed, first)
        low, high = max(start, first), min(stop, first + _CHUNK)
        images[low - start : high - start] = scenes.images[low - first : high - first]
        labels[low - start : high - start] = scenes.labels[low - first : high - first]
    return LabelledSet(images, labels, tuple(settings.characters))


@lru_cache(maxsize=_CHUNKS_KEPT)
def _chunk(settings: GlyphSettings, seed: int, start: int) -> Scenes:
    """Render a chunk of scenes, cached since a command reads its data several times."""
    atlas, canvas = make_atlas(settings.fonts, settings.characters), make_canvas(settings.size)
    return render(_CHUNK, settings, atlas, canvas, seed=seed, start=start)


def load_glyphs(
    *, n_train: int = 10_000, n_test: int = 2_000, settings: GlyphSettings = _DEFAULT, seed: int = 0
) -> Dataset:
    """Return a data set of rendered characters; training and test images come from separate ranges of indices.

    Args:
        n_train: Number of training images, 1 to 2^40.
        n_test: Number of test images, at least 1; the same whatever `n_train`.
        seed: Seed of everything random, at least 0.

    Returns:
        The data set; its provenance names the settings, the seed, the fonts and the version of Pillow.

    Raises as `glyphs`.
    """
    fonts = make_atlas(settings.fonts, settings.characters).fonts
    return Dataset(
        name="glyphs",
        train=glyphs(n_train, settings, seed=seed),
        test=glyphs(n_test, settings, seed=seed, start=TEST_START),
        provenance={
            "spec": "glyphs",
            "settings": repr(settings),
            "seed": str(seed),
            "fonts": ", ".join(file.stem for file in fonts),
            "pillow": PIL.__version__,
        },
    )


__all__ = ["GlyphSettings", "glyphs", "load_glyphs"]
