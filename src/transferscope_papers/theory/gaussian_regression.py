"""Ridge regression on Gaussian inputs of any covariance: the mean of its risk over examples, and its best ridge.

The weights minimise (1/2n) ||X w - y||^2 + (lambda/2) ||w - w_0||^2 on n examples with x ~ N(0, G), y = x'w* + noise;
for lambda = 0 they are the interpolator (or least squares solution) nearest to w_0. With g_i the eigenvalues of G that
are not 0 (p of them), D = w* - w_0 and v the variance of the noise, all summed over outputs, the deterministic
equivalent is

    kappa (1 - df1/n) = lambda,    df1 = sum_i g_i/(g_i + kappa),    df2 = sum_i g_i^2/(g_i + kappa)^2
    risk = ( kappa^2 sum_i g_i D_i^2/(g_i + kappa)^2  +  v df2/n ) / (1 - df2/n)

(Hastie et al. 2022, Theorems 2 and 5; Bach 2024, section 3). It is the limit of many inputs, with an error of O(1/n).
Exact at every size, and used where they apply, are:

    lambda = 0, n > p + 1                    v p/(n - p - 1), for any G
    lambda = 0, n < p - 1, all g_i equal     kappa as above for the bias, v n/(p - n - 1) for the variance
    p = 1                                    `ridge.ridge_risk`, an integral over chi^2_n

Without a ridge and with noise the mean is infinite for p - 1 <= n <= p + 1.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64
from scipy import optimize

from transferscope_papers.parameters import Array, Numbers, at_least, counts
from transferscope_papers.problems import Covariance, LinearTeacher
from transferscope_papers.theory.linear_scratch import variance_finite
from transferscope_papers.theory.ridge import optimal_ridge, ridge_risk

_GRID = 200
_WIDEST = 1e8
"""Upper end of the search for the best kappa, in units of the largest eigenvalue and the noise per signal."""
_RELATIVE, _RANK = 1e-12, 1e-10


@dataclass(frozen=True)
class GaussianRegression:
    """Parameters of the mean risk of ridge regression.

    Attributes:
        eigenvalues: g, of the covariance of the regressors, shape (p,); zeros are left out.
        squares: D_i^2 in the eigenbasis of G, summed over outputs, shape (p,).
        noise: v, the variance that the inputs do not explain, summed over outputs, at least 0.
        floor: The part of v that counts as risk (the target outside of these inputs), in [0, v].
    """

    eigenvalues: Float64[np.ndarray, " p"]
    squares: Float64[np.ndarray, " p"]
    noise: float = 0.0
    floor: float = 0.0

    def __post_init__(self) -> None:
        kept = self.eigenvalues > 0
        object.__setattr__(self, "eigenvalues", self.eigenvalues[kept])
        object.__setattr__(self, "squares", self.squares[kept])

    @property
    def signal(self) -> float:
        """Mean square of x'D, summed over outputs: the risk of w_0 above the floor."""
        return float(self.eigenvalues @ self.squares)

    def risk(self, n: Numbers, ridge: Numbers = 0.0) -> Array:
        """Return the mean risk, without the floor of noisy labels.

        Args:
            n: Number of examples, at least 1.
            ridge: lambda, at least 0; infinity keeps w_0.

        Returns:
            The risk, broadcast; infinite where it has no mean.

        Raises:
            SettingsError: A parameter is out of range.
        """
        n, ridge = np.broadcast_arrays(counts("n", n), at_least("ridge", ridge, 0))
        if len(self.eigenvalues) == 1:
            theta, known = self._one_feature()
            return ridge_risk(ridge / self.eigenvalues[0], theta, n, **known)
        pairs = zip(n.ravel().tolist(), ridge.ravel().tolist(), strict=True)
        return np.array([self.floor + self._risk(*pair) for pair in pairs]).reshape(n.shape)

    def is_exact(self, n: Numbers, ridge: Numbers = 0.0) -> Bool[np.ndarray, "..."]:
        """Return whether `risk` is exact rather than the limit of many inputs."""
        n, ridge = np.broadcast_arrays(n, ridge)
        p = len(self.eigenvalues)
        equal = bool(p > 0 and self.eigenvalues.max() <= self.eigenvalues.min() * (1 + _RELATIVE))
        return np.asarray((p <= 1) | np.isinf(ridge) | ((ridge == 0) & (equal | (n >= p - 1))))

    def best_ridge(self, n: Numbers) -> Array:
        """Return the lambda >= 0 of the least mean risk over n >= 1 examples.

        With equal eigenvalues g it is v p/(n sum_i D_i^2), which is also the best for one direction at every size.

        Returns:
            lambda, in the shape of n; infinite if w_0 is optimal.
        """
        n = counts("n", n)
        if self.signal <= 0:
            return np.full(n.shape, np.inf if self.noise > 0 else 0.0)
        return np.array([self._best_ridge(size) for size in n.ravel().tolist()]).reshape(n.shape)

    def _risk(self, n: float, ridge: float) -> float:
        if math.isinf(ridge) or not len(self.eigenvalues):
            return self.signal
        p = len(self.eigenvalues)
        variance = math.nan if ridge > 0 else float(variance_finite(np.asarray(n), p, math.sqrt(self.noise)))
        if ridge == 0 and (n >= p or math.isinf(variance)):
            return variance
        bias, inflation = self._terms(np.asarray([self._kappa(n, ridge)]), n)
        exact = bool(self.is_exact(n, ridge))
        return float(bias[0]) + (variance if exact else self.noise * float(inflation[0]))

    def _best_ridge(self, n: float) -> float:
        g, p = self.eigenvalues, len(self.eigenvalues)
        if p == 1:
            theta, known = self._one_feature()
            return float(optimal_ridge(theta, n, **known)) * float(g[0])
        if g.max() <= g.min() * (1 + _RELATIVE):
            return self.noise * p / (n * float(self.squares.sum()))
        lowest = self._kappa(n, 0.0)
        largest = float(g.max()) * (1 + self.noise / self.signal) * _WIDEST
        grid = np.geomspace(max(lowest, float(g.min()) / _WIDEST), largest, _GRID)

        def risk(log_kappa: float | np.ndarray) -> np.ndarray:
            bias, inflation = self._terms(np.atleast_1d(np.exp(log_kappa)), n)
            return np.asarray(bias + self.noise * inflation)

        at = int(risk(np.log(grid)).argmin())
        if at == _GRID - 1:
            return math.inf
        between = np.log(grid[max(at - 1, 0)]), np.log(grid[at + 1])
        least = optimize.minimize_scalar(lambda x: float(risk(x)[0]), bounds=between, method="bounded")
        kappa = float(np.exp(least.x))
        if at == 0 and (lowest > 0 or self.noise == 0) and float(risk(np.log(grid[0]))[0]) <= float(least.fun):
            return 0.0
        return max(kappa * (1 - float(np.sum(g / (g + kappa))) / n), 0.0)

    def _one_feature(self) -> tuple[float, dict[str, float]]:
        """Return the angle between the target and the one feature, with `sigma` and `target_norm`, as in `ridge`."""
        inside, outside = math.sqrt(self.signal), math.sqrt(self.floor)
        sigma = math.sqrt(max(self.noise - self.floor, 0.0))
        return math.atan2(outside, inside), {"sigma": sigma, "target_norm": math.hypot(inside, outside)}

    def _kappa(self, n: float, ridge: float) -> float:
        """Return the effective ridge: the root of kappa - kappa df1(kappa)/n - lambda, which is convex in kappa."""
        g = self.eigenvalues
        if ridge == 0 and n >= len(g):
            return 0.0

        def excess(kappa: float) -> float:
            df1 = float(np.sum(g / (g + kappa)))
            return n - df1 if ridge == 0 else kappa * (1 - df1 / n) - ridge

        total = float(g.sum())
        return float(optimize.brentq(excess, ridge, ridge + total / n, xtol=1e-15 * float(g.min()), maxiter=1000))

    def _terms(self, kappa: Float64[np.ndarray, " k"], n: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the bias, and the variance per unit of noise, for each kappa."""
        g, squares = self.eigenvalues, self.squares
        shrunk = g / (g + kappa[:, None])  # (k, p)
        df2 = np.sum(shrunk**2, axis=1)
        bias = np.sum(g * squares * (1 - shrunk) ** 2, axis=1) / (1 - df2 / n)
        return bias, df2 / (n - df2)


def regression_from_scratch(task: LinearTeacher) -> GaussianRegression:
    """Return the regression of the task's targets on its inputs, from 0."""
    inputs = task.covariance
    return GaussianRegression(inputs.eigenvalues, inputs.to_eigenbasis(task.weights) ** 2, task.sigma**2)


def regression_on_features(task: LinearTeacher, features: Float64[np.ndarray, "d r"]) -> GaussianRegression:
    """Return the regression of the task's targets on features Phi'x, from 0; the remainder is noise, and the floor of
    the risk.

    The part of the target outside the features is independent of them, because the inputs are Gaussian.

    Args:
        features: Phi, shape (d, r), such as those of an unfinished pretraining.
    """
    root = np.sqrt(task.covariance.eigenvalues)
    seen_as, target = (root * task.covariance.to_eigenbasis(vectors) for vectors in (features.T, task.weights))
    left, sizes, _ = np.linalg.svd(seen_as.T, full_matrices=False)  # sizes^2 are the eigenvalues of Phi' Sigma Phi
    seen = sizes > _RANK * sizes.max()
    along = left[:, seen].T @ target  # (r,): sizes times the head in the eigenbasis of Phi' Sigma Phi
    floor = float(np.sum((target - left[:, seen] @ along) ** 2))
    floor = floor if floor > _RANK**2 * float(target @ target) else 0.0
    return GaussianRegression(sizes[seen] ** 2, (along / sizes[seen]) ** 2, task.sigma**2 + floor, floor)


def mean_fine_tuned_risk(difference: Float64[np.ndarray, " d"], covariance: Covariance, n: int) -> float:
    """Return the mean risk of fine-tuned linear regression (shachaf2021, eq. 2) on many Gaussian inputs.

        E ||Sigma^(1/2) P_perp D||^2  ->  kappa^2 sum_i lambda_i D_i^2 / (lambda_i + kappa)^2 / (1 - df2/n)

    without noise and without a ridge (P_perp projects on the complement of the rows of X).

    Args:
        difference: D = theta_T - theta_S, shape (d,).
        n: Number of target examples, at least 1; the risk is 0 from the rank of Sigma on.

    Returns:
        The risk; exact for Sigma = I, within O(1/n) otherwise.
    """
    squares = covariance.to_eigenbasis(difference) ** 2
    return float(GaussianRegression(covariance.eigenvalues, squares).risk(n))


def ridge_weights(
    inputs: Float64[np.ndarray, "n d"], targets: Float64[np.ndarray, " n"], ridge: float
) -> Float64[np.ndarray, " d"]:
    """Return the minimiser of (1/2n) ||X w - y||^2 + (ridge/2) ||w||^2; that of least norm without a ridge."""
    if math.isinf(ridge):
        return np.zeros(inputs.shape[1])
    if ridge == 0:
        return np.asarray(np.linalg.lstsq(inputs, targets, rcond=None)[0])
    left, sizes, right = np.linalg.svd(inputs, full_matrices=False)
    return np.asarray(right.T @ (sizes / (sizes**2 + len(inputs) * ridge) * (left.T @ targets)))
