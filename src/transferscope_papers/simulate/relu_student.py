"""Two-layer ReLU students of ablated teachers, in the mean-field regime (tahir2024 section 4).

f(x) = (1/m) sum_i c_i relu(w_i'x) on x ~ N(0, I). The student learns the source on the exact population loss (closed
forms of overlaps and of their gradients), then the target from a finite sample: with frozen features, or from scratch.
Neurons stay on the unit sphere, as in the paper: the function is a function of w_i/norm(w_i), for which gradient flow
preserves the norms.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from transferscope_papers.problems import ReluNetwork, Sample
from transferscope_papers.simulate.descent import Descent, DescentSettings, Slope, Weights, descend, lengths, times
from transferscope_papers.simulate.outcomes import Outcomes, StatusArray
from transferscope_papers.simulate.seeds import normal

STUDENT_NEURONS, STUDENT_HEADS = 300, 301
"""Random streams of a student's initial neurons and heads."""

INITIAL_HEAD = 1e-7
"""Scale of the output weights at the start (tahir2024 Appendix D.2)."""

RULE = 3.5e-3
"""Relative error of the function at which training stops. It equals the loss of 1e-6 in tahir2024 (App. D.2) for its
teacher: E f*^2 = 0.164 with heads of 1 and d = 100."""

FLOW = DescentSettings(tolerance=RULE, max_steps=20_000, stability=0.5, movement=0.02)
"""Gradient flow, for training from scratch, whose result depends on the trajectory: steps of about m/2, 3 % from
m/10."""

PRETRAINING = DescentSettings(tolerance=RULE, max_steps=5000, stability=1.0, movement=0.02, accelerated=True)
"""Accelerated training of the source: the error of plain descent is ten times as large after the time 1000 m of
tahir2024."""


@dataclass(frozen=True)
class Students:
    """B trained students.

    Attributes:
        networks: The students, neurons of unit norm.
        status: "converged", "max_steps" or "non_finite" for each, shape (B,).
    """

    networks: tuple[ReluNetwork, ...]
    status: StatusArray


def random_students(seeds: Sequence[int], n_inputs: int, *, width: int) -> Weights:
    """Return neurons uniform on the sphere and heads near 0: the layers (B, m, d) and (B, m)."""
    neurons = normal(seeds, (width, n_inputs), stream=STUDENT_NEURONS)
    heads = INITIAL_HEAD * normal(seeds, (width,), stream=STUDENT_HEADS)
    return neurons / neurons.norm(dim=2, keepdim=True), heads


def pretrain(teachers: Sequence[ReluNetwork], start: Weights, settings: DescentSettings = PRETRAINING) -> Students:
    """Train by gradient descent on the population loss (1/2) E (f - f*)^2.

    Args:
        teachers: One per student, all with the same numbers of inputs and neurons.
        start: Initial students, as from `random_students`.
        settings: Step sizes and stopping. The residual is norm(f - f*)/norm(f*) in L2.
    """
    return _students(descend(_Population.of(teachers), start, settings, retract=_to_sphere))


def train_from_scratch(samples: Sequence[Sample], start: Weights, settings: DescentSettings = FLOW) -> Students:
    """Train by gradient descent on the sample loss (1/2n) sum (f(x_i) - y_i)^2.

    Args:
        samples: One per student, all of the same size.
        settings: Step sizes and stopping. The residual is norm(f(X) - y)/norm(y).
    """
    inputs = torch.from_numpy(np.stack([sample.inputs for sample in samples]))
    labels = torch.from_numpy(np.stack([sample.targets for sample in samples]))
    return _students(descend(_OnSample(inputs, labels), start, settings, retract=_to_sphere))


