"""Images of scenes: rays to the nearest surface, and its shading with cast shadows."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt8

from transferscope.data.portable import cosine, sine
from transferscope_papers.sources.scenes.layout import Objects, View, draw_objects, draw_view
from transferscope_papers.sources.scenes.settings import SceneSettings
from transferscope_papers.sources.scenes.solids import CASTS_ON_ITSELF, SOLIDS, normals, trace

FLOOR, WALL = -1, -2
"""Owner of rays that meet no solid."""

_SAMPLES = 2  # rays of a pixel along each side
_BIAS = np.float32(0.06)  # start of shadow rays, so that rounding causes no self-shading
_HIGHLIGHT = np.float32(0.25)
_GOLDEN = np.float32(0.61803399)

Vectors = tuple[np.ndarray, ...]
"""x, y and z of vectors, one array each."""


@dataclass(frozen=True)
class Scenes:
    """Rendered scenes.

    Attributes:
        owner: Index of the solid that each ray meets, or FLOOR or WALL; `_SAMPLES` rays on each side of a pixel.
        normal: Outward unit normal there, in the camera's coordinates: right, up, towards the camera.
        kind: Index of the kind of each solid.
    """

    images: UInt8[np.ndarray, "n C size size"]
    owner: Int[np.ndarray, "n H W"]
    normal: Float[np.ndarray, "n H W 3"]
    kind: Int[np.ndarray, "n m"]


def render(n: int, settings: SceneSettings, *, seed: int, start: int) -> Scenes:
    """Return the scenes start, ..., start + n - 1 of a seed."""
    objects, view = draw_objects(n, settings, seed=seed, start=start), draw_view(n, settings, seed=seed, start=start)
    solids = _Solids(objects, settings.kinds)
    side = _SAMPLES * settings.size
    rays = _rays(view, side)
    eye: Vectors = tuple(view.eye[:, axis, None] for axis in range(3))
    floor = np.where(rays[2] < -1e-6, -eye[2] / np.minimum(rays[2], -1e-6), np.inf)
    towards_wall = _dot(_columns(view.wall), rays)
    beyond = -view.wall_distance[:, None] - _dot(_columns(view.wall), eye)
    wall = np.where(towards_wall < -1e-6, beyond / np.minimum(towards_wall, -1e-6), np.inf)
    depth = np.minimum(np.minimum(floor, wall), 1e4).astype(np.float32)
    owner = np.where(floor <= wall, FLOOR, WALL).astype(np.int8)
    solids.nearest(eye, rays, depth, owner)
    point: Vectors = tuple(eye[axis] + depth * rays[axis] for axis in range(3))
    normal, own = solids.surfaces(point, owner)
    for axis in range(3):
        normal[axis][owner == FLOOR] = float(axis == 2)
        np.copyto(normal[axis], view.wall[:, axis, None], where=owner == WALL)
    albedo = _background(view, point, owner)
    _paint_solids(albedo, solids, own, settings)
    light = _columns(view.light)
    facing = np.maximum(_dot(normal, light), 0)
    lit = solids.lit(point, light, owner, facing)
    half: Vectors = tuple(light[axis] - rays[axis] for axis in range(3))
    length = np.sqrt(_dot(half, half))
    towards = np.where(owner >= 0, np.maximum(_dot(normal, half) / length, 0), 0)
    shine = _glossy(towards) * _HIGHLIGHT * lit
    direct = facing * lit
    picture = np.empty((n, 3, side * side), np.float32)
    for channel in range(3):
        colour = view.light_colour[:, channel, None]
        picture[:, channel] = albedo[channel] * (view.ambient[:, None] + colour * direct) + colour * shine
    if not settings.colour:
        picture = 0.299 * picture[:, :1] + 0.587 * picture[:, 1:2] + 0.114 * picture[:, 2:]
    blocks = np.minimum(picture, 1).reshape(n, -1, settings.size, _SAMPLES, settings.size, _SAMPLES)
    images = np.rint(blocks.mean(axis=(3, 5)) * 255).astype(np.uint8)
    axes = view.axes * np.array([1, 1, -1], np.float32)[None, :, None]
    seen = np.stack([_dot(_columns(axes[:, row]), normal) for row in range(3)], axis=2)
    return Scenes(images, owner.reshape(n, side, side), seen.reshape(n, side, side, 3), objects.kind)


def _glossy(x: np.ndarray) -> np.ndarray:
    """Return x^24 by products, which are the same on every machine."""
    power = x * x * x
    for _ in range(3):
        power = power * power
    return np.asarray(power)


def _columns(vectors: np.ndarray) -> Vectors:
    return vectors[:, 0, None], vectors[:, 1, None], vectors[:, 2, None]


def _dot(one: Vectors, other: Vectors) -> np.ndarray:
    return np.asarray(one[0] * other[0] + one[1] * other[1] + one[2] * other[2])


def _rays(view: View, side: int) -> Vectors:
    """Return unit vectors from the eye through the middles of side x side samples, row by row from the top; shape (n,
    P)."""
    steps = ((np.arange(side, dtype=np.float32) + np.float32(0.5)) * 2 - side) / side
    across, up = np.tile(steps, side), np.repeat(-steps, side)
    scale = np.sqrt(1 + np.square(view.spread[:, None]) * (across * across + up * up))
    spread = view.spread[:, None]
    right, upwards, forward = (view.axes[:, row] for row in range(3))
    parts = (
        (right[:, axis, None] * across * spread + upwards[:, axis, None] * up * spread + forward[:, axis, None]) / scale
        for axis in range(3)
    )
    return tuple(parts)


@dataclass(frozen=True)
class _Solids:
    """The solids of n scenes, for intersections with rays. Points and rays are (n, P)."""

    objects: Objects
    kinds: tuple[str, ...]

    def nearest(self, eye: Vectors, rays: Vectors, depth: np.ndarray, owner: np.ndarray) -> None:
        """Write the nearest solid into `owner` and its distance into `depth`, where it is nearer than before."""
        scene, ray, which, met = self._met(eye, rays, None, None)
        for slot in range(self.objects.kind.shape[1]):
            here = np.flatnonzero((which == slot) & np.isfinite(met))
            at = (scene[here], ray[here])
            nearer = met[here] < depth[at]
            at = (at[0][nearer], at[1][nearer])
            depth[at], owner[at] = met[here][nearer], slot

    def lit(self, point: Vectors, light: Vectors, owner: np.ndarray, facing: np.ndarray) -> np.ndarray:
        """Return 1 where the light reaches a point, 0 where a solid occludes it."""
        scene, ray, _, met = self._met(point, light, owner, facing > 0)
        lit = np.ones(facing.shape, np.float32)
        shaded = np.isfinite(met)
        lit[scene[shaded], ray[shaded]] = 0
        return lit

    def _met(
        self, begin: Vectors, direction: Vectors, owner: np.ndarray | None, wanted: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return pairs of a ray and a solid whose bounding sphere it meets: scene, ray, solid and distance along the
        ray.

        With `owner` the rays are shadow rays, which start at a surface; a convex solid does not shade itself.
        """
        o = self.objects
        own_shadow = np.array([kind in CASTS_ON_ITSELF for kind in self.kinds])
        hits: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
        for slot in range(o.kind.shape[1]):
            radius, centre = o.radius[:, slot, None], o.centre[:, slot]
            away: Vectors = tuple(centre[:, axis, None] - begin[axis] for axis in range(3))
            along = _dot(away, direction) / radius
            square = _dot(away, away) / (radius * radius) - along * along
            half = np.sqrt(np.maximum(1 - square, 0))  # within the bounding sphere
            first, last = along - half, along + half
            inside = (square < 1) & (last > _BIAS) & o.present[:, slot, None]
            if owner is not None and wanted is not None:
                inside &= wanted & ((owner != slot) | own_shadow[o.kind[:, slot]][:, None])
            scene, ray = np.nonzero(inside)
            hits.append((scene, ray, np.full(len(scene), slot), first[scene, ray], last[scene, ray]))
        scene, ray, which, first, last = (np.concatenate(parts) for parts in zip(*hits, strict=True))
        first = np.maximum(first, _BIAS)
        met = np.full(len(scene), np.inf, np.float32)
        kind = o.kind[scene, which]
        for index, name in enumerate(self.kinds):
            here = np.flatnonzero(kind == index)
            if len(here):
                s, r, m = scene[here], ray[here], which[here]
                origin = self._own(tuple(_at(part, s, r) for part in begin), s, m, place=True)
                towards = self._own(tuple(_at(part, s, r) for part in direction), s, m, place=False)
                a, b = o.proportions[s, m].T
                distance = trace(SOLIDS[name], origin, towards, (a, b), first[here], last[here])
                met[here] = distance * o.radius[s, m]
        return scene, ray, which, met

    def _own(self, vectors: Vectors, scene: np.ndarray, which: np.ndarray, *, place: bool) -> Vectors:
        """Return points (with `place`) or directions in the own coordinates of solids."""
        o = self.objects
        if place:
            radius, centre = o.radius[scene, which], o.centre[scene, which]
            vectors = tuple((vectors[axis] - centre[:, axis]) / radius for axis in range(3))
        turn = o.turn[scene, which]  # its columns are the solid's own axes
        return tuple(
            turn[:, 0, axis] * vectors[0] + turn[:, 1, axis] * vectors[1] + turn[:, 2, axis] * vectors[2]
            for axis in range(3)
        )

    def surfaces(self, point: Vectors, owner: np.ndarray) -> tuple[Vectors, "_OnSolids"]:
        """Return normals (n, P), 0 where there is no solid, and the points on solids."""
        normal: Vectors = (np.zeros_like(point[0]), np.zeros_like(point[0]), np.zeros_like(point[0]))
        scene, ray = np.nonzero(owner >= 0)
        which = owner[scene, ray].astype(np.int64)
        kind = self.objects.kind[scene, which]
        own = self._own(tuple(_at(part, scene, ray) for part in point), scene, which, place=True)
        for index, name in enumerate(self.kinds):
            here = np.flatnonzero(kind == index)
            if len(here):
                s, m = scene[here], which[here]
                a, b = self.objects.proportions[s, m].T
                local = normals(SOLIDS[name], own[0][here], own[1][here], own[2][here], (a, b))
                turn = self.objects.turn[s, m]
                for axis in range(3):
                    row = turn[:, axis]
                    normal[axis][s, ray[here]] = row[:, 0] * local[0] + row[:, 1] * local[1] + row[:, 2] * local[2]
        return normal, _OnSolids(scene, ray, which, kind, own)


