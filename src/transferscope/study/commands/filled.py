"""Commands with placeholders: the payload of their cells, filling them in, and the files they name."""

import hashlib
import itertools
import json
import re
import shlex
import string
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Self

from transferscope.errors import SettingsError, missing_file
from transferscope.files import content_digest, require_regular
from transferscope.study.tables import settings_of
from transferscope.user_code import files_of

OWN = ("labels", "seed", "out", "rows")
"""Placeholders filled by the engine, besides {source} and those of the arms."""

ROWS = ".rows.txt"
"""File in the folder of a run beside methods: the numbers of the target's training examples that it may learn from."""

Value = str | int | float

_LONGEST_PATH = 4096  # of Linux, in bytes


@dataclass(frozen=True, slots=True)
class Job:
    """The common settings of the cells of one arm.

    Attributes:
        values: Values of the placeholders except `OWN`; "source" is "" for a baseline.
        shell: Whether /bin/sh runs the command; otherwise it is split into words, which are filled one by one.
        files: SHA-256 of the known files that it reads, by their path relative to the folder.
        score: "FILE:KEY" of the score; None together with methods, which are compared by predictions.
        is_share: Whether the score must be between 0 and 1.
        predictions: File with the contribution of each test example; None for none.
    """

    command: str
    values: Mapping[str, Value]
    shell: bool
    folder: str
    files: Mapping[str, str]
    score: str | None
    is_share: bool
    predictions: str | None

    def as_payload(self) -> dict[str, Any]:
        """Return the job as JSON values."""
        return asdict(self)

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Self:
        """Parse a job written by `as_payload`; raises SettingsError if the store is damaged or of another version."""
        return settings_of(cls, {name: payload[name] for name in cls.__slots__ if name in payload})

    @property
    def reference(self) -> str:
        """The reference of the command for `consent`: the command with a digest of all that can change it."""
        parts = {name: getattr(self, name) for name in self.__slots__ if name != "files"}
        return f"{self.command} [{hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]}]"

    def words(self, labels: Mapping[str, Any], *, out: str) -> list[str]:
        """Return program and arguments of one run with these labels ("n_target", "seed"), which writes into `out`."""
        numbers = {"labels": int(labels["n_target"]), "seed": int(labels["seed"])}
        own: dict[str, Value] = {**numbers, "out": out, "rows": str(Path(out, ROWS))}
        values = {**self.values, **own}
        if self.shell:
            quoted = {name: _Quoted(value) for name, value in values.items()}
            return ["/bin/sh", "-c", self.command.format_map(quoted)]
        return [word.format_map(values) for word in shlex.split(self.command)]

    def check_quotes(self) -> None:
        """Refuse placeholders in quotes, which would end where those of a shell value begin; raises SettingsError."""
        quoted: list[str] = []
        bare: list[str] = []
        command = re.sub(r"(?<=\S)#", "_", self.command)  # within a word it begins no comment
        with suppress(ValueError):  # quotes that only a shell understands
            quoted, bare = (
                shlex.split(command.format_map(defaultdict(partial(_Sign, sign))), comments=True)
                for sign in ("'a b'", "\ue000")
            )
        if self.shell and quoted != [word.replace("\ue000", "a b") for word in bare]:
            raise SettingsError("a placeholder is in quotes; leave them out: values are quoted for the shell")

    def named(self, words: list[str]) -> list[tuple[str, str]]:
        """Return the files named in a filled command, as words, behind "=", or as a module behind "-m".

        Returns:
            Each with the folder of its Python modules, both relative to the folder of the job.
        """
        parts = _words_of_shell(words[-1]) if self.shell else words
        possible = dict.fromkeys(one for word in parts for one in (word, word.rpartition("=")[2]) if one)
        named = [(one, str(Path(one).parent)) for one in possible]
        for option, module in itertools.pairwise(parts):
            start = module.replace(".", "/")
            named += [(f"{start}.py", "."), (f"{start}/__main__.py", ".")] if option == "-m" else []
        return [one for one in named if len(one[0]) < _LONGEST_PATH and is_file(Path(self.folder, one[0]))]


class _Quoted:
    """A value that a shell reads as one word, whatever its format."""

    def __init__(self, value: Value) -> None:
        self._value = value

    def __format__(self, spec: str) -> str:
        return shlex.quote(format(self._value, spec))


class _Sign(str):
    """A sign that replaces every value, whatever its format."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return str(self)


def _words_of_shell(command: str) -> list[str]:
    splitter = shlex.shlex(command, posix=True, punctuation_chars=True)
    splitter.whitespace_split = True
    try:
        return list(splitter)
    except ValueError:  # quotes that only a shell understands
        return command.split()


def is_file(path: Path) -> bool:
    """Return whether there is a regular file; False for an impossible path."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def placeholders(command: str) -> set[str]:
    """Return the names in braces.

    Raises:
        SettingsError: A brace is not closed, or contains something other than a name and a format.
    """
    names = set()
    try:
        for _, name, spec, conversion in string.Formatter().parse(command):
            if name is None:
                continue
            if not name.isidentifier() or conversion or "{" in (spec or ""):
                raise ValueError(f"{{{name}}} is not a name")
            names.add(name)
    except ValueError as error:
        raise SettingsError(
            f"command = {command!r} is invalid ({error}); write {{name}} for a placeholder and {{{{ }}}} for a brace"
        ) from error
    return names


def digests_of(folder: Path, name: str, beside: str) -> dict[str, str]:
    """Return SHA-256 digests by name of a file and, for a Python file, of the local modules that it imports."""
    digests, top = {name: digest_of(folder / name)}, folder / beside
    if name.endswith(".py"):
        imported = (path.relative_to(top) for path in files_of(folder / name, top) if path.is_relative_to(top))
        digests |= {str(beside / one): digest_of(top / one) for one in imported}
    return digests


def digest_of(path: Path) -> str:
    """Return the SHA-256 digest of a file; raises MissingDataError if missing."""
    try:
        stat = path.stat()
    except OSError as error:
        raise missing_file("file", path, "correct the command of the study") from error
    require_regular(path, "a file that a command reads")
    return _digest(str(path), stat.st_ino, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=4096)
def _digest(path: str, *_stamp: int) -> str:
    return content_digest(Path(path))