def refit_heads(students: Students, samples: Sequence[Sample], *, rcond: float | None = None) -> Students:
    """Run linear transfer: fit a new head on the frozen features of each student.

    By default it is that of gradient descent as in tahir2024 App. D.2: from 0, at rate 0.01 m, 1e5 steps or until the
    loss (1/2n) sum (f(x_i) - y_i)^2 is 1e-6. On the eigenvectors of the Gram matrix k(x_i, x_j)/n of the features, with
    eigenvalues w, it fits the share 1 - (1 - 0.01 w)^T of the labels after T steps, so that differences of nearly equal
    neurons, which have tiny eigenvalues, are hardly used.

    Args:
        samples: A target sample for each.
        rcond: Minimum-norm least squares instead, without singular values of the features below this share of the
            largest.

    Returns:
        Students with the same neurons, and the statuses of their pretraining.
    """
    networks = []
    for student, sample in zip(students.networks, samples, strict=True):
        features = student.features(sample.inputs) / len(student.heads)
        if rcond is None:
            heads = _descended_head(features, sample.targets)
        else:
            heads = np.linalg.lstsq(features, sample.targets, rcond=rcond)[0]
        networks.append(ReluNetwork(student.neurons, heads))
    return Students(tuple(networks), students.status)


HEAD_RATE, HEAD_STEPS, HEAD_LOSS = 0.01, 100_000, 1e-6


