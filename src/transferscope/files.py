"""Files that appear whole or not at all, whatever happens meanwhile."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A place to write a file that then takes the name `path`, once it is on the disk; on an error nothing changes.

    Args:
        path: The file, in a folder that exists; replaced if it is there already. What is no regular file, such as
            /dev/stdout, is written to as it is.

    Yields:
        Where to write, in the same folder and with the same ending.

    Raises:
        OSError: It cannot be written.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    path = path.resolve()  # a link stays one
    unfinished = path.with_name(f".{uuid.uuid4().hex[:12]}{path.suffix}")
    try:
        yield unfinished
        _sync(unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    if os.name == "posix":
        _sync(path.parent)


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
