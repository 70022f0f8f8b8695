"""One character per image, as coverage and height of every pixel."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from transferscope.data.glyphs.atlas import Atlas
from transferscope.data.glyphs.pose import Poses, wobble_basis


@dataclass(frozen=True)
class Canvas:
    """The pixels that characters are drawn on.

    Attributes:
        size: Height and width of an image.
        x: Abscissa of every pixel centre, -1 (left) to 1 (right), row by row; shape (P,) with P = size * size.
        y: Ordinate, -1 (top) to 1 (bottom); shape (P,).
        basis: Weights of the wobble's knots at every pixel; shape (16, P).
    """

    size: int
    x: Float[np.ndarray, " P"]
    y: Float[np.ndarray, " P"]
    basis: Float[np.ndarray, "16 P"]

    @property
    def pixel(self) -> np.float32:
        """Side of a pixel in the unit of `x` and `y`."""
        return np.float32(2 / self.size)


def make_canvas(size: int) -> Canvas:
    """The canvas of square images with `size` pixels a side."""
    centres = ((np.arange(size) + 0.5) * 2 / size - 1).astype(np.float32)
    y, x = np.meshgrid(centres, centres, indexing="ij")
    return Canvas(size, x.reshape(-1), y.reshape(-1), wobble_basis(size))


@dataclass(frozen=True)
class Layer:
    """Characters as they fall on the canvas.

    Attributes:
        character: Which one, shape (n,).
        depth: Distance from the outline in canvas units, positive inside; shape (n, P).
        u: Abscissa of every pixel in the character's cell, where its surface is painted; shape (n, P).
        v: Ordinate in the cell; shape (n, P).
        pixel: Side of a pixel in the unit of the canvas.
    """

    character: Int[np.ndarray, " n"]
    depth: Float[np.ndarray, "n P"]
    u: Float[np.ndarray, "n P"]
    v: Float[np.ndarray, "n P"]
    pixel: np.float32

    def coverage(self, margin: float = 0.0) -> Float[np.ndarray, "n P"]:
        """Share of every pixel inside the outline widened by `margin` pixels, 0 to 1; shape (n, P)."""
        return np.asarray(np.clip(self.depth / self.pixel + np.float32(0.5 + margin), 0, 1))


def place(
    atlas: Atlas, font: Int[np.ndarray, " n"], character: Int[np.ndarray, " n"], poses: Poses, canvas: Canvas
) -> Layer:
    """Put one character on each of n canvases.

    Args:
        atlas: The characters.
        font: Index of the font, shape (n,).
        character: Index of the character, shape (n,).
        poses: Where and how.
        canvas: What they are drawn on.

    Returns:
        The layer.
    """
    x = canvas.x - poses.shift[:, :1]
    y = canvas.y - poses.shift[:, 1:]
    to_cell = poses.inverse[:, :, :, None]
    u = to_cell[:, 0, 0] * x + to_cell[:, 0, 1] * y + poses.wobble[:, 0] @ canvas.basis
    v = to_cell[:, 1, 0] * x + to_cell[:, 1, 1] * y + poses.wobble[:, 1] @ canvas.basis
    depth = atlas.sample(font, character, u, v) + poses.stroke[:, None]
    cell_per_canvas = np.sqrt(np.linalg.det(poses.inverse))
    return Layer(character, depth / cell_per_canvas[:, None], u, v, canvas.pixel)
