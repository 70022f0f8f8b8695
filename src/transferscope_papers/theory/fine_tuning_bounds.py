"""Bounds on the risk of fine-tuned linear regression that do not need the data matrix (shachaf2021, section 4).

D = theta_T - theta_S; lambda_1 >= ... >= lambda_d are the eigenvalues of the covariance Sigma, and P_<=m projects on
its first m eigenvectors. All are loose by orders of magnitude: use them for ranking only.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from transferscope.errors import SettingsError, out_of_range
from transferscope_papers.problems import Covariance


def deviation_bound(eigenvalues: Float64[np.ndarray, " d"], n: int, *, constant: float = 1.0) -> float:
    """Return g of Theorem 4.2: a bound on ||Sigma~ - Sigma|| that holds with probability 1 - 1/e (delta = 1).

        g = c lambda_1 max( sqrt(r/n), r/n ),    r = sum(lambda)/lambda_1 >= delta

    The theorem does not state c. For Gaussian inputs c = 3 covered every covariance tried (isotropic, step, power law,
    spiked), without a proof; c = 1 does not cover them. Ranks can depend on c, because g enters as g^3 and as g.

    Args:
        eigenvalues: lambda, shape (d,), decreasing, lambda_1 > 0.
        n: Number of target examples, at least 1.
        constant: c, above 0.

    Raises:
        SettingsError: A value is out of range.
    """
    if n < 1 or constant <= 0 or eigenvalues[0] <= 0:
        raise SettingsError(
            f"n = {n}, constant = {constant}, largest eigenvalue {eigenvalues[0]}: Theorem 4.2 needs n >= 1, a "
            "constant > 0 and an eigenvalue > 0"
        )
    r = float(eigenvalues.sum() / eigenvalues[0])
    return constant * float(eigenvalues[0]) * max(math.sqrt(r / n), r / n)


class BoundOverM(NamedTuple):
    """Theorem 4.2 at m = 1..d, shape (d,), infinite where lambda_m = 0; and the least of them and lambda_1 ||D||^2."""

    values: Float64[np.ndarray, " d"]
    best: float


def fine_tuning_bound(difference: Float64[np.ndarray, " d"], covariance: Covariance, *, deviation: float) -> BoundOverM:
    """Return Theorem 4.2 of shachaf2021 for every m.

        R <= 2 g^3 ||P_<=m D||^2 / lambda_m^2 + 2 g ||P_>m D||^2    for any g >= ||Sigma~ - Sigma||

    All m hold on the same event, so the minimum over m is also a bound, and lambda_1 ||D||^2 always is.

    Args:
        difference: D = theta_T - theta_S, shape (d,).
        deviation: g, from `deviation_bound` or that of the data, at least 0.

    Raises:
        SettingsError: g is negative or not a number.
    """
    if not deviation >= 0:
        raise out_of_range("deviation", deviation, "the bound of a norm, at least 0")
    lam, g = covariance.eigenvalues, deviation
    squares = covariance.to_eigenbasis(difference) ** 2
    top, total = np.cumsum(squares), float(squares.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(lam > 0, 2 * g**3 * top / lam**2, np.inf) + 2 * g * np.maximum(total - top, 0)
    return BoundOverM(values, min(float(values.min()), float(lam[0]) * total))


def benign_overfitting_bound(
    difference: Float64[np.ndarray, " d"], eigenvalues: Float64[np.ndarray, " d"], n: int
) -> float:
    """Return Thm. 4 of Bartlett et al. 2020 with theta* replaced by D = theta_T - theta_S (shachaf2021, sec. 4.2,
    footnote 1).

        ||D||^2 lambda_1 max( sqrt(r_0/n), r_0/n, sqrt(log(1/delta)/n) ),    r_0 = sum(lambda)/lambda_1

    In shachaf2021 labels have no noise, so that only this first term remains. The source states neither its constant
    nor log(1/delta); both are 1 here.

    Args:
        difference: D, shape (d,).
        eigenvalues: lambda, shape (d,), decreasing, lambda_1 > 0.
        n: Number of target examples, at least 1.
    """
    return float(difference @ difference) * deviation_bound(eigenvalues, n)
