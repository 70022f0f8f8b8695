"""Linear transfer: the features of the source are frozen and only the head is trained (tahir2024, Thm. 3.7 and eq. 13).

A deep linear network with a small start that has learnt the source on the population has one feature, the direction of
theta_S (Theorem 3.4), so the head has one parameter. `sin` is that of the angle theta between the teachers.

Where it stops holding: real features have tiny further singular values, O(alpha^(L-1)) for an initialisation of scale
alpha. "Initialisation to zero" and "minimum-norm head" do not commute: an exact pseudo-inverse fits the target with
those. Theorem 3.7 here and Theorem 5.5 of shachaf2021 need them cut off, at about ten times the second over the first.

Everywhere `theta`, in radians, is in [0, pi]; `gamma` = n/d, `sigma` and `target_norm` tau are at least 0; n target
examples and d inputs are at least 1. Results are broadcast, and SettingsError says what is out of range.
"""

from dataclasses import dataclass

import numpy as np

from transferscope_papers.parameters import Array, Numbers, angle, at_least
from transferscope_papers.theory.linear_scratch import scratch_risk, scratch_risk_finite


def linear_transfer_risk(theta: Numbers, n: Numbers, *, sigma: Numbers, target_norm: Numbers = 1.0) -> Array:
    """Return the risk of linear transfer, exact for every number of inputs (tahir2024, Theorem 3.7).

        tau^2 sin^2 + (tau^2 sin^2 + sigma^2) / (n - 2)

    For n <= 2 it is infinite, unless the target is a multiple of the source and without noise; n = infinity gives
    tau^2 sin^2.
    """
    n, sigma = at_least("n", n, 1), at_least("sigma", sigma, 0)
    outside = unlearnable(theta, target_norm)
    numerator = outside + sigma**2
    with np.errstate(divide="ignore", invalid="ignore"):
        over = np.where(n > 2, numerator / (n - 2), np.inf)
    return np.asarray(outside + np.where(numerator == 0, 0.0, over))


def linear_transferability(theta: Numbers, gamma: Numbers, *, sigma: Numbers, target_norm: Numbers = 1.0) -> Array:
    """Return risk from scratch minus risk of linear transfer for n, d -> infinity at n/d = gamma (tahir2024, eq. 13).

    Positive is good. It is plus infinity at gamma = 1 with noise, where training from scratch fails.
    """
    return np.asarray(scratch_risk(gamma, sigma=sigma, target_norm=target_norm) - unlearnable(theta, target_norm))


def linear_transferability_finite(
    theta: Numbers, n: Numbers, d: Numbers, *, sigma: Numbers, target_norm: Numbers = 1.0
) -> Array:
    """Return the risk from scratch minus the risk of linear transfer, exact for every n and d.

    Where both are infinite (n <= 2 and d - 1 <= n <= d + 1 with noise) it is minus infinity: neither can be used.
    """
    transfer = linear_transfer_risk(theta, n, sigma=sigma, target_norm=target_norm)
    scratch = scratch_risk_finite(n, d, sigma=sigma, target_norm=target_norm)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(np.isinf(transfer), -np.inf, scratch - transfer))


@dataclass(frozen=True)
class NegativeTransfer:
    """Where linear transfer is worse than training from scratch, as sets of gamma.

    Attributes:
        lower: gamma_-, the lower end of the region below 1; infinity where there is none.
        upper: gamma_+, its upper end; minus infinity where there is none.
        from_above: Transfer is negative for every gamma above this one, which is at least 1; infinity for never.
    """

    lower: Array
    upper: Array
    from_above: Array


def negative_transfer(theta: Numbers, *, sigma: Numbers) -> NegativeTransfer:
    """Return the boundaries of eq. 13 in gamma (tahir2024, section 3.3).

    With c = cos(theta), sigma in units of tau and b = 1 + c^2 - sigma^2, transfer is negative for

        gamma < 1:  gamma_- < gamma < gamma_+ = (b + sqrt(b^2 - 4 c^2)) / 2, gamma_- = c^2/gamma_+, if |c| <= 1 - sigma
        gamma > 1:  gamma > 1 + sigma^2 / sin^2(theta)

    gamma_- is computed from the product of the roots, which is accurate for small c.
    """
    theta, sigma = np.broadcast_arrays(angle(theta), at_least("sigma", sigma, 0))
    c, sine_squared = np.cos(theta), unlearnable(theta, 1.0)
    b = 1 + c**2 - sigma**2
    exists = (np.abs(c) < 1 - sigma) & (sine_squared > 0)
    upper = (b + np.sqrt(np.maximum(b**2 - 4 * c**2, 0))) / 2
    lower = np.divide(c**2, upper, out=np.zeros_like(upper), where=upper > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        from_above = np.where(sine_squared > 0, 1 + sigma**2 / sine_squared, np.inf)
    return NegativeTransfer(
        lower=np.asarray(np.where(exists, lower, np.inf)),
        upper=np.asarray(np.where(exists, upper, -np.inf)),
        from_above=np.asarray(from_above),
    )


def unlearnable(theta: Numbers, target_norm: Numbers) -> Array:
    """Return tau^2 sin^2(theta): the part of the target outside the source's feature; exactly 0 for theta of 0 or
    pi."""
    sine = np.sin(angle(theta))
    return np.asarray(at_least("target_norm", target_norm, 0) ** 2 * np.where(sine < 1e-15, 0.0, sine) ** 2)
