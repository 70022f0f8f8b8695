"""The whole spectrum of the Hessian, as a density."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Annotated, ClassVar

import torch

from transferscope.diagnostics.diagnostic import Diagnostic, Findings
from transferscope.diagnostics.hessian import HessianOperator
from transferscope.diagnostics.loss_surface import loss_surface
from transferscope.diagnostics.network_state import BatchNorm, loss_mode
from transferscope.diagnostics.subject import Subject
from transferscope.numerics.trace import SpectralDensity, rademacher, spectral_density
from transferscope.records import Count, Meaning, Positive, Says

N_POINTS = 1000
"""Points at which the density is tabulated."""


@dataclass(frozen=True)
class CurvatureDensity(Diagnostic):
    """Spectral density of the Hessian by stochastic Lanczos quadrature."""

    name: ClassVar[str] = "curvature-density"
    headline: ClassVar[str] = "hessian_flat_share"
    meaning: ClassVar[Meaning] = Meaning(
        "share of flat directions",
        lower="fewer flat directions",
        higher="more flat directions",
        expected="higher",
        share=True,
        limits=(
            "Single eigenvalues inside the bulk are not resolved, a mass of a few eigenvalues among all parameters is "
            "lost in the noise of the probes, and few steps leave open how many eigenvalues of a smooth spectrum are "
            "below the edge, which the standard error holds."
        ),
    )
    quick: ClassVar[Mapping[str, int]] = {"n_probes": 4, "steps": 30}
    errors_over: ClassVar[str] = "probes"
    version: ClassVar[int] = 3

    blocks: Annotated[tuple[str, ...], Says("Submodules whose parameters vary; () for the whole network")] = ()
    n_probes: Annotated[Count, Says("Random start vectors")] = 10
    steps: Annotated[
        Count,
        Says("Hessian-vector products for each; few leave the shares of a smooth spectrum open by about 1 / steps"),
    ] = 80
    width: Annotated[
        Positive,
        Says("Standard deviation of the Gaussian in place of a point mass, as a share of the range of the spectrum"),
    ] = 0.01
    batch_size: Annotated[Count, Says("Examples per batch")] = 128
    seed: Annotated[int, Says("Seed of the probes")] = 0
    batch_norm: BatchNorm = "running"

    def density(self, subject: Subject) -> SpectralDensity:
        """The density itself."""
        n = len(subject.examples)
        with loss_mode(subject.network, self.batch_norm, n_examples=n, batch_size=self.batch_size):
            operator = HessianOperator(loss_surface(subject, self.blocks), batch_size=self.batch_size)
            point = operator.surface.point
            probe = rademacher(point, torch.Generator().manual_seed(self.seed))
            steps = min(self.steps, point.numel())
            return spectral_density(operator, probe, n_probes=self.n_probes, steps=steps)

    def measure(self, subject: Subject) -> Findings:
        """Records "hessian_negative_share" and "hessian_flat_share", and the tabulated density as arrays.

        The flat share is that of eigenvalues within 1 % of the largest from zero; the negative share is that of those
        below. Their standard errors hold the spread over probes and what so few steps leave open
        (`SpectralDensity.share`).
        """
        density = self.density(subject)
        edge = 0.01 * float(density.nodes.abs().max())
        shares = {
            "hessian_negative_share": density.share(-inf, -edge),
            "hessian_flat_share": density.share(-edge, edge),
        }
        low, high = density.nodes.min(), density.nodes.max()
        width = float(self.width * (high - low).clamp_min(1e-12))
        points = torch.linspace(float(low) - 5 * width, float(high) + 5 * width, N_POINTS, dtype=torch.float64)
        arrays = {
            "hessian_density_points": points.numpy(),
            "hessian_density": density.at(points, width=width).numpy(),
        }
        return Findings.of(subject, shares, arrays)
