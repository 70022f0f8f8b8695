import numpy as np
import pytest

from transferscope_papers.sources.scenes.solids import CASTS_ON_ITSELF, SIMPLE, SOLIDS, normals, trace

N = 4000
NAMES = [*SIMPLE, "flat-cross", "thin-cone", "tall-torus"]
PROPORTIONS = [(0.0, 0.0), (0.4, 0.9), (1.0, 1.0)]


def points(n: int, seed: int, reach: float = 1.5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    drawn = np.random.default_rng(seed).uniform(-reach, reach, (3, n)).astype(np.float32)
    return drawn[0], drawn[1], drawn[2]


def proportions(n: int, a: float, b: float) -> tuple[np.ndarray, np.ndarray]:
    return np.full(n, a, np.float32), np.full(n, b, np.float32)


def rays(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Beginnings on a sphere of radius 2 and unit directions towards points of the unit ball, (3, n) each."""
    generator = np.random.default_rng(seed)
    begin = generator.normal(size=(3, n))
    begin *= 2 / np.linalg.norm(begin, axis=0)
    towards = generator.uniform(-0.6, 0.6, (3, n)) - begin
    return begin.astype(np.float32), (towards / np.linalg.norm(towards, axis=0)).astype(np.float32)


def traced(name: str, begin: np.ndarray, along: np.ndarray, a: float, b: float) -> np.ndarray:
    n = begin.shape[1]
    first, last = np.zeros(n, np.float32), np.full(n, 4, np.float32)
    x, y, z = begin
    dx, dy, dz = along
    return trace(SOLIDS[name], (x, y, z), (dx, dy, dz), proportions(n, a, b), first, last)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("a", "b"), PROPORTIONS)
def test_distances_are_never_too_large_and_the_solid_fits_in_the_unit_sphere(name: str, a: float, b: float) -> None:
    """The distance to the nearest of many points inside is never below what the function says."""
    from scipy.spatial import cKDTree

    x, y, z = points(N, seed=0)
    value = SOLIDS[name](x, y, z, *proportions(N, a, b))
    inside = np.stack((x, y, z), axis=1)[value < 0]
    assert len(inside) > 10
    assert np.linalg.norm(inside, axis=1).max() < 1 + 1e-5
    outside = np.stack((x, y, z), axis=1)[value > 0]
    nearest, _ = cKDTree(inside).query(outside)
    assert (value[value > 0] <= nearest + 1e-5).all()


def entry(normal: np.ndarray, offset: np.ndarray, begin: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Where rays enter the convex solid normal . p <= offset (k half spaces), infinite where they miss; exact."""
    rate, room = normal @ along, offset[:, None] - normal @ begin  # (k, n)
    crossing = room / rate
    first = np.where(rate < 0, crossing, -np.inf).max(axis=0)
    last = np.where(rate > 0, crossing, np.inf).min(axis=0)
    return np.where((first < last) & (last > 0), first, np.inf)


def cube_half_sides(a: float, b: float) -> np.ndarray:
    sides = np.array([1.0, 0.5 + 0.5 * a, 0.5 + 0.5 * b])
    return np.asarray(sides / np.linalg.norm(sides))


SIGNS = np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], float)
TETRAHEDRON = np.array([(-1, -1, -1), (-1, 1, 1), (1, -1, 1), (1, 1, -1)]) / 3**0.5


@pytest.mark.parametrize(("a", "b"), PROPORTIONS)
@pytest.mark.parametrize("name", ["box", "octahedron", "tetrahedron"])
def test_rays_meet_polyhedra_where_half_spaces_say(name: str, a: float, b: float) -> None:
    planes = {
        "box": (np.concatenate((np.eye(3), -np.eye(3))), np.tile(cube_half_sides(a, b), 2)),
        "octahedron": (SIGNS / 3**0.5, np.full(8, 3**-0.5)),
        "tetrahedron": (TETRAHEDRON, np.full(4, 1 / 3)),
    }
    begin, along = rays(N, seed=1)
    exact = entry(*planes[name], begin.astype(float), along.astype(float))
    agree(traced(name, begin, along, a, b), exact)


def agree(met: np.ndarray, exact: np.ndarray) -> None:
    """Equal up to the tolerance at which a ray has met a surface; grazing rays may differ."""
    both = np.isfinite(met) & np.isfinite(exact)
    assert (np.isfinite(met) == np.isfinite(exact)).mean() > 0.96
    assert both.sum() > 200
    error = np.abs(met[both] - exact[both])
    assert np.median(error) < 0.01
    assert np.quantile(error, 0.98) < 0.08
    assert (met[both] < exact[both] + 0.01).mean() > 0.99  # none passes through


