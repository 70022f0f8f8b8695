"""One character per image: its pose, and its coverage of every pixel."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from transferscope.data.glyphs.atlas import Atlas
from transferscope.data.portable import cosine, exponential, product, sine

N_POSE_DRAWS = 16 + 2 * 16  # uniform numbers per pose: 8 named below, and the wobble of a 4 x 4 grid

_KNOTS = 4  # wobble: displacements on a 4 x 4 grid of points


@dataclass(frozen=True)
class Poses:
    """Random poses of n characters.

    Attributes:
        inverse: Maps image coordinates, relative to the centre of the character, into its cell.
        shift: Centre of the character in the image, -1 to 1 along each axis (x, y).
        wobble: Displacements (x, y) at the knots, in cell units.
        stroke: Added to the distance to the outline: positive is bolder.
    """

    inverse: Float[np.ndarray, "n 2 2"]
    shift: Float[np.ndarray, "n 2"]
    wobble: Float[np.ndarray, "n 2 16"]
    stroke: Float[np.ndarray, " n"]

    def scaled(self, factor: Float[np.ndarray, " n"], centre: Float[np.ndarray, "n 2"]) -> "Poses":
        """Return the same poses at `factor` times the size and around other centres (x, y)."""
        return Poses(self.inverse / factor[:, None, None], centre, self.wobble, self.stroke)


def draw_poses(uniforms: Float[np.ndarray, "n width"], strength: float) -> Poses:
    """Draw poses from uniform numbers.

    All are uniform, at strength 1: rotation up to 17 degrees, shear up to 0.35, width by factors 0.82 to 1.22 and
    height 0.90 to 1.11, shifts up to 1.7 of 28 pixels, strokes thinner by up to 0.6 pixels or bolder by up to 1.4 on
    both sides together, and a smooth wobble of up to 3 pixels.

    Args:
        uniforms: `N_POSE_DRAWS` for each pose, in [0, 1).
        strength: 0 for upright characters of the same size in the middle.
    """
    signed = (2 * uniforms - 1).astype(np.float32)
    angle = signed[:, 0] * np.float32(strength * np.deg2rad(17))
    shear = signed[:, 1] * strength * 0.35
    width = exponential(signed[:, 2] * strength * 0.2)
    height = exponential(signed[:, 3] * strength * 0.1)
    return Poses(
        inverse=_inverse(angle, shear, width, height),
        shift=signed[:, 4:6] * np.float32(strength * 0.12),
        wobble=signed[:, 16:48].reshape(-1, 2, _KNOTS**2) * np.float32(strength * 0.22),
        stroke=strength * (0.015 + 0.035 * signed[:, 6]).astype(np.float32),
    )


def wobble_basis(size: int) -> Float[np.ndarray, "16 P"]:
    """Return weights of the 4 x 4 knots at every pixel: products of cubic Bernstein polynomials; columns sum to 1."""
    t = (np.arange(size) + 0.5) / size
    cubic = np.stack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])
    products: np.ndarray = np.einsum("iy,jx->ijyx", cubic, cubic).reshape(_KNOTS**2, size * size)
    return products.astype(np.float32)


def _inverse(angle: np.ndarray, shear: np.ndarray, width: np.ndarray, height: np.ndarray) -> np.ndarray:
    """Return the inverse of scaling along each axis, then shearing along x, then rotating."""
    cos, sin = cosine(angle), sine(angle)
    inverse = np.empty((len(angle), 2, 2), np.float32)
    inverse[:, 0, 0] = (sin * shear + cos) / width
    inverse[:, 0, 1] = -(cos * shear - sin) / width
    inverse[:, 1, 0] = -sin / height
    inverse[:, 1, 1] = cos / height
    return inverse


@dataclass(frozen=True)
class Canvas:
    """The pixels that characters are drawn on.

    Attributes:
        size: Height and width of an image.
        x: Abscissa of every pixel centre, -1 (left) to 1 (right), row by row.
        y: Ordinate, -1 (top) to 1 (bottom).
        basis: Weights of the wobble's knots at every pixel.
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
    """Return the canvas of square images with `size` pixels a side."""
    centres = ((np.arange(size) + 0.5) * 2 / size - 1).astype(np.float32)
    y, x = np.meshgrid(centres, centres, indexing="ij")
    return Canvas(size, x.reshape(-1), y.reshape(-1), wobble_basis(size))


@dataclass(frozen=True)
class Layer:
    """Characters placed on the canvas.

    Attributes:
        character: Index of each one.
        depth: Distance from the outline in canvas units, positive inside.
        u: Abscissa of every pixel in the character's cell, where its surface is painted.
        v: Ordinate in the cell.
    """

    character: Int[np.ndarray, " n"]
    depth: Float[np.ndarray, "n P"]
    u: Float[np.ndarray, "n P"]
    v: Float[np.ndarray, "n P"]
    pixel: np.float32

    def coverage(self, margin: float = 0.0) -> Float[np.ndarray, "n P"]:
        """Return the share of every pixel inside the outline widened by `margin` pixels, 0 to 1."""
        return np.asarray(np.clip(self.depth / self.pixel + np.float32(0.5 + margin), 0, 1))


def place(
    atlas: Atlas, font: Int[np.ndarray, " n"], character: Int[np.ndarray, " n"], poses: Poses, canvas: Canvas
) -> Layer:
    """Put one character on each of n canvases."""
    x = canvas.x - poses.shift[:, :1]
    y = canvas.y - poses.shift[:, 1:]
    to_cell = poses.inverse[:, :, :, None]
    u = to_cell[:, 0, 0] * x + to_cell[:, 0, 1] * y + product(poses.wobble[:, 0], canvas.basis)
    v = to_cell[:, 1, 0] * x + to_cell[:, 1, 1] * y + product(poses.wobble[:, 1], canvas.basis)
    depth = atlas.sample(font, character, u, v) + poses.stroke[:, None]
    (a, b), (c, d) = poses.inverse.transpose(1, 2, 0)
    cell_per_canvas = np.sqrt(a * d - b * c)
    return Layer(character, depth / cell_per_canvas[:, None], u, v, canvas.pixel)
