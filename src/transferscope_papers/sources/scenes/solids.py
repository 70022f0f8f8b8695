"""Solids as distances to their surface, and intersections with rays.

A solid fits in the unit sphere. Its function gives, for points in the solid's own coordinates, a lower bound of the
distance to the surface (negative inside), so that a ray may advance by that much without passing through: sphere
tracing (Hart, "Sphere tracing: a geometric method for the antialiased ray tracing of implicit surfaces", The Visual
Computer 1996).
"""

from collections.abc import Callable
from math import sqrt

import numpy as np
from jaxtyping import Float

Numbers = Float[np.ndarray, " n"]
Distance = Callable[[Numbers, Numbers, Numbers, Numbers, Numbers], Numbers]
"""Points x, y, z and two proportions in [0, 1] of the solid at each point, all of shape (n,); returns shape (n,)."""

_HIT = np.float32(0.008)  # distance to the surface at which a ray has met it; 1 is the radius of the bounding sphere
_STEPS, _STEPS_BETWEEN_DROPS = 48, 4
_DELTA = np.float32(0.01)  # step of the finite differences that normals are made of


def _corner(u: Numbers, v: Numbers) -> Numbers:
    """Return distance to the quarter plane u <= 0, v <= 0."""
    outside = np.sqrt(np.square(np.maximum(u, 0)) + np.square(np.maximum(v, 0)))
    return np.asarray(outside + np.minimum(np.maximum(u, v), 0))


def _box_of(x: Numbers, y: Numbers, z: Numbers, half: tuple[Numbers, Numbers, Numbers]) -> Numbers:
    u, v, w = np.abs(x) - half[0], np.abs(y) - half[1], np.abs(z) - half[2]
    outside = np.sqrt(np.square(np.maximum(u, 0)) + np.square(np.maximum(v, 0)) + np.square(np.maximum(w, 0)))
    return np.asarray(outside + np.minimum(np.maximum(np.maximum(u, v), w), 0))


