"""How fast fine-tuning learns, and how much pre-training helps it (mikami2021, Appendix E.5 and Table 1, as one rule).

Fine-tuning by averaged SGD with regularisation towards the pre-trained start, in the kernel regime, has for T_0 source
and T_1 target examples the bound

    eps + C (c + A T_0^-alpha) T_1^-beta

The constants eps, C, c and A are left open by the theorem. Smoothness of phi_0 (source) and of what the target adds,
phi_1, is r0 and r1; the kernel's eigenvalues decay as s^-xi; the step size is eta_1 = T_1^-zeta.

Corrections. Table 1 and eq. 26 carry further conditions on xi that are sufficient but not necessary: the term they
guard against vanishes as T_1 grows. Theorem 2's terms (c) and (d) should read lambda^(2 r0 - 1) ||Sigma^-r0 phi_0||^2
and lambda^(2 r0 - 2) ||Sigma^-r0 phi_0||^2, which changes no rate.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64

from transferscope.errors import SettingsError
from transferscope_papers.parameters import Array, Numbers, above, at_least, between
from transferscope_papers.problems import PowerLawTransfer


@dataclass(frozen=True)
class Rates:
    """Exponents of the bound, and of the regularisation that reaches it.

    Attributes:
        alpha: Exponent of the number of source examples, alpha' nu with alpha' = 2 r0 xi / (2 r0 xi + 1).
        beta: Exponent of the number of target examples.
        nu: Exponent of the pre-training error R_0 in the bound.
        ridge: Exponent of T_1 in lambda_1 = T_1^-ridge R_0^(...).
        small_steps: Whether zeta > r/(2r+1), where the step size limits the rate.
    """

    alpha: Array
    beta: Array
    nu: Array
    ridge: Array
    small_steps: Bool[np.ndarray, "..."]


def fine_tuning_rates(r0: Numbers, r1: Numbers, xi: Numbers, *, zeta: Numbers = 0.0) -> Rates:
    """The exponents of Table 1, with r = min(r0, r1):

        0 <= zeta <= r/(2r+1):   beta = 2r/(2r+1),         nu = 2r/(2r+1),   lambda_1 = T_1^(-1/(2r+1)) R_0^(1/(2r+1))
        r/(2r+1) < zeta < 1:     beta = 2r(1-zeta)/(r+1),  nu = r/(r+1),     lambda_1 = T_1^(-(1-zeta)/(r+1))
        R_0^(1/(2r+2))

    beta is continuous where the cases meet, nu is not.

    Args:
        r0: Smoothness of the source function, in [1/2, 1].
        r1: Smoothness of what the target adds, in [1/2, 1].
        xi: Decay of the kernel's eigenvalues, above 1.
        zeta: Exponent of the step size, in [0, 1).
        The exponents, broadcast.

    Raises:
        SettingsError: A parameter is out of range.
    """
    r0, r1, xi = between("r0", r0, 0.5, 1), between("r1", r1, 0.5, 1), above("xi", xi, 1)
    zeta = at_least("zeta", zeta, 0)
    if (zeta >= 1).any():
        raise SettingsError(f"zeta = {zeta.max():g} is out of range; zeta must be at least 0 and below 1")
    r = np.minimum(r0, r1)
    r, zeta = np.broadcast_arrays(r, zeta)
    small = np.asarray(zeta > r / (2 * r + 1))
    beta = np.where(small, 2 * r * (1 - zeta) / (r + 1), 2 * r / (2 * r + 1))
    nu = np.where(small, r / (r + 1), 2 * r / (2 * r + 1))
    ridge = np.where(small, (1 - zeta) / (r + 1), 1 / (2 * r + 1))
    alpha = 2 * r0 * xi / (2 * r0 * xi + 1) * nu
    return Rates(np.asarray(alpha), np.asarray(beta), np.asarray(nu), np.asarray(ridge), small)


@dataclass(frozen=True)
class FineTuningBound:
    """The bound of mikami2021, Theorem 2, eq. 14, term by term.

    Attributes:
        source_bias: c_0 lambda^(2 r0) ||Sigma^-r0 phi_0||^2, what the pull towards the start costs.
        added_bias: c_1 lambda^(2 r1) ||Sigma^-r1 phi_1||^2.
        initial: c_2/(T+1) (R_0 (1 + ||Sigma^-r0 phi_0||^2)/lambda + lambda^(2 r0 - 1) ||Sigma^-r0 phi_0||^2
            + ||phi_1||_H^2).
        step: c_3/((T+1)^2 eta^2) (R_0 (1 + ||Sigma^-r0 phi_0||^2)/lambda^2
            + lambda^(2 r0 - 2) ||Sigma^-r0 phi_0||^2 + ||phi_1||_H^2/lambda).
        variance: c_4/(T+1) (1 + ||phi||_H^2 + 24 ||Sigma^-r phi||^2) tr Sigma (Sigma + lambda)^-1.
    """

    source_bias: Array
    added_bias: Array
    initial: Array
    step: Array
    variance: Array

    @property
    def total(self) -> Array:
        """The sum: the bound on the risk, without the epsilon of a finite width."""
        return np.asarray(self.source_bias + self.added_bias + self.initial + self.step + self.variance)


def fine_tuning_bound(
    pair: PowerLawTransfer,
    n_target: Numbers,
    *,
    r0: float,
    r1: float,
    ridge: Numbers,
    rate: Numbers,
    source_error: Numbers,
    constants: tuple[float, float, float, float, float] = (1.0, 1.0, 1.0, 1.0, 1.0),
) -> FineTuningBound:
    """The bound on the risk of fine-tuning by averaged SGD with a pull towards the start (mikami2021, eq. 14).

    Corrections: for lambda^(2 r1 - 1) ||phi_0||^2 and lambda^(2 r1 - 2) ||phi_0||^2 it has lambda^(2 r0 - 1) and
    lambda^(2 r0 - 2) times ||Sigma^-r0 phi_0||^2: the powers are those of eq. 46 and 47 of the proof, and the norm is
    that of eq. 40, which these refer to and without which the terms bound nothing. And r in the last term, which is
    printed as r0 for phi = phi_0 + phi_1, is the smaller of both, for which the norm exists.

    Args:
        pair: phi_0 and phi_0 + phi_1 in eigenfunctions with their eigenvalues.
        n_target: T, target examples, at least 1.
        r0: Smoothness of phi_0, in [1/2, 1].
        r1: Smoothness of phi_1, in [1/2, 1].
        ridge: lambda, above 0 and at most the largest eigenvalue.
        rate: eta, above 0, with 4 (6 + lambda) eta <= 1.
        source_error: R_0, the risk of the pre-trained network on the source, at least 0.
        constants: c_0 to c_4, which the theorem leaves open; 1 each shows how the bound moves, not how large it is.

    Returns:
        The terms, broadcast over `n_target`, `ridge`, `rate` and `source_error`.

    Raises:
        SettingsError: A parameter is out of range.
    """
    gamma = pair.target.eigenvalues
    between("r0", r0, 0.5, 1), between("r1", r1, 0.5, 1)
    t, lam = at_least("n_target", n_target, 1) + 1, above("ridge", ridge, 0)
    eta, error = above("rate", rate, 0), at_least("source_error", source_error, 0)
    between("ridge", lam, 0, float(gamma[0]))
    if (4 * (6 + lam) * eta > 1 + 1e-12).any():
        raise SettingsError(
            "the rate is out of range; Theorem 2 needs 4 (6 + ridge) rate of at most 1: make it smaller"
        )
    source, added = pair.source.coefficients, pair.target.coefficients - pair.source.coefficients
    phi, r = pair.target.coefficients, min(r0, r1)
    smooth_0, smooth_1 = _norm(source, gamma, 2 * r0), _norm(added, gamma, 2 * r1)
    in_rkhs = _norm(added, gamma, 1)
    start = error * (1 + smooth_0)
    trace = np.sum(gamma / (gamma + lam[..., None]), axis=-1)
    c = constants
    return FineTuningBound(
        source_bias=np.asarray(c[0] * lam ** (2 * r0) * smooth_0),
        added_bias=np.asarray(c[1] * lam ** (2 * r1) * smooth_1),
        initial=np.asarray(c[2] / t * (start / lam + lam ** (2 * r0 - 1) * smooth_0 + in_rkhs)),
        step=np.asarray(c[3] / (t * eta) ** 2 * (start / lam**2 + lam ** (2 * r0 - 2) * smooth_0 + in_rkhs / lam)),
        variance=np.asarray(c[4] / t * (1 + _norm(phi, gamma, 1) + 24 * _norm(phi, gamma, 2 * r)) * trace),
    )


def _norm(coefficients: Float64[np.ndarray, " d"], eigenvalues: Float64[np.ndarray, " d"], power: float) -> float:
    """||Sigma^(-power/2) phi||^2 in L2: with power = 1 the squared norm in the RKHS."""
    return float(np.sum(coefficients**2 / eigenvalues**power))