def test_rays_meet_spheres_cylinders_and_tori_where_polynomials_say() -> None:
    begin, along = rays(400, seed=2)
    o, d = begin.astype(float), along.astype(float)
    sphere = first_root([np.einsum("in,in->n", p, q) for p, q in ((d, d), (2 * o, d), (o, o))], -1.0)
    agree(traced("sphere", begin, along, 0, 0), sphere)
    tube = 0.18 + 0.15 * 0.5
    major = 1 - tube  # (|p|^2 + R^2 - r^2)^2 = 4 R^2 (x^2 + y^2)
    torus = []
    for i in range(400):
        square = np.array([1.0, 2 * o[:, i] @ d[:, i], o[:, i] @ o[:, i] + major**2 - tube**2])
        flat = np.array([d[:2, i] @ d[:2, i], 2 * o[:2, i] @ d[:2, i], o[:2, i] @ o[:2, i]])
        torus.append(smallest(np.polysub(np.polymul(square, square), 4 * major**2 * flat)))
    agree(traced("torus", begin, along, 0.5, 0), np.array(torus))


def first_root(coefficients: list[np.ndarray], constant: float) -> np.ndarray:
    a, b, c = coefficients
    return np.array([smallest(np.array([p, q, r + constant])) for p, q, r in zip(a, b, c, strict=True)])


def smallest(polynomial: np.ndarray) -> float:
    roots = np.roots(polynomial)
    real = roots.real[(np.abs(roots.imag) < 1e-6) & (roots.real > 0)]
    return float(real.min()) if len(real) else np.inf


@pytest.mark.parametrize("name", NAMES)
def test_a_ray_through_a_solid_meets_it_and_the_normal_faces_the_ray(name: str) -> None:
    begin, along = rays(N, seed=3)
    met = traced(name, begin, along, 0.5, 0.5)
    hit = np.isfinite(met)
    x, y, z = begin[:, hit] + met[hit] * along[:, hit]
    assert (
        np.abs(SOLIDS[name](x, y, z, *proportions(hit.sum(), 0.5, 0.5))).max() < 0.062
    )  # 0.03 and the step that follows
    normal = np.stack(normals(SOLIDS[name], x, y, z, proportions(hit.sum(), 0.5, 0.5)))
    np.testing.assert_allclose(np.linalg.norm(normal, axis=0), 1, atol=1e-4)
    assert ((normal * along[:, hit]).sum(axis=0) < 0.1).mean() > 0.99
    if hit.all():  # the sphere
        return
    beyond = np.linspace(0, 3, 300)[:, None]  # a dense walk along each ray that was said to miss
    walk = [(begin[i, ~hit] + beyond * along[i, ~hit]).ravel().astype(np.float32) for i in range(3)]
    depth = SOLIDS[name](walk[0], walk[1], walk[2], *proportions(len(walk[0]), 0.5, 0.5)).reshape(300, -1)
    assert depth.min() > -0.02


@pytest.mark.parametrize("name", NAMES)
def test_solids_said_to_be_convex_are(name: str) -> None:
    """The middle of two points inside is inside, for all pairs of a sample, exactly where no own shadow is expected."""
    x, y, z = points(3000, seed=4, reach=1.0)
    a, b = proportions(3000, 0.5, 0.5)
    inside = np.stack((x, y, z), axis=1)[SOLIDS[name](x, y, z, a, b) < 0][:150]
    middle = ((inside[:, None] + inside[None]) / 2).reshape(-1, 3)
    value = SOLIDS[name](middle[:, 0], middle[:, 1], middle[:, 2], *proportions(len(middle), 0.5, 0.5))
    assert bool((value > 1e-5).any()) == (name in CASTS_ON_ITSELF)


@pytest.mark.parametrize(("how", "axes"), [("flat", (1, 1, 0.5)), ("thin", (0.5, 1, 1)), ("tall", (0.5, 0.5, 1))])
def test_a_stretched_sphere_is_an_ellipsoid(how: str, axes: tuple[float, ...]) -> None:
    begin, along = (part.astype(float) for part in rays(400, seed=5))
    p, d = begin / np.array(axes)[:, None], along / np.array(axes)[:, None]
    half, square = (p * d).sum(0), (d * d).sum(0)
    left = half**2 - square * ((p * p).sum(0) - 1)  # of the quadratic equation of where a ray meets it
    met = traced(f"{how}-sphere", begin.astype(np.float32), along.astype(np.float32), 0.5, 0.5)
    sure = np.abs(left) > 0.1 * square
    assert (np.isfinite(met) == (left > 0))[sure].all()
    exact = (-half - np.sqrt(np.maximum(left, 0))) / square
    hit = sure & (left > 0)
    depth = np.linalg.norm(p + met * d, axis=0)[hit] - 1
    assert np.abs(depth).max() < 0.05
    assert np.abs(met - exact)[hit & (left > 0.3 * square)].max() < 0.06


def test_there_are_52_kinds_of_13_solids() -> None:
    assert (len(SIMPLE), len(SOLIDS), len(CASTS_ON_ITSELF)) == (13, 52, 12)
