"""No garbage collection where there is none to find."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collecting() -> Iterator[None]:
    """Suspend the cyclic garbage collector: for making very many objects that all stay.

    A plan of 100,000 cells is such a case: looking through it again and again takes a third of its time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
