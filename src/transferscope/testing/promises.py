"""Promises, each a function that tests one property, and running them together."""

from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, fields, is_dataclass
from typing import TypeVar

T = TypeVar("T")


def require(kept: object, sentence: str) -> None:
    """Raise an AssertionError with the sentence if a promise is broken."""
    if not kept:
        raise AssertionError(sentence)


def check_all(promises: Mapping[str, Callable[[T], None]], subject: T, name: str) -> None:
    """Test every promise."""
    broken = []
    for promise, check in promises.items():
        try:
            check(subject)
        except AssertionError as error:
            broken.append(f"{promise}: {error}")
        except Exception as error:  # a stranger's code may raise anything
            broken.append(f"{promise}: it raises {type(error).__name__}: {error}")
    if broken:
        listed = "".join(f"\n  {line}" for line in broken)
        raise AssertionError(f"{name} keeps {len(promises) - len(broken)} of {len(promises)} promises; not:{listed}")


def has_frozen_settings(thing: object) -> None:
    """Check that it is a frozen dataclass, since settings changed after planning would not match the key."""
    require(is_dataclass(thing), f"{type(thing).__name__} is not a dataclass; write @dataclass(frozen=True)")
    for field in fields(thing):  # type: ignore[arg-type]
        try:
            setattr(thing, field.name, getattr(thing, field.name))
        except FrozenInstanceError:
            continue
        raise AssertionError(f"its setting {field.name} can be changed; write @dataclass(frozen=True)")
