"""LogME: the largest log evidence of Bayesian linear regression of the labels on the features.

You, Liu, Wang and Long, "LogME: Practical assessment of pretrained models for transfer learning", ICML 2021, section 4
(evidence: eq. 2). Per output y: y = F w + noise, w ~ N(0, alpha^-1 I_d), noise ~ N(0, beta^-1 I_n), hence

    y ~ N(0, beta^-1 I_n + alpha^-1 F F').

With F F' of rank r, its eigenvalues s_i and z = U' y, t = alpha / beta and

    Q(t) = |y|^2 - |z|^2 + sum_i z_i^2 t / (t + s_i),

the best beta for a given t is n / Q, which leaves one dimension:

    log evidence = n/2 (log(n / Q) - 1 - log 2 pi) - 1/2 sum_i log(1 + s_i / t).

Only the eigenvalues of F F' enter, so n < d needs no other formula: in the form with log determinants of d x d matrices
the terms d/2 log alpha and -(d - r)/2 log alpha must cancel, which code in circulation forgets when n < d.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float64

from transferscope.data.task import Kind
from transferscope.estimate import Estimate, Status
from transferscope.scores.score import Score, TargetView, outputs
from transferscope.scores.spectrum import spectrum

_STEP = 0.5  # of the grid, in log t
_CLOSE = 1e-8  # in log t, and its square in the evidence
_REFINEMENTS = 40  # by halves 1 * 2^-40 of log t; Newton takes about five
_NOTHING = 1e-10  # share of |y|^2 that counts as rounding


@dataclass(frozen=True)
class Evidence:
    """Largest log evidence of every output.

    Attributes:
        value: Log evidence in nats, not divided by n, shape (K,); infinite where `unbounded`.
        ratio: t = alpha / beta, shape (K,); 0 without noise, infinite without weights.
        beta: Precision of the noise, shape (K,); infinite at t = 0.
        unbounded: F fits y exactly with fewer than n directions, so that the evidence grows without end as t -> 0.
        noiseless: F has n directions and the evidence is largest in the limit t -> 0, a fit without noise.
        empty: The evidence is largest in the limit t -> infinity, where the features are not used.
    """

    value: Float64[np.ndarray, " K"]
    ratio: Float64[np.ndarray, " K"]
    beta: Float64[np.ndarray, " K"]
    unbounded: Bool[np.ndarray, " K"]
    noiseless: Bool[np.ndarray, " K"]
    empty: Bool[np.ndarray, " K"]


@dataclass(frozen=True)
class _Profile:
    """The log evidence as a function of u = log t, for all outputs at once."""

    n: int
    squares: Float64[np.ndarray, " r"]
    power: Float64[np.ndarray, "r K"]  # z_i^2
    outside: Float64[np.ndarray, " K"]  # |y|^2 - |z|^2
    total: Float64[np.ndarray, " K"]  # |y|^2

    def residual(self, u: Float64[np.ndarray, " K"]) -> Float64[np.ndarray, " K"]:
        """Return Q(t) for one u per output."""
        shrunk = 1 / (1 + self.squares[:, None] * np.exp(-u))  # (r, K): t / (t + s)
        return np.asarray(self.outside + (self.power * shrunk).sum(axis=0))

    def slope(self, u: Float64[np.ndarray, " K"]) -> tuple[Float64[np.ndarray, " K"], Float64[np.ndarray, " K"]]:
        """Return twice the first and the second derivative of the log evidence for one u per output."""
        shrunk = 1 / (1 + self.squares[:, None] * np.exp(-u))  # (r, K): t / (t + s)
        moving = shrunk * (1 - shrunk)  # its derivative
        residual = self.outside + (self.power * shrunk).sum(axis=0)
        first = (self.power * moving).sum(axis=0) / residual
        second = (self.power * moving * (1 - 2 * shrunk)).sum(axis=0) / residual
        slope = (1 - shrunk).sum(axis=0) - self.n * first
        return slope, self.n * (first**2 - second) - moving.sum(axis=0)

    def at(self, u: Float64[np.ndarray, " K"]) -> Float64[np.ndarray, " K"]:
        """Return the log evidence for one u per output."""
        volume = np.log1p(self.squares[:, None] * np.exp(-u)).sum(axis=0)
        return self._evidence(self.residual(u), volume)

    def on(self, grid: Float64[np.ndarray, " G"]) -> Float64[np.ndarray, "G K"]:
        """Return the log evidence of every output at every u."""
        scaled = np.exp(-grid)[:, None] * self.squares  # (G, r): s / t
        return self._evidence(self.outside + (1 / (1 + scaled)) @ self.power, np.log1p(scaled).sum(axis=1)[:, None])

    def without_weights(self) -> Float64[np.ndarray, " K"]:
        """Return the limit t -> infinity."""
        return self._evidence(self.total, np.zeros(()))

    def without_noise(self) -> Float64[np.ndarray, " K"]:
        """Return the limit t -> 0 when F has n directions: n/2 log t of Q and of the determinant cancel."""
        return self._evidence((self.power / self.squares[:, None]).sum(axis=0), np.asarray(np.log(self.squares).sum()))

    def _evidence(self, residual: np.ndarray, volume: np.ndarray) -> np.ndarray:
        half: np.ndarray = self.n / 2 * (np.log(self.n) - np.log(residual) - 1 - np.log(2 * np.pi))
        return half - volume / 2

    def grid(self) -> Float64[np.ndarray, " G"]:
        """Return values of u that enclose every stationary point.

        Beyond n s_max the evidence is monotone; for r < n no maximum lies below |y|^2 - |z|^2 over n / s_min.
        """
        low = np.log(self.squares[0] * _NOTHING / self.n) - 3
        high = np.log(self.squares[-1] * self.n) + 6
        return np.linspace(low, high, int(np.ceil((high - low) / _STEP)) + 1)


def log_evidence(features: Float64[np.ndarray, "n d"], targets: Float64[np.ndarray, "n K"]) -> Evidence:
    """Return the largest log evidence over alpha and beta of each output.

    A grid in log t finds the highest peak (there can be several), Newton's steps refine it, and both limits are
    compared with it. O(n d min(n, d)) time, O(min(n, d)^2) memory beyond the inputs and their number of outputs.

    Args:
        features: F, shape (n, d), used as they are: no intercept is added.
        targets: Y, shape (n, K), no column all 0.
    """
    of = spectrum(features)
    full = len(of.squares) == len(targets)
    power, total = of.coordinates(targets) ** 2, (targets**2).sum(axis=0)
    outside = total - power.sum(axis=0)
    exact = (outside <= _NOTHING * total) | full
    profile = _Profile(len(targets), of.squares, power, np.where(exact, 0.0, outside), total)
    u, value = _peak(profile)
    beta = len(targets) / profile.residual(u)

    empty_value = profile.without_weights()
    empty = empty_value >= value
    value = np.maximum(value, empty_value)
    u, beta = np.where(empty, np.inf, u), np.where(empty, len(targets) / profile.total, beta)

    noiseless_value = profile.without_noise() if full else np.full(len(value), -np.inf)
    noiseless = noiseless_value >= value - 1e-9 * len(targets)  # the grid comes as near to the limit as this
    value = np.where(exact & (not full), np.inf, np.maximum(value, noiseless_value))
    at_zero = noiseless | np.isinf(value)
    ratio = np.where(at_zero, 0.0, np.exp(u))
    return Evidence(value, ratio, np.where(at_zero, np.inf, beta), np.isinf(value), noiseless, empty & ~noiseless)


def _peak(profile: _Profile) -> tuple[Float64[np.ndarray, " K"], Float64[np.ndarray, " K"]]:
    grid = profile.grid()
    best = profile.on(grid).argmax(axis=0)
    low, high = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, len(grid) - 1)]
    u = grid[best]
    for _ in range(_REFINEMENTS):
        slope, bend = profile.slope(u)
        low, high = np.where(slope > 0, u, low), np.where(slope > 0, high, u)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = u - slope / bend
        before, u = u, np.where((low < newton) & (newton < high), newton, (low + high) / 2)
        if (np.abs(u - before) <= _CLOSE).all():
            break
    return u, profile.at(u)


@dataclass(frozen=True)
class LogME(Score):
    """LogME: mean over outputs of the largest log evidence, divided by n; nats per example and output.

    Class labels become one column of 0 and 1 for each class that occurs, which several labels of an example are anyway;
    labels and regression outputs that do not vary are left out. Features are used as they are, without an intercept, as
    published: multiplying them by a number or rotating them changes nothing, adding a constant does.

    It ranks features for a linear model with Gaussian errors: features whose classes separate only by a curved
    boundary rate low however much fine-tuning would fix them.

    The status is "unbounded" (value infinite) when features of rank below n fit an output exactly (the labels are among
    the features, or few-shot examples hold duplicates), and "at_bound" when the evidence is largest without features
    for every output, so that the value is that of the labels alone. With n <= d it is often largest without noise; the
    value is then the exact limit and as good as any (see `Evidence.noiseless`).
    """

    name: ClassVar[str] = "logme"
    kinds: ClassVar[tuple[Kind, ...]] = ("classification", "regression", "multi-label")

    def computed(self, view: TargetView) -> Estimate:
        """Return the mean log evidence per example; see the class."""
        evidence = log_evidence(view.features, outputs(view))
        status: Status = "at_bound" if evidence.empty.all() else "ok"
        if evidence.unbounded.any():
            status = "unbounded"
        return Estimate(float(evidence.value.mean()) / len(view), None, len(view), status)
