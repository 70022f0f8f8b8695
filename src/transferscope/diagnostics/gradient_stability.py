"""Change of the loss along its gradient."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import torch
from jaxtyping import Float

from transferscope.diagnostics.diagnostic import Diagnostic, Findings
from transferscope.diagnostics.grid import Grid, grid_losses
from transferscope.diagnostics.loss_surface import batch_shares, loss_surface, mean_over_batches
from transferscope.diagnostics.network_state import BatchNorm, loss_mode
from transferscope.diagnostics.subject import Subject
from transferscope.estimate import Estimate
from transferscope.records import Count, Meaning, Says

SCALE = 0.01
"""Length of a step, in units of the gradient or in weight space: 100 add up to one gradient, or to a distance of 1."""


@dataclass(frozen=True)
class DescentCurves:
    """Loss of each batch along the negative gradient g of the whole sample.

    Attributes:
        gradient_steps: Losses at w - t SCALE g for t = 0..steps, shape (B, steps + 1).
        fixed_steps: Losses at w - t SCALE g / ||g||, same shape; NaN when the gradient is zero.
    """

    gradient_norm: float
    gradient_steps: Float[np.ndarray, "B T"]
    fixed_steps: Float[np.ndarray, "B T"]


@dataclass(frozen=True)
class GradientStability(Diagnostic):
    """Largest change of the loss within a number of steps along the gradient.

    Source: "Towards Understanding the Transferability of Deep Representations", Fig. 6 and 11, section A; two
    protocols, with steps of the gradient's size and with steps of a fixed size. The gradient is taken once, at the
    start of the line.
    """

    name: ClassVar[str] = "gradient-stability"
    headline: ClassVar[str] = "loss_variation_gradient_step"
    meaning: ClassVar[Meaning] = Meaning(
        "loss variation along the gradient",
        lower="a loss that changes less along its gradient",
        higher="a loss that changes more along its gradient",
        expected="lower",
        limits=(
            "It looks along one direction at one point of training, and compares networks only at the same loss and "
            "step."
        ),
    )
    quick: ClassVar[Mapping[str, int]] = {"steps": 50}
    errors_over: ClassVar[str] = "batches"

    steps: Annotated[Count, Says("Number of steps")] = 100
    n_examples: Annotated[Count, Says("Number of examples, from the first on")] = 1000
    batch_size: Annotated[Count, Says("Examples per pass; the standard error is taken over batches")] = 100
    batch_norm: BatchNorm = "running"

    def curves(self, subject: Subject) -> DescentCurves:
        """Return the losses along the negative gradient in both protocols."""
        sample = replace(subject, examples=subject.examples.first(self.n_examples))
        n = len(sample.examples)
        with loss_mode(subject.network, self.batch_norm, n_examples=n, batch_size=self.batch_size):
            surface = loss_surface(sample)
            gradient = surface.gradient(surface.moved, batch_size=self.batch_size)
            norm = float(gradient.norm())
            lengths = SCALE * torch.arange(self.steps + 1, dtype=torch.float64)
            units = torch.cat([lengths, lengths / norm if norm > 0 else lengths * torch.nan])
            grid = Grid(surface, -gradient[None], units[:, None].to(gradient))
            losses = grid_losses(grid, batch_size=self.batch_size)
        return DescentCurves(norm, losses[:, : self.steps + 1], losses[:, self.steps + 1 :])

    def measure(self, subject: Subject) -> Findings:
        """Return the records "gradient_norm", "loss_variation_gradient_step" and "loss_variation_fixed_step".

        The variation is max_t |L(w_t) - L(w)|, with the standard error over batches at that t; "undefined" for fixed
        steps along a zero gradient. The arrays hold the mean curves.
        """
        curves = self.curves(subject)
        n = min(self.n_examples, len(subject.examples))
        finite = np.isfinite(curves.gradient_norm)
        named = {
            "gradient_norm": Estimate(curves.gradient_norm, None, n) if finite else Estimate.missing("non_finite", n),
            "loss_variation_gradient_step": self._variation(curves.gradient_steps, n),
            "loss_variation_fixed_step": self._variation(curves.fixed_steps, n)
            if curves.gradient_norm != 0
            else Estimate.missing("undefined", n),
        }
        shares = batch_shares(n, self.batch_size).numpy()
        arrays = {
            "descent_gradient_step": shares @ curves.gradient_steps,
            "descent_fixed_step": shares @ curves.fixed_steps,
        }
        return Findings.of(subject, named, arrays)

    def _variation(self, losses: Float[np.ndarray, "B T"], n: int) -> Estimate:
        changes = torch.from_numpy(losses - losses[:, :1])
        shares = batch_shares(n, self.batch_size)
        largest = int((shares @ changes).abs().nan_to_num(nan=torch.inf).argmax())
        signed = mean_over_batches(changes[:, largest], shares, n)
        return replace(signed, value=abs(signed.value))
