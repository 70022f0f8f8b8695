"""What three learners come to on a pair of linear tasks: in theory, and on given examples.

    pair = LinearPair.at_angle(100, math.pi / 4, sigma=0.5)
    LinearTransfer(ridge="best").risk(pair, np.array([10, 30, 100]))

Each is one ridge regression on Gaussian inputs, of which `gaussian_regression` knows the mean risk:

    Scratch          of y on x, from 0
    FineTuning       of y on x, from Theta_S (one layer); a deeper network by `fine_tuning_average`, for Sigma = c I
    LinearTransfer   of y on the features Phi'x, from 0, with what they leave of the target as further noise

A deep linear network that starts near zero and learns the source on the population ends with the same features for
every Sigma: gradient flow keeps W_j'W_j - W_(j+1)W_(j+1)', which is near 0, so that all layers end with the singular
values of Theta_S to the power 1/L, and the first with its left singular vectors. With Theta_S = U S V' these are

    Phi = U S^((L-1)/L),    r of them,    Phi'x ~ N(0, Phi' Sigma Phi)

so that for r = 1 the isotropic formulas hold with norms and angle in the inner product of Sigma. With B the regression
of the target on the features and V the covariance of its residual x'Theta_T - x'Phi B, which is independent of them,

    risk without a ridge = tr V + tr(V + Sigma_eps) r/(n - r - 1),    n > r + 1
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64
from scipy import stats

from transferscope.errors import SettingsError
from transferscope_papers.parameters import Array, Numbers, at_least, counts
from transferscope_papers.theory.fine_tuning import fine_tuned_weights, fine_tuning_average
from transferscope_papers.theory.gaussian_regression import GaussianRegression
from transferscope_papers.theory.linear_pair import LinearPair

Ridge: TypeAlias = float | str
"""lambda of (1/2n) ||error||^2 + (lambda/2) ||weights||^2; "best" is the one of the least mean risk at each n."""

Inputs: TypeAlias = Float64[np.ndarray, "n d"]
Targets: TypeAlias = Float64[np.ndarray, " n *k"]
Weights: TypeAlias = Float64[np.ndarray, " d *k"]

_RANK = 1e-10


@runtime_checkable
class Learner(Protocol):
    """What learns the target of a pair, perhaps with the help of its source."""

    def risk(self, pair: LinearPair, n: Numbers) -> Array:
        """The mean excess risk over target samples of n examples, in the shape of n."""
        ...

    def is_exact(self, pair: LinearPair, n: Numbers) -> Bool[np.ndarray, "..."]:
        """Whether that is exact, rather than the limit of many inputs, which is off by O(1/n)."""
        ...

    def fit(self, inputs: Inputs, targets: Targets, pair: LinearPair) -> Weights:
        """The end-to-end weights on given examples of the target, in the shape of the target's."""
        ...


@dataclass(frozen=True, kw_only=True)
class _RidgeLearner:
    """A learner that is one ridge regression; a member says of what. Settings go by name: a depth is no ridge."""

    ridge: Ridge = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.ridge, str) and self.ridge != "best":
            raise SettingsError(f"ridge = {self.ridge!r} was given; expected a number of at least 0, or 'best'")
        if not isinstance(self.ridge, str):
            at_least("ridge", self.ridge, 0)

    def regression(self, pair: LinearPair) -> GaussianRegression:
        """What is regressed on what."""
        raise NotImplementedError

    def ridge_for(self, pair: LinearPair, n: Numbers) -> Array:
        """lambda at each n: the given one, or that of the least mean risk."""
        if self.ridge == "best":
            return self.regression(pair).best_ridge(n)
        return np.full(np.shape(n), float(self.ridge))

    def risk(self, pair: LinearPair, n: Numbers) -> Array:
        """See `Learner.risk`; infinite where the mean does not exist (see `gaussian_regression`)."""
        return self.regression(pair).risk(n, self.ridge_for(pair, n))

    def is_exact(self, pair: LinearPair, n: Numbers) -> Bool[np.ndarray, "..."]:
        """See `Learner.is_exact`."""
        return self.regression(pair).is_exact(n, self.ridge_for(pair, n))


