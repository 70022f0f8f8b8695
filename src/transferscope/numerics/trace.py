"""Stochastic trace and spectral density of a symmetric operator.

Sources: Hutchinson, "A stochastic estimator of the trace of the influence matrix" (1990); Ubaru, Chen and Saad, "Fast
estimation of tr(f(A)) via stochastic Lanczos quadrature" (SIAM J. Matrix Anal. Appl. 2017).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, sqrt

import torch
from jaxtyping import Float
from torch import Tensor

from transferscope.estimate import Estimate
from transferscope.numerics.lanczos import Matvec, quadrature

Probe = Callable[[], Tensor]
"""Draws a vector z of shape (n,) with E[z z'] = I."""


def rademacher(like: Float[Tensor, " n"], generator: torch.Generator) -> Probe:
    """Probes with entries +-1, in the dtype and on the device of `like`.

    Args:
        like: Shape (n,).
        generator: On the CPU, so that every device sees the same probes.

    Returns:
        A function that draws the next probe.
    """

    def draw() -> Tensor:
        return torch.randint(0, 2, like.shape, generator=generator).to(like) * 2 - 1

    return draw


def estimate_trace(
    matvec: Matvec, probe: Probe, *, tolerance: float = 0.02, min_probes: int = 10, max_probes: int = 1000
) -> Estimate:
    """Trace of A as the mean of z' A z over random probes (Hutchinson).

    The standard error of that mean drives the stopping rule, so "converged" at tolerance 0.02 means a standard error of
    2 % (the movement of a running mean, which others use, shrinks like 1/m^1.5 and stops far too early).

    Args:
        matvec: Product with the symmetric matrix A.
        probe: Draws z.
        tolerance: Stop when stderr <= tolerance |mean|.
        min_probes: Probes before the first look at the standard error, at least 2.
        max_probes: Budget.

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
        if n >= max(2, min_probes) and stderr <= tolerance * abs(mean):
            return Estimate(mean, stderr, n, "converged")
    return Estimate(mean, stderr if max_probes > 1 else None, max_probes, "max_steps")


@dataclass(frozen=True)
class SpectralDensity:
    """Distribution of eigenvalues, as a mixture of point masses for each probe.

    Attributes:
        nodes: Shape (n_probes, m), float64.
        weights: Shape (n_probes, m), float64; each row sums to 1.
    """

    nodes: Float[Tensor, "n_probes m"]
    weights: Float[Tensor, "n_probes m"]

    def at(self, points: Float[Tensor, " p"], *, width: float) -> Float[Tensor, " p"]:
        """phi(t) = mean over probes of sum_i weights_i N(t; nodes_i, width^2), a density that integrates to 1.

        Args:
            points: t, shape (p,), float64.
            width: Standard deviation of the Gaussian that replaces each point mass, above 0.

        Returns:
            Shape (p,), float64.
        """
        bumps = torch.exp(-0.5 * ((points[:, None, None] - self.nodes) / width) ** 2) / (width * sqrt(2 * torch.pi))
        return (bumps * self.weights).sum(-1).mean(-1)

    def mean_of(self, function: Callable[[Tensor], Tensor]) -> Estimate:
        """Mean of a function of the eigenvalues, tr f(A) / n, with its standard error over probes.

        Args:
            function: f, from a tensor to one of the same shape.

        Returns:
            The estimate; "non_finite" if the density is.
        """
        samples = (function(self.nodes) * self.weights).sum(-1)
        n = len(samples)
        if not torch.isfinite(samples).all():
            return Estimate.missing("non_finite", n)
        return Estimate(float(samples.mean()), float(samples.std()) / sqrt(n) if n > 1 else None, n)


def spectral_density(matvec: Matvec, probe: Probe, *, n_probes: int = 10, steps: int = 80) -> SpectralDensity:
    """Spectral density by stochastic Lanczos quadrature.

    Args:
        matvec: Product with the symmetric matrix A (n x n).
        probe: Draws the start vectors.
        n_probes: How many, at least 1.
        steps: Products with A for each probe, from 1 to n.

    Returns:
        The density; exact for polynomials up to degree 2 `steps` - 1 given the probes.
    """
    nodes = torch.zeros(n_probes, steps, dtype=torch.float64)
    weights = torch.zeros(n_probes, steps, dtype=torch.float64)
    for i in range(n_probes):
        rule = quadrature(matvec, probe(), steps)
        nodes[i, : len(rule.nodes)] = rule.nodes
        weights[i, : len(rule.nodes)] = rule.weights
    return SpectralDensity(nodes, weights)
