"""Balanced accuracy: the mean over classes of the share that is right, with the share that each example has in it.

    BA = (1 / K) sum_k r_k,  r_k the share of the examples of class k that are predicted right

over the K classes that occur among the labels (Brodersen et al., "The balanced accuracy and its posterior
distribution", ICPR 2010; as in scikit-learn). A rare class counts as much as a frequent one, and always to give the
same answer reaches 1 / K however frequent that class is.
"""

import numpy as np
from jaxtyping import Float, Shaped

from transferscope.estimate import Estimate


def balanced_accuracy(predictions: Shaped[np.ndarray, " N"], labels: Shaped[np.ndarray, " N"]) -> Estimate:
    """The balanced accuracy with its standard error over examples; none for a single example.

    Args:
        predictions: Classes that were predicted.
        labels: The true ones; at least one example.
    """
    shares, n = example_contributions(predictions, labels), len(labels)
    return Estimate(float(shares.mean()), float(shares.std(ddof=1)) / n**0.5 if n > 1 else None, n)


def example_contributions(
    predictions: Shaped[np.ndarray, " N"], labels: Shaped[np.ndarray, " N"]
) -> Float[np.ndarray, " N"]:
    """One number for each example, whose mean is the balanced accuracy and whose spread is its error over examples.

    BA + N (x_i - r_k) / (K N_k) for an example of class k, of which there are N_k, with x_i = 1 where it is right and 0
    elsewhere: the linearisation of a mean of ratios. Their standard deviation over sqrt(N) is the standard error over
    test examples, and differences between two sets of predictions of the same examples are paired example by example.

    Args:
        predictions: Classes that were predicted.
        labels: The true ones; at least one example.

    Returns:
        Shape (N,).
    """
    _, places, counts = np.unique(labels, return_inverse=True, return_counts=True)
    right = (predictions == labels).astype(np.float64)
    recalls = np.bincount(places, weights=right) / counts
    weights = len(labels) / (len(counts) * counts)
    return np.asarray(recalls.mean() + weights[places] * (right - recalls[places]), dtype=np.float64)
