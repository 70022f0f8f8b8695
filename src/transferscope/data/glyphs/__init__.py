"""Rendered characters: a synthetic source without end, with its complexity as settings.

`glyphs(n, settings, seed=...)` makes images from any index on, `load_glyphs(...)` a data set. A character is rendered
once per font as a field of distances to its outline (`atlas`); an image samples that field at a random pose (`layer`),
is painted and lit (`scene`), and many are made at a time (`source`).
"""

from transferscope.data.glyphs.scene import GlyphSettings
from transferscope.data.glyphs.source import glyphs, load_glyphs

__all__ = ["GlyphSettings", "glyphs", "load_glyphs"]
