"""The picture of docs/synthetic.md: the same ten scenes under each of the 16 complexity settings.

python examples/glyph_sheet.py docs/img/glyphs.png
"""

import sys
from io import BytesIO
from itertools import product
from typing import Literal

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from transferscope.data.glyphs import GlyphSettings, glyphs

N_COLUMNS = 10
SEED = 5
APPEARANCE: tuple[Literal["single", "several"], ...] = ("single", "several")
VARIATION: tuple[Literal["fixed", "random"], ...] = ("fixed", "random")
TEXTURE: tuple[Literal["without", "with"], ...] = ("without", "with")


def row(settings: GlyphSettings) -> np.ndarray:
    """Ten images side by side, shape (H, 10 W)."""
    return np.concatenate(list(glyphs(N_COLUMNS, settings, seed=SEED).inputs[:, 0]), axis=1)


def sheet() -> Figure:
    """Single characters on the left, several on the right; one row per combination of the other settings."""
    figure = Figure(figsize=(9, 3.3), layout="constrained")
    grid = figure.subplots(8, 2)
    choices = list(product(VARIATION, VARIATION, TEXTURE))
    for place, (background, light, texture) in enumerate(choices):
        for axes, appearance in zip(grid[place], APPEARANCE, strict=True):
            settings = GlyphSettings(appearance=appearance, light=light, background=background, texture=texture)
            axes.imshow(row(settings), cmap="gray", vmin=0, vmax=255)
            axes.set_xticks([])
            axes.set_yticks([])
        label = f"background {background}, light {light}, {texture} texture"
        grid[place, 0].set_ylabel(label, rotation=0, ha="right", va="center", fontsize=7)
    grid[0, 0].set_title("appearance single", fontsize=8)
    grid[0, 1].set_title("appearance several", fontsize=8)
    return figure


if __name__ == "__main__":
    picture = BytesIO()
    sheet().savefig(picture, dpi=100)
    Image.open(picture).convert("L").save(sys.argv[1], optimize=True)
