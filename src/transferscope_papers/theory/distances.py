"""Distances between tasks, which do not predict transfer (tahir2024, section 2.1 and Appendix B.1).

Two linear teachers over x ~ N(0, I_d) with label noise sigma. The d - 2 directions of x outside their plane couple
trivially, so every distance below equals that of the three-dimensional Gaussians of (x in the plane, y), whose
covariance is S_b = [[I, b], [b', b'b + sigma^2]]. Everywhere `theta` is the angle between the teachers in [0, pi], and
`sigma` (of both tasks), `source_norm` s and `target_norm` tau are at least 0; results are broadcast.

Corrections. tahir2024 Theorem 2.2 claims an unbounded Dudley distance; it is at most 2 (eq. 28 reverses an inequality).
Its Figure 5b has an axis of W1 from 526 to 529, where W1 is at most sqrt(2/pi) ||beta_s - beta_t|| < 1.6: it shows the
bias of a sample estimate in high dimension, see `transferscope_papers.tahir2024.sampled_distance`.
"""

import numpy as np

from transferscope_papers.parameters import Array, Numbers, angle, at_least

_MEAN_ABSOLUTE = np.sqrt(2 / np.pi)
_GRID = 12
_REFINEMENTS = 32


def teacher_distance(theta: Numbers, *, source_norm: Numbers = 1.0, target_norm: Numbers = 1.0) -> Array:
    """Return ||beta_s - beta_t||, without cancellation for nearly equal teachers."""
    s, tau = at_least("source_norm", source_norm, 0), at_least("target_norm", target_norm, 0)
    return np.asarray(np.sqrt((s - tau) ** 2 + 4 * s * tau * np.sin(angle(theta) / 2) ** 2))


def kl_divergence(theta: Numbers, *, sigma: Numbers, source_norm: Numbers = 1.0, target_norm: Numbers = 1.0) -> Array:
    """Return KL(p_s || p_t) = ||beta_s - beta_t||^2 / (2 sigma^2), in nats (tahir2024, eq. 34).

    Without noise it is infinite, unless the teachers are equal.
    """
    squared = teacher_distance(theta, source_norm=source_norm, target_norm=target_norm) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(squared == 0, 0.0, squared / (2 * at_least("sigma", sigma, 0) ** 2)))


def wasserstein_2(theta: Numbers, *, sigma: Numbers, source_norm: Numbers = 1.0, target_norm: Numbers = 1.0) -> Array:
    """Return W2 of the joint distributions of (x, y), by Bures' formula in three dimensions.

        W2^2 = tr S_0 + tr S_1 - 2 tr (S_0^(1/2) S_1 S_0^(1/2))^(1/2)

    With S_b = F_b F_b' and F_b = [[I, 0], [b', sigma]] the last trace is the sum of the singular values of F_1'F_0.
    """
    plane = _Plane(theta, sigma, source_norm, target_norm)
    first, second = _factor(plane.source, plane.sigma), _factor(plane.target, plane.sigma)
    fidelity = np.linalg.svd(np.swapaxes(first, -1, -2) @ second, compute_uv=False).sum(axis=-1)
    traces = (first**2).sum(axis=(-1, -2)) + (second**2).sum(axis=(-1, -2))
    return np.asarray(np.sqrt(np.maximum(traces - 2 * fidelity, 0)))


def wasserstein_1(
    theta: Numbers, *, sigma: Numbers, source_norm: Numbers = 1.0, target_norm: Numbers = 1.0
) -> tuple[Array, Array]:
    """Return certified bounds of W1 of the joint distributions of (x, y), below and above; no closed form is known.

        max_a sqrt(2/pi) |sqrt(a'S_0 a) - sqrt(a'S_1 a)|  <=  W1  <=  min( W2, sqrt(2/pi) ||beta_s - beta_t|| )

    Below: |a'(x, y)| is 1-Lipschitz for every unit vector a; the maximum is searched on a grid that is then refined;
        any result is a valid bound. Above: both tasks share x and the noise.
    """
    plane = _Plane(theta, sigma, source_norm, target_norm)
    distance = teacher_distance(theta, source_norm=source_norm, target_norm=target_norm)
    upper = np.minimum(
        wasserstein_2(theta, sigma=sigma, source_norm=source_norm, target_norm=target_norm), _MEAN_ABSOLUTE * distance
    )
    lower = np.minimum(_MEAN_ABSOLUTE * plane.largest_gap(), upper)
    return np.asarray(lower), np.asarray(upper)


class _Plane:
    """The two teachers in the coordinates of their plane."""

    def __init__(self, theta: Numbers, sigma: Numbers, source_norm: Numbers, target_norm: Numbers) -> None:
        s, tau = at_least("source_norm", source_norm, 0), at_least("target_norm", target_norm, 0)
        theta, self.sigma, s, tau = np.broadcast_arrays(angle(theta), at_least("sigma", sigma, 0), s, tau)
        self.source = np.stack([s, np.zeros_like(s)], axis=-1)
        self.target = np.stack([tau * np.cos(theta), tau * np.sin(theta)], axis=-1)

    def gap(self, polar: Numbers, azimuth: Numbers) -> Array:
        """Return |sqrt(a'S_0 a) - sqrt(a'S_1 a)| for a = (sin polar (cos azimuth, sin azimuth), cos polar), shape (...,
        k)."""
        u, v = np.sin(polar), np.cos(polar)
        spread = []
        for b in (self.source, self.target):
            first = u * np.cos(azimuth) + v * b[..., :1]
            second = u * np.sin(azimuth) + v * b[..., 1:]
            spread.append(np.sqrt(first**2 + second**2 + (v * self.sigma[..., None]) ** 2))
        return np.asarray(np.abs(spread[0] - spread[1]))

    def largest_gap(self) -> Array:
        """Return the largest gap over the half sphere: best of a grid, then a pattern search around it."""
        polar = np.repeat(np.linspace(0, np.pi / 2, _GRID), 2 * _GRID)
        azimuth = np.tile(np.linspace(0, 2 * np.pi, 2 * _GRID, endpoint=False), _GRID)
        gaps = self.gap(polar, azimuth)  # (..., grid)
        best = gaps.argmax(axis=-1)
        polar, azimuth = polar[best][..., None], azimuth[best][..., None]
        moves = np.array([[0.0, 0.0], [1, 0], [-1, 0], [0, 1], [0, -1]])
        step = np.full(polar.shape, np.pi / _GRID)
        for _ in range(_REFINEMENTS):
            near_polar, near_azimuth = polar + step * moves[:, 0], azimuth + step * moves[:, 1]
            best = self.gap(near_polar, near_azimuth).argmax(axis=-1)[..., None]
            polar, azimuth = (np.take_along_axis(x, best, axis=-1) for x in (near_polar, near_azimuth))
            step = np.where(best == 0, step / 2, step)
        return np.asarray(self.gap(polar, azimuth)[..., 0])


def _factor(b: Array, sigma: Array) -> Array:
    """Return F_b = [[I, 0], [b', sigma]], shape (..., 3, 3)."""
    factor = np.zeros((*sigma.shape, 3, 3))
    factor[..., 0, 0] = factor[..., 1, 1] = 1.0
    factor[..., 2, :2] = b
    factor[..., 2, 2] = sigma
    return factor
