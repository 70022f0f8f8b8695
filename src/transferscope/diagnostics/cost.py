"""What a piece of work takes: seconds and bytes."""

import weakref
from collections.abc import Callable
from math import prod
from time import perf_counter
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from transferscope.diagnostics.loss_surface import LossSurface


def seconds_of(work: Callable[[], object]) -> float:
    """Wall-clock seconds of one call, after one call to warm up.

    Args:
        work: What to time; it must have no effect.

    Returns:
        Seconds, with pending work on accelerators waited for.
    """
    work()
    _wait()
    begin = perf_counter()
    work()
    _wait()
    return perf_counter() - begin


def _wait() -> None:
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.synchronize()


_WITHIN_OPERATORS = 1.15  # operators such as convolutions hold working memory of their own for a moment


def saved_bytes(surface: LossSurface, batch_size: int) -> int:
    """Bytes that the forward pass of one batch keeps for its backward pass.

    Args:
        surface: Whose network and examples.
        batch_size: Examples in the batch.

    Returns:
        The sum over saved tensors; one that is saved twice counts twice.
    """
    sizes: list[int] = []

    def note(tensor: Tensor) -> None:
        sizes.append(tensor.element_size() * prod(tensor.shape))

    leaves = {name: tensor.detach().requires_grad_() for name, tensor in surface.moved.items()}
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(note, lambda _: torch.empty(0)):
        surface.value(leaves, surface.examples.first(batch_size))
    return sum(sizes)


def peak_bytes(work: Callable[[], object]) -> int:
    """Bytes that a piece of work holds at most, above what is there before it.

    On a CPU the tensors that operators make are added up as long as they live, and 15 % is added for the working memory
    of operators; on a GPU it is what the allocator counts.

    Args:
        work: What to measure; it is done once, and must have no effect.

    Returns:
        Bytes.
    """
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        torch.cuda.synchronize()
        on_device = torch.cuda.max_memory_allocated() - before
        if on_device > 0:
            return on_device
    storages = _Storages()
    with storages:
        result = work()
    del result
    return int(_WITHIN_OPERATORS * storages.peak)


class _Storages(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the tensors that operators make, as long as they live."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now, self.peak = 0, 0
        self._seen: weakref.WeakSet[torch.UntypedStorage] = weakref.WeakSet()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        inputs = {tensor.untyped_storage() for tensor in tree_leaves((args, kwargs)) if _is_plain(tensor)}
        outputs = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(outputs):
            if _is_plain(tensor) and (storage := tensor.untyped_storage()) not in inputs:
                self._note(storage)
        return outputs

    def _note(self, storage: torch.UntypedStorage) -> None:
        if storage in self._seen:
            return
        size = storage.nbytes()
        self._seen.add(storage)
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._free, size)

    def _free(self, size: int) -> None:
        self.now -= size


def _is_plain(found: object) -> bool:
    return isinstance(found, Tensor) and found.layout is torch.strided and found.device.type != "meta"
