"""Stochastic trace and spectral density of a symmetric operator.

Sources: Hutchinson, "A stochastic estimator of the trace of the influence matrix" (1990); Ubaru, Chen and Saad, "Fast
estimation of tr(f(A)) via stochastic Lanczos quadrature" (SIAM J. Matrix Anal. Appl. 2017).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import hypot, isfinite, sqrt

import torch
from jaxtyping import Float
from torch import Tensor

from transferscope.estimate import Estimate
from transferscope.numerics.lanczos import Matvec, quadrature

Probe = Callable[[], Tensor]
"""Draws a vector z of shape (n,) with E[z z'] = I."""


LEAST_PROBES = 10
"""Probes before the first look at their standard error."""


def rademacher(like: Float[Tensor, " n"], generator: torch.Generator) -> Probe:
    """Probes with entries +-1, in the dtype and on the device of `like`, shape (n,).

    The generator is on the CPU, so that every device sees the same probes.
    """

    def draw() -> Tensor:
        return torch.randint(0, 2, like.shape, generator=generator).to(like) * 2 - 1

    return draw


def estimate_trace(matvec: Matvec, probe: Probe, *, tolerance: float = 0.02, max_probes: int = 1000) -> Estimate:
    """Trace of A as the mean of z' A z over random probes (Hutchinson).

    The standard error of that mean drives the stopping rule: "converged" at tolerance 0.02 means one of 2 %.

    Args:
        tolerance: Stop when stderr <= tolerance |mean|.

    Returns:
        The trace with its standard error and the number of probes; status "converged", "max_steps" or "non_finite".
    """
    mean, squares = 0.0, 0.0
    for n in range(1, max_probes + 1):
        z = probe()
        sample = float(torch.dot(z.double(), matvec(z).detach().double()))
        if not isfinite(sample):
            return Estimate.missing("non_finite", n)
        step = sample - mean
        mean += step / n
        squares += step * (sample - mean)  # Welford
        stderr = sqrt(squares / (n - 1) / n) if n > 1 else float("inf")
        if n >= LEAST_PROBES and stderr <= tolerance * abs(mean):
            return Estimate(mean, stderr, n, "converged")
    return Estimate(mean, stderr if max_probes > 1 else None, max_probes, "max_steps")


_ROUNDING = 1e-6
"""Eigenvalues this near to the end of a range, as a share of the largest, may lie on either side of it."""


@dataclass(frozen=True)
class SpectralDensity:
    """Distribution of eigenvalues, as a mixture of point masses for each probe: a `Quadrature` in each row."""

    nodes: Float[Tensor, "n_probes m"]
    weights: Float[Tensor, "n_probes m"]
    borders: Float[Tensor, "n_probes m"]

    def at(self, points: Float[Tensor, " p"], *, width: float) -> Float[Tensor, " p"]:
        """phi(t) = mean over probes of sum_i weights_i N(t; nodes_i, width^2), a density that integrates to 1.

        Args:
            width: Standard deviation of the Gaussian that replaces each point mass, above 0.
        """
        bumps = torch.exp(-0.5 * ((points[:, None, None] - self.nodes) / width) ** 2) / (width * sqrt(2 * torch.pi))
        return (bumps * self.weights).sum(-1).mean(-1)

    def share(self, low: float, high: float) -> Estimate:
        """Share of the eigenvalues in [low, high], whose ends may be infinite: the weight of the nodes there.

        Returns:
            The share. Its standard error adds to the spread over probes how far the share of a probe's spectral measure
            may lie from that of its nodes, which may all be bias; None for a single probe. "non_finite" if the density
            is.
        """
        n = len(self.nodes)
        if not torch.isfinite(self.nodes).all():
            return Estimate.missing("non_finite", n)
        within = (((self.nodes >= low) & (self.nodes <= high)) * self.weights).sum(1)
        (below, up_to_low), (below_high, up_to) = self._mass_up_to(low), self._mass_up_to(high)
        least, most = float((below_high - up_to_low).clamp_min(0).mean()), float((up_to - below).mean())
        value = float(within.mean())
        bias = max(most - value, value - least)
        return Estimate(value, hypot(float(within.std()) / sqrt(n), bias) if n > 1 else None, n)

    def _mass_up_to(self, point: float) -> tuple[Float[Tensor, " n_probes"], Float[Tensor, " n_probes"]]:
        """What each probe's measure has at least strictly below a point, and at most up to it.

        The quadrature with one more node, put at the point (Golub, "Some modified matrix eigenvalue problems", 1973),
        agrees with the measure in all moments up to order 2m, so by the inequalities of Chebyshev, Markov and
        Stieltjes its weights below the point are the least that the measure can have there, and those up to the point
        the most (Akhiezer, "The classical moment problem", 1965, section 2.5).
        """
        size = self.nodes.shape[1]
        if not isfinite(point):
            whole = torch.full((len(self.nodes),), float(point > 0), dtype=torch.float64)
            return whole, whole
        rounding = _ROUNDING * float(self.nodes.abs().max())
        masses = []
        for at, counts_itself in ((point - rounding, False), (point + rounding, True)):
            arrowhead = torch.diag_embed(torch.cat([self.nodes, torch.zeros_like(self.nodes[:, :1])], dim=1))
            arrowhead[:, size, :size] = arrowhead[:, :size, size] = self.borders
            away = self.nodes - at
            arrowhead[:, size, size] = at + torch.where(self.borders == 0, 0.0, self.borders.square() / away).sum(1)
            nodes, vectors = torch.linalg.eigh(arrowhead)
            weights = torch.einsum("pm,pmk->pk", self.weights.sqrt(), vectors[:, :size]).square()
            own = (nodes - at).abs().argmin(dim=1, keepdim=True)
            sums = torch.cumsum(weights, dim=1).gather(1, own)[:, 0]
            masses.append(sums if counts_itself else sums - weights.gather(1, own)[:, 0])
        return masses[0], masses[1]


def spectral_density(matvec: Matvec, probe: Probe, *, n_probes: int = 10, steps: int = 80) -> SpectralDensity:
    """Spectral density by stochastic Lanczos quadrature.

    Args:
        steps: Products for each probe, from 1 to the size of the matrix.

    Returns:
        The density; exact for polynomials up to degree 2 `steps` - 1 given the probes.
    """
    table = torch.zeros(3, n_probes, steps, dtype=torch.float64)
    for i in range(n_probes):
        rule = quadrature(matvec, probe(), steps)
        table[:, i, : len(rule.nodes)] = torch.stack([rule.nodes, rule.weights, rule.borders])
    return SpectralDensity(*table)
