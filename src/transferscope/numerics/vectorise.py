"""Named tensors as one vector, and back."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Layout:
    """Where each of a set of named tensors lies in one long vector.

    Attributes:
        names: Names in order.
        shapes: Shape of each tensor, in the same order.
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> "Layout":
        """The layout of `tensors`, in their order."""
        return cls(tuple(tensors), tuple(tuple(tensor.shape) for tensor in tensors.values()))

    @property
    def size(self) -> int:
        """Length of the vector."""
        return sum(prod(shape) for shape in self.shapes)

    @cached_property
    def slices(self) -> Mapping[str, slice]:
        """Where each name lies."""
        ends = tuple(accumulate(prod(shape) for shape in self.shapes))
        return {
            name: slice(*ends_) for name, ends_ in zip(self.names, zip((0, *ends), ends, strict=False), strict=True)
        }

    def flatten(self, tensors: Mapping[str, Tensor]) -> Float[Tensor, " P"]:
        """The tensors as one vector, shape (P,)."""
        return torch.cat([tensors[name].reshape(-1) for name in self.names])

    def unflatten(self, vectors: Float[Tensor, "*batch P"]) -> dict[str, Tensor]:
        """Views of a vector, or of a batch of vectors, in the shapes of the layout.

        Args:
            vectors: Shape (*batch, P).

        Returns:
            For each name a tensor of shape (*batch, *shape).
        """
        batch = vectors.shape[:-1]
        parts = zip(self.names, self.shapes, strict=True)
        return {name: vectors[..., self.slices[name]].reshape((*batch, *shape)) for name, shape in parts}
