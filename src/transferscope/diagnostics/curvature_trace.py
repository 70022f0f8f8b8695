"""Mean curvature of the loss: the trace of the Hessian."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from annotated_types import Ge

from transferscope.diagnostics.diagnostic import Diagnostic, Findings
from transferscope.diagnostics.hessian import HessianOperator
from transferscope.diagnostics.loss_surface import loss_surface
from transferscope.diagnostics.network_state import BatchNorm, loss_mode
from transferscope.diagnostics.subject import Subject
from transferscope.numerics.trace import estimate_trace, rademacher
from transferscope.records import Count, Meaning, Positive, Says


@dataclass(frozen=True)
class CurvatureTrace(Diagnostic):
    """Trace of the Hessian by Hutchinson's estimator, until its standard error is small enough."""

    name: ClassVar[str] = "curvature-trace"
    headline: ClassVar[str] = "hessian_trace"
    meaning: ClassVar[Meaning] = Meaning(
        "Hessian trace",
        lower="a loss that is flatter on the whole",
        higher="a loss that is sharper on the whole",
        expected="lower",
        limits=(
            "The trace adds positive and negative curvature, so it can be small between two sharp directions of "
            "opposite sign, and it changes when a ReLU network is rescaled without changing its function."
        ),
    )
    quick: ClassVar[Mapping[str, int]] = {"max_probes": 100}
    errors_over: ClassVar[str] = "probes"

    blocks: Annotated[tuple[str, ...], Says("Submodules whose parameters vary; () for the whole network")] = ()
    tolerance: Annotated[Positive, Says("Stop when the standard error is below this share of the trace")] = 0.05
    max_probes: Annotated[int, Ge(2), Says("Budget of Hessian-vector products")] = 500
    batch_size: Annotated[Count, Says("Examples per batch")] = 128
    seed: Annotated[int, Says("Seed of the probes")] = 0
    batch_norm: BatchNorm = "running"

    def measure(self, subject: Subject) -> Findings:
        """Record "hessian_trace": standard error over probes, n the number of probes."""
        n = len(subject.examples)
        with loss_mode(subject.network, self.batch_norm, n_examples=n, batch_size=self.batch_size):
            operator = HessianOperator(loss_surface(subject, self.blocks), batch_size=self.batch_size)
            probe = rademacher(operator.surface.point, torch.Generator().manual_seed(self.seed))
            trace = estimate_trace(operator, probe, tolerance=self.tolerance, max_probes=self.max_probes)
        return Findings.of(subject, {"hessian_trace": trace})
