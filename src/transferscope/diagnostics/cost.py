"""Timing one unit of work."""

from collections.abc import Callable
from time import perf_counter

import torch


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