@dataclass(frozen=True, kw_only=True)
class Scratch(_RidgeLearner):
    """Training from scratch on the target alone: least squares of least norm, or a ridge towards 0.

    A deep linear network that starts near zero reaches the first, whatever its depth (tahir2024, Theorem 3.6).

    Attributes:
        ridge: lambda on the end-to-end weights, at least 0, or "best".
    """

    def regression(self, pair: LinearPair) -> GaussianRegression:
        """Of y on x."""
        squares = np.sum(pair.in_eigenbasis(pair.target) ** 2, axis=1)
        return GaussianRegression(pair.inputs.eigenvalues, squares, pair.noise)

    def fit(self, inputs: Inputs, targets: Targets, pair: LinearPair) -> Weights:
        """See `Learner.fit`."""
        return _solve(inputs, targets, _ridge_once(self, pair, len(inputs)))


@dataclass(frozen=True, kw_only=True)
class LinearTransfer(_RidgeLearner):
    """The features of the source are frozen and only the head is trained (tahir2024, Theorems 3.7 and 3.8).

    Attributes:
        ridge: lambda on the head, at least 0, or "best".
        depth: Number of layers L, at least 2; without a ridge, and with the best, it is of no influence.
    """

    depth: float = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("depth", self.depth, 2)

    def features(self, pair: LinearPair) -> Float64[np.ndarray, "d r"]:
        """Phi = U S^((L-1)/L): what pre-training on the population from a vanishing start leaves, r of them.

        Raises:
            SettingsError: The source is 0, so that there are none.
        """
        left, sizes, _ = np.linalg.svd(pair.source.reshape(pair.d, -1), full_matrices=False)
        kept = sizes > _RANK * sizes.max()
        if not kept.any():
            raise SettingsError("the source is 0, so that pre-training leaves no features; give it a teacher")
        return np.asarray(left[:, kept] * sizes[kept] ** (1 - 1 / self.depth))

    def regression(self, pair: LinearPair) -> GaussianRegression:
        """Of y on Phi'x."""
        return regression_on_features(pair, self.features(pair))

    def fit(self, inputs: Inputs, targets: Targets, pair: LinearPair) -> Weights:
        """See `Learner.fit`."""
        features = self.features(pair)
        return np.asarray(features @ _solve(inputs @ features, targets, _ridge_once(self, pair, len(inputs))))


def regression_on_features(pair: LinearPair, features: Float64[np.ndarray, "d r"]) -> GaussianRegression:
    """Of the target on given features of Gaussian inputs; what they leave of it is noise, and the floor of the risk.

    Args:
        pair: Its target, noise and covariance count; its source does not.
        features: Phi, shape (d, r), as another source or an unfinished pre-training leaves them.

    Returns:
        The regression of y on Phi'x, from 0.
    """
    root = np.sqrt(pair.inputs.eigenvalues)[:, None]
    seen_as, target = root * pair.in_eigenbasis(features), root * pair.in_eigenbasis(pair.target)
    left, sizes, _ = np.linalg.svd(seen_as, full_matrices=False)  # sizes^2 are the eigenvalues of Phi' Sigma Phi
    seen = sizes > _RANK * sizes.max()
    along = left[:, seen].T @ target  # (r, k): sizes times the head in the eigenbasis of Phi' Sigma Phi
    floor = float(np.sum((target - left[:, seen] @ along) ** 2))
    floor = floor if floor > _RANK**2 * float(np.sum(target**2)) else 0.0
    squares = np.sum((along / sizes[seen, None]) ** 2, axis=1)
    return GaussianRegression(sizes[seen] ** 2, squares, pair.noise + floor, floor)


