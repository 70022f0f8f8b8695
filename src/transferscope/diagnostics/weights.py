"""Distance of the weights from their initial values."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized

from transferscope.diagnostics.diagnostic import Diagnostic, Findings
from transferscope.diagnostics.features import submodule
from transferscope.diagnostics.network_state import evaluation_mode
from transferscope.diagnostics.subject import Subject
from transferscope.estimate import Estimate
from transferscope.records import Meaning


@dataclass(frozen=True)
class LayerDeviation:
    """Distance of one weight matrix or kernel from its initial value.

    Attributes:
        relative: ||W - W_0||_F / ||W_0||_F; NaN when W_0 is zero.
    """

    distance: float
    relative: float


def weight_matrices(network: nn.Module) -> Mapping[str, Tensor]:
    """Return weight matrices and convolution kernels by layer: parameters with at least two dimensions.

    Biases and the parameters of normalisation layers are left out, as in the paper. A layer parametrised by
    `torch.nn.utils.parametrize` counts with the weight that it multiplies with, not with what that is computed from.
    """
    matrices: dict[str, Tensor] = {}
    kept = {name for name, _ in network.named_parameters()}  # tied weights once
    with evaluation_mode(network), torch.no_grad():
        for name, module in network.named_modules():
            own = {
                tensor: parameter
                for tensor, parameter in module.named_parameters(recurse=False)
                if (f"{name}.{tensor}" if name else tensor) in kept
            }
            if is_parametrized(module):
                own |= {tensor: getattr(module, tensor) for tensor in module.parametrizations}
            if "parametrizations" not in name.split("."):
                matrices |= {f"{name}.{tensor}" if name else tensor: weight.detach() for tensor, weight in own.items()}
    return {name.removesuffix(".weight"): weight for name, weight in matrices.items() if weight.dim() >= 2}


def weight_deviation(network: nn.Module, start: nn.Module) -> Mapping[str, LayerDeviation]:
    """Return ||W - W_0||_F of every layer.

    Args:
        start: The initial network, W_0, with the same layers.
    """
    matrices = weight_matrices(start)
    return {name: _deviation(weight, matrices[name]) for name, weight in weight_matrices(network).items()}


def _deviation(weight: Tensor, start: Tensor) -> LayerDeviation:
    if weight.dtype in (torch.float16, torch.bfloat16):
        weight, start = weight.float(), start.float()
    distance, size = float((weight - start.to(weight.device)).norm()), float(start.norm())
    return LayerDeviation(distance, distance / size if size > 0 else float("nan"))


@dataclass(frozen=True)
class Weights(Diagnostic):
    """Deviation of the weights, (1/sqrt(n)) ||W - W_0||_F with n training examples.

    Source: "Towards Understanding the Transferability of Deep Representations", section 3, Table 1 and Fig. 2.
    """

    name: ClassVar[str] = "weights"
    headline: ClassVar[str] = "weight_deviation"
    meaning: ClassVar[Meaning] = Meaning(
        "weight deviation from the start",
        lower="weights closer to their start",
        higher="weights further from their start",
        expected="lower",
        limits=(
            "The distance depends on learning rate, weight decay and training time as well as on the tasks, so it "
            "compares runs of one recipe; unit permutations can make two equal functions look distant."
        ),
    )
    needs_start: ClassVar[bool] = True

    def measure(self, subject: Subject) -> Findings:
        """Return the records "weight_deviation" (sum over layers) and, for each layer, "weight_deviation/LAYER" and its
        relative.

        The record of the head is named after its layer.
        """
        submodule(subject.network, subject.head)
        layers = weight_deviation(subject.network, subject.needs_start(self.name))
        scale = 1 / sqrt(subject.n_train or len(subject.examples))
        values = {"weight_deviation": scale * sum(layer.distance for layer in layers.values())}
        values |= {f"weight_deviation/{name}": scale * layer.distance for name, layer in layers.items()}
        values |= {f"weight_deviation_relative/{name}": layer.relative for name, layer in layers.items()}
        named = {
            name: Estimate(value) if isfinite(value) else Estimate.missing("non_finite", 1)
            for name, value in values.items()
        }
        return Findings.of(subject, named)