def _descended_head(features: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the head of gradient descent on features (n, m) that are divided by m, by their singular vectors."""
    n, m = features.shape
    left, sizes, right = np.linalg.svd(features, full_matrices=False)
    along = left.T @ targets
    outside = max(targets @ targets - along @ along, 0.0)  # part that no head fits
    kept = 1 - HEAD_RATE * m * sizes**2 / n  # remaining share after one step

    def loss(steps: int) -> float:
        return float((np.sum((kept**steps * along) ** 2) + outside) / (2 * n))

    steps = HEAD_STEPS
    if loss(steps) < HEAD_LOSS:
        steps = bisect_left(range(HEAD_STEPS), True, key=lambda done: loss(done) < HEAD_LOSS)
    used = sizes > np.finfo(float).eps * max(n, m) * sizes[0]
    return np.asarray(right[used].T @ ((1 - kept[used] ** steps) / sizes[used] * along[used]))


def risks(students: Students, targets: Sequence[ReluNetwork]) -> Outcomes:
    """Return the population risk E (f - f*)^2 of each student on its target, in closed form."""
    values = [target.risk(student) for student, target in zip(students.networks, targets, strict=True)]
    return Outcomes(np.array(values), students.status)


@dataclass(frozen=True)
class _Population:
    """Population loss against teachers with neurons (B, m*, d) and heads c*/m* (B, m*); `power` is E f*^2."""

    neurons: Tensor
    heads: Tensor
    power: Tensor

    @staticmethod
    def of(teachers: Sequence[ReluNetwork]) -> "_Population":
        """Return the objectives of a list of teachers."""
        heads = np.stack([teacher.heads / len(teacher.heads) for teacher in teachers])
        neurons = torch.from_numpy(np.stack([teacher.neurons for teacher in teachers]))
        power = torch.tensor([teacher.squared_norm() for teacher in teachers], dtype=torch.float64)
        return _Population(neurons, torch.from_numpy(heads), power)

    def slope(self, weights: Weights) -> Slope:
        """Return gradients by the chain rule through k(w, v) = <relu(w.x), relu(v.x)>."""
        neurons, heads = weights
        m = heads.shape[1]
        own, other = _Overlap.of(neurons, neurons), _Overlap.of(neurons, self.neurons)
        share = heads / m
        by_head = (times(own.value, share) - times(other.value, self.heads)) / m
        pull = own.pull(neurons, neurons, share) - other.pull(neurons, self.neurons, self.heads)
        return Slope((_tangent(neurons, share.unsqueeze(2) * pull), by_head), _curvature(heads))

    def residual(self, weights: Weights) -> Tensor:
        """Return norm(f - f*)/norm(f*) in L2."""
        neurons, heads = weights
        share = heads / heads.shape[1]
        own, other = _Overlap.of(neurons, neurons), _Overlap.of(neurons, self.neurons)
        inner = (share * times(own.value, share)).sum(1) - 2 * (share * times(other.value, self.heads)).sum(1)
        return ((inner + self.power).clamp_min(0) / self.power).sqrt()

    def take(self, index: Tensor) -> "_Population":
        """Return the objectives at `index`."""
        return _Population(self.neurons[index], self.heads[index], self.power[index])


@dataclass(frozen=True)
class _OnSample:
    """Sample loss on inputs (B, n, d) and labels (B, n)."""

    inputs: Tensor
    labels: Tensor

    def slope(self, weights: Weights) -> Slope:
        """Return the gradient through the hidden layer, in closed form."""
        neurons, heads = weights
        n, m = self.labels.shape[1], heads.shape[1]
        hidden = (self.inputs @ _unit(neurons).mT).relu_()  # (B, n, m)
        error = (times(hidden, heads) / m - self.labels) / n
        by_head = times(hidden.mT, error) / m
        active = hidden.sign_().mul_(error.unsqueeze(2))  # 1 where a neuron is active, times the error
        by_neuron = (heads / m).unsqueeze(2) * (active.mT @ self.inputs)
        return Slope((_tangent(neurons, by_neuron), by_head), _curvature(heads))

    def residual(self, weights: Weights) -> Tensor:
        """Return norm(f(X) - y)/norm(y)."""
        neurons, heads = weights
        outputs = times(torch.relu(self.inputs @ _unit(neurons).mT), heads) / heads.shape[1]
        return lengths(outputs - self.labels) / lengths(self.labels)

    def take(self, index: Tensor) -> "_OnSample":
        """Return the objectives at `index`."""
        return _OnSample(self.inputs[index], self.labels[index])


@dataclass(frozen=True)
class _Overlap:
    """k(w, v) = norm(w) norm(v) (sin phi + (pi - phi) cos phi)/(2 pi) for all pairs, shape (B, m, p)."""

    value: Tensor
    sine: Tensor
    wedge: Tensor
    """pi - phi, phi the angle between the neurons."""

    @staticmethod
    def of(neurons: Tensor, others: Tensor) -> "_Overlap":
        """Return all pairs of unit vectors along `neurons` (B, m, d) with `others` (B, p, d)."""
        size = lengths(others).unsqueeze(1)
        cosine = (_unit(neurons) @ _unit(others).mT).clamp_(-1, 1)  # in place: allocation takes half of the time
        sine = cosine.square().neg_().add_(1).sqrt_().mul_(size)
        wedge = cosine.arccos().neg_().add_(math.pi).mul_(size)
        return _Overlap(cosine.mul_(wedge).add_(sine).div_(2 * math.pi), sine, wedge)

    def pull(self, neurons: Tensor, others: Tensor, weights: Tensor) -> Tensor:
        """Return sum_j weight_j dk(w_i, v_j)/dw_i at unit w_i = (1/2 pi) sum_j weight_j (norm(v) sin phi w + (pi - phi)
        v)."""
        along_own = times(self.sine, weights).unsqueeze(2) * _unit(neurons)
        return (along_own + self.wedge @ (weights.unsqueeze(2) * _unit(others))) / (2 * math.pi)


def _students(descent: Descent) -> Students:
    neurons, heads = descent.weights
    pairs = zip(_unit(neurons).numpy(), heads.numpy(), strict=True)
    return Students(tuple(ReluNetwork(w, c) for w, c in pairs), descent.status)


def _curvature(heads: Tensor) -> Tensor:
    """Approximate the curvature by (1 + mean c^2)/(2 m): features have mean square 1/2 and change by m^-1 c each."""
    return (1 + heads.square().mean(1)) / (2 * heads.shape[1])


def _to_sphere(weights: Weights) -> Weights:
    neurons, heads = weights
    return _unit(neurons), heads


def _tangent(neurons: Tensor, gradient: Tensor) -> Tensor:
    """Return the gradient in w of a function of w/norm(w) whose gradient in the unit vector is `gradient`."""
    unit, size = _unit(neurons), lengths(neurons, keepdim=True)
    return (gradient - (gradient * unit).sum(2, keepdim=True) * unit) / size


def _unit(vectors: Tensor) -> Tensor:
    return vectors / lengths(vectors, keepdim=True)
