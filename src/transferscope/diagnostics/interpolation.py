"""The loss on the straight line between two networks."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import torch
from annotated_types import Ge
from jaxtyping import Float

from transferscope.diagnostics.diagnostic import Diagnostic, Findings
from transferscope.diagnostics.grid import Grid, grid_losses
from transferscope.diagnostics.loss_surface import LossSurface, batch_shares, loss_surface, mean_over_batches
from transferscope.diagnostics.network_state import evaluation_mode
from transferscope.diagnostics.subject import Subject
from transferscope.records import Count, Meaning, Says


@dataclass(frozen=True)
class Interpolation(Diagnostic):
    """Loss along (1 - t) w + t w', from the subject's network to its `other` (or to its `start` without one).

    Running statistics of BatchNorm are interpolated like the weights.
    """

    name: ClassVar[str] = "interpolation"
    headline: ClassVar[str] = "loss_barrier"
    meaning: ClassVar[Meaning] = Meaning(
        "loss barrier",
        lower="a lower barrier to the start",
        higher="a higher barrier to the start",
        expected="lower",
        limits=(
            "A barrier on the straight line does not exclude a curved path without one, nor does it see that two "
            "networks differ by a permutation of units only."
        ),
    )
    needs_start: ClassVar[bool] = True
    quick: ClassVar[Mapping[str, int]] = {"resolution": 11}
    errors_over: ClassVar[str] = "batches"

    resolution: Annotated[int, Ge(3), Says("Points from t = 0 to t = 1, both included")] = 21
    n_examples: Annotated[Count, Says("Size of the sample: the first so many examples")] = 1000
    batch_size: Annotated[Count, Says("Examples per forward pass; the standard error is taken over batches")] = 100

    def losses(self, subject: Subject) -> Float[np.ndarray, "B G"]:
        """Mean loss of each batch at each point of the line, from the subject's network on.

        Raises:
            NetworkError: The subject has neither another network nor a start.
        """
        sample = replace(subject, examples=subject.examples.first(self.n_examples))
        other = replace(sample, network=subject.other or subject.needs_start(self.name))
        with evaluation_mode(sample.network, other.network):
            here, there = _whole_state(loss_surface(sample)), _whole_state(loss_surface(other))
            coordinates = torch.linspace(0, 1, self.resolution, dtype=torch.float64).to(here.point)[:, None]
            grid = Grid(here, (there.point - here.point)[None], coordinates)
            return grid_losses(grid, batch_size=self.batch_size)

    def measure(self, subject: Subject) -> Findings:
        """Record "loss_barrier": the highest loss on the line above the chord between its ends, at least 0.

        The arrays are "interpolation_t" and "interpolation_loss".
        """
        losses = torch.from_numpy(self.losses(subject))
        n = min(self.n_examples, len(subject.examples))
        weights = batch_shares(n, self.batch_size)
        t = torch.linspace(0, 1, self.resolution, dtype=torch.float64)
        excess = losses - ((1 - t) * losses[:, :1] + t * losses[:, -1:])
        highest = int((weights @ excess).nan_to_num(nan=torch.inf).argmax())
        barrier = mean_over_batches(excess[:, highest], weights, n)
        arrays = {"interpolation_t": t.numpy(), "interpolation_loss": (weights @ losses).numpy()}
        return Findings.of(subject, {"loss_barrier": barrier}, arrays)


def _whole_state(surface: LossSurface) -> LossSurface:
    buffers = {name: tensor for name, tensor in surface.fixed.items() if tensor.is_floating_point()}
    fixed = {name: tensor for name, tensor in surface.fixed.items() if name not in buffers}
    return replace(surface, moved={**surface.moved, **buffers}, fixed=fixed)
