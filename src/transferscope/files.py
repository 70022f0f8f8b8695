"""What a user may name as a file to be read."""

import stat
from pathlib import Path

from transferscope.errors import DataError

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def require_regular(path: Path, expected: str) -> None:
    """Refuse what is there and is no regular file: a device or a pipe may never end, or wait for ever.

    Args:
        path: What is about to be opened; nothing is said of a path at which there is nothing.
        expected: What should be there, as in "an .npz file".

    Raises:
        DataError: It is a folder, pipe, socket or device, or cannot be looked at.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        raise DataError(f"{str(path)!r} cannot be opened ({error}); expected {expected}") from error
    if not stat.S_ISREG(mode):
        raise DataError(f"{path} is {_KINDS.get(stat.S_IFMT(mode), 'no regular file')}; expected {expected}")
