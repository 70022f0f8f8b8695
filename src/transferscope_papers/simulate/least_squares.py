"""Least-squares objectives in the eigenbasis of their inputs: the cost of descent is independent of sample size.

The training loss of any model that is linear in its inputs depends on the data only through G = X'X/n and b = X'y/n,
and gradient descent is equivariant under rotations of the inputs. So each data set is rotated once into the eigenbasis
of its G; a step then costs O(d) instead of O(n d) or O(d^2), and data sets of any size share one tensor.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class LeastSquares:
    """B losses (1/2) beta'G beta - b'beta, each in the eigenbasis of its G.

    Attributes:
        basis: Orthonormal eigenvectors of G as columns, shape (B, d, d).
        spectrum: Eigenvalues of G, at least 0, shape (B, d); exactly 0 outside the row space of the data.
        cross: b in the eigenbasis, shape (B, d).
    """

    basis: Float[Tensor, "B d d"]
    spectrum: Float[Tensor, "B d"]
    cross: Float[Tensor, "B d"]

    def rotate(self, vectors: Float[Tensor, "B d *k"]) -> Float[Tensor, "B d *k"]:
        """Return vectors (or matrices with d rows) in the eigenbasis."""
        return torch.einsum("bij,bi...->bj...", self.basis, vectors)

    def rotate_back(self, vectors: Float[Tensor, "B d *k"]) -> Float[Tensor, "B d *k"]:
        """Return the inverse of `rotate`."""
        return torch.einsum("bij,bj...->bi...", self.basis, vectors)


def from_moments(gram: Float[Tensor, "B d d"], cross: Float[Tensor, "B d"], rank: Int[Tensor, " B"]) -> LeastSquares:
    """Return the losses (1/2) beta'G beta - b'beta for given G and b; the population loss when they are expectations.

    Args:
        gram: G, symmetric and positive semi-definite.
        cross: b, in the column space of G.
        rank: An upper bound of the rank of each G: smaller eigenvalues are rounding and set to 0.
    """
    d = gram.shape[-1]
    spectrum, basis = torch.linalg.eigh(gram)
    order = torch.arange(d, 0, -1)  # 1 for the largest eigenvalue
    inside = (spectrum > d * torch.finfo(gram.dtype).eps * spectrum[:, -1:]) & (order <= rank[:, None])
    rotated = torch.einsum("bij,bi->bj", basis, cross)
    return LeastSquares(basis, torch.where(inside, spectrum, 0.0), torch.where(inside, rotated, 0.0))


def isotropic_population(teacher: Float[Tensor, "B d"]) -> LeastSquares:
    """Return the population losses for inputs N(0, I_d) and a linear teacher: G = I, b = theta."""
    n_elements, d = teacher.shape
    basis = torch.eye(d, dtype=teacher.dtype).expand(n_elements, d, d)
    return LeastSquares(basis, torch.ones_like(teacher), teacher)
