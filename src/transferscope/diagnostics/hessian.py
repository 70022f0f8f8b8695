"""Products of the Hessian of the loss with vectors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from transferscope.diagnostics.cost import seconds_of
from transferscope.diagnostics.memory import saved_bytes
from transferscope.diagnostics.over_batches import batch_shares, mean_over_batches
from transferscope.diagnostics.subject import Examples, Subject
from transferscope.diagnostics.surface import LossSurface, loss_surface
from transferscope.diagnostics.undisturbed import undisturbed
from transferscope.errors import NetworkError
from transferscope.numerics.vectorise import Layout
from transferscope.records import Estimate

Mode = Literal["exact", "finite-difference"]
"""How a product is formed: by differentiating the gradient, or from the difference of two gradients."""

GRAPH_MEMORY = 2**30
"""Bytes of differentiated graphs that an operator keeps between products."""

_GRAPH_FACTOR = 4  # a differentiated graph holds about this many times what the forward pass saves


@dataclass(frozen=True)
class _Linearised:
    """The gradient of the loss on one batch, ready to be differentiated again."""

    leaves: tuple[Tensor, ...]
    gradients: tuple[Tensor, ...]

    def product(self, directions: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Sum of the gradients' derivatives, weighted with the directions."""
        pairs = [(g, v) for g, v in zip(self.gradients, directions, strict=True) if g.requires_grad]
        if not pairs:
            return tuple(torch.zeros_like(leaf) for leaf in self.leaves)
        gradients, weights = zip(*pairs, strict=True)
        return torch.autograd.grad(gradients, self.leaves, weights, retain_graph=True, materialize_grads=True)


class HessianOperator:
    """H = sum_b (n_b / N) H_b: the Hessian of the mean loss, batch by batch, known by its products.

    "exact" differentiates the gradient again (reverse over reverse); the graph of the gradient is kept between products
    as long as all batches fit into `graph_memory`, so that a product costs about as much as a backward pass.
    "finite-difference" takes (g(w + e v) - g(w - e v)) / (2 e) in float64 with e = (1 + ||w||) eps^(1/3) / ||v||, for
    operators that cannot be differentiated twice.

    Use it inside `undisturbed(network)`.

    Args:
        surface: The loss, and the point to differentiate at.
        batch_size: Examples per batch, at least 1.
        mode: How to form products.
        graph_memory: Bytes that may be kept between products.
    """

    def __init__(
        self, surface: LossSurface, *, batch_size: int = 128, mode: Mode = "exact", graph_memory: int = GRAPH_MEMORY
    ) -> None:
        self.dtype = surface.point.dtype
        self.surface = surface.double() if mode == "finite-difference" else surface
        self.batches = tuple(self.surface.examples.batches(batch_size))
        self.shares = batch_shares(len(self.surface.examples), batch_size)
        self.layout: Layout = surface.layout
        self._mode = mode
        self._kept: tuple[_Linearised, ...] = ()
        if mode == "exact" and self.graph_bytes() * len(self.batches) <= graph_memory:
            self._kept = tuple(self._linearise(batch) for batch in self.batches)

    def __call__(self, vector: Float[Tensor, "P"]) -> Float[Tensor, "P"]:
        """H v, in the dtype of the network."""
        total = torch.zeros_like(vector)
        for share, product in zip(self.shares.tolist(), self.batch_products(vector), strict=True):
            total += share * product
        return total

    def batch_products(self, vector: Float[Tensor, "P"]) -> Iterator[Float[Tensor, "P"]]:
        """H_b v for one batch after the other.

        Raises:
            NetworkError: An operator in the network cannot be differentiated twice.
        """
        for i, batch in enumerate(self.batches):
            if self._mode == "finite-difference":
                yield self._difference(batch, vector)
                continue
            linearised = self._kept[i] if self._kept else self._linearise(batch)
            parts = linearised.product(tuple(self.layout.unflatten(vector.to(self.dtype)).values()))
            yield torch.cat([part.reshape(-1) for part in parts])

    def curvature(self, direction: Float[Tensor, "P"]) -> Estimate:
        """v' H v with its standard error over batches.

        Args:
            direction: Unit vector, shape (P,).

        Returns:
            The estimate over N examples; no standard error from a single batch.
        """
        products = self.batch_products(direction)
        samples = torch.stack([(direction.double() @ product.double()).cpu() for product in products])
        return mean_over_batches(samples, self.shares, len(self.surface.examples))

    def graph_bytes(self) -> int:
        """About how much the differentiated graph of the first batch takes."""
        return _GRAPH_FACTOR * saved_bytes(self.surface, len(self.batches[0]))

    def _linearise(self, batch: Examples) -> _Linearised:
        leaves = _leaves(self.surface.moved)
        with sdpa_kernel(SDPBackend.MATH):  # the fused attention kernels have no second derivative
            value = self.surface.value(leaves, batch)
        points = tuple(leaves.values())
        gradients = torch.autograd.grad(value, points, create_graph=True, materialize_grads=True)
        _check_twice_differentiable(gradients)
        return _Linearised(points, gradients)

    def _difference(self, batch: Examples, vector: Float[Tensor, "P"]) -> Float[Tensor, "P"]:
        point, direction = self.surface.point, vector.double()
        step = float(
            (1 + point.norm()) * torch.finfo(torch.float64).eps ** (1 / 3) / direction.norm().clamp_min(1e-300)
        )
        ahead, behind = (self._gradient(batch, point + sign * step * direction) for sign in (1, -1))
        return ((ahead - behind) / (2 * step)).to(self.dtype)

    def _gradient(self, batch: Examples, point: Float[Tensor, "P"]) -> Float[Tensor, "P"]:
        leaves = _leaves(self.layout.unflatten(point))
        parts = torch.autograd.grad(self.surface.value(leaves, batch), list(leaves.values()), materialize_grads=True)
        return torch.cat([part.reshape(-1) for part in parts])


