"""The eigenvalues and left singular vectors of a feature matrix, by way of its smaller Gram matrix."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy import linalg


@dataclass(frozen=True)
class Spectrum:
    """F = U diag(sqrt s) V' of rank r, where only one of U and V is held.

    Attributes:
        features: F, shape (n, d); not a copy.
        squares: s, squared singular values in increasing order, shape (r,), all positive.
        vectors: V, shape (d, r), when d <= n; U, shape (n, r), when n < d.
    """

    features: Float64[np.ndarray, "n d"]
    squares: Float64[np.ndarray, " r"]
    vectors: Float64[np.ndarray, "m r"]

    @property
    def _holds_right_vectors(self) -> bool:
        n, d = self.features.shape
        return bool(d <= n)

    def coordinates(self, targets: Float64[np.ndarray, "n K"]) -> Float64[np.ndarray, "r K"]:
        """U' Y without forming U."""
        if self._holds_right_vectors:
            inner = self.vectors.T @ (self.features.T @ targets)
            return np.asarray(inner / np.sqrt(self.squares)[:, None])
        return np.asarray(self.vectors.T @ targets)

    def left(self) -> Float64[np.ndarray, "n r"]:
        """U."""
        if self._holds_right_vectors:
            return np.asarray(self.features @ (self.vectors / np.sqrt(self.squares)))
        return self.vectors


def spectrum(features: Float64[np.ndarray, "n d"]) -> Spectrum:
    """Spectrum of a finite feature matrix as it is (centre it first where a score says so).

    Eigenvalues at most max(n, d) eps times the largest are rounding of a Gram matrix and are taken as 0, so singular
    values below about 1e-6 of the largest are not resolved. Memory is O(min(n, d)^2) beyond the features.

    Returns:
        Its spectrum; r = 0 when all features are 0.
    """
    n, d = features.shape
    gram = features.T @ features if d <= n else features @ features.T
    squares, vectors = linalg.eigh(gram, overwrite_a=True, check_finite=False)
    kept = squares > max(n, d) * np.finfo(np.float64).eps * max(squares[-1], 0.0)
    return Spectrum(features, squares[kept], vectors[:, kept])


def centred(features: Float64[np.ndarray, "n d"]) -> Float64[np.ndarray, "n d"]:
    """Features less their mean over the examples; exactly 0 where they do not vary."""
    return np.asarray((features - features.mean(axis=0)) * (features.min(axis=0) != features.max(axis=0)))
