"""Keep freed memory: training asks for the same large blocks in every step."""

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's mallopt(3)
_LARGEST_BLOCKS = (2**30, 2**25)  # bytes; older versions of glibc take no more than the second


def keep_freed_memory() -> bool:
    """Have this process keep the memory that it frees, for its next allocations.

    By default glibc gives blocks above 32 MB back to the system as soon as they are freed and gets them again, page by
    page, in the next step: up to two fifths of the time of training a convolutional network on a CPU. It costs that the
    process stays as large as it ever was, so it is for processes of our own.

    Returns:
        Whether the allocator took the setting; False without glibc.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # another C library
        return False
    taken = any(mallopt(_M_MMAP_THRESHOLD, size) for size in _LARGEST_BLOCKS)
    return bool(mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)) and taken