@dataclass(frozen=True)
class _OnSolids:
    """Points on solids: which scene, ray, solid and kind, and where in the solid's own coordinates."""

    scene: Int[np.ndarray, " k"]
    ray: Int[np.ndarray, " k"]
    which: Int[np.ndarray, " k"]
    kind: Int[np.ndarray, " k"]
    own: Vectors


def _at(values: np.ndarray, scene: np.ndarray, ray: np.ndarray) -> np.ndarray:
    """Return values (n, P), or (n, 1) for all rays, of pairs."""
    return np.asarray(values[scene, 0] if values.shape[1] == 1 else values[scene, ray])


def _background(view: View, point: Vectors, owner: np.ndarray) -> list[np.ndarray]:
    """Return colours of floor and wall at every point, red, green and blue: two paints mixed by waves; shape (n, P)
    each."""
    on_wall = owner == WALL
    along = view.wall[:, 0, None] * point[1] - view.wall[:, 1, None] * point[0]  # horizontally on the wall
    u, v = np.where(on_wall, along, point[0]), np.where(on_wall, point[2], point[1])
    mixed = np.zeros_like(u)
    for wave in range(view.waves.shape[2]):
        floor, wall = (view.waves[:, plane, wave] for plane in range(2))
        cu, cv, phase = (np.where(on_wall, wall[:, i, None], floor[:, i, None]) for i in range(3))
        mixed += sine(cu * u + cv * v + phase)
    sharpness = np.where(on_wall, view.sharpness[:, 1, None], view.sharpness[:, 0, None])
    share = np.clip(0.5 + sharpness * mixed * 0.3, 0, 1)
    colours = []
    for channel in range(3):
        one, two = (
            np.where(on_wall, view.paints[:, 1, paint, channel, None], view.paints[:, 0, paint, channel, None])
            for paint in range(2)
        )
        colours.append(one + (two - one) * share)
    return colours


