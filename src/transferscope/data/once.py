"""What was read of files, kept while they stay as they are.

A name of data goes through study files, commands, workers and pages, and what it means cannot travel with it.
"""

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from transferscope.files import stamp_of

_MOST_BYTES = 1 << 28  # of the files of which something is kept, beside the newest

Read = TypeVar("Read")


class ReadOnce(Generic[Read]):
    """Things read of files, by name and by when the files were last written; those asked for last are kept."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[int, Read]] = {}

    def get(self, name: Hashable, files: Sequence[Path], read: Callable[[], Read]) -> Read:
        """Return what was read by this name, or read it where a file has changed since."""
        stamps = [stamp_of(file) for file in files]
        key = (name, tuple(str(file.absolute()) for file in files), *stamps)
        size, found = self._kept.pop(key) if key in self._kept else (sum(stamp[0] for stamp in stamps), read())
        room = _MOST_BYTES - size
        for other, (size_of_other, _) in reversed(self._kept.copy().items()):
            room -= size_of_other
            if room < 0:
                self._kept.pop(other, None)
        self._kept[key] = (size, found)
        return found
