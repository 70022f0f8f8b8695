"""Outputs of the blocks of a backbone."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transferscope.models.network import Network, computing
from transferscope.models.texts import are_pairs, halves


@dataclass(frozen=True)
class BlockOutput:
    """The output of a block for a batch of examples.

    Attributes:
        values: Maps (n, C, H, W), tokens (n, T, C) or vectors (n, C).
        there: For texts, which positions are tokens rather than padding. None if all positions count.
    """

    values: Float[Tensor, "n ..."]
    there: Bool[Tensor, "n T"] | None = None

    @property
    def channel_dimension(self) -> int:
        """Which dimension counts channels: the second of maps and vectors, and the last of tokens."""
        return 1 if self.values.ndim != 3 else 2

    @property
    def by_position(self) -> Float[Tensor, "n C P"]:
        """The channels of each example at each position; a vector has one position."""
        values = self.values.movedim(self.channel_dimension, 1)
        return values.reshape(*values.shape[:2], -1)

    @property
    def places(self) -> Float[Tensor, "places C"]:
        """The channels at the existing positions of all examples."""
        by_position = self.by_position.movedim(2, 1)
        return by_position.flatten(0, 1) if self.there is None else by_position[self.there]

    def mean(self, values: Float[Tensor, "n C P"]) -> Float[Tensor, "n C"]:
        """Return the mean over the existing positions."""
        if self.there is None:
            return values.mean(dim=2)
        weights = self.there[:, None].to(values.dtype)
        return (values * weights).sum(dim=2) / weights.sum(dim=2).clamp(min=1)


class BlockOutputs:
    """The outputs of all blocks of a backbone in one pass, from the input up.

    The output of a block is the input of the next one, after intermediate operations without weights (activation,
    pooling); that of the last block is the features. Blocks without a floating-point input are left out.

    Args:
        network: Network whose backbone is watched; hooks are active while `watched` is open.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.change: dict[str, Callable[[BlockOutput], Tensor]] = {}
        self._seen: dict[str, list[Tensor]] = {}
        names = list(network.named_blocks())
        self._next = {before: network.features.get_submodule(name) for before, name in pairwise(names)}
        self._last = names[-1] if names else ""

    @contextmanager
    def watched(self) -> Iterator["BlockOutputs"]:
        """Watch the passes within."""
        with ExitStack() as hooks:
            for name, module in self._next.items():
                hooks.enter_context(module.register_forward_pre_hook(partial(self._handed_on, name), with_kwargs=True))
            yield self

    def of(self, inputs: Tensor) -> dict[str, tuple[BlockOutput, ...]]:
        """Return the outputs by block, the features last, for preprocessed inputs; call it in `watched`.

        A block has one output, and two if it runs separately for both texts of a pair. If it runs several times for the
        same input, the last run counts.

        `change` maps blocks to functions that replace their output for the next block, except for the last block.
        """
        self._seen = {}
        features, texts = self.network.features(inputs), _texts_of(inputs)
        last = {name: _last_of_each(outputs, texts) for name, outputs in self._seen.items()}
        return {**last, self._last: (BlockOutput(features),)}

    @torch.no_grad()
    def remembered(self, inputs: Tensor) -> "RememberedPass":
        """Run a pass over inputs and record what every block returns; call it in `watched` and evaluation mode."""
        blocks = {name: self.network.features.get_submodule(name) for name in self.network.named_blocks()}
        called: list[tuple[str, Any]] = []

        def note(name: str, module: nn.Module, args: Any, output: Any) -> None:
            called.append((name, _copy_of(output)))

        with ExitStack() as hooks:
            for name, block in blocks.items():
                hooks.enter_context(block.register_forward_hook(partial(note, name)))
            outputs = self.of(inputs)
        names = list(dict.fromkeys(name for name, _ in called))
        n_runs = len(called) // max(len(names), 1)
        whole = [name for name, _ in called] == n_runs * names and n_runs in (1, len(_texts_of(inputs)))
        returned = {name: (blocks[name], [output for other, output in called if other == name]) for name in names}
        return RememberedPass(outputs, returned if whole else {})

    def _handed_on(self, name: str, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the input of the block after the one of this name, once recorded."""
        place = next((i for i, value in enumerate(args) if _is_map(value)), None)
        key = next((key for key, value in kwargs.items() if _is_map(value)), None)
        if place is not None:
            return (*args[:place], self._noted(name, args[place]), *args[place + 1 :]), kwargs
        return None if key is None else (args, {**kwargs, key: self._noted(name, kwargs[key])})

    def _noted(self, name: str, values: Tensor) -> Tensor:
        if name in self.change:
            values = self.change[name](BlockOutput(values))
        self._seen.setdefault(name, []).append(values)
        return values


class RememberedPass:
    """Recorded outputs of the blocks for some inputs, so that another pass can skip the first blocks."""

    def __init__(
        self, outputs: dict[str, tuple[BlockOutput, ...]], returned: dict[str, tuple[nn.Module, list[Any]]]
    ) -> None:
        self.outputs = outputs
        self._returned = returned  # by block, in each of its runs; empty where one runs several times for an input

    @contextmanager
    def up_to(self, name: str) -> Iterator[None]:
        """Let the blocks up to this one return their recorded outputs in one pass, without computing them.

        Blocks that return anything but a tensor or a tuple of tensors are computed as usual.
        """
        with ExitStack() as replaced:
            for other, (block, outputs) in self._returned.items() if name in self._returned else ():
                if all(output is not None for output in outputs):
                    remaining = iter(outputs)
                    replaced.enter_context(
                        computing(block, lambda *args, _kept=remaining, **kwargs: _copy_of(next(_kept)))
                    )
                if other == name:
                    break
            yield


def _texts_of(inputs: Tensor) -> tuple[Tensor, ...]:
    """Return the tokens (n, 2, T) of each run of the blocks; empty if inputs are not texts."""
    if inputs.dtype != torch.int32 or inputs.ndim != 3:
        return ()
    return halves(inputs) if are_pairs(inputs) else (inputs,)


def _last_of_each(runs: list[Tensor], texts: tuple[Tensor, ...]) -> tuple[BlockOutput, ...]:
    """Return the output of the last run of a block: for each of two texts, if it ran equally often for both."""
    chosen = [runs[len(runs) // 2 - 1], runs[-1]] if len(texts) == 2 and len(runs) % 2 == 0 else [runs[-1]]
    known = texts if len(texts) == len(chosen) else [None] * len(chosen)
    return tuple(BlockOutput(values, _there(values, text)) for values, text in zip(chosen, known, strict=True))


def _there(values: Tensor, text: Tensor | None) -> Tensor | None:
    """Return which tokens of a text exist; None if the positions of an output are not its tokens."""
    if text is None or values.ndim != 3 or values.shape[:2] != (len(text), text.shape[-1]):
        return None
    return text[:, 0] >= 0


def _copy_of(output: Any) -> Any:
    """Return a copy of a block's output, since later modules may work in place; None if it cannot be copied."""
    if isinstance(output, Tensor):
        return output.clone()
    if type(output) is tuple and all(part is None or isinstance(part, Tensor) for part in output):
        return tuple(None if part is None else part.clone() for part in output)
    return None


def _is_map(value: object) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and value.ndim > 1
