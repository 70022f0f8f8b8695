"""Transfer of two-layer ReLU networks in the kernel regime (liu2019, Thm. 1 to 3; shachaf2021, Thm. 6.1 and Cor. 6.2).

The kernel itself, y_{P->Q} and the leading terms of liu2019's theorems are `transferscope.numerics.ntk`, shared with
the diagnostics. This module has the consequences for the risk, whose bound in shachaf2021's Theorem 6.1 is 2
sqrt(r'H^-1 r / n) for the residual r of the pretrained network. Inputs have unit norm, labels lie in [-1, 1], only the
first layer is trained and its width tends to infinity.

Corrections. liu2019's remark on training from scratch prints y'H^-1 y for the distance that weights travel: it is the
square root of that. shachaf2021's Cor. 6.2 prints 3 ||theta_T - theta_S||: it is at most 2 ||P_par (theta_T -
theta_S)||, because H >= X X'/4; so 6 in Corollary 6.3 can be 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from transferscope.errors import SettingsError
from transferscope.estimate import Estimate
from transferscope.numerics.ntk import CHECK_RIDGE, RIDGE, TOLERATED_CHANGE, relu_gram, solve_gram


def kernel_norm(inputs: Float64[np.ndarray, "n d"], labels: Float64[np.ndarray, " n"]) -> Estimate:
    """Return sqrt(y'H^-1 y): the distance that the weights of a wide network move to fit y from an output of 0.

    Args:
        inputs: Unit-norm rows, shape (n, d), no two alike.
        labels: y, shape (n,); the residual y - f(X, Theta(0)) for another start.

    Returns:
        The norm, exact; "not_identified" if it moves by more than 5 % from a ridge of 1e-6 of the mean of the diagonal
        of H to one of 1e-4 (repeated inputs that disagree, many antipodal pairs).
    """
    gram = relu_gram(inputs)
    solutions = (solve_gram(gram, labels[:, None], ridge=ridge)[:, 0] for ridge in (RIDGE, CHECK_RIDGE))
    value, check = (float(np.sqrt(np.maximum(labels @ solution, 0.0))) for solution in solutions)
    moved = abs(value - check) > TOLERATED_CHANGE * max(value, check)
    return Estimate(value, 0.0, 0, "not_identified" if moved else "ok")


@dataclass(frozen=True)
class Convergence:
    """Convergence of gradient descent (liu2019, Theorem 3, eq. 32) after each number of steps k.

    Attributes:
        errors: norm((I - eta H)^k r)^2, the error in the limit of infinite width, shape (K,).
        bound: (1 - eta lambda / 2)^k norm(r)^2 with lambda the smallest eigenvalue of H, shape (K,).
    """

    errors: Float64[np.ndarray, " K"]
    bound: Float64[np.ndarray, " K"]


def convergence(
    inputs: Float64[np.ndarray, "n d"], residual: Float64[np.ndarray, " n"], *, rate: float, steps: Sequence[int]
) -> Convergence:
    """Return the squared training error of a wide network along gradient descent, and its bound in liu2019.

    Args:
        inputs: Unit-norm rows, shape (n, d).
        residual: r = y - u(P), shape (n,): the labels minus the initial outputs of the network; the labels for a start
            with output 0.
        rate: eta, above 0 and at most 1 / lambda_max(H): each direction then falls by (1 - eta lambda_i)^2 <= 1 - eta
            lambda_i, faster than the bound. The theorem itself takes eta = O(lambda / n).
        steps: Numbers of steps k, each at least 0.

    Raises:
        SettingsError: The rate or a number of steps is out of range.
    """
    values, vectors = np.linalg.eigh(relu_gram(inputs))
    if not 0 < rate <= (1 + 1e-9) / values[-1] or min(steps, default=0) < 0:
        raise SettingsError(
            f"rate = {rate:g} and steps = {list(steps)}; expected a rate above 0 and at most {1 / values[-1]:g}, one "
            "over the largest eigenvalue of the kernel, and steps of 0 or more"
        )
    parts = (vectors.T @ residual) ** 2
    k = np.asarray(steps, dtype=np.float64)[:, None]
    errors = ((1 - rate * values) ** (2 * k) * parts).sum(axis=1)  # (K,)
    smallest = max(float(values[0]), 0.0)
    return Convergence(errors, (1 - rate * smallest / 2) ** k[:, 0] * parts.sum())


@dataclass(frozen=True)
class LinearKernelBound:
    """Corollary 6.2 of shachaf2021 for linear teachers, D = theta_T - theta_S.

    Attributes:
        norm: sqrt(r'H^-1 r) with r = X D, the bounded quantity.
        bound: 2 ||P_par D||, with P_par the projection on the rows of X.
        printed: 3 ||D||, as in the paper: valid, but looser.
    """

    norm: Estimate
    bound: float
    printed: float


def linear_kernel_bound(inputs: Float64[np.ndarray, "n d"], difference: Float64[np.ndarray, " d"]) -> LinearKernelBound:
    """Return the bound on the distance of a wide network from one linear teacher to another (shachaf2021, Corollary
    6.2, sharpened).

    Args:
        inputs: Unit-norm rows, shape (n, d), no two alike.
        difference: D = theta_T - theta_S, shape (d,).

    Returns:
        The norm with both bounds. Divide by sqrt(n)/2 for the risk (Corollary 6.3).
    """
    seen = np.linalg.lstsq(inputs, inputs @ difference, rcond=None)[0]
    return LinearKernelBound(
        norm=kernel_norm(inputs, inputs @ difference),
        bound=2 * float(np.linalg.norm(seen)),
        printed=3 * float(np.linalg.norm(difference)),
    )
