"""The picture of docs/synthetic.md: the kinds of solids, and the same scenes under each attribute and under all.

python examples/scene_sheet.py docs/img/scenes.png
"""

import sys
from dataclasses import replace
from io import BytesIO

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from transferscope_papers.sources.scenes import SceneSettings, scenes

N_COLUMNS = 13
SEED = 2
PLAIN = SceneSettings(size=48)
EVERYTHING = replace(PLAIN, appearance="several", light="random", background="random", texture="with")
ROWS = {
    "simplest": PLAIN,
    "several": replace(PLAIN, appearance="several"),
    "light": replace(PLAIN, light="random"),
    "background": replace(PLAIN, background="random"),
    "texture": replace(PLAIN, texture="with"),
    "all four": EVERYTHING,
}


def kinds() -> np.ndarray:
    """The first image of each kind, side by side."""
    many = scenes(300, PLAIN, seed=SEED)
    return joined(np.stack([many.inputs[many.labels == kind][1] for kind in range(len(PLAIN.kinds))]))


def joined(images: np.ndarray) -> np.ndarray:
    """Images (n, 3, H, W) side by side, shape (H, n W, 3)."""
    return np.concatenate(list(images.transpose(0, 2, 3, 1)), axis=1)


def sheet() -> Figure:
    """One row for the kinds, and one for each attribute."""
    figure = Figure(figsize=(10, 5.6), layout="constrained")
    rows = figure.subplots(len(ROWS) + 1, 1)
    pictures = {"kinds": kinds()}
    pictures |= {name: joined(scenes(N_COLUMNS, settings, seed=SEED).inputs) for name, settings in ROWS.items()}
    for axes, (name, picture) in zip(rows, pictures.items(), strict=True):
        axes.imshow(picture)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=8)
    rows[0].set_xticks(24 + 48 * np.arange(len(PLAIN.kinds)), PLAIN.kinds, fontsize=7)
    rows[0].xaxis.tick_top()
    return figure


if __name__ == "__main__":
    picture = BytesIO()
    sheet().savefig(picture, dpi=100)
    Image.open(picture).convert("RGB").quantize(128).save(sys.argv[1], optimize=True)
