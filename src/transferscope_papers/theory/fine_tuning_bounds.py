"""Bounds on the risk of fine-tuned linear regression that do not need the data matrix (shachaf2021, section 4).

D = theta_T - theta_S; lambda_1 >= ... >= lambda_d are the eigenvalues of the covariance Sigma, and P_<=m projects on
its first m eigenvectors. All are loose by orders of magnitude as numbers: their use is to rank.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from transferscope.errors import SettingsError
from transferscope_papers.problems import Covariance


@dataclass(frozen=True)
class BoundOverM:
    """The bound of Theorem 4.2 for every m, and the best of them.

    Attributes:
        values: The bound at m = 1..d, shape (d,); infinite where lambda_m = 0.
        best_m: The m of the smallest.
        best: The smallest, or `trivial` if that is smaller.
        trivial: lambda_1 ||D||^2, which always holds.
    """

    values: Float64[np.ndarray, " d"]
    best_m: int
    best: float
    trivial: float


def deviation_bound(
    eigenvalues: Float64[np.ndarray, " d"], n: int, *, delta: float = 1.0, constant: float = 1.0
) -> float:
    """g of Theorem 4.2: a bound on ||Sigma~ - Sigma|| that holds with probability 1 - e^-delta.

        g = c lambda_1 max( sqrt(r/n), r/n, sqrt(delta/n), delta/n ),    r = sum(lambda)/lambda_1

    The theorem leaves c open. For Gaussian inputs c = 3 covered every covariance tried (isotropic, step, power law,
    spiked), which is no proof; c = 1 does not cover them. Ranks can depend on c, because g enters as g^3 and as g.

    Args:
        eigenvalues: lambda, shape (d,), decreasing, lambda_1 > 0.
        n: Number of target examples, at least 1.
        delta: Minus the logarithm of the failure probability, at least 1.
        constant: c, above 0.

    Raises:
        SettingsError: A value is out of range.
    """
    if n < 1 or delta < 1 or constant <= 0 or eigenvalues[0] <= 0:
        raise SettingsError(
            f"n = {n}, delta = {delta}, constant = {constant}, largest eigenvalue {eigenvalues[0]}: "
            "Theorem 4.2 needs n >= 1, delta >= 1, a constant > 0 and an eigenvalue > 0"
        )
    r = float(eigenvalues.sum() / eigenvalues[0])
    return constant * float(eigenvalues[0]) * max(math.sqrt(r / n), r / n, math.sqrt(delta / n), delta / n)


def observed_deviation(inputs: Float64[np.ndarray, "n d"], covariance: Covariance) -> float:
    """||X'X/n - Sigma||: the g of the data at hand, for which Theorem 4.2 holds with certainty."""
    coordinates = covariance.to_eigenbasis(inputs)
    difference = coordinates.T @ coordinates / len(inputs) - np.diag(covariance.eigenvalues)
    return float(np.linalg.norm(difference, ord=2))


def fine_tuning_bound(difference: Float64[np.ndarray, " d"], covariance: Covariance, *, deviation: float) -> BoundOverM:
    """Theorem 4.2 of shachaf2021 for every m.

        R <= 2 g^3 ||P_<=m D||^2 / lambda_m^2 + 2 g ||P_>m D||^2    for any g >= ||Sigma~ - Sigma||

    One event carries all m, so the minimum over m holds as well.

    Args:
        difference: D = theta_T - theta_S, shape (d,).
        deviation: g, from `deviation_bound` or `observed_deviation`, at least 0.

    Raises:
        SettingsError: g is negative or not a number.
    """
    if not deviation >= 0:
        raise SettingsError(f"deviation = {deviation} is out of range; it bounds a norm and must be at least 0")
    lam, g = covariance.eigenvalues, deviation
    squares = covariance.to_eigenbasis(difference) ** 2
    top, total = np.cumsum(squares), float(squares.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(lam > 0, 2 * g**3 * top / lam**2, np.inf) + 2 * g * np.maximum(total - top, 0)
    best_m, trivial = int(np.argmin(values)) + 1, float(lam[0]) * total
    return BoundOverM(values, best_m, min(float(values[best_m - 1]), trivial), trivial)


@dataclass(frozen=True)
class BenignOverfittingBound:
    """The bound adapted from Bartlett et al. 2020, Theorem 4.

    Attributes:
        value: The bound; infinite if no k qualifies and there is noise.
        bias: Its first term, c ||D||^2 lambda_1 max( sqrt(r_0/n), r_0/n, sqrt(log(1/delta)/n) ).
        variance: Its second term, c log(1/delta) sigma^2 (k*/n + n/R_k*); 0 without noise.
        k_star: The smallest k with r_k >= b n; None if there is none.
    """

    value: float
    bias: float
    variance: float
    k_star: int | None


def benign_overfitting_bound(
    difference: Float64[np.ndarray, " d"],
    eigenvalues: Float64[np.ndarray, " d"],
    n: int,
    *,
    sigma: float = 0.0,
    log_inverse_delta: float = 1.0,
    b: float = 1.0,
    constant: float = 1.0,
) -> BenignOverfittingBound:
    """Thm. 4 of Bartlett et al. 2020 with theta* replaced by D = theta_T - theta_S (shachaf2021, sec. 4.2, footnote 1).

        r_k = sum_{i>k} lambda_i / lambda_{k+1},    R_k = (sum_{i>k} lambda_i)^2 / sum_{i>k} lambda_i^2

    Its constants b and c are open in the source. In shachaf2021 labels have no noise, so only the first term is left:
    ||D||^2 times a factor of the spectrum.

    Args:
        difference: D, shape (d,).
        eigenvalues: lambda, shape (d,), decreasing, lambda_1 > 0.
        n: Number of target examples, at least 1.
        sigma: Label noise, at least 0.
        log_inverse_delta: log(1/delta), above 0.
        b: Threshold of k*, above 0.
        constant: c, above 0.
    """
    tail = np.cumsum(eigenvalues[::-1])[::-1]
    tail_squares = np.cumsum(eigenvalues[::-1] ** 2)[::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.where(eigenvalues > 0, tail / eigenvalues, 0.0)
        effective_rank = np.where(eigenvalues > 0, tail**2 / tail_squares, 0.0)
    spread = max(math.sqrt(r[0] / n), float(r[0]) / n, math.sqrt(log_inverse_delta / n))
    bias = constant * float(difference @ difference) * float(eigenvalues[0]) * spread
    qualifying = np.flatnonzero(r >= b * n)
    k_star = int(qualifying[0]) if len(qualifying) else None
    inflation = math.inf if k_star is None else k_star / n + n / float(effective_rank[k_star])
    variance = constant * log_inverse_delta * sigma**2 * inflation if sigma > 0 else 0.0
    return BenignOverfittingBound(bias + variance, bias, variance, k_star)


def distance_bound(difference: Float64[np.ndarray, " d"]) -> float:
    """||theta_T - theta_S||^2: the plainest predictor of the fine-tuned risk (shachaf2021, Table 1)."""
    return float(difference @ difference)
