"""How many directions vectors spread over, from a sample, without the bias of small samples."""

import numpy as np
from jaxtyping import Float64

from transferscope.numerics.jackknife import jackknife
from transferscope.records import Estimate


def effective_dimension(vectors: Float64[np.ndarray, "N D"]) -> Estimate:
    """The participation ratio (tr S)^2 / tr S^2 of the covariance S.

    It is d when d directions have equal variance and the others none, so it takes the place of the number of inputs of
    isotropic models. Both parts are means over pairs of different examples,

        tr S^2 = sum_{i != j} (x_i . x_j)^2 / (N (N - 1))        (tr S)^2 = sum_{i != j} |x_i|^2 |x_j|^2 / (N (N - 1))

    with x centred; the plug-in value of a sample of isotropic vectors would be near 1/(1/d + 1/N) instead of d.

    Args:
        vectors: Shape (N, D), finite.

    Returns:
        At least 1, with its jackknife standard error over examples; "undefined" when the vectors do not vary, "too_few"
        below 4 of them.
    """
    n = len(vectors)
    if n < 4:
        return Estimate(float("nan"), None, n, "too_few")
    found = jackknife(lambda index: _participation_ratio(vectors[index]), n)
    if found.status != "ok":
        return found
    return Estimate(max(found.value, 1.0), found.stderr, n)


def _participation_ratio(vectors: Float64[np.ndarray, "N D"]) -> float:
    x = vectors - vectors.mean(axis=0)
    squares = (x**2).sum(axis=1)  # (N,)
    gram = x.T @ x if x.shape[1] <= len(x) else x @ x.T
    same = (squares**2).sum()
    products, traces = (gram**2).sum() - same, squares.sum() ** 2 - same
    return float(traces / products) if products > 1e-12 * traces else float("nan")
