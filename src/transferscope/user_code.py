"""The code that a reference leads to: its files as Python read them, and a digest of them.

The files are that of the module, those of the modules that it imports, wherever an `import` stands, and so on, as far
as they are the user's: not those of Python, of transferscope, or of installed packages. Of an installed package that
the reference itself leads to, they are all of its own. What is imported by a name that is made up while the code runs
is not seen.

A digest is that of the code in memory. The file of a reference "path/to/file.py:name" is run anew when it has changed;
a module that Python imports by its name stays as it was until the process ends, so that a change of its file is an
error, and never another digest.
"""

import ast
import functools
import hashlib
import importlib
import importlib.util
import inspect
import json
import os
import sys
import time
import warnings
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

import psutil

from transferscope.errors import SettingsError
from transferscope.import_times import IN_MEMORY, LOADED_AGAIN, LOOKED_FOR

_RELEASED = frozenset(
    (
        *("transferscope", "transferscope_papers", "torch", "torchvision", "transformers", "timm"),
        *("numpy", "scipy", "sklearn", "pandas"),
    )
)
"""Packages that their versions tell of, also where their files lie outside of site-packages."""

_SETTLED = 2.0
"""Seconds for which a file must have been left alone: within the clock of a file system a change may leave no trace."""


class ChangedCodeError(SettingsError):
    """Python may hold another code in memory than there is in the file."""


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A file of code as it was read.

    Attributes:
        module: The name that Python imports it by; "" for the file that a reference names by its path.
        path: Where it is.
        digest: SHA-256 of its content.
        stamp: Inode number, size, and times of the last change of content and entry; empty where it had been changed so
            shortly before that a further change might leave the same.
        imports: Names that may be modules, of all its `import` statements, in functions too.
    """

    module: str
    path: Path
    digest: str
    stamp: tuple[int, ...]
    imports: tuple[str, ...] = ()

    @property
    def has_changed(self) -> bool:
        """Whether its content is another one now, or it is gone."""
        try:
            return _stamp(self.path) != self.stamp and _digest(self.path.read_bytes()) != self.digest
        except OSError:
            return True


@dataclass(frozen=True)
class Code:
    """The code that a reference leads to.

    Attributes:
        files: Its files; none for what no file defines.
    """

    files: tuple[CodeFile, ...]

    @cached_property
    def digest(self) -> str:
        """That of its file where it is one, else one of all; where they lie does not count."""
        if len(self.files) == 1:
            return self.files[0].digest
        return _digest(json.dumps({file.module: file.digest for file in self.files}, sort_keys=True).encode())

    @property
    def has_changed(self) -> bool:
        """Whether a file is another one now than this code was made of."""
        return any(file.has_changed for file in self.files)


def load(where: str, path: str) -> tuple[object, Code]:
    """What a reference leads to, imported or, if it is a file that has changed, run anew.

    Args:
        where: A module by its name, or the path of a file, which ends in ".py".
        path: What to take of it, as in "Class" or "Class.method".

    Raises:
        ChangedCodeError: A module that belongs to the code has changed, or may have, since it was imported.
        Exception: Whatever the code raises; FileNotFoundError and AttributeError where there is nothing.
    """
    began, before = time.time(), frozenset(sys.modules)
    script = _read("", Path(where).expanduser().resolve(strict=True)) if where.endswith(".py") else None
    expected = _files(where, script)
    _check(expected)
    try:
        module = importlib.import_module(where) if script is None else _run(script, Code(expected).digest)
    finally:
        for name in sys.modules.keys() - before:  # another finder may have come first
            LOOKED_FOR.setdefault(name, began)
    entry: object = module
    for part in path.split("."):
        entry = getattr(entry, part)
    defining = _module_of(entry)
    files = _files(where, script, *([] if defining == module.__name__ else [defining]))  # again: paths may be new
    _check(files)
    return entry, Code(files)


def code_of(entry: object) -> Code:
    """The code of a class, function or object that is in memory.

    Raises:
        ChangedCodeError: It has changed, or may have, since it was imported.
    """
    files = _files(_module_of(entry))
    _check(files)
    return Code(files)


def defined(entry: object) -> Any:
    """The class or function that a file defines: without what wraps it, and the class of an object."""
    outer = None
    while entry is not outer:
        outer = entry
        if isinstance(entry, functools.partial):
            entry = entry.func
        elif isinstance(entry, MethodType):
            entry = entry.__func__
        elif callable(entry):
            with suppress(ValueError):  # what wraps itself
                entry = inspect.unwrap(entry)
    return entry if isinstance(entry, type | FunctionType) else type(entry)


def _module_of(entry: object) -> str:
    return str(defined(entry).__module__ or "")


def is_module(name: str) -> bool:
    """Whether Python would find a module of this name; nothing is imported."""
    return all(part.isidentifier() for part in name.split(".")) and (name in sys.modules or _spec_of(name) is not None)


def file_module(path: Path) -> str:
    """How the names begin under which the file of a reference is run; what it is made of follows."""
    return f"transferscope_file_{_digest(str(path).encode())[:16]}_"


@dataclass(frozen=True, slots=True)
class _Source:
    """A file of code with its content."""

    file: CodeFile
    content: bytes


@lru_cache(maxsize=4096)
def _imports(content: bytes) -> list[tuple[int, str, list[str]]]:
    """The `import` statements of a file: dots before the module, the module, and what is taken of it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python says the same when it runs the file
            waiting: list[ast.AST] = [ast.parse(content)]
    except (SyntaxError, ValueError, RecursionError):  # nothing that Python could import
        return []
    found: list[tuple[int, str, list[str]]] = []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found += [(0, alias.name, []) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.level, node.module or "", [alias.name for alias in node.names]))
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):  # statements within statements
            waiting += getattr(node, part, [])
    return found