@dataclass(frozen=True, kw_only=True)
class FineTuning(_RidgeLearner):
    """Every layer is trained from the source (shachaf2021, Theorems 4.1 and 5.2, with label noise).

    Attributes:
        depth: Number of layers L, at least 1; may be infinite. From 2 on `risk` is known for Sigma = c I, one output
            and no ridge; `fit` for any Sigma.
        ridge: lambda on the distance to the source (L2-SP), for one layer; at least 0, or "best".
        draws: Draws of the examples that the mean of a deeper network is taken over (`fine_tuning_average`).
    """

    depth: float = 1
    draws: int = 20_000

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("depth", self.depth, 1)
        if self.depth > 1 and self.ridge != 0:
            raise SettingsError(
                f"a ridge of {self.ridge} was asked for with depth = {self.depth:g}; what a pull towards the source "
                "comes to is derived for one layer, so leave the ridge out or give depth=1"
            )

    def regression(self, pair: LinearPair) -> GaussianRegression:
        """Of y - x'Theta_S on x: one layer keeps what it knows outside the examples."""
        _check_outputs(pair)
        difference = pair.in_eigenbasis(pair.target) - pair.in_eigenbasis(pair.source)
        return GaussianRegression(pair.inputs.eigenvalues, np.sum(difference**2, axis=1), pair.noise)

    def risk(self, pair: LinearPair, n: Numbers) -> Array:
        """See `Learner.risk`.

        Raises:
            SettingsError: The network is deep, and the inputs or outputs are not those that it is derived for.
        """
        if self.depth == 1:
            return super().risk(pair, n)
        _check_outputs(pair)
        lam = pair.inputs.eigenvalues
        if pair.n_outputs > 1 or lam[-1] < lam[0] * (1 - _RANK):
            raise SettingsError(
                f"the risk of fine-tuning with depth = {self.depth:g} is derived for one output and inputs of equal "
                "variance; give depth=1, or fit drawn examples (`fit`, or `sweep` with theory=False)"
            )
        # with Sigma = c I: the inputs x/sqrt(c) are standard, the noise is sigma/sqrt(c), and the risk c times theirs
        norms = np.linalg.norm(pair.source), np.linalg.norm(pair.target)
        cosine = pair.source.ravel() @ pair.target.ravel() / max(norms[0] * norms[1], np.finfo(float).tiny)
        sizes = counts("n", n, whole=True)
        risks = [
            fine_tuning_average(
                float(np.arccos(np.clip(cosine, -1, 1))),
                int(size),
                pair.d,
                sigma=float(np.sqrt(pair.noise / lam[0])),
                source_norm=float(norms[0]),
                target_norm=float(norms[1]),
                depth=self.depth,
                draws=self.draws,
            ).risk.value
            for size in sizes.ravel()
        ]
        return np.asarray(lam[0] * np.array(risks).reshape(sizes.shape))

    def is_exact(self, pair: LinearPair, n: Numbers) -> Bool[np.ndarray, "..."]:
        """See `Learner.is_exact`; a mean over draws of an exact formula counts as exact."""
        return super().is_exact(pair, n) if self.depth == 1 else np.full(np.shape(n), fill_value=True)

    def fit(self, inputs: Inputs, targets: Targets, pair: LinearPair) -> Weights:
        """See `Learner.fit`.

        Raises:
            SettingsError: A deep network has several outputs.
        """
        _check_outputs(pair)
        if self.depth > 1:
            if pair.n_outputs > 1:
                raise SettingsError(
                    f"fine-tuning with depth = {self.depth:g} is derived for one output, and the target has "
                    f"{pair.n_outputs}; give depth=1"
                )
            found = fine_tuned_weights(inputs, targets.reshape(-1), pair.source.reshape(-1), depth=self.depth)
            return found.weights.reshape(pair.target.shape)
        source = pair.source.reshape(pair.target.shape)
        ridge = _ridge_once(self, pair, len(inputs))
        return np.asarray(source + _solve(inputs, targets - inputs @ source, ridge))


