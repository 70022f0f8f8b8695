"""The code of a reference, and its digest: that of its file and of the user's files that it imports.

Imports are read from `import` statements, also in functions, without running code. A module is the user's if it is next
to the file (or its package) or in another folder from which Python imports, except those of Python and installed
packages; a referenced package counts with its own files. Dynamic imports are not detected. The file of
"path/to/file.py:name" is run again if its code has changed; for a module that Python imports by name such a change is
an error.
"""

import ast
import functools
import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
import warnings
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

from transferscope.errors import SettingsError

_RELEASED = frozenset(
    (
        *("transferscope", "transferscope_papers", "torch", "torchvision", "transformers", "timm"),
        *("numpy", "scipy", "sklearn", "pandas"),
    )
)
"""Packages identified by their version: of them only the named file is part of a digest."""

_PYTHON = Path(os.__file__).parent

_SEEN: dict[Path, str] = {}
"""Digests of the files of modules in memory, when they were first seen."""


class ChangedCodeError(SettingsError):
    """Python has other code in memory than the file contains."""


def load(where: str, path: str) -> tuple[object, str]:
    """Return the object of a reference, with the digest of its code.

    Args:
        where: A module by its name, or the path of a file, which ends in ".py".
        path: Name within it, as in "Class" or "Class.method".

    Returns:
        The object and its digest, "" if no file defines it.

    Raises:
        ChangedCodeError: A module that belongs to the code has changed since it was first seen.
        Exception: Any exception of the code; FileNotFoundError or AttributeError if it does not exist.
    """
    module = _run(Path(where).expanduser().resolve(strict=True)) if where.endswith(".py") else None
    entry: object = module or importlib.import_module(where)
    named = entry
    for part in path.split("."):
        entry = getattr(entry, part)
    defining = sys.modules.get(defined(entry).__module__ or "")
    return entry, _digest_of(named, *([] if defining is named or _is_installed(_file_of(defining)) else [defining]))


def digest_of(entry: object) -> str:
    """Return the digest of the code of a class, function or object in memory; "" without a source file.

    Raises:
        ChangedCodeError: It has changed since it was first seen.
    """
    return _digest_of(sys.modules.get(defined(entry).__module__ or ""))


def defined(entry: object) -> Any:
    """Return the class or function that a file defines: unwrapped, and the class of an object."""
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


def files_of(path: Path, folder: Path, further: Iterable[Path] = ()) -> dict[Path, str]:
    """Return the digests of a file and of the user's files that it imports.

    Args:
        folder: Folder of the file or its package, which Python searches first.
        further: Other folders that Python imports from.
    """
    files: dict[Path, str] = {}
    places = [place for place in (folder, *further) if not _is_installed(place.resolve())]
    own = path.relative_to(folder).parts[0].removesuffix(".py")
    waiting = [path, *(above / "__init__.py" for above in path.parents if above.is_relative_to(folder / own))]
    while waiting:
        file = waiting.pop()
        if file in files or not file.is_file():
            continue
        content = file.read_bytes()
        files[file] = _sha256(content)
        for level, names in _imports(content) if file.suffix == ".py" and own not in _RELEASED else ():
            if level:
                waiting += _modules(file.parents[min(level, len(file.parents)) - 1], names)
            elif names[0] == own:
                waiting += _modules(folder, names)
            elif names[0] not in _RELEASED:
                waiting += next(filter(None, (_modules(place, names) for place in places)), [])
    return files


def file_module(path: Path) -> str:
    """Return the prefix of the module names of a reference's file; the digest of its code follows."""
    return f"transferscope_file_{_sha256(str(path).encode())[:16]}_"


def _run(path: Path) -> ModuleType:
    """Run a file as a module whose name contains the digest of its code, so that other code is another module."""
    files = files_of(path, path.parent, map(Path, sys.path))
    _check(files, but=path)
    name = f"{file_module(path)}{_joined(files.values())[:16]}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look their module up
        try:
            exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), module.__dict__)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _digest_of(*modules: object) -> str:
    digests: dict[Path, str] = {}
    for module in modules:
        if (path := _file_of(module)) is None:
            continue
        name = getattr(module, "__name__", "")
        is_reference = name.startswith(file_module(path))
        depth = 0 if is_reference or name == "__main__" else name.count(".") + (path.stem == "__init__")
        files = files_of(path, path.parents[depth], map(Path, sys.path))
        _check(files, but=path if is_reference else None)
        digests |= files
    return _joined(digests.values()) if digests else ""


def _file_of(module: object) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if isinstance(file, str) and Path(file).is_file() else None


def _check(files: dict[Path, str], *, but: Path | None) -> None:
    """Refuse modules whose files have changed since they were first seen; `but` is run again."""
    for path, digest in files.items():
        if path != but and _SEEN.setdefault(path, digest) != digest:
            raise ChangedCodeError(f"{path} has changed since this Python process imported it; restart Python")


@lru_cache(maxsize=4096)
def _imports(content: bytes) -> list[tuple[int, tuple[str, ...]]]:
    """Return the imports of a file: dots before each name, and its parts, of which the last may not be a module."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python says the same when it runs the file
            tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):  # nothing that Python could import
        return []
    imports = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [(0, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imports += [(node.level, f"{node.module or ''}.{alias.name}".lstrip(".")) for alias in node.names]
    return [(level, tuple(name.split("."))) for level, name in imports]


def _modules(place: Path, names: tuple[str, ...]) -> list[Path]:
    """Return the files in a folder that an import of a name reads: those of its packages and its own."""
    starts = [place.joinpath(*names[:depth]) for depth in range(1, len(names) + 1)]
    return [path for start in starts for path in (start / "__init__.py", Path(f"{start}.py")) if path.is_file()]


def _is_installed(path: Path | None) -> bool:
    """Return whether a file or folder belongs to Python or an installed package."""
    return path is not None and (
        not {"site-packages", "dist-packages"}.isdisjoint(path.parts) or path.is_relative_to(_PYTHON)
    )


def _joined(digests: Iterable[str]) -> str:
    """Return one digest of files, independent of their location."""
    return _sha256("".join(sorted(digests)).encode())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
