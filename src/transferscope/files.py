"""Files: checks before reading, and atomic writing."""

import hashlib
import json
import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transferscope.errors import CorruptDataError, DataError, StoreError, missing_file

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def require_regular(path: Path, expected: str) -> None:
    """Refuse a path that exists and is not a regular file: reading a device or a pipe may never end.

    Args:
        path: The path to open; a missing one is not refused.
        expected: Expected content, as in "an .npz file".

    Raises:
        DataError: It is a folder, pipe, socket or device, lies in /proc or /sys, or cannot be looked at.
    """
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        raise DataError(f"{str(path)!r} cannot be opened ({error}); expected {expected}") from error
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "no regular file")
        raise DataError(f"{path} is {kind}; expected {expected}")
    if any(folder.is_mount() and folder.stat().st_dev == status.st_dev for folder in (Path("/proc"), Path("/sys"))):
        raise DataError(f"{path} is a file of the operating system, which may never end; expected {expected}")


def require_file(path: Path, kind: str, expected: str) -> None:
    """Refuse a path without a regular file; kind as in "file of weights", `expected` as for `require_regular`."""
    require_regular(path, expected)
    if not path.is_file():
        raise missing_file(kind, path, f"expected {expected}")


def json_object(path: Path, expected: str, advice: str) -> dict[str, Any]:
    """Return the object in a JSON file.

    Args:
        expected: Expected content, as in "what a Trainer writes".
        advice: Advice in the error message, as in "write it again".

    Raises:
        DataError: It is not a regular file.
        CorruptDataError: It is not JSON, or not an object.
    """
    require_regular(path, expected)
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CorruptDataError(f"{path} cannot be read as JSON ({error}); {advice}") from error
    if not isinstance(value, dict):
        raise CorruptDataError(f"{path} is not a JSON object; expected {expected}; {advice}")
    return value


def content_digest(path: Path) -> str:
    """Return the SHA-256 of the content of a file, in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def stamp_of(path: Path) -> tuple[int, ...]:
    """Return the size and times of a file, which change with any write."""
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def inside(folder: Path, path: str | Path) -> Path:
    """Return a path below a folder, for names from another person.

    Args:
        folder: The folder of a store, which need not exist.
        path: A name in it, or a path that should lie below it; links on the way are followed.

    Raises:
        StoreError: It is outside of the folder, by its name or by a link.
    """
    placed = folder / path
    if not placed.resolve().is_relative_to(folder.resolve()):
        raise StoreError(
            f"the store names {str(path)!r}, which is outside of its folder {folder}, so nothing is read or written "
            "there; remove the link, or get the store again from its author"
        )
    return placed


_NETWORK_FILE_SYSTEMS = frozenset(
    """
    nfs nfs4 cifs smb3 smbfs afs ncpfs lustre gpfs beegfs fhgfs ceph orangefs pvfs2 panfs glusterfs wekafs
    fuse.sshfs fuse.glusterfs fuse.ceph fuse.s3fs fuse.gcsfuse fuse.rclone fuse.juicefs
    """.split()  # noqa: SIM905
)


def expanded(path: str) -> Path:
    """Expand "~" to the user's folder; "~" before an unknown name is unchanged."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  # Path.expanduser raises RuntimeError for an unknown name


def network_file_system(path: Path, *, mounts: Path = Path("/proc/self/mounts")) -> str | None:
    """Return the kind of network file system of a path, as in "nfs4"; None for a local disk.

    Args:
        path: A path, which need not exist.
        mounts: The system's list of mounts; None is returned if it is missing (not Linux).
    """
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    place = path.resolve()
    system, longest = None, -1
    for line in lines:
        words = line.split(" ")
        if len(words) < 3:
            continue
        mounted = Path(words[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\"))
        if place.is_relative_to(mounted) and len(mounted.parts) >= longest:  # of two at one place, the later one
            system, longest = words[2], len(mounted.parts)
    return system if system in _NETWORK_FILE_SYSTEMS else None


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces `path` once it is written to disk; on an error nothing changes.

    Permissions are those of any new file.

    Args:
        path: The file, in an existing folder; an existing file is replaced. Special files, such as /dev/stdout, are
            written directly.

    Yields:
        Temporary path in the same folder with the same suffix.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    path = path.resolve()  # a link stays one
    unfinished = path.with_name(f".{uuid.uuid4().hex[:12]}{path.suffix}")
    unfinished.touch()
    mode = stat.S_IMODE(unfinished.stat().st_mode)  # as the umask of the process has it
    unfinished.unlink()
    try:
        yield unfinished
        if os.name == "posix":
            unfinished.chmod(mode)  # some libraries write files that the owner alone can read
        _sync(unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    if os.name == "posix":
        _sync(path.parent)


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk."""
    descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