def _paint_solids(albedo: list[np.ndarray], solids: _Solids, on: _OnSolids, settings: SceneSettings) -> None:
    """Paint the solids light grey, or with the pattern of their kind: stripes or a check of two colours."""
    if settings.texture == "without":
        for values in albedo:
            values[on.scene, on.ray] = 0.8
        return
    start, dark = solids.objects.pattern[on.scene, on.which].T
    place = on.kind.astype(np.float32)
    turn = np.float32(np.pi) * (place * _GOLDEN % 1)
    cycles = np.array([3, 5, 7.5], np.float32)[on.kind % 3]
    x, y, z = on.own
    u = sine(cycles * (x * cosine(turn) + z * sine(turn)) + 2 * np.pi * start)
    v = sine(cycles * (y * cosine(turn) - x * sine(turn)) + 2 * np.pi * start)
    wave = np.where(on.kind % 2 == 0, u, u * v * 1.5)
    share = np.clip(0.5 + 3 * wave, 0, 1)
    for channel, values in enumerate(albedo):
        hue = 2 * np.pi * (place * _GOLDEN + channel / 3)
        bright, dim = 0.55 + 0.4 * cosine(hue), (0.4 - 0.3 * dark) * (1 - 0.5 * cosine(hue))
        values[on.scene, on.ray] = bright + (dim - bright) * share
