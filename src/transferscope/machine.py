"""Resources available to this process."""

import ctypes
import sys
from pathlib import Path

import psutil

_GROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's mallopt(3)
_LARGEST_BLOCKS = (2**30, 2**25)  # bytes; older versions of glibc take no more than the second


def memory_free() -> int:
    """Return the bytes of memory available to this process: free on the machine, and within its container's limit.

    A container, or a job of a batch system, is a control group of Linux, whose processes are killed without a message
    beyond its limit. Cached pages of files count as free.
    """
    return min([psutil.virtual_memory().available, *_left_in_groups()])


def _left_in_groups() -> list[int]:
    """Return the free memory within each control group of this process, of version 1 or 2."""
    try:
        entries = [line.split(":", 2) for line in _OWN.read_text().splitlines()]
    except OSError:  # not Linux
        return []
    left = []
    for _, controllers, path in entries:
        if controllers in ("", "memory"):
            top = _GROUPS / controllers
            names = ("memory.max", "memory.current", "")
            if controllers == "memory":
                names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
            own = top / path.lstrip("/")
            # in a container the path is that of the machine, and its own group is mounted at the top
            groups = [own, *(above for above in own.parents if above.is_relative_to(top))]
            left += [free for group in groups if (free := _left_in(group, *names)) is not None]
    return left


def _left_in(group: Path, limit_name: str, used_name: str, prefix: str) -> int | None:
    """Return the free bytes within a group's limit; None if it has none, or does not exist."""
    try:
        limit, used = ((group / name).read_text().strip() for name in (limit_name, used_name))
        of_files = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        pages = sum(int(of_files[f"{prefix}{kind}_file"]) for kind in ("inactive", "active"))
        return max(0, int(limit) - int(used) + pages)
    except (OSError, ValueError, KeyError):  # "max" is not a number
        return None


def longest_file() -> int | None:
    """Return the maximum size of a file of this process; None without a limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return None if most == resource.RLIM_INFINITY else most


def keep_freed_memory() -> bool:
    """Keep freed memory in this process for its next allocations; False without glibc.

    By default glibc returns freed blocks above 32 MB to the system and requests them again in the next step, which
    takes up to 40 % of the time of a convolutional network on a CPU. The process then keeps its largest size, so use it
    only in worker processes.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # another C library
        return False
    taken = any(mallopt(_M_MMAP_THRESHOLD, size) for size in _LARGEST_BLOCKS)
    return bool(mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)) and taken
