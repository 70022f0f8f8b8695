"""Who is doing a cell, and whether that process still lives."""

import os
import platform
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Self

import psutil

LEASE_SECONDS = 60.0
"""A cell whose owner cannot be seen from here is free again when the owner has been silent for this long."""

_UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that does cells.

    Two machines, or two containers on one machine, may have one name, so a process is only looked for where boot and
    namespace are those of this process. The start is counted from boot where the system tells it: it does not move when
    the clock is set.

    Attributes:
        host: Name of the machine.
        boot: Identifier of the machine's present boot; "?" if the system has none.
        namespace: Identifier of the process-number namespace (each container has one of its own); "?" if there is none.
        pid: Process number there.
        started: When the process began, in clock ticks since boot (Linux) or hundredths of a second since the epoch:
            process numbers are used again, this is not.
    """

    host: str
    boot: str
    namespace: str
    pid: int
    started: int

    @classmethod
    def current(cls) -> Self:
        """This process."""
        return cls(platform.node() or _UNKNOWN, *_surroundings(), os.getpid(), _started(os.getpid()))

    @classmethod
    def parse(cls, text: object) -> Self | None:
        """The owner that `str` wrote down; None for text that no present version writes."""
        parts = str(text).rsplit(" ", 4)
        try:
            host, boot, namespace, pid, started = parts
            return cls(host, boot, namespace, int(pid), int(started))
        except ValueError:
            return None

    def __str__(self) -> str:
        return f"{self.host} {self.boot} {self.namespace} {self.pid} {self.started}"

    def is_gone(self, *, silent: float) -> bool:
        """Whether its cells are free: its process has ended (if it can be seen from here), or its lease has.

        Args:
            silent: Seconds since it last said that it lives, by the database's clock.
        """
        here = platform.node() or _UNKNOWN, *_surroundings()
        if (self.host, self.boot, self.namespace) != here:
            return silent > LEASE_SECONDS
        try:
            status, started = psutil.Process(self.pid).status(), _started(self.pid)
        except (psutil.Error, OSError):  # it has ended, or the system shows this user no more than that it exists
            return not psutil.pid_exists(self.pid) or silent > LEASE_SECONDS
        if status == psutil.STATUS_ZOMBIE or started != self.started:
            return True
        return status == psutil.STATUS_STOPPED and silent > LEASE_SECONDS


@lru_cache(maxsize=1)
def _surroundings() -> tuple[str, str]:
    """Boot and namespace of this process."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return boot, str(Path("/proc/self/ns/pid").readlink())
    except OSError:  # not Linux
        return _UNKNOWN, _UNKNOWN


def _started(pid: int) -> int:
    """When a process began; see `Owner.started`."""
    if platform.system() == "Linux":
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return int(text.rpartition(")")[2].split()[19])  # field 22; the name, field 2, may hold anything
    return round(psutil.Process(pid).create_time() * 100)
