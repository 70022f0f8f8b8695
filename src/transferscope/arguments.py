"""Validation of the arguments of public functions against their signatures."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, formatannotation, signature
from numbers import Real
from os import PathLike
from pathlib import Path
from types import FunctionType, MappingProxyType, NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from transferscope.errors import SettingsError, unknown_name
from transferscope.wording import listed

P = ParamSpec("P")
T = TypeVar("T")

_CALLED: dict[Any, str] = {str: "text", int: "a whole number", float: "a number", bool: "True or False", Path: "a path"}
_CALLED |= {NoneType: "None", Callable: "a function"}
_SEVERAL = {str: "texts", int: "whole numbers", float: "numbers", Mapping: "dicts"}


def checks_arguments(verb: Callable[P, T]) -> Callable[P, T]:
    """Validate arguments against the signature, and suggest where a setting belongs; raises SettingsError.

    Lists may be any sequence, numbers may be those of NumPy, and a record such as `Columns` a dict of its fields.
    """

    @wraps(verb)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        takes, hints = signature(verb), get_type_hints(verb)
        for name in kwargs.keys() - takes.parameters:
            for place, hint in hints.items():
                for kind in _members(hint):
                    if is_dataclass(kind) and name in {one.name for one in fields(kind)} and place != "return":
                        raise SettingsError(f"{verb.__name__} accepts no {name}; give {place}={{'{name}': ...}}")
            raise unknown_name(f"argument of {verb.__name__}", name, takes.parameters)
        by_place = [one.name for one in takes.parameters.values() if one.kind == one.POSITIONAL_OR_KEYWORD]
        try:
            bound = takes.bind_partial(*args, **kwargs)
        except TypeError:
            return verb(*args, **kwargs)  # which says what it takes
        for name, value in bound.arguments.items():
            kinds = [kind for kind in _members(hints[name]) if kind is not NoneType]
            record: Any = kinds[0] if len(kinds) == 1 and is_dataclass(kinds[0]) else None
            if record is not None and isinstance(value, Mapping):
                bound.arguments[name] = _record(name, record, value)
                continue
            if not _fits(value, hints[name]):
                raise SettingsError(f"{verb.__name__}({', '.join(by_place)}): {_refusal(name, value, hints[name])}")
            if record is not None and isinstance(value, record):
                _check_record(name, record, {one.name: getattr(value, one.name) for one in fields(record)})
        return verb(*bound.args, **bound.kwargs)

    checked.__signature__ = ReadableSignature.of(verb)  # type: ignore[attr-defined]
    return checked


def _record(argument: str, kind: Any, values: Mapping[Any, Any]) -> Any:
    """Return a record of these fields."""
    _check_record(argument, kind, values)
    return kind(**{name: _tuples(value) for name, value in values.items()})


def _check_record(argument: str, kind: Any, values: Mapping[Any, Any]) -> None:
    hints = get_type_hints(kind)
    for name, value in values.items():
        if name not in hints:
            raise unknown_name(f"setting of {argument}", str(name), hints)
        if not _fits(value, hints[name]):
            raise SettingsError(f"{argument}: {_refusal(name, value, hints[name])}")


def _refusal(name: str, value: object, hint: Any) -> str:
    single = any(_fits(value, one) for kind in _members(hint) for one in _elements(kind))
    return f"{name} is given as {seen(value)}; expected {_expected(hint)}{f', as in [{value!r}]' if single else ''}"


def _tuples(value: Any) -> Any:
    value = value.tolist() if isinstance(value, np.ndarray) else value
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple | Iterator) else value


class ReadableSignature(Signature):
    """A signature that `help` shows with a parameter on each line, under the headings of their groups."""

    headings: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def of(cls, verb: Callable[..., Any], headings: Mapping[str, str] = MappingProxyType({})) -> "ReadableSignature":
        """Return the signature of a function.

        Args:
            headings: Heading of each group of parameters, by its first one.
        """
        plain = signature(verb)
        readable = cls([*plain.parameters.values()], return_annotation=plain.return_annotation)
        readable.headings = headings
        return readable

    def __str__(self) -> str:
        lines, keywords = [], False
        for name, one in self.parameters.items():
            if one.kind == one.KEYWORD_ONLY and not keywords:
                keywords = True
                lines.append("*,")
            lines += [f"# {self.headings[name]}"] if name in self.headings else []
            default = "" if one.default is Parameter.empty else f" = {_written(one.default)}"
            lines.append(f"{name}: {_annotation(one.annotation)}{default},")
        inside = "".join(f"\n    {line}" for line in lines)
        return f"({inside}\n) -> {_annotation(self.return_annotation)}"


def _annotation(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else re.sub(r"(?:\w+\.)+(?=\w)", "", formatannotation(annotation))


def _written(default: object) -> str:
    if isinstance(default, FunctionType):
        return default.__name__
    return repr(dict(default)) if isinstance(default, MappingProxyType) else repr(default)


def under_headings(headings: Mapping[str, str]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Have `help` show the parameters of a function in groups, each under a heading before its first one."""

    def described(verb: Callable[P, T]) -> Callable[P, T]:
        verb.__signature__ = ReadableSignature.of(verb, headings)  # type: ignore[attr-defined]
        return verb

    return described


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _elements(hint: Any) -> tuple[Any, ...]:
    """Return the element types of a list; empty for other types."""
    kind = get_origin(hint)
    is_list = isinstance(kind, type) and issubclass(kind, Collection) and not issubclass(kind, Mapping)
    return get_args(hint)[:1] if is_list else ()


