"""Two-layer quadratic networks: pretraining, joint training and MeRLin on the distributions of merlin2020 section 5.

f(x) = sum_r theta_r (phi_r'x)^2 = x'Ax, A = phi diag(theta) phi'. The source loss is exact (no samples); the target is
a small sample. Objectives, with penalty lambda on the squares of all weights that they train:

    pretrain   L_s(theta_s, phi)
    joint      L_s(theta_s, phi) + mean target error of (theta_t, phi)
    MeRLin     L_s(theta_s, phi) + mean error on one half of the target of the ridge head fitted on the other half

Batched Adam with cosine decay. The outcome of one random start is near chance for MeRLin too: take the best of several
restarts by training objective (`best_restarts`), or compare starts at the right and at a wrong feature.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transferscope.data.problems import QuadraticProblem
from transferscope.errors import DataError
from transferscope.theory.quadratic import source_minimum
from transferscope_papers.simulate.descent import Weights, refuse_out_of_range, times
from transferscope_papers.simulate.outcomes import StatusArray
from transferscope_papers.simulate.seeds import SAMPLE, generator, normal

FEATURES, HALVES = 400, 401
"""Random streams of the initial features and of the half-splits."""

EVALUATION_SPLITS = 64
"""Half-splits over which a final MeRLin objective is averaged."""


@dataclass(frozen=True, slots=True)
class QuadraticSettings:
    """How quadratic networks are trained.

    Attributes:
        penalty: lambda on squared weights, at least 0; .01 to .03 keep the solution sparse.
        inner_ridge: Ridge of the inner head on the sum of squared errors, above 0; .1 to 1 when the start is noisy.
        n_splits: Random half-splits per step of MeRLin, at least 1; 2 to 4 are enough.
        steps: Adam steps, at least 10.
        lr: Initial step size, above 0; it decays to 0 along a half cosine.
        source_only: First steps of joint training and MeRLin that ignore the target, at least 0.
        tolerance: Relative change of the objective over the last tenth of the steps below which a run has converged.

    Raises:
        SettingsError: A value is out of its range.
    """

    penalty: float = 0.01
    inner_ridge: float = 0.1
    n_splits: int = 4
    steps: int = 3000
    lr: float = 0.003
    source_only: int = 0
    tolerance: float = 0.02

    def __post_init__(self) -> None:
        """Check every range."""
        checks = {
            "penalty": self.penalty >= 0,
            "inner_ridge": self.inner_ridge > 0,
            "n_splits": self.n_splits >= 1,
            "steps": self.steps >= 10,
            "lr": self.lr > 0,
            "source_only": self.source_only >= 0,
            "tolerance": self.tolerance > 0,
        }
        refuse_out_of_range(self, checks)


@dataclass(frozen=True)
class TargetSamples:
    """B target samples of merlin2020's problem.

    Attributes:
        source: The source distribution (2 <= k).
        target: The target distribution (k = 1).
        inputs: Shape (B, n, d).
        labels: Shape (B, n), 0 or 1.
        seeds: One per element.
    """

    source: QuadraticProblem
    target: QuadraticProblem
    inputs: Float[Tensor, "B n d"]
    labels: Float[Tensor, "B n"]
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class QuadraticRun:
    """Where B networks ended.

    Attributes:
        features: phi, shape (B, d, m).
        objective: The training objective at the end (MeRLin: over fixed half-splits), shape (B,).
        source_loss: Population loss on the source, shape (B,).
        target_loss: Population loss on the target, with a ridge head refitted on the whole target sample (for joint
            training with its own target head), shape (B,).
        status: "converged", "max_steps" (the objective still moved) or "non_finite", shape (B,).
        steps: Steps taken, shape (B,).
    """

    features: Float[np.ndarray, "B d m"]
    objective: Float[np.ndarray, " B"]
    source_loss: Float[np.ndarray, " B"]
    target_loss: Float[np.ndarray, " B"]
    status: StatusArray
    steps: Int[np.ndarray, " B"]

    def best_restarts(self, n_restarts: int) -> Int[np.ndarray, " G"]:
        """Of each `n_restarts` consecutive elements, the index of the one with the lowest training objective.

        Raises:
            DataError: The number of elements is no multiple of `n_restarts`.
        """
        if n_restarts < 1 or len(self.objective) % n_restarts:
            raise DataError(f"{len(self.objective)} runs are no whole number of groups of {n_restarts} restarts")
        groups = np.where(np.isnan(self.objective), np.inf, self.objective).reshape(-1, n_restarts)
        return np.asarray(groups.argmin(1) + n_restarts * np.arange(len(groups)))


def draw_targets(problem: QuadraticProblem, n_target: int, seeds: Sequence[int], *, n_signal: int) -> TargetSamples:
    """Target samples for one source distribution.

    Args:
        problem: The target (k = 1).
        n_target: Target examples n_t, at least 2.
        seeds: One per element; equal seeds give equal samples.
        n_signal: The source's k, from 2 to d.

    Returns:
        The samples.

    Raises:
        DataError: Fewer than two target examples.
    """
    if n_target < 2:
        raise DataError(f"n_target = {n_target} target examples were asked for; half-splits need at least 2")
    samples = [problem.sample(n_target, generator(seed, SAMPLE)) for seed in seeds]
    inputs = torch.from_numpy(np.stack([sample.inputs for sample in samples]))
    labels = torch.from_numpy(np.stack([sample.targets for sample in samples]))
    return TargetSamples(QuadraticProblem(problem.d, n_signal), problem, inputs, labels, tuple(seeds))


def noisy_start(seeds: Sequence[int], n_inputs: int, *, width: int, noise: float) -> Weights:
    """Small independent weights: phi (B, d, m) with entries of size noise/sqrt(d), theta (B, m) of size noise."""
    phi = noise / n_inputs**0.5 * normal(seeds, (n_inputs, width), stream=FEATURES)
    return phi, noise * normal(seeds, (width,), stream=FEATURES + 2)


def start_at_feature(
    seeds: Sequence[int], n_inputs: int, *, feature: int, width: int, penalty: float, noise: float = 0.02
) -> Weights:
    """The sparse source minimum on one coordinate, plus noise on every weight.

    Args:
        seeds: One per network.
        n_inputs: Input dimension d.
        feature: Index j of e_j from 0: 0 is the feature that the target shares.
        width: Number of neurons m.
        penalty: lambda; sets the size of the minimum.
        noise: See `noisy_start`.

    Returns:
        The layers.
    """
    best = source_minimum(penalty)
    phi, theta = noisy_start(seeds, n_inputs, width=width, noise=noise)
    phi[:, feature, 0] += float(best.feature_norm)
    theta[:, 0] += float(best.head)
    return phi, theta


def pretrain(data: TargetSamples, start: Weights, settings: QuadraticSettings) -> QuadraticRun:
    """Learn the source alone; the target gets a ridge head on the features found."""

    def objective(weights: Weights, step: int) -> Tensor:
        return _source_objective(data, weights, settings)

    return _run(data, start, objective, settings)


def joint_training(data: TargetSamples, start: Weights, settings: QuadraticSettings) -> QuadraticRun:
    """Learn source and target together, with a head each.

    Args:
        data: Target samples.
        start: phi and theta; the target head starts as a copy of the source head.
        settings: See `QuadraticSettings`.

    Returns:
        The runs.
    """

    def objective(weights: Weights, step: int) -> Tensor:
        phi, head, target_head = weights
        value = _source_objective(data, (phi, head), settings) + settings.penalty * target_head.square().sum(1)
        if step < settings.source_only:
            return value
        hidden = _hidden(phi, data.inputs)
        return value + (times(hidden, target_head) - data.labels).square().mean(1)

    return _run(data, (*start, start[1].clone()), objective, settings)


def merlin(data: TargetSamples, start: Weights, settings: QuadraticSettings) -> QuadraticRun:
    """Learn features whose ridge head on one half of the target predicts the other half (merlin2020 eq. 5 and 6)."""
    streams = [generator(seed, HALVES) for seed in data.seeds]
    fixed = _halves([generator(seed, HALVES + 1) for seed in data.seeds], data.labels.shape[1], EVALUATION_SPLITS)

    def objective(weights: Weights, step: int) -> Tensor:
        value = _source_objective(data, weights, settings)
        if 0 <= step < settings.source_only:
            return value
        splits = fixed if step < 0 else _halves(streams, data.labels.shape[1], settings.n_splits)
        return value + _validation_loss(data, weights[0], splits, settings.inner_ridge)

    return _run(data, start, objective, settings)


def ridge_head(hidden: Float[Tensor, "*B n m"], labels: Float[Tensor, "*B n"], ridge: float) -> Float[Tensor, "*B m"]:
    """theta = H'(HH' + ridge I)^-1 y by Cholesky (merlin2020 eq. 7 with its shape corrected: H' in front)."""
    eye = torch.eye(hidden.shape[-2], dtype=hidden.dtype)
    factor = torch.linalg.cholesky(hidden @ hidden.mT + ridge * eye)
    return (hidden.mT @ torch.cholesky_solve(labels.unsqueeze(-1), factor)).squeeze(-1)


def population_loss(matrices: Float[Tensor, "B d d"], n_signal: int) -> Float[Tensor, " B"]:
    """E (x'Ax - y)^2 in closed form, differentiable; see `QuadraticProblem.population_loss` for the formula."""
    v = torch.full(matrices.shape[-1:], 2 / 3, dtype=matrices.dtype)
    given_1, given_0 = v.clone(), v.clone()
    given_1[:n_signal], given_0[:n_signal] = 1.0, 0.0
    loss = _mean_square(matrices, given_0) / 3 + 2 / 3 * _mean_square(matrices, given_1)
    return loss + 2 / 3 * (1 - 2 * matrices.diagonal(dim1=1, dim2=2) @ given_1)


def _mean_square(matrices: Tensor, v: Tensor) -> Tensor:
    """E (x'Ax)^2 for independent symmetric entries in {-1, 0, 1} with variances v."""
    diagonal = matrices.diagonal(dim1=1, dim2=2)
    pairs = (matrices.square() @ v) @ v - diagonal.square() @ v.square()
    return diagonal.square() @ (v - v.square()) + (diagonal @ v).square() + 2 * pairs


def _run(
    data: TargetSamples, start: Weights, objective: Callable[[Weights, int], Tensor], settings: QuadraticSettings
) -> QuadraticRun:
    """Adam with cosine decay on the sum of the elements' objectives: Adam acts entry by entry, so none sees another."""
    weights = tuple(layer.clone().requires_grad_() for layer in start)
    optimiser = torch.optim.Adam(weights, lr=settings.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, settings.steps)
    before = torch.empty(0)
    for step in range(settings.steps):
        if step == settings.steps - settings.steps // 10:
            before = _evaluated(weights, objective)
        optimiser.zero_grad()
        objective(weights, step).sum().backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    return _finish(data, tuple(layer.detach() for layer in weights), (before, _evaluated(weights, objective)), settings)


def _evaluated(weights: Weights, objective: Callable[[Weights, int], Tensor]) -> Tensor:
    with torch.no_grad():
        return objective(weights, -1)


def _finish(
    data: TargetSamples, weights: Weights, objectives: tuple[Tensor, Tensor], settings: QuadraticSettings
) -> QuadraticRun:
    phi, head, *own_head = weights
    before, after = objectives
    refitted = ridge_head(_hidden(phi, data.inputs), data.labels, settings.inner_ridge)
    target_head = own_head[0] if own_head else refitted
    status = np.where((after - before).abs() <= settings.tolerance * after.abs(), "converged", "max_steps")
    return QuadraticRun(
        features=phi.numpy(),
        objective=after.numpy(),
        source_loss=population_loss(_matrices(phi, head), data.source.k).numpy(),
        target_loss=population_loss(_matrices(phi, target_head), data.target.k).numpy(),
        status=np.where(torch.isfinite(after), status, "non_finite"),
        steps=np.full(len(phi), settings.steps),
    )


def _source_objective(data: TargetSamples, weights: Weights, settings: QuadraticSettings) -> Tensor:
    phi, head = weights
    size = phi.square().sum((1, 2)) + head.square().sum(1)
    return population_loss(_matrices(phi, head), data.source.k) + settings.penalty * size


def _validation_loss(data: TargetSamples, phi: Tensor, order: Tensor, ridge: float) -> Tensor:
    """Mean squared error on second halves of heads fitted on first halves; `order` (B, splits, n) permutes samples."""
    half = order.shape[2] // 2
    hidden, labels = _hidden(phi, data.inputs), data.labels
    rows = torch.arange(len(order))[:, None, None]
    hidden, labels = hidden[rows, order], labels[rows, order]  # (B, splits, n, m), (B, splits, n)
    head = ridge_head(hidden[:, :, :half], labels[:, :, :half], ridge)
    predicted = (hidden[:, :, half:] @ head.unsqueeze(3)).squeeze(3)
    return (predicted - labels[:, :, half:]).square().mean((1, 2))


def _halves(streams: Sequence[np.random.Generator], n: int, n_splits: int) -> Tensor:
    """Random orders of the samples, shape (B, splits, n): the first half fits, the second validates."""
    orders = [stream.permuted(np.tile(np.arange(n), (n_splits, 1)), axis=1) for stream in streams]
    return torch.from_numpy(np.stack(orders))


def _hidden(phi: Tensor, inputs: Tensor) -> Tensor:
    """(phi'x)^2, shape (B, n, m)."""
    return (inputs @ phi).square()


def _matrices(phi: Tensor, head: Tensor) -> Tensor:
    """A = phi diag(theta) phi', shape (B, d, d)."""
    return (phi * head.unsqueeze(1)) @ phi.mT
