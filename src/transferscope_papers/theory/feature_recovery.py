"""Number of target examples that distinguish the shared feature from source-specific ones (merlin2020, Theorem 2).

The source is solved by any one of k features x_j^2, the target by x_1^2 alone. MeRLin's objective is the source's, the
same for all, plus the validation loss of a head that is fitted on one random half of the n target examples, in the mean
over halves. It is lowest for x_1^2 unless another feature fits the sample equally well: with m of n labels y = 1, and
x_j^2 = 1 in a of these and in b of the others, the head is t/(t + u) if t of the a and u of the b are in the fitted
half, and the loss is

    V(a, b) = E[ (a - t) (1 - head)^2 + (b - u) head^2 ] / (n - h) + (m - a)/n,    h = n/2 rounded down

with t and u hypergeometric. The shared feature has V(m, 0); the others are independent of it and of each other, with
a ~ Bin(m, 2/3) and b ~ Bin(n - m, 2/3). So

    P(recovered) = sum_m Bin(m; n, 2/3) P(V(a, b) > V(m, 0))^(k - 1),    about 1 - (k - 1) (5/9)^n

and the examples that it takes grow as log k / log(9/5). The theorem states Theta(log(k/failure)), with sufficient
constants in its proof. It is about minimisers of the objective, not about gradient descent.
"""

import math
from functools import lru_cache

import numpy as np
from jaxtyping import Float64
from scipy import stats
from scipy.special import gammaln

from transferscope.errors import SettingsError, out_of_range
from transferscope_papers.parameters import Array, Numbers, at_least, counts

_ONE = 2 / 3
"""Probability of y = 1, and of x_j^2 = 1 among entries that do not determine y."""

MOST_EXAMPLES = 40
"""Largest number of examples for exact enumeration."""

_TIE = 1e-12


def recovery_probability(n: int, k: Numbers) -> Array:
    """Return the probability that only the shared feature has the least validation loss among the k of the source.

    Args:
        n: Target examples, from 2 to `MOST_EXAMPLES`.
        k: Features that solve the source, at least 1; it need not be an integer.

    Returns:
        The probability over target samples, in the shape of k; exact for a head without a ridge.

    Raises:
        SettingsError: A parameter is out of range.
    """
    if not 2 <= n <= MOST_EXAMPLES:
        raise out_of_range("n", n, f"a whole number from 2 to {MOST_EXAMPLES}")
    others = at_least("k", k, 1) - 1
    weights = stats.binom.pmf(np.arange(n + 1), n, _ONE)
    return np.asarray(sum(weight * worse**others for weight, worse in zip(weights, _worse(n), strict=True)))


def examples_needed(k: float, *, failure: float) -> int:
    """Return the smallest n from which the shared feature is recovered with probability 1 - failure.

    Args:
        k: Features that solve the source, at least 1.
        failure: Largest probability of another outcome, in (0, 1).

    Raises:
        SettingsError: A parameter is out of range, or more than `MOST_EXAMPLES` are needed.
    """
    _check_failure(failure)
    enough = False
    for n in range(2, MOST_EXAMPLES + 1):  # monotone for odd and for even sizes, so that two in a row are enough
        before, enough = enough, float(recovery_probability(n, k)) >= 1 - failure
        if before and enough:
            return n - 1
    raise SettingsError(
        f"k = {k:g} with failure = {failure:g} needs {MOST_EXAMPLES} examples or more, beyond what is computed; give "
        "fewer features or a larger failure"
    )


def sufficient_examples(k: Numbers, *, failure: float) -> Array:
    """Return the number of target examples in the proof of Theorem 2: max(18 log(2/failure), 3 log(2k/failure)).

    With the first, more than half of the examples are positive, so that every half shows the shared feature; with the
    second, no other feature fits all of them.

    Args:
        k: Features that solve the source, at least 1.
        failure: Largest probability of another outcome, in (0, 1).

    Returns:
        n, in the shape of k; not rounded.

    Raises:
        SettingsError: A parameter is out of range.
    """
    _check_failure(failure)
    shown = 18 * math.log(2 / failure)
    return np.asarray(np.maximum(shown, 3 * np.log(2 * at_least("k", counts("k", k), 1) / failure)))


@lru_cache(maxsize=MOST_EXAMPLES)
def _worse(n: int) -> Float64[np.ndarray, " n_plus_1"]:
    """Return P(V(a, b) > V(m, 0)) of a source-specific feature, for m = 0..n."""
    loss = _fitted_loss(n)  # without (m - a)/n
    chances = np.empty(n + 1)
    for m in range(n + 1):
        a, b = np.arange(m + 1)[:, None], np.arange(n - m + 1)
        own = loss[: m + 1, : n - m + 1] + (m - a) / n
        chance = stats.binom.pmf(a, m, _ONE) * stats.binom.pmf(b, n - m, _ONE)
        chances[m] = min(float(np.sum(chance * (own > loss[m, 0] + _TIE))), 1.0)  # rounding errors, to the power k - 1
    return chances


def _fitted_loss(n: int) -> Float64[np.ndarray, "n_plus_1 n_plus_1"]:
    """Return E[(a - t)(1 - head)^2 + (b - u) head^2]/(n - h) for a and b from 0 to n, a + b <= n."""
    half = n // 2
    top, below = np.arange(n + 1)[:, None], np.arange(n + 1)
    left = np.maximum(top - below, 0)
    log_choose = np.where(below <= top, gammaln(top + 1) - gammaln(below + 1) - gammaln(left + 1), -np.inf)
    losses = np.zeros((n + 1, n + 1))
    for a in range(n + 1):
        for b in range(n - a + 1):
            t, u = np.arange(min(a, half) + 1)[:, None], np.arange(min(b, half) + 1)
            rest = half - t - u
            possible = (rest >= 0) & (rest <= n - a - b)
            log_chance = log_choose[a, t] + log_choose[b, u] + log_choose[n - a - b, np.clip(rest, 0, n - a - b)]
            chance = np.where(possible, np.exp(log_chance - log_choose[n, half]), 0.0)
            head = t / np.maximum(t + u, 1)
            losses[a, b] = np.sum(chance * ((a - t) * (1 - head) ** 2 + (b - u) * head**2)) / (n - half)
    return losses


def _check_failure(failure: float) -> None:
    if not 0 < failure < 1:
        raise out_of_range("failure", failure, "a number between 0 and 1")
