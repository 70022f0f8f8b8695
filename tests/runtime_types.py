"""The run-time type checker of the test run: beartype, with int accepted where float is written (PEP 484)."""

import warnings
from collections.abc import Callable
from typing import Any

import typer
from beartype import BeartypeConf, beartype
from beartype.roar import (
    BeartypeDecorHintNonpepException,
    BeartypeDecorHintPep585DeprecationWarning,
    BeartypeDecorHintPep673Exception,
)

_checked = beartype(conf=BeartypeConf(is_pep484_tower=True))


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its types checked.

    Beartype cannot check `Self` in a method or pydantic's `TypeAdapter[T]`; the function then stays as it is. It warns
    of the typing of SQLAlchemy's rows. Typer hands callbacks a context that is a base class of the `typer.Context` by
    which they have to ask for it.
    """
    if typer.Context in getattr(function, "__annotations__", {}).values():
        return function
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BeartypeDecorHintPep585DeprecationWarning)
        try:
            return _checked(function)
        except (BeartypeDecorHintPep673Exception, BeartypeDecorHintNonpepException):
            return function
