"""Registries of methods, networks, scores, diagnostics and data sets by name, including those of other packages.

A name is one of transferscope's own; one that an installed package offers as an entry point (group
"transferscope.methods", "transferscope.networks", "transferscope.scores", "transferscope.diagnostics" or
"transferscope.data"); or a reference, "package.module:Class" or "path/to/file.py:Class", which for networks and data
sets names a function as well, and which needs consent (`transferscope.consent`). Names mean the same in every worker
process and follow their files (`transferscope.user_code`), within `planned_code` the code of the plan.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Generic, TypeVar, cast

from transferscope import consent
from transferscope.errors import CorruptDataError, SettingsError, unknown_name
from transferscope.once import made_once
from transferscope.user_code import ChangedCodeError, defined, digest_of, file_module, load

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Planned:
    """The expected code of names, and the error message for other code."""

    code: Mapping[str, str]
    since: str
    remedy: str


_PLANNED: ContextVar[_Planned] = ContextVar("planned code")


@contextmanager
def planned_code(code: Mapping[str, str], *, since: str, remedy: str) -> Iterator[None]:
    """Resolve names to the code of a plan, if this process has it or can load it.

    Inside the block a name with other code raises CorruptDataError. Code in memory counts, even if its file has
    changed. The names are read from a file or store, so other names in it are refused.

    Args:
        code: Digests by kind and name, from `Registry.code`; other names are resolved as usual.
        since: Origin of the digests, as in "the study was planned with it".
        remedy: Advice if that code is no longer available, as in "run the study file again".
    """
    token = _PLANNED.set(_Planned(code, since, remedy))
    try:
        with consent.reading():
            yield
    finally:
        _PLANNED.reset(token)


@dataclass(frozen=True, slots=True)
class _Loaded(Generic[T]):
    """A loaded entry, its name in its module, and the digest of its code; "" without a source file."""

    entry: T
    path: str
    digest: str


class Registry(Mapping[str, T], Generic[T]):
    """The named members of one family; iterating yields the names that need no reference.

    Args:
        kind: Name of an entry in messages, as in "method".
        group: The group of entry points, as in "transferscope.methods".
        check: Converts the object of a reference or entry point to an entry; raises TypeError with a clause such as
            "lacks a name".
    """

    def __init__(self, kind: str, group: str, own: Mapping[str, T], check: Callable[[object], T]) -> None:
        self.kind, self.group, self._own, self._check = kind, group, dict(own), check
        self._loaded: dict[str, dict[str, _Loaded[T]]] = {}  # by name and digest; what it led to last comes last

    @cached_property
    def _offered(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self.group)}

    def __getitem__(self, name: str) -> T:
        """Return the entry of a name or reference.

        Raises:
            UnknownNameError: The name is unknown.
            SettingsError: The object of a reference or entry point does not exist, or is not such an entry; or its
            module has changed since Python imported it.
            UntrustedCodeError: It is a reference in a file or store that the user has not allowed.
            CorruptDataError: Its code differs from that of `planned_code`.
        """
        if name in self._own:
            if name in self._offered:
                raise SettingsError(
                    f"an installed package offers the {self.kind} {name!r} ({self._offered[name].value}), a name that "
                    "transferscope uses itself; uninstall or rename it"
                )
            return self._own[name]
        if name not in self._offered and is_reference(name):
            consent.require(self.kind, name)
        known, asked = self._loaded.setdefault(name, {}), _PLANNED.get(None)
        planned = None if asked is None else asked.code.get(f"{self.kind} {name}")
        if planned in known:
            return known[planned].entry
        loaded = self._load(name)
        known.pop(loaded.digest, None)
        known[loaded.digest] = loaded
        if asked is not None and planned not in (None, loaded.digest):
            raise CorruptDataError(
                f"the code of the {self.kind} {name} has changed since {asked.since}; restore the earlier code, or "
                f"{asked.remedy}"
            )
        return loaded.entry

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._own, *self._offered)))

    def __len__(self) -> int:
        return len({*self._own, *self._offered})

    def __contains__(self, name: object) -> bool:
        """Return whether a name is known without a reference; references are resolved by looking them up."""
        return name in self._own or name in self._offered

    @property
    def own(self) -> tuple[str, ...]:
        """The names of the built-in entries."""
        return tuple(self._own)

    def reference(self, entry: object) -> str:
        """Return the name or reference of an entry, valid also in another process.

        The code of an entry in memory has been run, so the reference is allowed from then on.
        """
        for name, known in self._own.items():
            if known is entry:
                return name
        reference = next(
            (name for name, of in self._loaded.items() if any(one.entry is entry for one in of.values())), None
        )
        if reference is None:
            kind = defined(entry)
            reference = f"{kind.__module__}:{kind.__qualname__}"
        consent.give(reference)
        return reference

    def identity(self, entry: object) -> dict[str, str]:
        """Return the facts of an entry's origin that can change a result: none for built-in ones, which have versions.

        Returns:
            Empty, or the entry's name in its module and the digest of its code in memory.

        Raises:
            SettingsError: No file defines it, or its file has changed since Python imported it.
        """
        if any(known is entry for known in self._own.values()):
            return {}
        loaded = (one for known in self._loaded.values() for one in reversed(known.values()) if one.entry is entry)
        if (own := next(loaded, None)) is None:
            own = _Loaded(cast(T, entry), defined(entry).__qualname__, digest_of(entry))
        if not own.digest:
            raise SettingsError(
                f"the {self.kind} {own.path} has no source file, so changes to it cannot be detected; define it in a "
                "module or a .py file"
            )
        return {"class": own.path, "source": own.digest}

    def code(self, entry: object) -> dict[str, str]:
        """Return the digest of an entry's code by kind and name, for `planned_code`; empty for built-in ones."""
        origin = self.identity(entry)
        return {f"{self.kind} {self.reference(entry)}": origin["source"]} if origin else {}

    @made_once(lambda self, name: (id(self), name))
    def _load(self, name: str) -> _Loaded[T]:
        if name in self._offered:
            place, what = f"the entry point {name!r} of {self.group}", self._offered[name].value
        elif is_reference(name):
            place, what = f"the {self.kind} {name!r}", name
        else:
            raise unknown_name(self.kind, name, self)
        where, _, path = what.rpartition(":")
        try:
            target, digest = load(where, path)
            return _Loaded(self._check(target), path, digest)
        except ChangedCodeError:
            raise
        except TypeError as error:
            raise SettingsError(f"{place} {error}; see examples/ for one that works") from error
        except (Exception, SystemExit) as error:  # code of another package may raise anything
            reason = " ".join(str(error).split()) or f"it raised {type(error).__name__}"
            if where.endswith(".py") and not Path(where).expanduser().exists():
                reason = f"there is no file {where}"
            elif isinstance(error, AttributeError) and _is_module(error.obj, where):
                reason = f"{where} defines no {error.name!r}"
            raise SettingsError(
                f"{place} cannot be loaded: {reason}; expected package.module:Class or path/to/file.py:Class"
            ) from error


def is_reference(name: str) -> bool:
    """Return whether a name has the form of a reference, "package.module:Class" or "path/to/file.py:Class"."""
    return consent.REFERENCE.fullmatch(name) is not None


def seen_from(name: str, folder: Path) -> str:
    """Return a name in a file of `folder`, with the path of a reference "path/to/file.py:Class" made absolute."""
    where, _, what = name.rpartition(":")
    if not where.endswith(".py"):
        return name
    return f"{folder.absolute() / Path(where).expanduser()}:{what}"


def _is_module(target: object, where: str) -> bool:
    if not where.endswith(".py"):
        return target is sys.modules.get(where)
    own = file_module(Path(where).expanduser().resolve())
    return any(target is module for name, module in sys.modules.items() if name.startswith(own))
