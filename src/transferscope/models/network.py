"""A network with an explicit split into features and head."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transferscope.errors import NetworkError


class Network(nn.Module):
    """A backbone that makes features and a head that reads them.

    Args:
        features: Maps inputs (N, *input_shape) to features (N, n_features). An `nn.Sequential` of blocks, so that the
            first k can be frozen; any other module counts as one block.
        head: Maps features (N, n_features) to outputs (N, n_outputs): logits, or regression values.
        n_features: Width of the features.
    """

    def __init__(self, features: nn.Module, head: nn.Module, n_features: int) -> None:
        super().__init__()
        self.features = features
        self.head = head
        self.n_features = n_features

    def forward(self, inputs: Float[Tensor, "N ..."]) -> Float[Tensor, "N K"]:
        """Outputs of the head on the features of `inputs`."""
        outputs: Tensor = self.head(self.features(inputs))
        return outputs

    def blocks(self) -> list[nn.Module]:
        """The backbone's blocks that have parameters, from the input up."""
        parts = list(self.features) if isinstance(self.features, nn.Sequential) else [self.features]
        return [part for part in parts if any(True for _ in part.parameters())]

    def copy(self) -> "Network":
        """A deep copy that shares no memory with this network."""
        return copy.deepcopy(self)

    def with_head(self, head: nn.Module) -> "Network":
        """A copy of the backbone under another head."""
        return Network(copy.deepcopy(self.features), head, self.n_features)


def new_head(n_features: int, n_outputs: int, *, seed: int) -> nn.Linear:
    """A linear head with torch's default initialisation, drawn from `seed`.

    Args:
        n_features: Width of the features, at least 1.
        n_outputs: Number of classes or regression targets, at least 1.
        seed: Seed of the draw; the global random state is left as it was.

    Returns:
        The head.

    Raises:
        NetworkError: A width is below 1.
    """
    if n_features < 1 or n_outputs < 1:
        raise NetworkError(f"a head from {n_features} features to {n_outputs} outputs was asked for; both must be >= 1")
    with seeded(seed):
        return nn.Linear(n_features, n_outputs)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw from `seed` inside the block, on the CPU whatever the default device; the global state is restored after it.

    Only the CPU generator is touched: `torch.manual_seed` would also reseed every GPU.

    Args:
        seed: Seed of the draws.
    """
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.default_generator.manual_seed(seed)
        yield
