"""Two-layer quadratic networks: pretraining, joint training and MeRLin on the distributions of merlin2020 section 5.

f(x) = sum_r theta_r (phi_r'x)^2 = x'Ax, A = phi diag(theta) phi'. The source loss is exact (no samples); the target is
a small sample. Objectives, with penalty lambda on the squares of all weights that they train:

    pretrain   L_s(theta_s, phi)
    joint      L_s(theta_s, phi) + mean target error of (theta_t, phi)
    MeRLin     L_s(theta_s, phi) + mean error on one half of the target of the ridge head fitted on the other half

Batched Adam with cosine decay. A single random start is near chance also for MeRLin: take the best of several restarts
by training objective (`best_restarts`), or compare starts at the right and at a wrong feature.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transferscope_papers.problems import QuadraticProblem
from transferscope_papers.simulate.descent import Weights, times
from transferscope_papers.simulate.outcomes import StatusArray
from transferscope_papers.simulate.seeds import SAMPLE, generator, normal
from transferscope_papers.theory.quadratic import source_minimum

FEATURES, HALVES = 400, 401
"""Random streams of the initial features and of the half-splits."""

EVALUATION_SPLITS = 64
"""Half-splits over which a final MeRLin objective is averaged."""

_STEPS_AHEAD = 50
"""Steps whose half-splits are drawn in one call."""


@dataclass(frozen=True, slots=True)
class QuadraticSettings:
    """Settings of the training of quadratic networks.

    Attributes:
        penalty: lambda on squared weights, at least 0; .01 to .03 keeps the solution sparse.
        inner_ridge: Ridge of the inner head on the sum of squared errors, above 0; .1 to 1 when the start is noisy.
        n_splits: Random half-splits per step of MeRLin, at least 1; 2 to 4 are enough.
        steps: Adam steps, at least 10.
        lr: Initial step size, above 0; it decays to 0 along a half cosine.
        source_only: First steps of joint training and MeRLin that ignore the target, at least 0.
        tolerance: Relative change of the objective over the last tenth of the steps below which a run has converged.
    """

    penalty: float = 0.01
    inner_ridge: float = 0.1
    n_splits: int = 4
    steps: int = 3000
    lr: float = 0.003
    source_only: int = 0
    tolerance: float = 0.02


@dataclass(frozen=True)
class TargetSamples:
    """B target samples of the problem of merlin2020, which may differ in size and in their source.

    Attributes:
        inputs: Shape (B, n, d), n the largest size; smaller samples are padded with zero rows.
        labels: Shape (B, n), 0 or 1; 0 in the rows that are padding.
        sizes: Target examples of each element, shape (B,).
        telling: Whether an entry determines y in the source, 0 or 1, shape (B, d): the first k.
    """

    inputs: Float[Tensor, "B n d"]
    labels: Float[Tensor, "B n"]
    sizes: Int[Tensor, " B"]
    telling: Float[Tensor, "B d"]
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class QuadraticRun:
    """Results of B networks.

    Attributes:
        objective: The training objective at the end (MeRLin: over fixed half-splits), shape (B,).
        target_loss: Population loss on the target, with a ridge head refitted on the whole target sample (for joint
            training with its own target head), shape (B,).
        status: "converged", "max_steps" (the objective still moved) or "non_finite", shape (B,).
    """

    objective: Float[np.ndarray, " B"]
    target_loss: Float[np.ndarray, " B"]
    status: StatusArray


def best_restarts(objective: Float[np.ndarray, " B"], n_restarts: int) -> Int[np.ndarray, " G"]:
    """Return the index of the lowest training objective among each `n_restarts` consecutive elements."""
    groups = np.where(np.isfinite(objective), objective, np.inf).reshape(-1, n_restarts)
    return np.asarray(groups.argmin(1) + n_restarts * np.arange(len(groups)))


def draw_targets(
    problem: QuadraticProblem, n_target: int | Sequence[int], seeds: Sequence[int], *, n_signal: int | Sequence[int]
) -> TargetSamples:
    """Return target samples for a source distribution.

    Args:
        problem: The target (k = 1).
        n_target: Target examples n_t, at least 2; one number, or one per element.
        seeds: One per element; equal seeds and sizes give equal samples.
        n_signal: The source's k, from 2 to d; one number, or one per element.
    """
    sizes = [n_target] * len(seeds) if isinstance(n_target, int) else list(n_target)
    sources = [n_signal] * len(seeds) if isinstance(n_signal, int) else list(n_signal)
    inputs, labels = np.zeros((len(seeds), max(sizes), problem.d)), np.zeros((len(seeds), max(sizes)))
    for i, (seed, n) in enumerate(zip(seeds, sizes, strict=True)):
        sample = problem.sample(n, generator(seed, SAMPLE))
        inputs[i, :n], labels[i, :n] = sample.inputs, sample.targets
    telling = np.arange(problem.d) < np.array(sources)[:, None]
    return TargetSamples(
        torch.from_numpy(inputs),
        torch.from_numpy(labels),
        torch.tensor(sizes),
        torch.from_numpy(telling.astype(np.float64)),
        tuple(seeds),
    )


def noisy_start(seeds: Sequence[int], n_inputs: int, *, width: int, noise: float) -> Weights:
    """Return small independent weights: phi (B, d, m) with entries of size noise/sqrt(d), theta (B, m) of size
    noise."""
    phi = noise / n_inputs**0.5 * normal(seeds, (n_inputs, width), stream=FEATURES)
    return phi, noise * normal(seeds, (width,), stream=FEATURES + 2)


def start_at_feature(
    seeds: Sequence[int], n_inputs: int, *, feature: int, width: int, penalty: float, noise: float = 0.02
) -> Weights:
    """Return the sparse source minimum on one coordinate, plus noise on every weight.

    Args:
        feature: Index j of e_j from 0: 0 is the feature shared with the target.
        penalty: lambda; sets the size of the minimum.
        noise: See `noisy_start`.
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
        start: phi and theta; the target head starts as a copy of the source head.
    """

    def objective(weights: Weights, step: int) -> Tensor:
        phi, head, target_head = weights
        value = _source_objective(data, (phi, head), settings) + settings.penalty * target_head.square().sum(1)
        if step < settings.source_only:
            return value
        hidden = _hidden(phi, data.inputs)
        return value + (times(hidden, target_head) - data.labels).square().sum(1) / data.sizes

    return _run(data, (*start, start[1].clone()), objective, settings)


def merlin(data: TargetSamples, start: Weights, settings: QuadraticSettings) -> QuadraticRun:
    """Learn features whose ridge head on one half of the target predicts the other half (merlin2020 eq. 5 and 6)."""
    streams = [generator(seed, HALVES) for seed in data.seeds]
    fixed = Halves.draw([generator(seed, HALVES + 1) for seed in data.seeds], data.sizes, EVALUATION_SPLITS)
    ahead: list[Halves] = []

    def objective(weights: Weights, step: int) -> Tensor:
        value = _source_objective(data, weights, settings)
        if 0 <= step < settings.source_only:
            return value
        if step >= 0 and not ahead:
            together = min(_STEPS_AHEAD, settings.steps - step)
            drawn = Halves.draw(streams, data.sizes, together * settings.n_splits)
            ahead.extend(drawn.pieces(settings.n_splits))
        splits = ahead.pop(0) if step >= 0 else fixed
        return value + validation_loss(data, weights[0], splits, settings.inner_ridge)

    return _run(data, start, objective, settings)


def ridge_head(hidden: Float[Tensor, "*B n m"], labels: Float[Tensor, "*B n"], ridge: float) -> Float[Tensor, "*B m"]:
    """Return theta = H'(HH' + ridge I)^-1 y by Cholesky (merlin2020 eq. 7 with its shape corrected: H' in front).

    With fewer features than examples it is computed as (H'H + ridge I)^-1 H'y, which is equal.
    """
    n, m = hidden.shape[-2:]
    if m < n:
        factor = torch.linalg.cholesky(hidden.mT @ hidden + ridge * torch.eye(m, dtype=hidden.dtype))
        return torch.cholesky_solve(hidden.mT @ labels.unsqueeze(-1), factor).squeeze(-1)
    factor = torch.linalg.cholesky(hidden @ hidden.mT + ridge * torch.eye(n, dtype=hidden.dtype))
    return (hidden.mT @ torch.cholesky_solve(labels.unsqueeze(-1), factor)).squeeze(-1)


def population_loss(
    phi: Float[Tensor, "B d m"], head: Float[Tensor, "B m"], telling: Float[Tensor, "B d"]
) -> Float[Tensor, " B"]:
    """Return E (x'Ax - y)^2 of networks A = phi diag(head) phi' in closed form, differentiable.

    It is (1/3) M_0 + (2/3) (M_1 - 2 E[x'Ax | y = 1] + 1) with M_y = E[(x'Ax)^2 | y].
    Given y, the entries of x are independent and symmetric; those that determine y have variance v_i = y and the others
    2/3, equal to their fourth moments, so that with T the sum of A_ii over the former and U over the latter

        M_0 = (4/9) U^2 - (2/3) sum_U A_ii^2 + 2 Q_0
        M_1 = (T + 2U/3)^2 - 2 sum_T A_ii^2 - (2/3) sum_U A_ii^2 + 2 Q_1

    and Q_y = sum_ij A_ij^2 v_i v_j = sum_rs head_r head_s (phi_r' diag(v) phi_s)^2, which takes no d x d matrix. It can
    be differentiated once.
    """
    value: Tensor = _PopulationLoss.apply(phi, head, telling)  # type: ignore[no-untyped-call]
    return value


def _run(
    data: TargetSamples, start: Weights, objective: Callable[[Weights, int], Tensor], settings: QuadraticSettings
) -> QuadraticRun:
    """Run Adam with cosine decay on the sum of the elements' objectives; Adam acts entry by entry, so they are
    independent."""
    weights = tuple(layer.clone().requires_grad_() for layer in start)
    optimiser = torch.optim.Adam(weights, lr=settings.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, settings.steps)

    def value() -> Tensor:
        with torch.no_grad():
            return objective(weights, -1)

    before = torch.empty(0)
    for step in range(settings.steps):
        if step == settings.steps - settings.steps // 10:
            before = value()
        optimiser.zero_grad()
        objective(weights, step).sum().backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    after = value()
    phi, _, *own_head = (layer.detach() for layer in weights)
    first = torch.zeros_like(data.telling)
    first[:, 0] = 1.0
    refitted = ridge_head(_hidden(phi, data.inputs), data.labels, settings.inner_ridge)
    target_head = own_head[0] if own_head else refitted
    status = np.where((after - before).abs() <= settings.tolerance * after.abs(), "converged", "max_steps")
    return QuadraticRun(
        objective=after.numpy(),
        target_loss=population_loss(phi, target_head, first).numpy(),
        status=np.where(torch.isfinite(after), status, "non_finite"),
    )


def _source_objective(data: TargetSamples, weights: Weights, settings: QuadraticSettings) -> Tensor:
    phi, head = weights
    size = phi.square().sum((1, 2)) + head.square().sum(1)
    return population_loss(phi, head, data.telling) + settings.penalty * size


class _PopulationLoss(torch.autograd.Function):
    """`population_loss`, with its gradient in closed form: a third of the operations of automatic differentiation."""

    @staticmethod
    def forward(ctx: Any, phi: Tensor, head: Tensor, telling: Tensor) -> Tensor:
        """Return the loss, shape (B,); keeps its gradients."""
        other = 1 - telling
        diagonal = times(phi.square(), head)
        told, rest = (diagonal * telling).sum(1), (diagonal * other).sum(1)
        trace = told + 2 / 3 * rest
        own = (diagonal.square() * (4 / 3 * telling + 2 / 3 * other)).sum(1)

        given_0 = phi * (2 / 3 * other).unsqueeze(2)
        given_1 = given_0 + phi * telling.unsqueeze(2)
        gram_0, gram_1 = given_0.mT @ phi, given_1.mT @ phi
        pull = times(2 / 3 * gram_0.square() + 4 / 3 * gram_1.square(), head)
        loss = 4 / 27 * rest.square() + 2 / 3 * (trace - 1).square() - own + (head * pull).sum(1)

        if_told, if_other = 4 / 3 * (trace - 1), 8 / 27 * rest + 8 / 9 * (trace - 1)
        steep = telling * (if_told.unsqueeze(1) - 8 / 3 * diagonal)
        steep += other * (if_other.unsqueeze(1) - 4 / 3 * diagonal)
        pairs = head.unsqueeze(2) * head.unsqueeze(1)
        along_phi = 2 * steep.unsqueeze(2) * phi * head.unsqueeze(1)
        along_phi += given_0 @ (8 / 3 * gram_0 * pairs) + given_1 @ (16 / 3 * gram_1 * pairs)
        ctx.save_for_backward(along_phi, times(phi.square().mT, steep) + 2 * pull)
        return loss

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, Tensor, None]:
        """Return gradients along phi and head."""
        along_phi, along_head = ctx.saved_tensors
        return upstream.view(-1, 1, 1) * along_phi, upstream.view(-1, 1) * along_head, None


@dataclass(frozen=True)
class Halves:
    """Random halves of samples of any sizes: which rows fit the head, and which validate it.

    Attributes:
        fit: 1 for the rows of the first halves, 0 for others, shape (B, splits, n).
        check: 1 for the rows of the second halves, likewise; both are 0 for padding.
        n_checked: Rows in the second half, shape (B,).
    """

    fit: Tensor
    check: Tensor
    n_checked: Tensor

    @staticmethod
    def draw(streams: Sequence[np.random.Generator], sizes: Tensor, n_splits: int) -> "Halves":
        """Shuffle each sample `n_splits` times, and cut it in the middle."""
        fit = np.zeros((len(streams), n_splits, int(sizes.max())))
        check = np.zeros_like(fit)
        for i, (stream, n) in enumerate(zip(streams, sizes.tolist(), strict=True)):
            order = stream.permuted(np.tile(np.arange(n), (n_splits, 1)), axis=1)
            np.put_along_axis(fit[i], order[:, : n // 2], 1.0, axis=1)
            np.put_along_axis(check[i], order[:, n // 2 :], 1.0, axis=1)
        return Halves(torch.from_numpy(fit), torch.from_numpy(check), sizes - sizes // 2)

    def pieces(self, n_splits: int) -> list["Halves"]:
        """Return consecutive parts with this many splits each."""
        ends = range(n_splits, self.fit.shape[1] + 1, n_splits)
        return [
            Halves(self.fit[:, end - n_splits : end], self.check[:, end - n_splits : end], self.n_checked)
            for end in ends
        ]


def validation_loss(data: TargetSamples, phi: Tensor, halves: Halves, ridge: float) -> Tensor:
    """Return mean squared error on second halves of heads fitted on first halves, shape (B,)."""
    value: Tensor = _ValidationLoss.apply(  # type: ignore[no-untyped-call]
        _hidden(phi, data.inputs), data.labels, halves.fit, halves.check, halves.n_checked, ridge
    )
    return value


class _ValidationLoss(torch.autograd.Function):
    """Validation loss of ridge heads with its gradient by implicit differentiation: one more solve with each factor."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, labels: Tensor, fit: Tensor, check: Tensor, n_checked: Tensor, ridge: float
    ) -> Tensor:
        """Return the loss, shape (B,), of hidden (B, n, m) and labels (B, n) in halves (B, splits, n); keeps its
        gradient."""
        each = hidden.unsqueeze(1)
        gram = (each * fit.unsqueeze(3)).mT @ each  # (B, splits, m, m)
        factor = torch.linalg.cholesky(gram + ridge * torch.eye(hidden.shape[2], dtype=hidden.dtype))
        head = _solved(factor, (fit * labels.unsqueeze(1)) @ hidden)  # (B, splits, m)
        errors = head @ hidden.mT - labels.unsqueeze(1)
        checked = check * errors
        loss = (checked * errors).sum(2).mean(1) / n_checked

        checked = checked * 2 / (fit.shape[1] * n_checked.view(-1, 1, 1))
        change = _solved(factor, checked @ hidden)
        gradient = (checked - fit * (change @ hidden.mT)).mT @ head - (fit * errors).mT @ change
        ctx.save_for_backward(gradient)
        return loss

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None, None, None, None]:
        """Return gradient along hidden."""
        (gradient,) = ctx.saved_tensors
        return upstream.view(-1, 1, 1) * gradient, None, None, None, None, None


def _solved(factor: Tensor, vectors: Tensor) -> Tensor:
    """Solve for vectors (..., m), given Cholesky factors of the matrices."""
    return torch.cholesky_solve(vectors.unsqueeze(3), factor).squeeze(3)


def _hidden(phi: Tensor, inputs: Tensor) -> Tensor:
    """Return (phi'x)^2, shape (B, n, m)."""
    return (inputs @ phi).square()
