"""Gradient descent on many small models at once, each with its own step size and stopping.

It follows gradient flow; if only the minimum matters and not the trajectory, it can be accelerated (Nesterov 1983,
with the restarts of O'Donoghue and Candes 2015).

Elements of the batch do not affect each other: the step size of an element depends on its own curvature, it is tested
for convergence at fixed step numbers, and it leaves the batch (all its tensors are dropped) when it ends. Results
therefore depend on the composition of the batch only through the summation order inside the matrix products.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transferscope_papers.simulate.outcomes import StatusArray

Weights = tuple[Tensor, ...]
"""The layers of B models, each of shape (B, ...). Functions that run in every step document shapes in words only."""

OVERFLOW = 1e100
"""Weights beyond this count as diverged."""


@dataclass(frozen=True)
class Slope:
    """Gradient and curvature of the training objective at the current weights.

    Attributes:
        gradient: One gradient per layer, each of the layer's shape (B, ...).
        curvature: An upper bound or approximation of the largest curvature, shape (B,), above 0.
    """

    gradient: Weights
    curvature: Tensor


@runtime_checkable
class Objective(Protocol):
    """B training objectives for `descend`."""

    def slope(self, weights: Weights) -> Slope:
        """Return gradient and curvature at `weights`."""
        ...

    def residual(self, weights: Weights) -> Tensor:
        """Return a relative distance from a minimum, shape (B,); below the tolerance an element has converged."""
        ...

    def take(self, index: Int[Tensor, " K"]) -> "Objective":
        """Return the objectives at `index`, for the weights at `index`."""
        ...


@dataclass(frozen=True, slots=True)
class DescentSettings:
    """Step sizes and stopping of gradient descent.

    The step of an element is min(stability / curvature, movement * norm(weights) / norm(gradient)): the first bound
    keeps it stable, the second keeps the discretisation error of the flow small (the drift of balancedness per step is
    quadratic in the relative movement, so the error of the limit is linear in `movement`).

    Attributes:
        tolerance: Relative residual at which an element has converged, above 0.
        max_steps: Largest number of steps of an element, at least 1.
        stability: Step size in units of one over the curvature, above 0; below 2 for stability on a quadratic.
        movement: Largest relative change of the weights in one step, above 0; infinite for plain curvature steps.
        check_every: Steps between two tests for convergence, at least 1.
        accelerated: Whether each step starts from the extrapolation of the last ones, y = w + k/(k + 3) (w - w_before)
            after k steps; k is 0 again whenever the gradient at y points along the step. This does not follow gradient
            flow.
    """

    tolerance: float = 1e-7
    max_steps: int = 200_000
    stability: float = 1.0
    movement: float = 0.005
    check_every: int = 25
    accelerated: bool = False


@dataclass(frozen=True)
class Descent:
    """Result of gradient descent per element.

    Attributes:
        weights: Final layers, each (B, ...); NaN or huge where the status is "non_finite".
        status: "converged", "max_steps" or "non_finite" for each element, shape (B,).
        residual: Relative residual at the end, shape (B,).
    """

    weights: Weights
    status: StatusArray
    steps: Int[np.ndarray, " B"]
    residual: Float[np.ndarray, " B"]


def descend(
    objective: Objective,
    start: Weights,
    settings: DescentSettings,
    *,
    retract: Callable[[Weights], Weights] | None = None,
) -> Descent:
    """Run gradient descent from `start` until every element has converged, diverged or reached `max_steps`.

    Args:
        start: Initial layers, each (B, ...); unchanged.
        retract: Projects weights back onto a constraint after a step, such as neurons of unit norm.
    """
    final = tuple(layer.clone() for layer in start)
    n_elements = len(start[0])
    status = np.full(n_elements, "max_steps", dtype="<U16")
    steps = np.full(n_elements, settings.max_steps)
    residual = np.full(n_elements, np.nan)
    active, motion = torch.arange(n_elements), _Motion.at_rest(start)
    for step in range(settings.max_steps + 1):
        last = step == settings.max_steps
        if last or step % settings.check_every == 0:
            distance = objective.residual(motion.weights)
            lost = ~(torch.isfinite(distance) & (norms(motion.weights).amax(0) <= OVERFLOW))
            done = lost | (distance <= settings.tolerance)
            leaving = done | last
            if bool(leaving.any()):
                where = active[leaving]
                for target, layer in zip(final, motion.weights, strict=True):
                    target[where] = layer[leaving]
                residual[where], steps[where] = distance[leaving], step
                status[active[done]], status[active[lost]] = "converged", "non_finite"
                keep = torch.nonzero(~leaving).flatten()
                if len(keep) == 0:
                    break
                active, objective = active[keep], objective.take(keep)
                motion = motion.take(keep)
        motion = motion.step(objective, settings, retract)
    return Descent(final, status, steps, residual)


@dataclass(frozen=True)
class _Motion:
    """Current and previous weights of the elements, and steps since the last restart, shape (B,)."""

    weights: Weights
    previous: Weights
    age: Tensor

    @staticmethod
    def at_rest(weights: Weights) -> "_Motion":
        return _Motion(weights, weights, torch.zeros(len(weights[0]), dtype=torch.float64))

    def take(self, index: Tensor) -> "_Motion":
        now, before = (tuple(layer[index] for layer in layers) for layers in (self.weights, self.previous))
        return _Motion(now, before, self.age[index])

    def step(
        self, objective: Objective, settings: DescentSettings, retract: Callable[[Weights], Weights] | None
    ) -> "_Motion":
        ahead, age = self.weights, self.age
        if settings.accelerated:
            share, pairs = age / (age + 3), zip(self.weights, self.previous, strict=True)
            ahead = tuple(now + _along(share, now) * (now - before) for now, before in pairs)
        slope = objective.slope(ahead)
        moved = _move(ahead, slope, settings)
        moved = retract(moved) if retract else moved
        if settings.accelerated:
            layers = zip(slope.gradient, moved, self.weights, strict=True)
            uphill = torch.stack([(g * (new - old)).flatten(1).sum(1) for g, new, old in layers]).sum(0) > 0
            age = torch.where(uphill, 0.0, age + 1)
        return _Motion(moved, self.weights, age)


def norms(layers: Weights) -> Tensor:
    """Return the Euclidean norm of each layer of each element, shape (L, B)."""
    return torch.stack([torch.linalg.vector_norm(layer.flatten(1), dim=1) for layer in layers])


def times(matrix: Tensor, vector: Tensor) -> Tensor:
    """Return matrix (B, n, m) times vector (B, m) for each element, shape (B, n)."""
    return torch.bmm(matrix, vector.unsqueeze(2)).squeeze(2)


def lengths(vectors: Tensor, *, keepdim: bool = False) -> Tensor:
    """Return the Euclidean norm along the last axis."""
    length: Tensor = torch.linalg.vector_norm(vectors, dim=-1, keepdim=keepdim)
    return length


def _move(weights: Weights, slope: Slope, settings: DescentSettings) -> Weights:
    rate = settings.stability / slope.curvature
    if np.isfinite(settings.movement):
        size, steepness = (torch.linalg.vector_norm(norms(layers), dim=0) for layers in (weights, slope.gradient))
        rate = torch.minimum(rate, settings.movement * size / steepness.clamp_min(torch.finfo(torch.float64).tiny))
    return tuple(
        torch.addcmul(layer, g, _along(rate, g), value=-1) for layer, g in zip(weights, slope.gradient, strict=True)
    )


def _along(values: Tensor, layer: Tensor) -> Tensor:
    """Return one factor per element for its layer, shape (B, 1, ...)."""
    return values.view(-1, *[1] * (layer.ndim - 1))
