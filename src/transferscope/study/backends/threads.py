"""How many threads a cell computes with: sums of floating-point numbers depend on how they are divided."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def thread_limit(threads: int) -> Iterator[None]:
    """Compute with so many threads, in torch and in the libraries below NumPy and SciPy; the same as before afterwards.

    Args:
        threads: At least 1.
    """
    torch = sys.modules.get("torch")  # only if the work uses it
    before = None if torch is None else torch.get_num_threads()
    with threadpool_limits(limits=threads):
        if torch is not None:
            torch.set_num_threads(threads)
        try:
            yield
        finally:
            if torch is not None and before is not None:
                torch.set_num_threads(before)
