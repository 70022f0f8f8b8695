"""Products of the Hessian of the loss with vectors."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from transferscope.diagnostics.loss_surface import Layout, LossSurface, batch_shares
from transferscope.diagnostics.subject import Examples
from transferscope.errors import NetworkError

GRAPH_MEMORY = 2**30
"""Most bytes of autograd graphs kept between products."""

_GRAPH_FACTOR = 4  # a differentiated graph holds about this many times what the forward pass saves


@dataclass(frozen=True)
class _Linearised:
    leaves: tuple[Tensor, ...]
    gradients: tuple[Tensor, ...]

    def product(self, directions: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Return the sum of the gradients' derivatives, weighted with the directions."""
        pairs = [(g, v) for g, v in zip(self.gradients, directions, strict=True) if g.requires_grad]
        if not pairs:
            return tuple(torch.zeros_like(leaf) for leaf in self.leaves)
        gradients, weights = zip(*pairs, strict=True)
        return torch.autograd.grad(gradients, self.leaves, weights, retain_graph=True, materialize_grads=True)


class HessianOperator:
    """The Hessian of the mean loss, H = sum_b (n_b / N) H_b, by its products with vectors.

    The gradient is differentiated again (reverse over reverse). Its graph is kept between products as long as those of
    all batches fit into `graph_memory`, so that a product costs about as much as a backward pass.

    Use it inside `evaluation_mode(network)` or `loss_mode(network, ...)`, with batches of the same size.

    Args:
        batch_size: Examples per batch, at least 1.
        graph_memory: Maximum size of graphs kept between products, in bytes.
    """

    def __init__(self, surface: LossSurface, *, batch_size: int = 128, graph_memory: int = GRAPH_MEMORY) -> None:
        self.surface = surface
        self.batches = tuple(surface.examples.batches(batch_size))
        self.shares = batch_shares(len(surface.examples), batch_size)
        self.layout: Layout = surface.layout
        fits = _GRAPH_FACTOR * _saved_bytes(surface, len(self.batches[0])) * len(self.batches) <= graph_memory
        self._kept = tuple(self._linearise(batch) for batch in self.batches) if fits else ()

    def __call__(self, vector: Float[Tensor, " P"]) -> Float[Tensor, " P"]:
        """Return H v, in the dtype of the network."""
        total = torch.zeros_like(vector)
        for term in self.terms(vector):
            total += term
        return total

    def terms(self, vector: Float[Tensor, " P"]) -> Iterator[Float[Tensor, " P"]]:
        """Yield n_b / N H_b v for one batch after the other.

        Raises:
            NetworkError: An operator in the network cannot be differentiated twice.
        """
        parts = tuple(self.layout.unflatten(vector).values())
        for i, batch in enumerate(self.batches):
            linearised = self._kept[i] if self._kept else self._linearise(batch)
            yield float(self.shares[i]) * torch.cat([part.reshape(-1) for part in linearised.product(parts)])

    def _linearise(self, batch: Examples) -> _Linearised:
        leaves = {name: tensor.detach().requires_grad_() for name, tensor in self.surface.moved.items()}
        with sdpa_kernel(SDPBackend.MATH):  # the fused attention kernels have no second derivative
            value = self.surface.value(leaves, batch)
        points = tuple(leaves.values())
        gradients = torch.autograd.grad(value, points, create_graph=True, materialize_grads=True)
        _check_twice_differentiable(gradients)
        return _Linearised(points, gradients)


def _saved_bytes(surface: LossSurface, batch_size: int) -> int:
    """Return the bytes that the forward pass of one batch keeps for its backward pass; shared memory counts twice."""
    sizes: list[int] = []

    def note(tensor: Tensor) -> None:
        sizes.append(tensor.element_size() * prod(tensor.shape))

    leaves = {name: tensor.detach().requires_grad_() for name, tensor in surface.moved.items()}
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(note, lambda _: torch.empty(0)):
        surface.value(leaves, surface.examples.first(batch_size))
    return sum(sizes)


def _check_twice_differentiable(gradients: tuple[Tensor, ...]) -> None:
    """Look for nodes that stand for a missing derivative.

    Autograd does not detect this: it skips the node of a `once_differentiable` function that is not on the path to the
    parameters, and silently returns a wrong product.
    """
    seen = set[torch.autograd.graph.Node]()
    nodes = [gradient.grad_fn for gradient in gradients if gradient.grad_fn is not None]
    while nodes:
        node = nodes.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.name().rsplit("::", 1)[-1] in ("Error", "DelayedError", "NotImplemented"):
            raise NetworkError(
                "the network contains an operator that cannot be differentiated twice, so its Hessian is "
                "unavailable; replace it, or leave out diagnostics of curvature"
            )
        nodes += [parent for parent, _ in node.next_functions if parent is not None]
