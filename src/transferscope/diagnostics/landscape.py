"""The shape of the loss around a point, along directions in the space of the weights."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import torch
from annotated_types import Ge
from jaxtyping import Float
from torch import Tensor

from transferscope.diagnostics.diagnostic import Diagnostic, Findings
from transferscope.diagnostics.grid import Grid, Progress, grid_losses
from transferscope.diagnostics.loss_surface import LossSurface, batch_shares, loss_surface, mean_over_batches
from transferscope.diagnostics.network_state import BatchNorm, loss_mode
from transferscope.diagnostics.subject import Subject
from transferscope.errors import SettingsError, out_of_range
from transferscope.records import Count, Meaning, Positive, Says


def filter_normalise(direction: Float[Tensor, "*shape"], weight: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Scale each filter of a direction to the norm of the same filter of the weight.

        d_j <- d_j / ||d_j|| * ||w_j||    for each filter j (first dimension)

    Source: Li et al., "Visualizing the Loss Landscape of Neural Nets", section 4; "Towards Understanding the
    Transferability of Deep Representations", section A. A vector (bias, BatchNorm) has one entry per filter, so the
    rule would only set each entry to +- itself, whatever the direction: it is not moved.

    Args:
        weight: A weight matrix (rows are filters), a kernel (out, in, ...), or a vector.

    Returns:
        The scaled direction; zero for filters of norm 0, of the weight or of the direction.
    """
    if weight.dim() < 2:
        return torch.zeros_like(weight)
    flat, size = direction.flatten(1), weight.flatten(1).norm(dim=1, keepdim=True)
    norms = flat.norm(dim=1, keepdim=True)
    return torch.where(norms > 0, flat / norms.clamp_min(torch.finfo(flat.dtype).tiny) * size, 0).view_as(direction)


def random_directions(surface: LossSurface, n: int, *, generator: torch.Generator) -> Float[Tensor, "n P"]:
    """Return filter-normalised Gaussian directions, orthogonal filter by filter.

    Making them orthogonal within each filter first keeps them orthogonal after filters have been rescaled (only filters
    of fewer than n weights cannot hold n orthogonal directions; theirs stay independent draws).

    Args:
        n: Number of directions, at least 1.
        generator: Random generator, on the CPU.

    Returns:
        One direction per row, in the layout of the surface.

    Raises:
        SettingsError: There are fewer parameters than directions, or no parameter can move.
    """
    if n > surface.layout.size:
        raise out_of_range("directions", n, f"at most {surface.layout.size}, the number of parameters")
    rows: list[dict[str, Tensor]] = [{} for _ in range(n)]
    for name, weight in surface.moved.items():
        draws = torch.randn((n, *weight.shape), generator=generator, dtype=torch.float64).to(weight)
        if weight.dim() >= 2 and weight[0].numel() >= n:
            draws = _orthogonal_filters(draws)
        for row, draw in zip(rows, draws, strict=True):
            row[name] = filter_normalise(draw, weight)
    directions = torch.stack([surface.layout.flatten(row) for row in rows])
    if not directions.any():
        raise SettingsError("all selected parameters are zero, biases or normalisation parameters; name another block")
    return directions


def _orthogonal_filters(draws: Float[Tensor, "n filters *rest"]) -> Tensor:
    filters = draws.flatten(2).permute(1, 2, 0)  # (filters, weights, n)
    basis = torch.linalg.qr(filters.double())[0].to(draws)
    orthogonal: Tensor = basis.permute(2, 0, 1).reshape(draws.shape)
    return orthogonal


