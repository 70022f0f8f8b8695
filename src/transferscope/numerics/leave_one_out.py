"""Leave-one-out error of ridge regression, in closed form."""

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh

RIDGE_GRID = np.logspace(-5, 5, 21)
"""Candidate penalties, in units of the mean squared distance of the examples from their mean."""


def ridge_risks(design: Float[np.ndarray, "N m"], targets: Float[np.ndarray, "N K"]) -> Float[np.ndarray, " A"]:
    """Return the mean squared leave-one-out error of ridge regression with an intercept.

        (1/N) sum_i ((y_i - f(x_i)) / (1 - h_i))^2,   h = diag(1/N + X (X^T X + lambda)^-1 X^T) for centred X

    (Allen 1974, "The relationship between variable selection and data augmentation and a method for prediction").

    Args:
        design: Inputs, shape (N, d), float64, finite, at least two examples.

    Returns:
        The error for each penalty of `RIDGE_GRID`, summed over the K targets.
    """
    n, width = design.shape
    centred, missed = design - design.mean(axis=0), targets - targets.mean(axis=0)
    penalties = RIDGE_GRID * (float(np.square(centred).sum()) / n or 1.0)
    if n > width:
        values, vectors = eigh(centred.T @ centred)
        principal = (centred @ vectors) / np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
        principal[:, values <= values.max(initial=0.0) * width * np.finfo(np.float64).eps] = 0.0
    else:
        values, principal = eigh(centred @ centred.T)
    kept = values.clip(min=0)[:, None] / (values.clip(min=0)[:, None] + penalties)  # (r, A)
    along, room = principal.T @ missed, 1 - 1 / n - np.square(principal) @ kept
    return np.array(
        [
            np.square((missed - principal @ (along * kept[:, i, None])) / room[:, i, None]).sum() / n
            for i in range(len(penalties))
        ]
    )
