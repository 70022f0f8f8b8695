"""A network with an explicit split into features and head."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from transferscope.errors import NetworkError
from transferscope.models.inputs import NetworkInput


class Network(nn.Module):
    """A backbone that makes features and a head that reads them.

    Args:
        features: Maps inputs (N, *input_shape) to features (N, n_features). An `nn.Sequential` of blocks, so that the
            first k can be frozen; of any other module `block_names` says the blocks, or it counts as one.
        head: Maps features (N, n_features) to outputs (N, n_outputs): logits, or regression values.
        n_features: Width of the features.
        input: How inputs must be scaled for it; None for a network whose inputs are standardised by the training
            examples of their data.
        block_names: Names of the backbone's blocks within `features`, from the input up; empty for the parts of an
            `nn.Sequential`.
        is_frozen: Whether the backbone is as a pretrained network has it, so that its features may be kept and shared;
            set by methods that do not train it.
        is_random: Whether the weights are those of an initialisation, so that a method that starts from scratch takes
            them as they are; it initialises others again (see `models.reinitialise`).
    """

    def __init__(
        self,
        features: nn.Module,
        head: nn.Module,
        n_features: int,
        *,
        input: NetworkInput | None = None,
        block_names: tuple[str, ...] = (),
        is_random: bool = False,
    ) -> None:
        super().__init__()
        self.features = features
        self.head = head
        self.n_features = n_features
        self.input = input
        self.block_names = block_names
        self.is_random = is_random
        self.is_frozen = False

    def forward(self, inputs: Num[Tensor, "N ..."]) -> Float[Tensor, "N K"]:
        """Outputs of the head on the features of `inputs`."""
        outputs: Tensor = self.head(self.features(inputs))
        return outputs

    def blocks(self) -> list[nn.Module]:
        """The backbone's blocks that have parameters, from the input up; together they have all of its parameters."""
        return list(self.named_blocks().values())

    def named_blocks(self) -> dict[str, nn.Module]:
        """The blocks by name; parameters outside of all of them, such as a class token, belong to the first."""
        if self.block_names:
            found = {name: self.features.get_submodule(name) for name in self.block_names}
        elif isinstance(self.features, nn.Sequential):
            found = dict(self.features.named_children())
        else:
            found = {"features": self.features}
        found = {name: block for name, block in found.items() if any(True for _ in block.parameters())}
        inside = {id(parameter) for block in found.values() for parameter in block.parameters()}
        outside = [parameter for parameter in self.features.parameters() if id(parameter) not in inside]
        if found and outside:
            first = next(iter(found))
            together = nn.Module()
            together.block = found[first]
            together.outside = nn.ParameterList(outside)
            found[first] = together
        return found

    def copy(self) -> "Network":
        """A deep copy that shares no memory with this network."""
        return copy.deepcopy(self)

    def with_head(self, head: nn.Module) -> "Network":
        """A copy of the backbone under another head."""
        copied = self.under(head)
        copied.features = copy.deepcopy(self.features)
        return copied

    def under(self, head: nn.Module) -> "Network":
        """This very backbone under another head; the two networks share it."""
        return Network(
            self.features,
            head,
            self.n_features,
            input=self.input,
            block_names=self.block_names,
            is_random=self.is_random,
        )


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