@dataclass(frozen=True)
class Landscape(Diagnostic):
    """Loss on a plane through the weights, along two random, orthogonal, filter-normalised directions.

    Sources: Li et al., "Visualizing the Loss Landscape of Neural Nets"; "Towards Understanding the Transferability of
    Deep Representations", Fig. 3 and 5, sections A and B.4 (which plots 200 x 200 points of radius 0.1).
    """

    name: ClassVar[str] = "landscape"
    headline: ClassVar[str] = "landscape_rise"
    meaning: ClassVar[Meaning] = Meaning(
        "rise of the loss around the network",
        lower="a loss that rises less around the network",
        higher="a loss that rises more around the network",
        expected="lower",
        limits=(
            "Two random directions show next to nothing of a space of many thousands, and miss sharp valleys that "
            "the eigenvalues show."
        ),
    )
    quick: ClassVar[Mapping[str, int]] = {"resolution": 15, "n_examples": 300}
    errors_over: ClassVar[str] = "batches"

    resolution: Annotated[int, Ge(2), Says("Points per axis", "Odd for one at the centre.")] = 25
    radius: Annotated[Positive, Says("Coordinate of the edge", "1 moves each filter by its own norm.")] = 0.5
    blocks: Annotated[
        tuple[str, ...], Says("Submodules whose parameters move, the others staying fixed; () for the whole network")
    ] = ()
    n_examples: Annotated[Count, Says("Size of the fixed sample")] = 1000
    batch_size: Annotated[Count, Says("Examples per forward pass; the standard error is taken over batches")] = 100
    batch_norm: BatchNorm = "running"

    def losses(
        self, subject: Subject, *, file: Path | None = None, progress: Progress | None = None
    ) -> Float[np.ndarray, "B G"]:
        """Return the mean loss of each batch of the sample at each point of the grid.

        Args:
            file: File (.npz) from which an interrupted measurement is resumed; None for none.

        Returns:
            Shape (n_batches, n_points): points in the order of `coordinates`, and last the centre.

        Raises:
            SettingsError: There are fewer parameters than directions, or none of them can move.
        """
        order = torch.randperm(len(subject.examples), generator=torch.Generator().manual_seed(0))
        sample = subject.examples.take(order[: self.n_examples].sort().values)
        with loss_mode(subject.network, self.batch_norm, n_examples=len(sample), batch_size=self.batch_size):
            surface = loss_surface(replace(subject, examples=sample), self.blocks)
            directions = random_directions(surface, 2, generator=torch.Generator().manual_seed(1))
            coordinates = torch.cat([self.coordinates(), torch.zeros(1, 2, dtype=torch.float64)])
            grid = Grid(surface, directions, coordinates.to(directions))
            return grid_losses(grid, batch_size=self.batch_size, file=file, progress=progress)

    def coordinates(self) -> Float[Tensor, "G K"]:
        """Return coordinates of the points, the last axis changing fastest; float64."""
        axis = torch.linspace(-self.radius, self.radius, self.resolution, dtype=torch.float64)
        return torch.cartesian_prod(axis, axis)

    def measure(self, subject: Subject) -> Findings:
        """Return the records "landscape_centre" (the loss there), "landscape_rise" and "landscape_highest_rise".

        The rise is the mean over the grid of the loss above that at the centre, and the highest rise its largest value;
        standard errors are over batches. The arrays are "landscape_axis" and "landscape_loss", shape
        (resolution, resolution).
        """
        return self.findings(self.losses(subject), subject)

    def findings(self, losses: Float[np.ndarray, "B G"], subject: Subject) -> Findings:
        """Return the findings from the losses on the grid, as in `measure`."""
        n = min(self.n_examples, len(subject.examples))
        weights = batch_shares(n, self.batch_size)
        values = torch.from_numpy(losses)
        centre, mean = values[:, -1], (weights @ values)[:-1]
        highest = int(mean.nan_to_num(nan=-torch.inf, posinf=-torch.inf).argmax())
        rises = {
            "landscape_centre": mean_over_batches(centre, weights, n),
            "landscape_rise": mean_over_batches(values[:, :-1].mean(dim=1) - centre, weights, n),
            "landscape_highest_rise": mean_over_batches(values[:, highest] - centre, weights, n),
        }
        axis = np.linspace(-self.radius, self.radius, self.resolution)
        loss = mean.reshape(self.resolution, self.resolution).numpy()
        return Findings.of(subject, rises, {"landscape_axis": axis, "landscape_loss": loss})
