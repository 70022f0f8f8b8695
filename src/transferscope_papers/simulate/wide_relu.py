"""Two-layer ReLU networks wide enough for the kernel regime: source, then target; and target from scratch (liu2019).

f(x) = (1/sqrt(m)) sum_r a_r relu(w_r'x) with fixed signs a and W trained on L = (1/2) norm(u - y)^2. The start is
antisymmetric: neurons come in pairs with equal weights and opposite signs, so that the initial output is exactly 0. An
independent start needs a small scale kappa and a large kappa sqrt(m) at once to follow the theorems.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transferscope.errors import out_of_range
from transferscope.numerics.ntk import relu_gram
from transferscope_papers.simulate.descent import DescentSettings, Slope, Weights, descend, lengths
from transferscope_papers.simulate.outcomes import StatusArray
from transferscope_papers.simulate.seeds import normal

PAIRED_WEIGHTS = 200
"""Random stream of the initial neurons."""

KERNEL_STEPS = DescentSettings(tolerance=1e-7, max_steps=50_000, stability=0.9, movement=float("inf"))
"""Plain steps of 0.9 / lambda_max(H), as in section E; each neuron moves little, so `movement` is not needed."""


@dataclass(frozen=True)
class WideTransfer:
    """Results of B wide networks.

    Attributes:
        activation_gradient: Squared norm of the loss gradient with respect to the first layer's output on the target,
            before training on it: norm(u(W_P) - y_Q)^2 (liu2019 Theorem 1), shape (B,).
        travel: norm(W(Q) - W(P))_F, from pretrained to fine-tuned weights (liu2019 Theorem 2), shape (B,).
        scratch_travel: norm(W(Q) - W(0))_F when the target is learnt from scratch, shape (B,).
        status: "converged" when all three runs converged, else the status of the first one that did not, shape (B,).
    """

    activation_gradient: Float[np.ndarray, " B"]
    travel: Float[np.ndarray, " B"]
    scratch_travel: Float[np.ndarray, " B"]
    status: StatusArray


@dataclass(frozen=True)
class Labelled:
    """B data sets of equal size.

    Attributes:
        inputs: Shape (B, n, d), rows of unit norm.
        labels: Shape (B, n), within [-1, 1] for the theorems.
    """

    inputs: Float[Tensor, "B n d"]
    labels: Float[Tensor, "B n"]


def paired_start(seeds: Sequence[int], n_inputs: int, *, width: int) -> Float[Tensor, "B m d"]:
    """Return antisymmetric neurons of N(0, 1) entries: rows r and r + width/2 are equal, their signs are +1 and -1."""
    if width % 2:
        raise out_of_range("width", width, "an even number, for paired neurons")
    half = normal(seeds, (width // 2, n_inputs), stream=PAIRED_WEIGHTS)
    return torch.cat([half, half], dim=1)


def wide_transfer(
    source: Labelled,
    target: Labelled,
    *,
    width: int,
    seeds: Sequence[int],
    settings: DescentSettings = KERNEL_STEPS,
) -> WideTransfer:
    """Train on the source, then on the target, and on the target from scratch.

    Args:
        width: Number of neurons m, even; the theorems are its limit (errors of 1e-3 to 1e-2 at m = 20,000).
        seeds: One seed per network.
        settings: Stopping; the curvature is lambda_max(H) of the infinite-width kernel.
    """
    start = paired_start(seeds, source.inputs.shape[2], width=width)
    on_source, on_target = _Wide.of(source, width), _Wide.of(target, width)
    pretrained = descend(on_source, (start,), settings)
    tuned = descend(on_target, pretrained.weights, settings)
    scratch = descend(on_target, (start,), settings)
    error = on_target.outputs(pretrained.weights[0]) - target.labels
    statuses = np.stack([run.status for run in (pretrained, tuned, scratch)])
    first_bad = (statuses != "converged").argmax(0)
    return WideTransfer(
        activation_gradient=error.square().sum(1).numpy(),
        travel=(tuned.weights[0] - pretrained.weights[0]).flatten(1).norm(dim=1).numpy(),
        scratch_travel=(scratch.weights[0] - start).flatten(1).norm(dim=1).numpy(),
        status=np.take_along_axis(statuses, first_bad[None], axis=0)[0],
    )


@dataclass(frozen=True)
class ErrorCurves:
    """Squared training errors of B wide networks along gradient descent on the target.

    Attributes:
        errors: norm(u(k) - y)^2 after each number of steps, shape (K, B).
        status: Status of the pretraining, shape (B,); "ok" without one.
    """

    errors: Float[np.ndarray, "K B"]
    status: StatusArray


def error_curves(
    source: Labelled | None, target: Labelled, *, width: int, seeds: Sequence[int], steps: Sequence[int], rate: float
) -> ErrorCurves:
    """Train on the target by plain gradient descent and record errors during training (liu2019 Theorem 3).

    Args:
        source: Data of the pretraining, to convergence; None to start from scratch.
        width: Number of neurons m, even.
        seeds: One seed per network.
        steps: Numbers of steps after which errors are recorded, ascending, at least 0.
        rate: Learning rate on the target, the same for all networks.
    """
    on_target = _Wide.of(target, width)
    weights, status = paired_start(seeds, target.inputs.shape[2], width=width), np.full(len(seeds), "ok", dtype="<U16")
    if source is not None:
        pretrained = descend(_Wide.of(source, width), (weights,), KERNEL_STEPS)
        weights, status = pretrained.weights[0], pretrained.status
    errors = []
    for step in range(max(steps) + 1):
        if step in steps:
            errors.append((on_target.outputs(weights) - target.labels).square().sum(1).numpy())
        weights = weights - rate * on_target.slope((weights,)).gradient[0]
    return ErrorCurves(np.array(errors), status)


@dataclass(frozen=True)
class _Wide:
    """The training objective: inputs (B, n, d), labels (B, n), signs (m,), curvature (B,)."""

    inputs: Tensor
    labels: Tensor
    signs: Tensor
    curvature: Tensor

    @staticmethod
    def of(data: Labelled, width: int) -> "_Wide":
        """Return the objective on `data` for networks of a given width."""
        signs = torch.ones(width, dtype=data.inputs.dtype)
        signs[width // 2 :] = -1
        largest = [float(np.linalg.eigvalsh(relu_gram(rows.numpy()))[-1]) for rows in data.inputs]
        return _Wide(data.inputs, data.labels, signs / width**0.5, torch.tensor(largest, dtype=data.inputs.dtype))

    def outputs(self, neurons: Tensor) -> Tensor:
        """Return u = f(X), shape (B, n)."""
        return torch.relu(self.inputs @ neurons.mT) @ self.signs

    def slope(self, weights: Weights) -> Slope:
        """Return dL/dw_r = (a_r/sqrt(m)) sum_i (u_i - y_i) 1[w_r'x_i > 0] x_i."""
        hidden = self.inputs @ weights[0].mT  # (B, n, m)
        error = torch.relu(hidden) @ self.signs - self.labels
        active = (hidden > 0).to(hidden.dtype) * error.unsqueeze(2) * self.signs
        return Slope((active.mT @ self.inputs,), self.curvature)

    def residual(self, weights: Weights) -> Tensor:
        """Return norm(u - y)/norm(y)."""
        return lengths(self.outputs(weights[0]) - self.labels) / lengths(self.labels)

    def take(self, index: Tensor) -> "_Wide":
        """Return the objectives at `index`."""
        return _Wide(self.inputs[index], self.labels[index], self.signs, self.curvature[index])
