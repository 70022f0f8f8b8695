"""Transfer between linear teachers, simulated: from scratch, fine-tuning, frozen layers, ridge heads."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transferscope_papers.problems import LinearTransfer
from transferscope_papers.simulate.deep_linear import balanced_start, end_to_end, train
from transferscope_papers.simulate.descent import DescentSettings, Weights
from transferscope_papers.simulate.least_squares import LeastSquares, from_moments
from transferscope_papers.simulate.outcomes import Outcomes
from transferscope_papers.simulate.seeds import generator, normal

SMALL_START = 99
"""Random stream of the initial directions of training from scratch."""
_SMALL = 1e-3
"""Initial norm of every layer; the risk changes by its square for n < d (shachaf2021, Thm. 5.2 with theta_S the
start)."""


@dataclass(frozen=True)
class TransferBatch:
    """B transfer problems, each with a finite target sample.

    Attributes:
        seeds: The seed of each element; its sample depends on problem, size and seed only.
    """

    problems: tuple[LinearTransfer, ...]
    seeds: tuple[int, ...]
    loss: LeastSquares

    @property
    def source(self) -> Float[Tensor, "B d"]:
        """theta_S of each element."""
        return torch.from_numpy(np.stack([problem.source.weights for problem in self.problems]))

    def outcomes(self, beta: Float[Tensor, "B d"], status: np.ndarray) -> Outcomes:
        """Return the risks of end-to-end vectors, with their statuses."""
        rows = zip(self.problems, beta.numpy(), strict=True)
        return Outcomes(np.array([float(problem.target.risk(row)) for problem, row in rows]), status)


def draw(problems: Sequence[LinearTransfer], sizes: Sequence[int], seeds: Sequence[int]) -> TransferBatch:
    """Sample the target of every element.

    Args:
        problems: The teachers, all in the same dimension d.
        sizes: Target samples n of each, at least 1; sizes may differ (the batch holds G = X'X/n, not X).
        seeds: One seed per element.

    Returns:
        The batch; it takes B d^2 numbers.
    """
    grams, crosses = [], []
    for problem, n, seed in zip(problems, sizes, seeds, strict=True):
        sample = problem.sample(n, generator(seed))
        grams.append(sample.inputs.T @ sample.inputs / n)
        crosses.append(sample.targets @ sample.inputs / n)
    moments = torch.from_numpy(np.stack(grams)), torch.from_numpy(np.stack(crosses))
    return TransferBatch(tuple(problems), tuple(seeds), from_moments(*moments, torch.tensor(list(sizes))))


def perfectly_pretrained(batch: TransferBatch, *, depth: int) -> Weights:
    """Return networks that have learnt the source exactly from a vanishing start (tahir2024, Thm. 3.4)."""
    return balanced_start(batch.source, depth=depth)


def from_scratch(batch: TransferBatch, *, depth: int, settings: DescentSettings | None = None) -> Outcomes:
    """Train on the target sample from a small balanced start in a random direction.

    Any trajectory ends at the minimum-norm least-squares weights, up to a remainder of the start, because steps stay in
    the span of the examples. So it may be accelerated, which takes a tenth of the steps of plain gradient descent (a
    hundredth near n = d, where the smallest eigenvalues of X'X/n are) and changes risks by a relative 7e-5 at most.

    Args:
        depth: Number of layers L.
        settings: Step sizes and stopping; None for the defaults, accelerated.
    """
    direction = normal(batch.seeds, (batch.loss.cross.shape[1],), stream=SMALL_START)
    start = balanced_start(_SMALL**depth * direction / direction.norm(dim=1, keepdim=True), depth=depth)
    return fine_tuning(batch, start, settings=settings or DescentSettings(accelerated=True))


def fine_tuning(
    batch: TransferBatch, start: Weights, *, settings: DescentSettings | None = None, n_frozen: int = 0
) -> Outcomes:
    """Train on the target sample from pretrained weights.

    Args:
        start: Initial layers, as from `perfectly_pretrained` or a pretraining run.
        settings: Step sizes and stopping; None for the defaults, accelerated if only the head is trained: the minimum
            of least squares does not depend on the trajectory.
        n_frozen: Number of first layers that keep their weights: 0 for fine-tuning (tahir2024 Thm. 3.9), L-1 for linear
            transfer (tahir2024 Theorem 3.7), in between for shachaf2021 Theorem 5.5.
    """
    chosen = settings or DescentSettings(accelerated=0 < n_frozen == len(start) - 1)
    result = train(batch.loss, start, chosen, n_frozen=n_frozen)
    return batch.outcomes(end_to_end(result.weights), result.status)


def ridge_transfer(batch: TransferBatch, start: Weights, *, ridge: float) -> Outcomes:
    """Refit the last layer by ridge regression on frozen features (tahir2024 Theorem 3.8).

    Minimises (1/2n) norm(X Phi w - y)^2 + (ridge/2) norm(w)^2 with Phi = W_1 ... W_(L-1), by Cholesky.

    Args:
        start: Pretrained layers, at least two.
        ridge: Strength of the penalty, above 0.

    Returns:
        Risks; a direct solve, so status "ok".
    """
    phi = start[0]
    for layer in start[1:-1]:
        phi = phi @ layer
    rotated = batch.loss.rotate(phi)
    gram = torch.einsum("bih,bi,bik->bhk", rotated, batch.loss.spectrum, rotated)
    cross = torch.einsum("bih,bi->bh", rotated, batch.loss.cross)
    factor = torch.linalg.cholesky(gram + ridge * torch.eye(gram.shape[-1], dtype=gram.dtype))
    head = torch.cholesky_solve(cross.unsqueeze(2), factor).squeeze(2)
    beta = torch.einsum("bdh,bh->bd", phi, head)
    return batch.outcomes(beta, np.full(len(beta), "ok"))
