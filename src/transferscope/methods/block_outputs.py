"""What the blocks of a backbone hand on to one another."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transferscope.models.network import Network
from transferscope.training.fixed_blocks import computing


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

    @torch.no_grad()
    def remembered(self, inputs: Tensor) -> "RememberedPass":
        """A pass over inputs, of which what every block returned is kept; call it in `watched` and evaluation mode."""
        blocks = {name: self.network.features.get_submodule(name) for name in self.network.named_blocks()}
        called: list[tuple[str, Any]] = []

        def note(name: str, module: nn.Module, args: Any, output: Any) -> None:
            called.append((name, _copy_of(output)))

        with ExitStack() as hooks:
            for name, block in blocks.items():
                hooks.callback(block.register_forward_hook(partial(note, name)).remove)
            outputs = self.of(inputs)
        once = len({name for name, _ in called}) == len(called)
        return RememberedPass(outputs, [(blocks[name], name, output) for name, output in called] if once else [])

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


class RememberedPass:
    """What the blocks of a backbone gave for some inputs, so that another pass over these can leave out the first ones.

    Attributes:
        outputs: As `BlockOutputs.of` has them.
    """

    def __init__(self, outputs: dict[str, Tensor], returned: list[tuple[nn.Module, str, Any]]) -> None:
        self.outputs = outputs
        self._returned = returned  # by each block as it was called; empty where one runs several times

    @contextmanager
    def up_to(self, name: str) -> Iterator[None]:
        """Within, the blocks up to this one return what they did, and are not computed.

        A block that returns anything but a tensor or a tuple of tensors is computed as ever.
        """
        reached = [i for i, (_, other, _) in enumerate(self._returned) if other == name]
        with ExitStack() as replaced:
            for block, _, output in self._returned[: reached[0] + 1] if reached else []:
                if output is not None:
                    replaced.enter_context(computing(block, lambda *args, _kept=output, **kwargs: _copy_of(_kept)))
            yield


def _copy_of(output: Any) -> Any:
    """A copy of what a block returned, as what follows may work in place; None of what cannot be copied."""
    if isinstance(output, Tensor):
        return output.clone()
    if type(output) is tuple and all(part is None or isinstance(part, Tensor) for part in output):
        return tuple(None if part is None else part.clone() for part in output)
    return None


def _is_map(value: object) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and value.ndim > 1


def channel_dimension(output: Tensor) -> int:
    """Which dimension of a block's output counts channels: the second of maps (n, C, H, W), and the last of tokens
    (n, T, C) and vectors (n, C).
    """
    return 1 if output.ndim != 3 else 2
