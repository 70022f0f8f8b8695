"""Deep linear networks of any depth, trained by gradient descent on all their weight matrices.

A network of depth L is x'W_1 W_2 ... W_L with W_1 of shape (d, h), hidden layers (h, h) and W_L of shape (h,); for
L = 1 it is the vector W_1 of shape (d,). Two exact savings, both tested against a plain loop over full matrices:

- The inputs are rotated into the eigenbasis of the data (`least_squares`); gradient descent is equivariant.
- Gradient descent is also equivariant under rotations of hidden units. A network whose layers start with rank r (and
  matching row and column spaces) keeps it, and is trained in width h = r instead of any larger one. The balanced start
  of tahir2024 and shachaf2021 after perfect pretraining has rank one, so `balanced_start(..., width=1)` represents
  every width.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transferscope_papers.simulate.descent import Descent, DescentSettings, Slope, Weights, descend, norms, times
from transferscope_papers.simulate.least_squares import LeastSquares
from transferscope_papers.simulate.seeds import normal

INITIAL_WEIGHTS = 100
"""First random stream of initial weights; layer j uses INITIAL_WEIGHTS + j."""


def balanced_start(beta: Float[Tensor, "B d"], *, depth: int, width: int = 1) -> Weights:
    """Return exactly 0-balanced rank-one layers whose product is `beta` (shachaf2021 Definition 5.1).

    Args:
        beta: End-to-end vectors, not zero: the pretrained solution, or a tiny vector for training from scratch.
        depth: Number of layers L, at least 1.
        width: Hidden width h, at least 1; the training path does not depend on it.
    """
    if depth == 1:
        return (beta.clone(),)
    norm = beta.norm(dim=1)
    root = norm ** (1 / depth)
    unit = torch.zeros(len(beta), width, dtype=beta.dtype)
    unit[:, 0] = 1.0
    first = torch.einsum("bd,bh->bdh", beta * (root / norm)[:, None], unit)
    hidden = root[:, None, None] * torch.einsum("bh,bk->bhk", unit, unit)
    return (first, *[hidden.clone() for _ in range(depth - 2)], root[:, None] * unit)


def random_start(seeds: Sequence[int], n_inputs: int, *, depth: int, width: int, scale: float) -> Weights:
    """Return layers of independent N(0, scale^2) entries, nearly balanced when `scale` is small (tahir2024 Appendix
    D)."""
    shapes = [(n_inputs,)] if depth == 1 else [(n_inputs, width), *[(width, width)] * (depth - 2), (width,)]
    return tuple(scale * normal(seeds, shape, stream=INITIAL_WEIGHTS + j) for j, shape in enumerate(shapes))


def end_to_end(weights: Weights) -> Float[Tensor, "B d"]:
    """Return beta = W_1 W_2 ... W_L."""
    return _products(weights)[0]


def train(loss: LeastSquares, start: Weights, settings: DescentSettings, *, n_frozen: int = 0) -> Descent:
    """Train every layer (but the first `n_frozen`) of B deep linear networks by gradient descent.

    Args:
        loss: The training losses; population losses pretrain.
        start: The initial layers, in the original coordinates.
        settings: Step sizes and stopping. The residual is norm(X beta - y)/norm(y) within the row space of the data
            (the unfittable part is left out); with frozen layers it is the relative norm of the gradient.
        n_frozen: Number of first layers that keep their weights, 0 to L-1.

    Returns:
        The final layers in the original coordinates, with statuses.
    """
    objective = _DeepLinear(loss.spectrum, loss.spectrum.amax(1), loss.cross, n_frozen)
    result = descend(objective, (loss.rotate(start[0]), *start[1:]), settings)
    return replace(result, weights=(loss.rotate_back(result.weights[0]), *result.weights[1:]))


@dataclass(frozen=True)
class _DeepLinear:
    """The objective in the eigenbasis of the data: spectrum (B, d), its largest value (B,), cross (B, d)."""

    spectrum: Tensor
    largest: Tensor
    cross: Tensor
    n_frozen: int

    def slope(self, weights: Weights) -> Slope:
        """Return the gradient through a product of matrices, in closed form."""
        products = _products(weights)
        error = self.spectrum * products[0] - self.cross  # gradient in beta
        gradient = _gradients(weights, products, error)
        frozen = tuple(torch.zeros_like(layer) for layer in gradient[: self.n_frozen])
        return Slope((*frozen, *gradient[self.n_frozen :]), self._curvature(weights, error))

    def residual(self, weights: Weights) -> Tensor:
        """Return norm(P(X beta - y))/norm(P y), P on the column space of X; with frozen layers the relative
        gradient."""
        if self.n_frozen > 0:  # in units of norm(b) times the product of the other layers
            sizes = norms(weights)
            scale = torch.linalg.vector_norm(self.cross, dim=1) * sizes.prod(0) / sizes
            flatness: Tensor = torch.linalg.vector_norm(norms(self.slope(weights).gradient) / scale, dim=0)
            return flatness
        error = self.spectrum * _products(weights)[0] - self.cross
        weight = 1 / torch.where(self.spectrum > 0, self.spectrum, torch.inf)
        return ((weight * error**2).sum(1) / (weight * self.cross**2).sum(1)).sqrt()

    def take(self, index: Int[Tensor, " K"]) -> "_DeepLinear":
        """Return the objectives at `index`."""
        return _DeepLinear(self.spectrum[index], self.largest[index], self.cross[index], self.n_frozen)

    def _curvature(self, weights: Weights, error: Tensor) -> Tensor:
        """Return lambda_max sum_j prod_(i != j) norm(W_i)^2 + norm(error) sum_(i != j) prod_(k != i, j) norm(W_k)."""
        sizes = norms(weights)
        product, inverse = sizes.prod(0), 1 / sizes
        squares = inverse.square().sum(0)
        pairs = inverse.sum(0).square() - squares
        steepness: Tensor = torch.linalg.vector_norm(error, dim=1)
        return product * (self.largest * product * squares + steepness * pairs)


def _products(weights: Weights) -> tuple[Tensor, ...]:
    """Return W_j ... W_L for j = 1..L: shape (B, d) for j = 1, else (B, h)."""
    products = [weights[-1]]
    for layer in reversed(weights[:-1]):
        products.append(_times(layer, products[-1]))
    return tuple(reversed(products))


def _gradients(weights: Weights, products: tuple[Tensor, ...], error: Tensor) -> Weights:
    """Return dL/dW_j = (W_1 ... W_(j-1))' error (W_(j+1) ... W_L)'."""
    gradients, upstream = [], error
    for layer, downstream in zip(weights[:-1], products[1:], strict=True):
        gradients.append(upstream.unsqueeze(2) * downstream.unsqueeze(1))
        one_column = layer.shape[2] == 1
        upstream = (layer[:, :, 0] * upstream).sum(1, keepdim=True) if one_column else times(layer.mT, upstream)
    return (*gradients, upstream)


def _times(matrix: Tensor, vector: Tensor) -> Tensor:
    """Return matrix times vector for each element; batched products are slow on single columns."""
    return matrix[:, :, 0] * vector if matrix.shape[2] == 1 else times(matrix, vector)
