"""What the blocks of a backbone hand on to one another."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from transferscope.models.network import Network


class BlockOutputs:
    """The outputs of all blocks of a backbone in one pass, from the input up.

    That of a block is what reaches the next one, after whatever without weights stands between the two (an activation,
    pooling); that of the last are the features. A block that is given no floating-point tensor is left out.

    Args:
        network: Its backbone is watched; hooks stay in place as long as `watched` is open.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.change: dict[str, Callable[[Tensor], Tensor]] = {}
        self._seen: dict[str, Tensor] = {}
        names = list(network.named_blocks())
        self._next = {before: network.features.get_submodule(name) for before, name in pairwise(names)}
        self._last = names[-1] if names else ""

    @contextmanager
    def watched(self) -> Iterator["BlockOutputs"]:
        """Watch the passes within."""
        handles = [
            module.register_forward_pre_hook(self._hook(name), with_kwargs=True) for name, module in self._next.items()
        ]
        try:
            yield self
        finally:
            for handle in handles:
                handle.remove()

    def of(self, inputs: Tensor) -> dict[str, Float[Tensor, "n ..."]]:
        """The outputs by block, the features last, for inputs as the network reads them; call it in `watched`.

        `change` holds functions, by block, that make another tensor of an output, which the next block then gets; that
        of the last is not changed.
        """
        self._seen = {}
        features = self.network.features(inputs)
        return {**self._seen, self._last: features}

    def _hook(self, name: str) -> Callable[..., Any]:
        def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            place = next((i for i, value in enumerate(args) if _is_map(value)), None)
            key = next((key for key, value in kwargs.items() if _is_map(value)), None)
            if place is not None:
                return (*args[:place], self._noted(name, args[place]), *args[place + 1 :]), kwargs
            return None if key is None else (args, {**kwargs, key: self._noted(name, kwargs[key])})

        return hook

    def _noted(self, name: str, output: Tensor) -> Tensor:
        """The output, changed where that is asked for, and noted."""
        if name in self.change:
            output = self.change[name](output)
        self._seen[name] = output
        return output


def _is_map(value: object) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and value.ndim > 1


def channel_dimension(output: Tensor) -> int:
    """Which dimension of a block's output counts channels: the second of maps (n, C, H, W), and the last of tokens
    (n, T, C) and vectors (n, C).
    """
    return 1 if output.ndim != 3 else 2