def hessian_operator(subject: Subject, *, blocks: tuple[str, ...], batch_size: int, mode: Mode) -> HessianOperator:
    """The Hessian of the subject's loss in the parameters of `blocks` (all if empty)."""
    return HessianOperator(loss_surface(subject, blocks), batch_size=batch_size, mode=mode)


@dataclass(frozen=True)
class ProductCost:
    """What one Hessian-vector product over all examples takes.

    Attributes:
        seconds: Wall-clock seconds.
        graph_bytes: Memory of the differentiated graphs.
        vector_bytes: Memory of one vector of parameters.
    """

    seconds: float
    graph_bytes: int
    vector_bytes: int


def product_cost(subject: Subject, *, blocks: tuple[str, ...], batch_size: int, mode: Mode) -> ProductCost:
    """Time a product on the first batch and scale it to all of them."""
    small = replace(subject, examples=subject.examples.first(batch_size))
    n_batches = -(-len(subject.examples) // batch_size)
    with undisturbed(subject.network):
        operator = hessian_operator(small, blocks=blocks, batch_size=batch_size, mode=mode)
        point = operator.surface.point.to(operator.dtype)
        seconds = seconds_of(lambda: operator(point))
        kept = min(operator.graph_bytes() * n_batches, GRAPH_MEMORY)
    return ProductCost(seconds * n_batches, kept, point.numel() * point.element_size())


def _leaves(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().requires_grad_() for name, tensor in tensors.items()}


def _check_twice_differentiable(gradients: tuple[Tensor, ...]) -> None:
    """Look for nodes that stand for a missing derivative.

    Asking autograd is not enough: it skips the node of a `once_differentiable` function when the way to the parameters
    does not need it, and returns a wrong product without a word.
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
                'the network holds an operator that cannot be differentiated twice; use mode = "finite-difference"'
            )
        nodes += [parent for parent, _ in node.next_functions if parent is not None]
