"""Directions in the space of the weights."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from transferscope.diagnostics.loss_surface import LossSurface
from transferscope.errors import SettingsError

Biases = Literal["zero", "scale"]
"""What becomes of biases and normalisation parameters: not moved, or scaled like one filter each."""


def filter_normalise(
    direction: Float[Tensor, "*shape"], weight: Float[Tensor, "*shape"], *, biases: Biases = "zero"
) -> Float[Tensor, "*shape"]:
    """Scale each filter of a direction to the norm of the same filter of the weight.

        d_j <- d_j / ||d_j|| * ||w_j||    for each filter j (first dimension)

    Source: Li et al., "Visualizing the Loss Landscape of Neural Nets", section 4; "Towards Understanding the
    Transferability of Deep Representations", section A. A vector (bias, BatchNorm) has one entry per filter, so the
    rule would only set each entry to +- itself, whatever the direction: it is zeroed, or scaled as a whole.

    Args:
        direction: Same shape as the weight.
        weight: A weight matrix (rows are filters), a kernel (out, in, ...), or a vector.
        biases: What to do with a vector.

    Returns:
        The scaled direction; zero for filters of norm 0, of the weight or of the direction.
    """
    if weight.dim() < 2:
        return torch.zeros_like(weight) if biases == "zero" else _rescale(direction[None], weight[None])[0]
    return _rescale(direction, weight)


def _rescale(direction: Tensor, weight: Tensor) -> Tensor:
    flat, size = direction.flatten(1), weight.flatten(1).norm(dim=1, keepdim=True)
    norms = flat.norm(dim=1, keepdim=True)
    return torch.where(norms > 0, flat / norms.clamp_min(torch.finfo(flat.dtype).tiny) * size, 0).view_as(direction)


def random_directions(
    surface: LossSurface, n: int, *, generator: torch.Generator, biases: Biases = "zero"
) -> Float[Tensor, "n P"]:
    """Filter-normalised Gaussian directions, orthogonal filter by filter.

    Making them orthogonal within each filter first keeps them orthogonal after filters have been rescaled (only filters
    of fewer than n weights cannot hold n orthogonal directions; theirs stay independent draws).

    Args:
        surface: Where the directions start.
        n: How many, at least 1.
        generator: Draws them (on the CPU).
        biases: What becomes of biases and normalisation parameters.

    Returns:
        One direction per row, in the layout of the surface.

    Raises:
        SettingsError: There are fewer parameters than directions, or nothing that moves.
    """
    if n > surface.layout.size:
        raise SettingsError(
            f"{n} directions were asked for and there are {surface.layout.size} parameters; ask for fewer"
        )
    rows: list[dict[str, Tensor]] = [{} for _ in range(n)]
    for name, weight in surface.moved.items():
        draws = torch.randn((n, *weight.shape), generator=generator, dtype=torch.float64).to(weight)
        if weight.dim() >= 2 and weight[0].numel() >= n:
            draws = _orthogonal_filters(draws)
        for row, draw in zip(rows, draws, strict=True):
            row[name] = filter_normalise(draw, weight, biases=biases)
    directions = torch.stack([surface.layout.flatten(row) for row in rows])
    if not directions.any():
        raise SettingsError(
            "every parameter that may move is zero, a bias or a normalisation parameter; name another block or use "
            'biases = "scale"'
        )
    return directions


def _orthogonal_filters(draws: Float[Tensor, "n filters *rest"]) -> Tensor:
    filters = draws.flatten(2).permute(1, 2, 0)  # (filters, weights, n)
    basis = torch.linalg.qr(filters.double())[0].to(draws)
    orthogonal: Tensor = basis.permute(2, 0, 1).reshape(draws.shape)
    return orthogonal