def _fits(value: object, hint: Any) -> bool:
    if len(_members(hint)) > 1:
        return any(_fits(value, one) for one in _members(hint))
    kind = get_origin(hint) or hint
    if kind is Any:
        return True
    if kind is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if kind is int:
        return hasattr(value, "__index__") and not isinstance(value, np.ndarray)
    if kind is Mapping:
        return isinstance(value, Mapping) and all(_fits(one, get_args(hint)[1]) for one in value.values())
    if elements := _elements(hint):
        if isinstance(value, str | bytes | Mapping):
            return False
        return isinstance(value, Iterator) or (
            isinstance(value, Collection) and all(_fits(one, elements[0]) for one in value)
        )
    wider: dict[Any, Any] = {float: Real, bool: (bool, np.bool_), Path: PathLike}
    return isinstance(value, wider.get(kind, kind))


def seen(value: object) -> str:
    """Describe a given value for a message."""
    if isinstance(value, str):
        return repr(value)
    kind = "None" if value is None else type(value).__name__
    if isinstance(value, list | tuple | AbstractSet) and value:
        return f"a {kind} of {listed(sorted({type(one).__name__ for one in value}))}"
    return f"{kind} {value}" if isinstance(value, Real) else kind


def _expected(hint: Any) -> str:
    words: list[str] = []
    kinds = {*_members(hint)}
    for kind in _members(hint):
        plain = get_origin(kind) or kind
        if plain is Literal:
            words += map(repr, get_args(kind))
        elif held := _elements(kind) or (get_args(kind)[1:] if plain is Mapping else ()):
            words.append(("a dict" if plain is Mapping else "a list") + _held(held[0], kinds))
        else:
            words.append(_CALLED.get(plain, getattr(plain, "__name__", str(plain))))
    return listed(words, last="or")


def _held(hint: Any, kinds: set[Any]) -> str:
    """Return what a list or dict holds, as in " of numbers" and " of lists of numbers"; empty if it has no words."""
    inner = {*_members(hint)}
    if len(inner) > 1 and inner <= kinds:
        return " of these"
    several = "lists" if _elements(hint) else _SEVERAL.get(get_origin(hint) or hint, "")
    return f" of {several}{''.join(_held(one, set()) for one in _elements(hint))}" if several else ""
