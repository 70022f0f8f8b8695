"""Learning rates of fine-tuning and the effect of pretraining (mikami2021, Appendix E.5 and Table 1, as one rule).

Fine-tuning by averaged SGD with regularisation towards the pretrained start, in the kernel regime, has for T_0 source
and T_1 target examples the bound

    eps + C (c + A T_0^-alpha) T_1^-beta

The theorem does not state the constants eps, C, c and A. r0 is the smoothness of phi_0 (source), r1 that of the
difference phi_1 of the target; the kernel's eigenvalues decay as s^-xi; the step size is eta_1 = T_1^-zeta.

Corrections. Table 1 and eq. 26 have further conditions on xi that are sufficient but not necessary: the term that they
exclude vanishes as T_1 grows. Theorem 2's terms (c) and (d) should read lambda^(2 r0 - 1) ||Sigma^-r0 phi_0||^2 and
lambda^(2 r0 - 2) ||Sigma^-r0 phi_0||^2, which changes no rate.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from transferscope.errors import out_of_range
from transferscope_papers.parameters import Array, Numbers, above, at_least, between


@dataclass(frozen=True)
class Rates:
    """Exponents of the bound, and of its regularisation.

    Attributes:
        alpha: Exponent of the number of source examples, alpha' nu with alpha' = 2 r0 xi / (2 r0 xi + 1).
        beta: Exponent of the number of target examples.
        nu: Exponent of the pretraining error R_0 in the bound.
        ridge: Exponent of T_1 in lambda_1 = T_1^-ridge R_0^(...).
        small_steps: Whether zeta > r/(2r+1), where the step size limits the rate.
    """

    alpha: Array
    beta: Array
    nu: Array
    ridge: Array
    small_steps: Bool[np.ndarray, "..."]


def fine_tuning_rates(r0: Numbers, r1: Numbers, xi: Numbers, *, zeta: Numbers = 0.0) -> Rates:
    """Return the exponents of Table 1, with r = min(r0, r1):

        0 <= zeta <= r/(2r+1):   beta = 2r/(2r+1),         nu = 2r/(2r+1),   lambda_1 = T_1^(-1/(2r+1)) R_0^(1/(2r+1))
        r/(2r+1) < zeta < 1:     beta = 2r(1-zeta)/(r+1),  nu = r/(r+1),     lambda_1 = T_1^(-(1-zeta)/(r+1))
        R_0^(1/(2r+2))

    beta is continuous where the cases meet, nu is not.

    Args:
        r0: Smoothness of the source function, in [1/2, 1].
        r1: Smoothness of the difference of the target, in [1/2, 1].
        xi: Decay of the kernel's eigenvalues, above 1.
        zeta: Exponent of the step size, in [0, 1).

    Raises:
        SettingsError: A parameter is out of range.
    """
    r0, r1, xi = between("r0", r0, 0.5, 1), between("r1", r1, 0.5, 1), above("xi", xi, 1)
    zeta = at_least("zeta", zeta, 0)
    if (zeta >= 1).any():
        raise out_of_range("zeta", f"{zeta.max():g}", "at least 0 and below 1")
    r = np.minimum(r0, r1)
    r, zeta = np.broadcast_arrays(r, zeta)
    small = np.asarray(zeta > r / (2 * r + 1))
    beta = np.where(small, 2 * r * (1 - zeta) / (r + 1), 2 * r / (2 * r + 1))
    nu = np.where(small, r / (r + 1), 2 * r / (2 * r + 1))
    ridge = np.where(small, (1 - zeta) / (r + 1), 1 / (2 * r + 1))
    alpha = 2 * r0 * xi / (2 * r0 * xi + 1) * nu
    return Rates(np.asarray(alpha), np.asarray(beta), np.asarray(nu), np.asarray(ridge), small)
