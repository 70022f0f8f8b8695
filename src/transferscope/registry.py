"""Methods, networks, scores, diagnostics and data sets by name, those of other packages included.

A name is one of transferscope's own; one that an installed package offers as an entry point (group
"transferscope.methods", "transferscope.networks", "transferscope.scores", "transferscope.diagnostics" or
"transferscope.data"); or a reference, "package.module:Class" or "path/to/file.py:Class", which for networks and data
sets names a function as well.
Names and references, unlike entries that are written into a dictionary, mean the same in every worker process.
"""

import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Generic, TypeVar

from transferscope.errors import SettingsError, unknown_name

T = TypeVar("T")

_REFERENCE = re.compile(r"([A-Za-z_]\w*(\.[A-Za-z_]\w*)*|[^:]*\.py):[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class Registry(Mapping[str, T], Generic[T]):
    """What answers to names in one family; iterating gives the names that need no reference.

    Args:
        kind: What one entry is called in messages, as in "method".
        group: The group of entry points, as in "transferscope.methods".
        own: Entries of transferscope by name.
        check: Given what a reference or entry point leads to, returns the entry; raises TypeError with a clause that
            says what is wrong, as in "lacks a name".
    """

    def __init__(self, kind: str, group: str, own: Mapping[str, T], check: Callable[[object], T]) -> None:
        self.kind, self.group, self._own, self._check = kind, group, dict(own), check
        self._loaded: dict[str, T] = {}
        self._origins: list[tuple[T, object]] = []  # each loaded entry with the class or function that it was made of

    @cached_property
    def _offered(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self.group)}

    def __getitem__(self, name: str) -> T:
        """The entry of a name or reference.

        Raises:
            UnknownNameError: Nothing answers to the name.
            SettingsError: A reference or an entry point leads nowhere, or to something else than such an entry.
        """
        if name in self._own:
            if name in self._offered:
                raise SettingsError(
                    f"the {self.kind} {name!r} is part of transferscope and an installed package offers another one "
                    f"({self._offered[name].value}); uninstall it or have it renamed"
                )
            return self._own[name]
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._own, *self._offered)))

    def __len__(self) -> int:
        return len({*self._own, *self._offered})

    def __contains__(self, name: object) -> bool:
        """Whether a name needs no reference; a reference is tried by looking it up."""
        return name in self._own or name in self._offered

    @property
    def own(self) -> tuple[str, ...]:
        """The names of transferscope's own entries."""
        return tuple(self._own)

    def reference(self, entry: object) -> str:
        """The name or reference under which an entry is found again, in another process too."""
        for name, known in (*self._own.items(), *self._loaded.items()):
            if known is entry:
                return name
        kind = _defined(entry)
        return f"{kind.__module__}:{kind.__qualname__}"

    def identity(self, entry: object) -> dict[str, str]:
        """What of an entry's origin can change an answer: nothing for transferscope's own, whose versions tell.

        Returns:
            Empty, or the name of the class or function and a digest of the file that defines it.

        Raises:
            SettingsError: No file defines it.
        """
        if any(known is entry for known in self._own.values()):
            return {}
        kind = _defined(next((origin for known, origin in self._origins if known is entry), entry))
        try:
            source = Path(inspect.getfile(kind)).read_bytes()
        except (OSError, TypeError) as error:
            raise SettingsError(
                f"the {self.kind} {kind.__qualname__} has no source file, so a change of it could not be seen; define "
                "it in a module or a .py file"
            ) from error
        return {"class": kind.__qualname__, "source": hashlib.sha256(source).hexdigest()}

    def _load(self, name: str) -> T:
        if name in self._offered:
            place, what = f"the entry point {name!r} of {self.group}", self._offered[name].value
        elif _REFERENCE.fullmatch(name):
            place, what = f"the {self.kind} {name!r}", name
        else:
            raise unknown_name(self.kind, name, self)
        where, _, path = what.rpartition(":")
        try:
            found: object = _module(where)
            for part in path.split("."):
                found = getattr(found, part)
            entry = self._check(found)
        except TypeError as error:
            raise SettingsError(f"{place} {error}; see examples/ for one that works") from error
        except (Exception, SystemExit) as error:  # code of another package may raise anything
            reason = " ".join(str(error).split()) or f"it raised {type(error).__name__}"
            if where.endswith(".py") and not Path(where).expanduser().exists():
                reason = f"there is no file {where}"
            elif isinstance(error, AttributeError) and error.obj is sys.modules.get(_module_name(where)):
                reason = f"{where} defines no {error.name!r}"
            raise SettingsError(
                f"{place} cannot be loaded: {reason}; expected package.module:Class or path/to/file.py:Class"
            ) from error
        self._origins.append((entry, found))
        return entry


def _defined(entry: object) -> Any:
    """The class or function that a file defines: the entry itself, or the class of an object."""
    entry = getattr(entry, "__func__", entry)  # of a class method
    return entry if isinstance(entry, type | FunctionType) else type(entry)


def is_reference(name: str) -> bool:
    """Whether a name has the form of a reference, "package.module:Class" or "path/to/file.py:Class"."""
    return _REFERENCE.fullmatch(name) is not None


def seen_from(name: str, folder: Path) -> str:
    """A name as it is meant in a file of `folder`: the path of a reference "path/to/file.py:Class" made absolute."""
    where, _, what = name.rpartition(":")
    if not where.endswith(".py"):
        return name
    return f"{folder.absolute() / Path(where).expanduser()}:{what}"


def _module(where: str) -> ModuleType:
    """A module by its name, or by the path of its file; a file is imported once under a name of its own."""
    if not where.endswith(".py"):
        return importlib.import_module(where)
    path, name = Path(where).expanduser().resolve(strict=True), _module_name(where)
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look their module up
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _module_name(where: str) -> str:
    """The name under which a module is imported."""
    if not where.endswith(".py"):
        return where
    return f"transferscope_file_{hashlib.sha256(str(Path(where).expanduser().resolve()).encode()).hexdigest()[:16]}"
