"""Products of the Hessian of the loss with vectors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from transferscope.diagnostics.loss_surface import Layout, LossSurface, batch_shares, loss_surface, mean_over_batches
from transferscope.diagnostics.subject import Examples, Subject
from transferscope.errors import NetworkError
from transferscope.estimate import Estimate

Mode = Literal["exact", "finite-difference"]
"""How a product is formed: by differentiating the gradient, or from the difference of two gradients."""

GRAPH_MEMORY = 2**30
"""Bytes of differentiated graphs that an operator keeps between products."""

_STEPS = 7  # of finite differences, each a tenth of the one before
_AGREEMENT = 1e-6  # relative distance of two differences that count as equal

_GRAPH_FACTOR = 4  # a differentiated graph holds about this many times what the forward pass saves


@dataclass(frozen=True)
class _Linearised:
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
    "finite-difference" is for operators that cannot be differentiated twice. It takes

        D(e) = (g(w + e v) - g(w - e v)) / (2 e)    in float64, e = (1 + ||w||) eps^(1/3) / ||v||

    and compares it with D(e / 10): where the loss is smooth both agree, and D(e) is the product. Between w - e v and
    w + e v a network of ReLUs has kinks, at which its gradient jumps; they add jump / (2 e), so D changes with the step
    until no kink is left in between. The step is divided by 10 until two of them agree, down to e / 10^6, and the two
    that agree best are taken. Their distance ||D(e) - D(e / 10)|| / ||v|| is the error of the product.

    Use it inside `evaluation_mode(network)` or `loss_mode(network, ...)`, with batches of the same size.

    Attributes:
        error: Largest error of a product so far, ||E v|| / ||v||; 0 for "exact".

    Args:
        batch_size: Examples per batch, at least 1.
        graph_memory: Bytes that may be kept between products.
    """

    def __init__(
        self, surface: LossSurface, *, batch_size: int = 128, mode: Mode = "exact", graph_memory: int = GRAPH_MEMORY
    ) -> None:
        self.dtype = surface.point.dtype
        self.error = 0.0
        self.surface = surface.to(torch.float64) if mode == "finite-difference" else surface
        self.batches = tuple(self.surface.examples.batches(batch_size))
        self.shares = batch_shares(len(self.surface.examples), batch_size)
        self.layout: Layout = surface.layout
        self._mode = mode
        self._kept: tuple[_Linearised, ...] = ()
        if mode == "exact" and self.graph_bytes() * len(self.batches) <= graph_memory:
            self._kept = tuple(self._linearise(batch) for batch in self.batches)

    def __call__(self, vector: Float[Tensor, " P"]) -> Float[Tensor, " P"]:
        """H v, in the dtype of the network."""
        return self.with_error(vector)[0]

    def with_error(self, vector: Float[Tensor, " P"]) -> tuple[Float[Tensor, " P"], float]:
        """H v in the dtype of the network, and a bound on its error, ||E v|| / ||v||."""
        total, error = torch.zeros_like(vector), 0.0
        for i, share in enumerate(self.shares.tolist()):
            product, batch_error = self._product(i, vector)
            total += share * product
            error += share * batch_error
        self.error = max(self.error, error)
        return total, error

    def batch_products(self, vector: Float[Tensor, " P"]) -> Iterator[Float[Tensor, " P"]]:
        """H_b v for one batch after the other.

        Raises:
            NetworkError: An operator in the network cannot be differentiated twice.
        """
        for i in range(len(self.batches)):
            yield self._product(i, vector)[0]

    def curvature(self, direction: Float[Tensor, " P"]) -> Estimate:
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
        return _GRAPH_FACTOR * _saved_bytes(self.surface, len(self.batches[0]))

    def _product(self, i: int, vector: Float[Tensor, " P"]) -> tuple[Tensor, float]:
        """H_b v of batch i, and its error relative to ||v||."""
        if self._mode == "finite-difference":
            return self._difference(self.batches[i], vector)
        linearised = self._kept[i] if self._kept else self._linearise(self.batches[i])
        parts = linearised.product(tuple(self.layout.unflatten(vector.to(self.dtype)).values()))
        return torch.cat([part.reshape(-1) for part in parts]), 0.0

    def _linearise(self, batch: Examples) -> _Linearised:
        leaves = _leaves(self.surface.moved)
        with sdpa_kernel(SDPBackend.MATH):  # the fused attention kernels have no second derivative
            value = self.surface.value(leaves, batch)
        points = tuple(leaves.values())
        gradients = torch.autograd.grad(value, points, create_graph=True, materialize_grads=True)
        _check_twice_differentiable(gradients)
        return _Linearised(points, gradients)

    def _difference(self, batch: Examples, vector: Float[Tensor, " P"]) -> tuple[Tensor, float]:
        point, direction, eps = self.surface.point, vector.double(), torch.finfo(torch.float64).eps
        length = direction.norm().clamp_min(1e-300)
        step = float((1 + point.norm()) * eps ** (1 / 3) / length)
        coarser, best, least = None, None, float("inf")
        for _ in range(_STEPS):
            ahead, behind = (self._gradient(batch, point + sign * step * direction) for sign in (1, -1))
            finer = (ahead - behind) / (2 * step)
            if coarser is not None:
                apart = float((coarser - finer).norm())
                rounding = 10 * eps * float(ahead.norm() + behind.norm()) / step
                if not apart >= least:  # the first pair, a closer one, or NaN
                    best, least = coarser, apart
                if not apart > max(_AGREEMENT * float(finer.norm()), rounding):
                    break
            coarser, step = finer, step / 10
        assert best is not None
        return best.to(self.dtype), least / float(length)

    def _gradient(self, batch: Examples, point: Float[Tensor, " P"]) -> Float[Tensor, " P"]:
        leaves = _leaves(self.layout.unflatten(point))
        parts = torch.autograd.grad(self.surface.value(leaves, batch), list(leaves.values()), materialize_grads=True)
        return torch.cat([part.reshape(-1) for part in parts])


def hessian_operator(subject: Subject, *, blocks: tuple[str, ...], batch_size: int, mode: Mode) -> HessianOperator:
    """The Hessian of the subject's loss in the parameters of `blocks` (all if empty)."""
    return HessianOperator(loss_surface(subject, blocks), batch_size=batch_size, mode=mode)


def _saved_bytes(surface: LossSurface, batch_size: int) -> int:
    """Bytes that the forward pass of one batch keeps for its backward pass; what is saved twice counts twice."""
    sizes: list[int] = []

    def note(tensor: Tensor) -> None:
        sizes.append(tensor.element_size() * prod(tensor.shape))

    leaves = {name: tensor.detach().requires_grad_() for name, tensor in surface.moved.items()}
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(note, lambda _: torch.empty(0)):
        surface.value(leaves, surface.examples.first(batch_size))
    return sum(sizes)


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
                "the network holds an operator that cannot be differentiated twice; use mode = "
                '"finite-difference" of curvature, curvature-trace or curvature-density, which says how far its steps '
                "agree"
            )
        nodes += [parent for parent, _ in node.next_functions if parent is not None]
