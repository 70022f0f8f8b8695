"""The eigenvalues and left singular vectors of a feature matrix, through its smaller Gram matrix."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float64
from scipy.linalg import blas, lapack
from scipy.sparse import csr_array

_BLOCK = 2**19  # numbers that are centred at once: 4 MiB


@dataclass(frozen=True)
class Spectrum:
    """F - 1 m' = U diag(sqrt s) V' of rank r, where only one of U and V is held.

    Attributes:
        features: F, shape (n, d); not a copy.
        mean: m, subtracted from every row, shape (d,); None for 0.
        squares: s, squared singular values in increasing order, shape (r,), all positive.
        vectors: W, shape (m, r) with m = min(n, d): eigenvectors of the tridiagonal matrix Q' G Q of the Gram matrix G.
            V = Q W when d <= n, and U = Q W when n < d; the product, half of an eigendecomposition, is not formed.
        reflectors: Q as LAPACK's dsytrd leaves it, below the diagonal.
        scales: Of the reflectors, shape (m - 1,).
    """

    features: Float64[np.ndarray, "n d"]
    mean: Float64[np.ndarray, " d"] | None
    squares: Float64[np.ndarray, " r"]
    vectors: Float64[np.ndarray, "m r"]
    reflectors: Float64[np.ndarray, "m m"]
    scales: Float64[np.ndarray, " m-1"]

    @property
    def _holds_right_vectors(self) -> bool:
        n, d = self.features.shape
        return bool(d <= n)

    def coordinates(self, targets: Float64[np.ndarray, "n K"]) -> Float64[np.ndarray, "r K"]:
        """Return U' Y without forming U."""
        if self._holds_right_vectors:
            few = np.count_nonzero(targets) <= targets.size / 8  # such as indicators of classes: sums, no products
            read = csr_array(targets) if few else targets
            inner = sum(read[rows].T @ block for rows, block in _rows(self.features, self.mean))
            return np.asarray(self.vectors.T @ self._turned("T", np.asarray(inner).T) / np.sqrt(self.squares)[:, None])
        return np.asarray(self.vectors.T @ self._turned("T", targets))

    def components(self, count: int) -> Float64[np.ndarray, "n c"]:
        """Return U diag(sqrt s) of the `count` largest s, or of all if there are fewer."""
        if self._holds_right_vectors:
            largest = self._turned("N", self.vectors[:, -count:])
            return np.concatenate([block @ largest for _, block in _rows(self.features, self.mean)])
        return np.asarray(self._turned("N", self.vectors[:, -count:]) * np.sqrt(self.squares[-count:]))

    def lengths(self) -> Float64[np.ndarray, " n"]:
        """Return the squared length of each row of F - 1 m'."""
        return np.concatenate([np.einsum("ij,ij->i", block, block) for _, block in _rows(self.features, self.mean)])

    def left(self) -> Float64[np.ndarray, "n r"]:
        """Return U."""
        return np.asarray(self.components(len(self.squares)) / np.sqrt(self.squares))

    def _turned(self, which: Literal["N", "T"], columns: Float64[np.ndarray, "m c"]) -> Float64[np.ndarray, "m c"]:
        """Return Q (N) or Q' (T) times columns."""
        turned = np.array(columns, order="F")
        if len(self.scales) and turned.shape[1]:
            below, work = self.reflectors[1:, :-1], 64 * turned.shape[1]
            turned[1:] = lapack.dormqr("L", which, below, self.scales, turned[1:], work)[0]
        return turned


def spectrum(features: Float64[np.ndarray, "n d"], *, centre: bool = False) -> Spectrum:
    """Return the spectrum of a finite feature matrix, as it is or less its mean over the examples.

    Eigenvalues at most max(n, d) eps times the largest are rounding of a Gram matrix and are taken as 0, so singular
    values below about 1e-6 of the largest are not resolved. Memory is O(min(n, d)^2) beyond the features.

    Returns:
        Its spectrum; r = 0 when all features are 0.
    """
    n, d = features.shape
    mean = _mean(features) if centre else None
    blocks = (block for _, block in _rows(features, mean)) if d <= n else _columns(features, mean)
    gram = np.zeros((min(n, d), min(n, d)), order="F")  # its lower triangle
    for block in blocks:
        gram = blas.dsyrk(1.0, block.T, beta=1.0, c=gram, trans=int(d > n), lower=1, overwrite_c=1)
    reflectors, diagonal, beside, scales, _ = lapack.dsytrd(gram, lower=1, lwork=64 * len(gram), overwrite_a=1)
    squares, vectors, failed = lapack.dstevd(diagonal, beside if len(beside) else np.zeros(1))
    if failed:
        raise np.linalg.LinAlgError(f"the eigenvalues of a Gram matrix did not converge (dstevd: {failed})")
    kept = squares > max(n, d) * np.finfo(np.float64).eps * max(squares[-1], 0.0)
    return Spectrum(features, mean, squares[kept], vectors[:, kept], reflectors, scales)


def centred(features: Float64[np.ndarray, "n d"]) -> Float64[np.ndarray, "n d"]:
    """Return the features less their mean over the examples; exactly 0 where they do not vary."""
    return np.asarray(features - _mean(features))


def _mean(features: Float64[np.ndarray, "n d"]) -> Float64[np.ndarray, " d"]:
    lowest = features.min(axis=0)
    return np.asarray(np.where(lowest == features.max(axis=0), lowest, features.mean(axis=0)))


def _rows(features: np.ndarray, mean: np.ndarray | None) -> Iterator[tuple[slice, Float64[np.ndarray, "rows d"]]]:
    """Yield blocks of rows less the mean; all at once where nothing is taken."""
    n, d = features.shape
    size = n if mean is None else max(_BLOCK // d, 1)
    for rows in (slice(start, start + size) for start in range(0, n, size)):
        yield rows, features[rows] if mean is None else features[rows] - mean


def _columns(features: np.ndarray, mean: np.ndarray | None) -> Iterator[Float64[np.ndarray, "n columns"]]:
    n, d = features.shape
    size = d if mean is None else max(_BLOCK // n, 1)
    for columns in (slice(start, start + size) for start in range(0, d, size)):
        yield features if mean is None else features[:, columns] - mean[columns]