def _files(where: str, script: _Source | None = None, *further: str) -> tuple[CodeFile, ...]:
    """The files of a module or script, and of `further` modules, with those that they import."""
    if script is None and (path := _path_of(where)) is not None and _is_installed(path) and not _is_released(where):
        return _of_package(where, path)
    found = [] if script is None else [script.file]
    waiting = [*further, *([where] if script is None else script.file.imports)]
    named = {where, *(name for name in further if name.partition(".")[0] == where.partition(".")[0])}
    seen = set()
    while waiting:
        name = waiting.pop()
        if not name or name in seen:
            continue
        seen.add(name)
        path = _path_of(name)
        is_users = path is not None and not _is_released(name) and not _is_installed(path)
        if path is None or not (is_users or name in named):
            continue
        try:
            source = _read(name, path)
        except OSError:  # in an archive
            continue
        if source.content.strip():  # an empty __init__.py says nothing
            found.append(source.file)
        waiting += [name.rpartition(".")[0], *(source.file.imports if is_users else [])]
    return tuple(found)


def _of_package(where: str, path: Path) -> tuple[CodeFile, ...]:
    """All files of the installed package that a module is in, which change together; of one in none, its own."""
    top, above = None, path.parent
    while (above / "__init__.py").is_file():
        top, above = above, above.parent
    found = []
    for file in [path] if top is None else sorted({path, *top.rglob("*.py")}):
        parts = file.relative_to(above).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        stamp, content = _settled_stamp(file), file.read_bytes()
        if content.strip():
            found.append(CodeFile(where if top is None else name, file, _digest(content), stamp))
    return tuple(found)


def _path_of(name: str) -> Path | None:
    """The file of a module, whether it is in memory or would be imported; None where there is none."""
    if name in sys.modules:
        file = getattr(sys.modules[name], "__file__", None)
    else:
        spec = _spec_of(name)
        file = spec.origin if spec is not None and spec.has_location else None
    return Path(file) if isinstance(file, str) else None


def _spec_of(name: str) -> ModuleSpec | None:
    """What Python would import by a name, without importing the packages that it is in."""
    parent = name.rpartition(".")[0]
    try:
        if not parent:
            return importlib.util.find_spec(name)
        if parent in sys.modules:
            places = getattr(sys.modules[parent], "__path__", None)
        else:
            above = _spec_of(parent)
            places = None if above is None else above.submodule_search_locations
        return None if places is None else PathFinder.find_spec(name, places)
    except (ImportError, ValueError, TypeError, AttributeError):  # finders of other packages
        return None


def _is_released(name: str) -> bool:
    return name.partition(".")[0] in _RELEASED


def _is_installed(path: Path) -> bool:
    """Whether a file came with Python or with a package, and changes with a release of it alone."""
    return not {"site-packages", "dist-packages"}.isdisjoint(path.parts) or path.is_relative_to(_PYTHON)


_PYTHON = Path(os.__file__).parent


def _check(files: Collection[CodeFile]) -> None:
    """Refuse files, as they are now, that may be others than those of the modules in memory.

    Raises:
        ChangedCodeError: One has changed since Python looked for its module, or since this process began if nobody saw
            it look; or a module that it imports was loaded again since.
    """
    for file in files:
        name = file.module
        if not name or name not in sys.modules or _is_released(name):  # it was run, or will be imported, as it is
            continue
        known, looked_for = IN_MEMORY.get(name), LOOKED_FOR.get(name)
        is_new = known is None and looked_for is None and _is_installed(file.path)
        is_own = is_new or known == file.digest or _changed_at(file.path) <= (looked_for or _BEGAN)
        if not is_own or any(LOADED_AGAIN.get(other, 0) > (looked_for or _BEGAN) for other in file.imports):
            what = file.path if not is_own else f"what {file.path} imports"
            raise ChangedCodeError(
                f"{what} has changed since this Python process began, which may hold the earlier code of {name} in "
                "memory; start Python anew"
            )
        IN_MEMORY[name] = file.digest


def _run(script: _Source, digest: str) -> ModuleType:
    """A file as a module whose name says its code, so that another code is another module."""
    path = script.file.path
    name = f"{file_module(path)}{digest[:16]}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name], IN_MEMORY[name] = module, script.file.digest  # dataclasses look their module up
        try:
            exec(compile(script.content, str(path), "exec", dont_inherit=True), module.__dict__)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _read(module: str, path: Path) -> _Source:
    """A file with what it imports."""
    stamp, content, names = _settled_stamp(path), path.read_bytes(), []
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    for level, of, parts in _imports(content) if path.suffix == ".py" else ():
        above = package.rsplit(".", level - 1)[0] if level else ""
        base = ".".join(part for part in (above, of) if part)
        names += [".".join(part for part in (base, part) if part) for part in ("", *parts)]
    return _Source(CodeFile(module, path, _digest(content), stamp, tuple(names)), content)


def _settled_stamp(path: Path) -> tuple[int, ...]:
    """As `CodeFile.stamp`; to be taken before the content is read."""
    return () if time.time() - _changed_at(path) < _SETTLED else _stamp(path)


def _stamp(path: Path) -> tuple[int, ...]:
    stat = path.stat()
    return (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


def _changed_at(path: Path) -> float:
    """When content or entry of a file were changed last, in seconds since 1970."""
    stat = path.stat()
    return max(stat.st_mtime, stat.st_ctime)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _process_began() -> float:
    """When this process had begun, in seconds since 1970; psutil is up to a second early on Linux.

    The system counts in ticks of a hundredth of a second and cuts them off; Python reads no file of a user so early.
    """
    try:
        ticks = 1 + int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError, IndexError):
        return float(psutil.Process().create_time())


_BEGAN = _process_began()