def sphere(x: Numbers, y: Numbers, z: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """Return the unit sphere."""
    return np.asarray(np.sqrt(x * x + y * y + z * z) - 1)


def box(x: Numbers, y: Numbers, z: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """Return a cuboid whose shorter sides are 0.5 to 1 times the longest; its corners lie on the unit sphere."""
    second, third = 0.5 + 0.5 * a, 0.5 + 0.5 * b
    half = 1 / np.sqrt(1 + second * second + third * third)
    return _box_of(x, y, z, (half, half * second, half * third))


def cylinder(x: Numbers, y: Numbers, z: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """Return a cylinder about the z axis, 0.5 to 1.7 times as high as wide."""
    ratio = 0.5 + 1.2 * a
    radius = 1 / np.sqrt(1 + ratio * ratio)
    return _corner(np.sqrt(x * x + y * y) - radius, np.abs(z) - ratio * radius)


def cone(x: Numbers, y: Numbers, z: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """Return a circular cone with its apex at z = 1 and its base at z = -0.35 to -0.75 on the unit sphere."""
    base = 0.35 + 0.4 * a
    radius, height = np.sqrt(1 - base * base), 1 + base
    slant = np.sqrt(radius * radius + height * height)
    side = (np.sqrt(x * x + y * y) * height + (z - 1) * radius) / slant
    return np.asarray(np.maximum(side, -z - base))


def torus(x: Numbers, y: Numbers, z: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """Return a torus about the z axis; its tube has a radius of 0.18 to 0.33."""
    tube = 0.18 + 0.15 * a
    across = np.sqrt(x * x + y * y) - (1 - tube)
    return np.asarray(np.sqrt(across * across + z * z) - tube)


def capsule(x: Numbers, y: Numbers, z: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """Return a cylinder about the z axis with half spheres at its ends; its radius is 0.3 to 0.5."""
    radius = 0.3 + 0.2 * a
    beyond = np.maximum(np.abs(z) - (1 - radius), 0)
    return np.asarray(np.sqrt(x * x + y * y + beyond * beyond) - radius)


def superquadric(x: Numbers, y: Numbers, z: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """Return |x|^4 + |y|^4 + |z / q|^4 = r^4 with q from 0.5 to 1: a rounded box.

    The gradient of the 4-norm has 4/3-norm 1, hence 2-norm of at most 1; dividing z by q < 1 is undone by the factor q.
    """
    squash = 0.5 + 0.5 * a
    across = np.square(x * x) + np.square(y * y) + np.square(np.square(z / squash))
    return np.asarray((np.sqrt(np.sqrt(across)) - 3**-0.25) * squash)


def pyramid(x: Numbers, y: Numbers, z: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """Return a pyramid with a square base at z = -0.3 to -0.6 and its apex at z = 1."""
    base = 0.3 + 0.3 * a
    half, height = np.sqrt((1 - base * base) / 2), 1 + base
    slant = np.sqrt(half * half + height * height)
    side = (np.maximum(np.abs(x), np.abs(y)) * height + (z - 1) * half) / slant
    return np.asarray(np.maximum(side, -z - base))


def tetrahedron(x: Numbers, y: Numbers, z: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """Return the regular tetrahedron with the corners (1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1) over sqrt 3."""
    first, second = np.maximum(-x - y - z, -x + y + z), np.maximum(x - y + z, x + y - z)
    return np.asarray(np.maximum(first, second) / np.float32(sqrt(3)) - np.float32(1 / 3))


def octahedron(x: Numbers, y: Numbers, z: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """Return the regular octahedron |x| + |y| + |z| <= 1."""
    return np.asarray((np.abs(x) + np.abs(y) + np.abs(z) - 1) / np.float32(sqrt(3)))


def prism(x: Numbers, y: Numbers, z: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """Return a prism about the z axis over an equilateral triangle, 0.6 to 1.4 times as high as the triangle is
    wide."""
    ratio = (0.6 + 0.8 * a) * np.float32(sqrt(3) / 2)  # half the height over the radius of the corners
    radius = 1 / np.sqrt(1 + ratio * ratio)
    side = np.maximum(-y, np.float32(sqrt(3) / 2) * np.abs(x) + y / 2)
    return np.asarray(np.maximum(side - radius / 2, np.abs(z) - ratio * radius))


def cross(x: Numbers, y: Numbers, z: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """Return three square bars along the axes, 0.2 to 0.32 from their middle to each side."""
    wide = 0.2 + 0.12 * a
    long = np.sqrt(1 - 2 * wide * wide)
    along_x, along_y = _box_of(x, y, z, (long, wide, wide)), _box_of(x, y, z, (wide, long, wide))
    return np.asarray(np.minimum(np.minimum(along_x, along_y), _box_of(x, y, z, (wide, wide, long))))


def tube(x: Numbers, y: Numbers, z: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """Return a hollow cylinder about the z axis, open at both ends, with a wall of 0.15."""
    height = 0.4 + 0.3 * a  # half of it
    outer = np.sqrt(1 - height * height)
    wall = np.abs(np.sqrt(x * x + y * y) - (outer - np.float32(0.075))) - np.float32(0.075)
    return _corner(wall, np.abs(z) - height)


STRETCHED = {"flat": (1, 1, 0.5), "thin": (0.5, 1, 1), "tall": (0.5, 0.5, 1)}
"""Lengths along x, y and z of the three further kinds of each solid."""


def _stretched(solid: Distance, lengths: tuple[float, ...]) -> Distance:
    by_x, by_y, by_z = (np.float32(length) for length in lengths)

    def distance(x: Numbers, y: Numbers, z: Numbers, a: Numbers, b: Numbers) -> Numbers:
        return np.asarray(solid(x / by_x, y / by_y, z / by_z, a, b) * min(by_x, by_y, by_z))

    return distance


_SIMPLE = (
    sphere, box, cylinder, cone, torus, superquadric, capsule, pyramid, tetrahedron, octahedron, prism, cross, tube,
)  # fmt: skip
SIMPLE = tuple(solid.__name__ for solid in _SIMPLE)
SOLIDS: dict[str, Distance] = {solid.__name__: solid for solid in _SIMPLE} | {
    f"{how}-{solid.__name__}": _stretched(solid, lengths) for how, lengths in STRETCHED.items() for solid in _SIMPLE
}
"""The 52 kinds of solids by name, in the order of their labels: the simple ones and each in three other proportions."""

CASTS_ON_ITSELF = frozenset(name for name in SOLIDS if name.rpartition("-")[2] in ("torus", "cross", "tube"))
"""Kinds that are not convex: a surface that faces the light can lie in the shadow of its own solid."""


def trace(
    solid: Distance,
    origin: tuple[Numbers, ...],
    direction: tuple[Numbers, ...],
    proportions: tuple[Numbers, Numbers],
    first: Numbers,
    last: Numbers,
) -> Numbers:
    """Return where rays first meet a solid, in its own coordinates.

    Args:
        direction: Unit vectors.
        proportions: Proportions of the solid that each ray may meet.
        last: Largest distance of an intersection.

    Returns:
        The distance along each ray, infinite for a miss. A ray that comes within 0.008 of the surface, or 0.03 at the
        last step, has met it.
    """
    met = np.full(len(first), np.inf, np.float32)
    at, along, end = np.arange(len(first)), first, last
    (ox, oy, oz), (dx, dy, dz), (a, b) = origin, direction, proportions
    gap = np.zeros_like(first)
    for step in range(_STEPS):
        gap = solid(ox + along * dx, oy + along * dy, oz + along * dz, a, b)
        along = along + np.where(gap < _HIT, 0, gap)
        if step % _STEPS_BETWEEN_DROPS == _STEPS_BETWEEN_DROPS - 1:
            hit = gap < _HIT
            met[at[hit]] = along[hit]
            on = np.flatnonzero(~hit & (along <= end))
            if not len(on):
                return met
            at, along, end, gap, a, b = at[on], along[on], end[on], gap[on], a[on], b[on]
            ox, oy, oz, dx, dy, dz = ox[on], oy[on], oz[on], dx[on], dy[on], dz[on]
    near = gap < np.float32(0.03)
    met[at[near]] = along[near]
    return met


def normals(
    solid: Distance, x: Numbers, y: Numbers, z: Numbers, proportions: tuple[Numbers, Numbers]
) -> tuple[Numbers, Numbers, Numbers]:
    """Return outward unit normals at points of a surface: the gradient of the distance by differences at four
    corners."""
    a, b = proportions
    gradient = [np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)]
    for corner in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)):
        i, j, k = (np.float32(sign) * _DELTA for sign in corner)
        value = solid(x + i, y + j, z + k, a, b)
        for axis, sign in enumerate(corner):
            gradient[axis] = gradient[axis] + sign * value
    length = np.maximum(np.sqrt(sum(part * part for part in gradient)), np.float32(1e-12))
    return gradient[0] / length, gradient[1] / length, gradient[2] / length
