"""Scaling of back-propagated gradients from layer to layer, from the gradients of every layer's outputs."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite, sqrt
from typing import Annotated, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from transferscope.diagnostics.diagnostic import Diagnostic, Findings
from transferscope.diagnostics.loss_surface import LossSurface, loss_surface
from transferscope.diagnostics.network_state import BatchNorm, loss_mode
from transferscope.diagnostics.subject import Examples, Subject
from transferscope.errors import NetworkError
from transferscope.estimate import Estimate
from transferscope.numerics.jackknife import ratio_of_means
from transferscope.records import Count, Meaning, Says

WEIGHTED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
"""Layers whose weight has one row per unit (channel) of their output."""


def weighted_layers(network: nn.Module) -> Mapping[str, nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d]:
    """Return linear layers and convolutions by name."""
    return {name: module for name, module in network.named_modules() if isinstance(module, WEIGHTED)}


def layer_gradients(surface: LossSurface, batch: Examples) -> Mapping[str, Float[Tensor, "n ..."]]:
    """Return gradients with respect to the output of every weighted layer that is called once.

    Returns:
        For each layer, in the order of the forward pass, dL_i/dz_i: the gradient of each example's own loss with
        respect to the layer's output, in the shape of the output, (n, ...).

    Raises:
        NetworkError: No weighted layer is called exactly once.
    """
    outputs: list[tuple[str, Tensor]] = []

    def keep(name: str, output: Tensor) -> Tensor:
        outputs.append((name, output))
        return output.clone()  # an in-place activation would overwrite the recorded output

    handles = [
        layer.register_forward_hook(lambda _, __, output, name=name: keep(name, output))
        for name, layer in weighted_layers(surface.network).items()
    ]
    try:
        leaves = {name: tensor.detach().requires_grad_() for name, tensor in surface.moved.items()}
        value = surface.value(leaves, batch)
    finally:
        for handle in handles:
            handle.remove()
    names = [name for name, _ in outputs]
    once = [(name, output) for name, output in outputs if names.count(name) == 1]
    if not once:
        raise NetworkError(
            "the network calls no linear layer or convolution exactly once per forward pass; if it is wrapped, as by "
            "torch.compile, give the module itself"
        )
    gradients = torch.autograd.grad(value, [output for _, output in once], materialize_grads=True)
    return {name: len(batch) * g for (name, _), g in zip(once, gradients, strict=True)}


@dataclass(frozen=True)
class LayerScaling:
    """Gradients with respect to the output z of one layer.

    Attributes:
        norms: ||dL_i/dz_i|| of every example, shape (N,).
        projections: ||W' u|| of the layer's weight on each principal direction u of the gradients in the space of the
            layer's units (channels), the largest first, divided by ||W||_F / sqrt(U), shape (U,): 1 on average over
            all directions, below 1 where the weight shrinks what is back-propagated.
    """

    norms: Float[np.ndarray, " N"]
    projections: Float[np.ndarray, " U"]


def weight_projections(weight: Float[Tensor, "U ..."], directions: Float[Tensor, "r U"]) -> Float[Tensor, " r"]:
    """Return ||W' u|| / (||W||_F / sqrt(U)) for unit directions u in the space of a layer's outputs.

    Source: "Towards Understanding the Transferability of Deep Representations", section 4 and Fig. 7 (c): gradients
    pass a layer as W' dL/dz, so a weight that shrinks their leading directions keeps them small.

    Args:
        weight: W, rows are units (channels) of the output, shape (U, ...).
        directions: u as rows, shape (r, U).

    Returns:
        Shape (r,); the mean square over an orthonormal basis is 1. NaN for a zero weight.
    """
    matrix = weight.flatten(1)
    projections: Tensor = (directions @ matrix).norm(dim=1) / (matrix.norm() / sqrt(len(matrix)))
    return projections


@dataclass(frozen=True)
class GradientScaling(Diagnostic):
    """Size of back-propagated gradients, their ratio from layer to layer, and how weights treat their main directions.

    Source: "Towards Understanding the Transferability of Deep Representations", section 4 and Fig. 7. With
    `batch_norm = "batch"` the gradient of an example's output is that of the batch's mean loss, multiplied by the size
    of the batch.
    """

    name: ClassVar[str] = "gradient-scaling"
    headline: ClassVar[str] = "gradient_ratio_spread"
    meaning: ClassVar[Meaning] = Meaning(
        "spread of gradient ratios between layers (log10)",
        lower="gradients that are more even over the layers",
        higher="gradients that are less even over the layers",
        expected="lower",
        limits=(
            "Normalisation layers and skip connections between two layers count towards the ratio of those layers, "
            "and examples that are fitted perfectly have next to no gradient to scale."
        ),
    )

    n_examples: Annotated[Count, Says("Number of examples, from the first on")] = 1000
    batch_size: Annotated[Count, Says("Examples per pass")] = 100
    batch_norm: BatchNorm = "running"

    def layers(self, subject: Subject) -> Mapping[str, LayerScaling]:
        """Return gradients at every weighted layer that is called once, in the order of the forward pass.

        Raises:
            NetworkError: No weighted layer is called exactly once.
        """
        norms: dict[str, list[Tensor]] = {}
        moments: dict[str, Tensor] = {}
        n = min(self.n_examples, len(subject.examples))
        with loss_mode(subject.network, self.batch_norm, n_examples=n, batch_size=self.batch_size):
            surface, modules = loss_surface(subject), weighted_layers(subject.network)
            for batch in surface.examples.first(self.n_examples).batches(self.batch_size):
                for name, gradient in layer_gradients(surface, batch).items():
                    norms.setdefault(name, []).append(gradient.flatten(1).norm(dim=1).cpu().double())
                    rows = _by_unit(gradient, modules[name])
                    moments[name] = moments.get(name, 0.0) + rows.T @ rows
        weights = {name: modules[name].weight.detach().to(surface.point.dtype) for name in norms}
        return {name: _scaling(torch.cat(norms[name]), moments[name] / n, weights[name]) for name in norms}

    def measure(self, subject: Subject) -> Findings:
        """Return records for each LAYER, and two for the network.

        Means over examples of ||dL_i/dz_i|| ("gradient_norm/LAYER"); that mean at the layer before divided by the one
        at this layer, which is what passing back through it does ("gradient_ratio/LAYER"); projection of the weight on
        the leading direction of the gradients ("weight_projection/LAYER"); standard deviation over layers of the
        logarithm (base 10) of the ratios, 0 when even ("gradient_ratio_spread"); the mean norm at the first layer
        divided by that at the last but one, the head being the last: by how much gradients grow in back-propagation
        ("gradient_growth"). Arrays: quantiles of the norms within a layer (0 %, 1 %, ..., 100 %), and projections on
        all directions.

        Weights that no such layer applies (the projections of `nn.MultiheadAttention`, a layer that is called twice)
        are left out, and the findings name them.
        """
        layers = self.layers(subject)
        ratios = {name: ratio_of_means(layers[before].norms, layers[name].norms) for before, name in pairwise(layers)}
        estimates = {f"gradient_norm/{name}": _mean(layer.norms) for name, layer in layers.items()}
        estimates |= {f"gradient_ratio/{name}": ratio for name, ratio in ratios.items()}
        for name, layer in layers.items():
            estimates[f"weight_projection/{name}"] = Estimate.without_error(
                float(layer.projections[0]), len(layer.norms)
            )
        estimates["gradient_ratio_spread"] = _spread([ratio.value for ratio in ratios.values()])
        hidden = list(layers.values())[:-1]
        estimates["gradient_growth"] = (
            ratio_of_means(hidden[0].norms, hidden[-1].norms)
            if len(hidden) > 1
            else Estimate.missing("too_few", len(layers))
        )
        percent = np.linspace(0, 1, 101)
        arrays = {f"gradient_quantiles/{name}": np.quantile(layer.norms, percent) for name, layer in layers.items()}
        arrays |= {f"weight_projections/{name}": layer.projections for name, layer in layers.items()}
        matrices = [name for name, parameter in subject.network.named_parameters() if parameter.dim() >= 2]
        left_out = (name for name in matrices if not any(name.startswith(f"{layer}.") for layer in layers))
        return Findings.of(subject, estimates, arrays, tuple(left_out))


def _by_unit(gradient: Float[Tensor, "n ..."], layer: nn.Module) -> Float[Tensor, "m U"]:
    """Return gradients as rows over the units: the last axis of a linear layer, the channels of a convolution."""
    units_last = gradient if isinstance(layer, nn.Linear) else gradient.movedim(1, -1)
    return units_last.flatten(0, -2).double()


def _scaling(norms: Tensor, moment: Float[Tensor, "U U"], weight: Tensor) -> LayerScaling:
    if not torch.isfinite(moment).all():
        return LayerScaling(norms.numpy(), np.full(len(moment), np.nan))
    directions = torch.linalg.eigh(moment).eigenvectors.T.flip(0)
    return LayerScaling(norms.numpy(), weight_projections(weight.double(), directions).cpu().numpy())


def _mean(samples: Float[np.ndarray, " N"]) -> Estimate:
    if not np.isfinite(samples).all():
        return Estimate.missing("non_finite", len(samples))
    stderr = float(samples.std(ddof=1) / np.sqrt(len(samples))) if len(samples) > 1 else None
    return Estimate(float(samples.mean()), stderr, len(samples))


def _spread(ratios: list[float]) -> Estimate:
    if len(ratios) < 2:
        return Estimate.missing("too_few", len(ratios))
    if not all(isfinite(ratio) and ratio > 0 for ratio in ratios):
        return Estimate.missing("undefined", len(ratios))
    return Estimate(float(np.log10(ratios).std(ddof=1)), None, len(ratios))