def sweep(
    pairs: Mapping[str, LinearPair],
    learners: Mapping[str, Learner],
    n: Sequence[int],
    *,
    draws: int = 100,
    seed: int = 0,
    theory: bool = True,
) -> pd.DataFrame:
    """Theory beside simulation for every pair, learner and number of examples.

    Args:
        learners: The learners by name; those of one draw see the same examples.
        n: Numbers of target examples, at least 1.
        draws: Target samples for each pair and n, at least 2; 0 for theory alone.
        theory: Whether to ask for the mean risk in theory; False where it is not derived.

    Returns:
        A row for each pair, learner and n: `theory`, whether it is `exact` rather than the limit of many inputs,
        `simulation` with its `stderr` over `draws`, and `z`, their distance in standard errors, as a normal score. z is
        missing where the mean is infinite; where theory is a limit it grows with the draws.

    Raises:
        SettingsError: There is nothing to do, or a learner has no theory for a pair.
    """
    if not (pairs and learners and len(n)):
        raise SettingsError("a sweep needs at least one pair, one learner and one number of examples")
    if draws < 0 or draws == 1:
        raise SettingsError(f"draws = {draws} were asked for; a standard error takes at least 2, and 0 is theory alone")
    sizes = np.asarray(n)
    rows = []
    for i, (pair_name, pair) in enumerate(pairs.items()):
        risks = {size: _simulated(pair, learners, int(size), draws, [seed, i, int(size)]) for size in sizes}
        for name, learner in learners.items():
            means = learner.risk(pair, sizes) if theory else np.full(len(sizes), np.nan)
            exact = learner.is_exact(pair, sizes) if theory else np.zeros(len(sizes), dtype=bool)
            for size, mean, sure in zip(sizes.tolist(), means.tolist(), exact.tolist(), strict=True):
                rows.append((pair_name, name, size, mean, sure, *_compared(risks[size][name], mean)))
    columns = ["pair", "learner", "n", "theory", "exact", "simulation", "stderr", "draws", "z"]
    return pd.DataFrame(rows, columns=columns)


def _simulated(
    pair: LinearPair, learners: Mapping[str, Learner], n: int, draws: int, seed: list[int]
) -> dict[str, np.ndarray]:
    risks = {name: np.empty(draws) for name in learners}
    for k in range(draws):
        sample = pair.sample(n, np.random.default_rng([*seed, k]))
        for name, learner in learners.items():
            risks[name][k] = pair.risk(learner.fit(sample.inputs, sample.targets, pair))
    return risks


def _compared(risks: np.ndarray, expected: float) -> tuple[float, float, int, float]:
    """Mean, standard error, draws, and the score of Student's t as a normal one."""
    if not len(risks):
        return np.nan, np.nan, 0, np.nan
    mean, stderr = float(risks.mean()), float(risks.std(ddof=1) / np.sqrt(len(risks)))
    if not np.isfinite(expected):
        return mean, stderr, len(risks), np.nan
    distance = mean - expected
    if abs(distance) <= 1e-12 * max(abs(expected), 1.0):
        return mean, stderr, len(risks), 0.0
    t = distance / stderr if stderr > 0 else np.inf * np.sign(distance)
    return mean, stderr, len(risks), float(np.sign(t) * stats.norm.isf(stats.t.sf(abs(t), len(risks) - 1)))


@lru_cache(maxsize=256)
def _ridge_once(learner: _RidgeLearner, pair: LinearPair, n: int) -> float:
    """The ridge of many fits of one size; a pair is known by its identity."""
    return float(learner.ridge_for(pair, n))


def _solve(inputs: np.ndarray, targets: np.ndarray, ridge: float) -> np.ndarray:
    """argmin (1/2n) ||X w - y||^2 + (ridge/2) ||w||^2, of least norm without a ridge."""
    if np.isinf(ridge):
        return np.zeros((inputs.shape[1], *targets.shape[1:]))
    if ridge == 0:
        return np.asarray(np.linalg.lstsq(inputs, targets, rcond=None)[0])
    left, sizes, right = np.linalg.svd(inputs, full_matrices=False)
    shrunk = (sizes / (sizes**2 + len(inputs) * ridge))[:, None] * (left.T @ targets.reshape(len(inputs), -1))
    return np.asarray((right.T @ shrunk).reshape(inputs.shape[1], *targets.shape[1:]))


def _check_outputs(pair: LinearPair) -> None:
    source = 1 if np.ndim(pair.source) == 1 else int(np.shape(pair.source)[1])
    if source != pair.n_outputs:
        raise SettingsError(
            f"the source has {source} outputs and the target {pair.n_outputs}; fine-tuning goes on with the source's "
            "head, so give both the same number, or use LinearTransfer"
        )
