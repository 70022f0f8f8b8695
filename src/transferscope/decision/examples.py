"""What the draw of the test examples adds to the error of a difference between two arms."""

import numpy as np
from jaxtyping import Float, Shaped

from transferscope.errors import DataError, wrong_shape


def example_variance(
    scores: Float[np.ndarray, "arms seeds examples"], groups: Shaped[np.ndarray, " _"] | None = None
) -> Float[np.ndarray, "arms arms"]:
    """Return the variance of the difference of two arms' means due to the draw of test examples, beyond that seen in
    seeds.

    With z_ksg the sum over the examples of group g of the score less its mean over examples, divided by n, and m_kg its
    mean over seeds, an arm's mean has the covariances

        T_kl = G / (G - 1) sum_g m_kg m_lg,   I_kl = G / (G - 1) sum_sg r_ksg r_lsg / sqrt(S_k (S_k - 1) S_l (S_l - 1))

    with r = z - m. The spread over seeds already contains I, so the result is max(0, T - I), applied to
    x_kk + x_ll - 2 x_kl: the variance component of a two-way analysis of variance. Groups of unequal size enter as in
    cluster-robust variances.

    Args:
        scores: Score of every test example in points: 0 or 100 for accuracy, minus the error for a risk; NaN for a run
            without stored predictions.
        groups: Group of every example, such as the patient; shape (n,). None if examples are independent.

    Returns:
        Shape (A, A), 0 on the diagonal; NaN for arms without stored predictions.

    Raises:
        DataError: There are fewer than two groups, or `groups` has a wrong length.
    """
    k, s, n = scores.shape
    if groups is not None and groups.shape != (n,):
        raise wrong_shape("groups", groups, f"one per test example, ({n},)")
    known = ~np.isnan(scores).any(axis=2)
    z = np.where(known[:, :, None], scores, 0.0)
    z -= z.mean(axis=2, keepdims=True)
    if groups is not None:
        order = np.argsort(groups, kind="stable")
        _, starts = np.unique(groups[order], return_index=True)
        z = np.add.reduceat(z[:, :, order], starts, axis=2)
    n_groups = z.shape[2]
    if n_groups < 2:
        raise DataError(f"{n} test examples in {n_groups} group(s) have no spread; expected at least 2 groups")
    z /= n
    count = known.sum(axis=1)
    profiles = z.sum(axis=1) / np.maximum(count, 1)[:, None]
    rest = np.where(known[:, :, None], z - profiles[:, None], 0.0).reshape(k, s * n_groups)
    unit = np.sqrt(np.maximum(count * (count - 1), 1))
    kept = (profiles @ profiles.T - rest @ rest.T / np.outer(unit, unit)) * n_groups / (n_groups - 1)
    diagonal = np.diag(kept)
    variance = np.maximum(diagonal[:, None] + diagonal - 2 * kept, 0.0)
    variance[count == 0] = variance[:, count == 0] = np.nan
    return np.asarray(variance, dtype=np.float64)
