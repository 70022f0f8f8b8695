"""Who is doing a cell, and whether that process still lives."""

import os
import platform
from dataclasses import dataclass
from typing import Self

import psutil

LEASE_SECONDS = 60.0
"""A cell whose owner on another host has been silent for this long is free again."""

_START_TOLERANCE = 2.0


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that does cells.

    Attributes:
        host: Name of the machine.
        pid: Process number there.
        started: When the process began, seconds since the epoch: process numbers are used again, this is not.
    """

    host: str
    pid: int
    started: float

    @classmethod
    def current(cls) -> Self:
        """This process."""
        return cls(platform.node(), os.getpid(), psutil.Process().create_time())

    @classmethod
    def parse(cls, text: str) -> Self:
        """The owner that `str` wrote down."""
        host, pid, started = text.rsplit(" ", 2)
        return cls(host, int(pid), float(started))

    def __str__(self) -> str:
        return f"{self.host} {self.pid} {self.started:.2f}"

    def is_gone(self, *, heartbeat: float, now: float) -> bool:
        """Whether its cells are free: its process has ended (same host), or its lease has (any other host).

        Args:
            heartbeat: When it last said that it lives, seconds since the epoch.
            now: The time now.
        """
        if self.host != platform.node():
            return now - heartbeat > LEASE_SECONDS
        try:
            process = psutil.Process(self.pid)
            alive = process.status() != psutil.STATUS_ZOMBIE
            return not alive or abs(process.create_time() - self.started) > _START_TOLERANCE
        except psutil.NoSuchProcess:
            return True
