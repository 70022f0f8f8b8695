"""Two-layer quadratic networks: solutions of pretraining, joint training and MeRLin (merlin2020, sec. 5 and App. B).

f(x) = sum_i theta_i (phi_i'x)^2 = x'Ax on `problems.QuadraticProblem`; `simulate.quadratic` has its population loss.
With the penalty lambda (||theta||^2 + ||phi||_F^2) a source solution is one neuron on one entry, A = mu e_j e_j', for
any of the first k entries; only e_1 also solves the target.

Where it stops holding: Theorem 2 is about exact global minimisers. With fewer target examples than inputs a feature
that overfits all of them makes every split perfect, and gradient descent usually ends there; MeRLin recovers e_1 if it
starts there, or as the best of several restarts by its training objective.
"""

from dataclasses import dataclass

import numpy as np

from transferscope_papers.parameters import Array, Numbers, at_least

SPARSEST_PENALTY = 3 * 2 ** (-2 / 3)
"""min of theta^2 + ||phi||^2 over one neuron with |theta| ||phi||^2 = 1; it grows as |mu|^(2/3)."""

NONZERO_BELOW = 2 ** (1 / 3) / 3
"""The source solution is not 0 if and only if lambda is below this, 0.41997 (0.1 in the paper is sufficient)."""

WRONG_FEATURE_LOSS = 10 / 27
"""Smallest target loss with a feature e_j, j != 1: from mu = 2/3. It is 2/3 without a feature."""

OVERFITTING_BELOW = (2 ** (1 / 3) - 1) ** (3 / 4)
"""Joint training prefers an overfit feature to sharing e_1 if ||P_X e_1||, which is near sqrt(n/d), is below this,
0.36402 (lambda -> 0; merlin2020, Theorem 1, made sharp). It compares single neurons; fits of higher rank can have a
lower penalty, so that below it overfitting is certain, but above it is possible, too."""

_NEWTON_STEPS = 60


@dataclass(frozen=True)
class SourceMinimum:
    """The best penalised source solution, mu e_j e_j' with one neuron.

    Attributes:
        mu: Size, in [0, 1]; 0 from `NONZERO_BELOW` on.
        head: theta of the neuron, (mu/2)^(1/3).
        feature_norm: ||phi|| of the neuron, sqrt(2) theta.
        value: Loss with penalty, (2/3)(1-mu)^2 + 3 2^(-2/3) lambda mu^(2/3).
    """

    mu: Array
    head: Array
    feature_norm: Array
    value: Array


def source_minimum(penalty: Numbers) -> SourceMinimum:
    """Return the minimum of (2/3)(1-mu)^2 + lambda (theta^2 + ||phi||^2) over one neuron (merlin2020, Lemma 4).

    With v = mu^(1/3) it is the larger root of v - v^4 = 3 2^(-2/3) lambda / 2, found by Newton's method from v = 1,
    which converges without overshooting.

    Raises:
        SettingsError: lambda is negative.
    """
    lam = at_least("penalty", penalty, 0)
    slope = np.where(lam < NONZERO_BELOW, SPARSEST_PENALTY * lam / 2, 0.0)
    v = np.ones_like(slope)
    for _ in range(_NEWTON_STEPS):
        v = v - (v - v**4 - slope) / (1 - 4 * v**3)
    mu = np.asarray(np.where(lam < NONZERO_BELOW, v**3, 0.0))
    head = np.asarray((mu / 2) ** (1 / 3))
    value = np.asarray(2 / 3 * (1 - mu) ** 2 + SPARSEST_PENALTY * lam * mu ** (2 / 3))
    return SourceMinimum(mu, head, np.asarray(np.sqrt(2) * head), value)
