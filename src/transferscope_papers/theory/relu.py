"""Linear transfer of two-layer ReLU networks: the target within the pretrained features (tahir2024, section 4).

After pretraining on the population the features are the neurons of the source. The risk of a new head on them tends to
the squared norm of the target outside their span, and transfer is negative where the risk from scratch is below that.
All norms are closed forms in the overlaps of neurons (tahir2024, Appendix C).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from transferscope.errors import SettingsError
from transferscope.estimate import Estimate, Status
from transferscope_papers.parameters import Array, Numbers, above, at_least
from transferscope_papers.problems import ReluNetwork
from transferscope_papers.problems.relu import relu_overlap

_CUT_OFF, _CHECKS, _TOLERATED_CHANGE = 1e-8, (1e-6, 1e-10), 1e-3


def outside_features(neurons: Float64[np.ndarray, "m d"], target: ReluNetwork) -> Estimate:
    """Return the target's squared norm outside the span of ReLU features (tahir2024, Appendix C, eq. 155).

        ||f*||^2 - c' Gt' G^+ Gt c / m*^2

    with G the overlaps of the features, Gt those of features with target neurons. It is the risk of linear transfer
    with unlimited target data. Near-duplicate neurons make G nearly singular: differences of almost equal neurons are
    in the span but useless, so eigenvalues below 1e-8 of the largest are dropped.

    Args:
        neurons: The features' weights, shape (m, d), m >= 1. Only their span matters, not scale or duplicates.
        target: The teacher f*.

    Returns:
        The part outside, exact (stderr 0, n 0); "not_identified" if it moves by more than 1e-3 of the target's squared
        norm between cut-offs of 1e-6 and 1e-10.
    """
    eigenvalues, vectors = np.linalg.eigh(relu_overlap(neurons, neurons))
    b = vectors.T @ (relu_overlap(neurons, target.neurons) @ target.heads) / len(target.heads)
    total = target.squared_norm()
    used = [eigenvalues > cut_off * eigenvalues[-1] for cut_off in (_CUT_OFF, *_CHECKS)]
    inside, low, high = (float(np.sum(b[kept] ** 2 / eigenvalues[kept])) for kept in used)
    status: Status = "ok" if abs(high - low) <= _TOLERATED_CHANGE * total else "not_identified"
    return Estimate(max(total - inside, 0.0), 0.0, 0, status)


def kernel_alignment(neurons: Float64[np.ndarray, "m d"], others: Float64[np.ndarray, "k d"]) -> float:
    """Return the cosine of the kernels of two sets of ReLU features, in L2 over pairs of inputs (tahir2024, Fig. 4a-b).

    For k(x, x') = (1/m) sum_i relu(w_i'x) relu(w_i'x') and x, x' ~ N(0, I), the mean product of the kernels of w and v
    is the mean over i and j of <w_i, v_j>^2, with the overlap <w, v> = E relu(w'x) relu(v'x).

    Args:
        neurons: Weights of one set, shape (m, d), m >= 1 and not all 0.

    Returns:
        Between 0 and 1; 1 only if the kernels are the same up to a factor.
    """
    cross, own, other = (
        np.square(relu_overlap(left, right)).mean()
        for left, right in ((neurons, others), (neurons, neurons), (others, others))
    )
    return float(cross / np.sqrt(own * other))


@dataclass(frozen=True)
class PowerLaw:
    """risk = A n^-nu: amplitude A, above 0, and exponent nu."""

    amplitude: float
    exponent: float


def fit_power_law(n: Float64[np.ndarray, " k"], risk: Float64[np.ndarray, " k"]) -> PowerLaw:
    """Fit log risk on log n by least squares (tahir2024, Figure 4c; the paper finds nu = 1.18 from scratch).

    Args:
        n: Sample sizes, shape (k,), at least two different ones.
        risk: Risks, shape (k,), above 0.

    Raises:
        SettingsError: Fewer than two sizes, or a value is not above 0.
    """
    if len(np.unique(n)) < 2 or (n <= 0).any() or (risk <= 0).any():
        raise SettingsError(f"risks = {risk.tolist()} at n = {n.tolist()}; expected risks above 0 at two sizes")
    slope, intercept = np.polyfit(np.log(n), np.log(risk), 1)
    return PowerLaw(float(np.exp(intercept)), float(-slope))


def negative_transfer_size(outside: Numbers, scratch: PowerLaw) -> Array:
    """Return the sample size beyond which training from scratch wins: A n^-nu = ||P_perp f*||^2 (tahir2024, sec. 4,
    Fig. 4e).

    Args:
        outside: The target's squared norm outside the features, at least 0; 0 gives infinity.
        scratch: The power law of the risk from scratch, with an exponent above 0.

    Returns:
        n, broadcast. It omits the part of the transfer risk that depends on n, so it is too large at small n.
    """
    outside, nu = at_least("outside", outside, 0), above("exponent", scratch.exponent, 0)
    with np.errstate(divide="ignore"):
        return np.asarray((scratch.amplitude / outside) ** (1 / nu))
