"""Fine-tuning with linear teachers on given inputs, noiseless (shachaf2021, Theorems 4.1 and 5.3 to 5.5).

Targets are y = X theta_T without noise, n < d, and P_perp projects on the complement of the rows of X. The weights that
fine-tuning reaches are `fine_tuning.fine_tuned_weights`.
"""

import math
from typing import Literal

import numpy as np
from jaxtyping import Float64

from transferscope_papers.parameters import Array, Numbers, above, angle, between
from transferscope_papers.problems import Covariance
from transferscope_papers.theory.gaussian_regression import GaussianRegression


def outside_rows(inputs: Float64[np.ndarray, "n d"], vector: Float64[np.ndarray, " d"]) -> Float64[np.ndarray, " d"]:
    """P_perp v: the part of a vector that the examples do not see, by least squares (X X' may be singular)."""
    return np.asarray(vector - np.linalg.lstsq(inputs, inputs @ vector, rcond=None)[0])


def fine_tuned_risk(
    inputs: Float64[np.ndarray, "n d"], difference: Float64[np.ndarray, " d"], covariance: Covariance
) -> float:
    """Risk of fine-tuned linear regression (shachaf2021, eq. 2): ||Sigma^(1/2) P_perp (theta_T - theta_S)||^2."""
    return float(covariance.squared_norm(outside_rows(inputs, difference)))


def rescaled_risk(
    inputs: Float64[np.ndarray, "n d"], target: Float64[np.ndarray, " d"], scale: float, covariance: Covariance
) -> float:
    """Risk of one layer when the target is a multiple of the source, theta_T = alpha theta_S (shachaf2021, eq. 8).

        ((alpha - 1)/alpha)^2 ||Sigma^(1/2) P_perp theta_T||^2

    An infinitely deep network has risk 0 here for every alpha > 0.

    Args:
        target: theta_T, shape (d,).
        scale: alpha, above 0.

    Raises:
        SettingsError: alpha is not above 0.
    """
    alpha = float(above("scale", scale, 0))
    return ((alpha - 1) / alpha) ** 2 * fine_tuned_risk(inputs, target, covariance)


def risk_leading_term(
    theta: Numbers,
    gamma: Numbers,
    *,
    source_norm: Numbers = 1.0,
    target_norm: Numbers = 1.0,
    layers: Literal["one", "infinite"],
) -> Array:
    """Leading terms of the bounds for Gaussian inputs, exact as n, d -> infinity (shachaf2021, Thm. 5.4, eq. 9 and 10).

        L = 1:         (1 - gamma) ||theta_T - theta_S||^2
        L = infinity:  (1 - gamma) tau^2 ||theta_T/tau - theta_S/s||^2 = 2 (1 - gamma) tau^2 (1 - cos theta)

    The theorem's further terms in epsilon carry constants that the paper leaves open; they vanish in the limit.

    Args:
        theta: Angle between the teachers in radians, in [0, pi].
        gamma: n/d, in [0, 1].
        source_norm: s, above 0; of no influence for infinitely many layers.
        target_norm: tau, above 0.
    """
    gamma = between("gamma", gamma, 0, 1)
    s, tau = above("source_norm", source_norm, 0), above("target_norm", target_norm, 0)
    reached = s if layers == "one" else tau
    return np.asarray((1 - gamma) * ((tau - reached) ** 2 + 4 * tau * reached * np.sin(angle(theta) / 2) ** 2))


def frozen_weights(
    inputs: Float64[np.ndarray, "n d"], targets: Float64[np.ndarray, " n"], source: Float64[np.ndarray, " d"]
) -> Float64[np.ndarray, " d"]:
    """End-to-end weights when the first layer stays frozen (shachaf2021, Theorem 5.5): the best multiple of the source.

    The frozen layers of a balanced network pass on the direction of theta_S only; more target data cannot mend that.
    On the features of a trained network take `linear_transfer.head_on_features`, which says why.

    Args:
        source: theta_S, shape (d,), not orthogonal to all inputs.

    Returns:
        c theta_S with the least-squares c, shape (d,); zero if no input sees theta_S.
    """
    feature = inputs @ source
    size = float(feature @ feature)
    return np.asarray((float(feature @ targets) / size if size > math.ulp(0.0) else 0.0) * source)


def mean_fine_tuned_risk(difference: Float64[np.ndarray, " d"], covariance: Covariance, n: int) -> float:
    """Mean over Gaussian inputs of shachaf2021's eq. 2, in the limit of many inputs.

        E ||Sigma^(1/2) P_perp D||^2  ->  kappa^2 sum_i lambda_i D_i^2 / (lambda_i + kappa)^2 / (1 - df2/n)

    as in `gaussian_regression`, without noise and without a ridge.

    Args:
        difference: D = theta_T - theta_S, shape (d,).
        n: Number of target examples, at least 1; 0 risk from the rank of Sigma on.

    Returns:
        The risk; exact for Sigma = I, within O(1/n) otherwise.
    """
    squares = covariance.to_eigenbasis(difference) ** 2
    return float(GaussianRegression(covariance.eigenvalues, squares).risk(n))
