"""Extreme eigenpairs of a symmetric matrix from matrix-vector products.

Sources: thick-restart Lanczos (Wu and Simon, "Thick-Restart Lanczos Method for Large Symmetric Eigenvalue Problems",
SIAM J. Matrix Anal. Appl. 2000) with full re-orthogonalisation in every step.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from transferscope.estimate import Status

Matvec = Callable[[Tensor], Iterable[Tensor]]
"""Products of symmetric matrices A_b, whose sum is A, with a vector: shape (n,) to B times shape (n,)."""


@dataclass(frozen=True)
class EigenPairs:
    """Eigenpairs with their residuals.

    Attributes:
        values: Ritz values, shape (k,), float64 on the CPU, from the largest down.
        vectors: Unit Ritz vectors as rows, shape (k, n).
        residuals: ||A v - value v|| of each, shape (k,), float64; an eigenvalue of A lies within this of the value.
        terms: v' A_b v of each, shape (B, k), float64; their sum over b is the value.
        status: "converged", "max_steps" (some residual is above the tolerance) or "non_finite".
    """

    values: Float[Tensor, " k"]
    vectors: Float[Tensor, "k n"]
    residuals: Float[Tensor, " k"]
    terms: Float[Tensor, "B k"]
    n_products: int
    status: Status


@dataclass
class _Krylov:
    """An orthonormal basis V, the projections V A_b V' and the coupling of the last vector to the rest of the space.

    Rows 0..n_done-1 of `basis` have been multiplied by A; row n_done is the next to be.
    """

    matvec: Matvec
    basis: Float[Tensor, "m n"]
    projections: Float[Tensor, "B _ _"]
    generator: torch.Generator
    n_done: int = 0
    n_products: int = 0
    coupling: float = 0.0

    def expand(self) -> None:
        """Take one Lanczos step."""
        j = self.n_done
        basis = self.basis[: j + 1]
        product, dots = torch.zeros_like(basis[j]), []
        for term in self.matvec(basis[j]):
            product += term.detach()
            dots.append(_products(basis, term.detach()))
        self.n_products += 1
        coefficients = torch.stack(dots)
        again, rest = _orthogonalise(product - coefficients.sum(0).to(product) @ basis, basis)  # "twice is enough"
        if len(self.projections) != len(dots):
            self.projections = self.projections.new_zeros(len(dots), *self.projections.shape[1:])
        self.projections[:, j, : j + 1] = self.projections[:, : j + 1, j] = (coefficients + again / len(dots)).cpu()
        self.coupling = float(_norm(rest))
        noise = 10 * torch.finfo(rest.dtype).eps * float(product.norm())
        if self.coupling <= noise:  # an invariant subspace: go on with any direction outside it
            self.coupling = 0.0
            rest = torch.randn(product.shape, generator=self.generator, dtype=torch.float64).to(product)
            for _ in range(2):
                rest = _orthogonalise(rest, basis)[1]
        self.basis[j + 1] = rest / _norm(rest).clamp_min(torch.finfo(rest.dtype).tiny)
        self.n_done = j + 1

    def ritz(self) -> "_Ritz":
        """Return the eigenpairs of the projection, from the largest down."""
        values, rotation = torch.linalg.eigh(self.projections.sum(0)[: self.n_done, : self.n_done])
        values, rotation = values.flip(0), rotation.flip(1)
        return _Ritz(values, rotation, self.coupling * rotation[-1].abs())

    def vectors(self, rotation: Float[Tensor, "j k"]) -> Float[Tensor, "k n"]:
        """Return the Ritz vectors as rows."""
        return rotation.T.to(self.basis) @ self.basis[: self.n_done]

    def restart(self, ritz: "_Ritz", kept: Tensor) -> None:
        """Keep the chosen Ritz vectors and the last direction."""
        last = self.basis[self.n_done].clone()
        self.basis[: len(kept)] = self.vectors(ritz.rotation[:, kept])
        self.basis[len(kept)] = last
        rotation = ritz.rotation[:, kept]
        kept_terms = rotation.T @ self.projections[:, : self.n_done, : self.n_done] @ rotation
        self.projections.zero_()
        self.projections[:, : len(kept), : len(kept)] = kept_terms
        self.n_done = len(kept)


@dataclass(frozen=True)
class _Ritz:
    values: Float[Tensor, " j"]
    rotation: Float[Tensor, "j j"]
    residuals: Float[Tensor, " j"]


def top_eigenpairs(
    matvec: Matvec,
    start: Float[Tensor, " n"],
    k: int,
    *,
    generator: torch.Generator,
    tolerance: float = 1e-6,
    max_products: int = 1000,
    max_basis: int | None = None,
) -> EigenPairs:
    """Return the k largest (algebraic) eigenvalues and their vectors.

    Memory is `max_basis` + 1 vectors. A repeated eigenvalue is found as often as rounding lets it (a property of every
    single-vector Lanczos method).

    Args:
        matvec: Products with symmetric matrices whose sum is A, in the dtype of `start`.
        start: Any vector that is not orthogonal to the eigenvectors sought, shape (n,), such as a Gaussian draw.
        k: How many, from 1 to n.
        generator: Draws a new direction (on the CPU) when an invariant subspace has been exhausted.
        tolerance: A pair has converged when its residual is below `tolerance` times its value.
        max_products: Budget of products (at least k are made).
        max_basis: Vectors kept before a restart, above k; None for max(2 k + 20, 60).

    Returns:
        The pairs; those of the last iteration if the budget ran out.
    """
    n = len(start)
    m = min(n, max_basis or max(2 * k + 20, 60))
    krylov = _Krylov(matvec, start.new_zeros(m + 1, n), torch.zeros(1, m, m, dtype=torch.float64), generator)
    krylov.basis[0] = start / _norm(start)
    while True:
        krylov.expand()
        if not torch.isfinite(krylov.projections).all():
            nan = torch.full((k,), torch.nan, dtype=torch.float64)
            vectors, terms = start.new_full((k, n), torch.nan), nan.expand(len(krylov.projections), k)
            return EigenPairs(nan, vectors, nan.clone(), terms, krylov.n_products, "non_finite")
        exhausted = krylov.n_products >= max(max_products, k) or krylov.n_done == n
        if not exhausted and krylov.n_done < m and (krylov.n_done < min(n, 2 * k) or krylov.n_done % 5):
            continue
        ritz = krylov.ritz()
        converged = _converged(ritz, k, tolerance, start.dtype)
        if exhausted or converged:
            status: Status = "converged" if converged else "max_steps"
            rotation = ritz.rotation[:, :k]
            done = krylov.projections[:, : krylov.n_done, : krylov.n_done]
            terms, vectors = (rotation * (done @ rotation)).sum(1), krylov.vectors(rotation)
            return EigenPairs(ritz.values[:k], vectors, ritz.residuals[:k], terms, krylov.n_products, status)
        if krylov.n_done == m:
            krylov.restart(ritz, torch.arange(min(k + (m - k) // 2, m - 1)))


def _converged(ritz: _Ritz, k: int, tolerance: float, dtype: torch.dtype) -> bool:
    if len(ritz.values) < k:
        return False
    noise = 50 * torch.finfo(dtype).eps * ritz.values.abs().max()
    return bool((ritz.residuals[:k] <= (tolerance * ritz.values[:k].abs()).clamp_min(noise)).all())


def _norm(vector: Float[Tensor, " n"]) -> Float[Tensor, ""]:
    norm: Tensor = torch.linalg.vector_norm(vector, dtype=torch.float64)
    return norm


_CHUNK = 2**14  # a float32 sum over a million weights is wrong in its fifth digit, one over so many in its seventh


def _products(basis: Float[Tensor, "j n"], vector: Float[Tensor, " n"]) -> Float[Tensor, " j"]:
    """Return the products of each row with the vector in float64, summed in chunks."""
    starts = range(0, len(vector), _CHUNK)
    return torch.stack([(basis[:, i : i + _CHUNK] @ vector[i : i + _CHUNK]).double() for i in starts]).sum(0)


def _orthogonalise(vector: Float[Tensor, " n"], basis: Float[Tensor, "j n"]) -> tuple[Tensor, Tensor]:
    """Return the coefficients of the vector in the basis, and the rest."""
    coefficients = _products(basis, vector)
    return coefficients, vector - coefficients.to(vector) @ basis
