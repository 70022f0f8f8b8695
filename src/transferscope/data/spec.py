"""Names of data: `KIND` or `KIND:PATH`, with options as in `KIND:PATH?key=value&key=value`."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import unquote

from transferscope.errors import SettingsError, out_of_range, unknown_name

Word = TypeVar("Word", bound=str)

NETWORK_FILE = ".safetensors"
"""Suffix of an exported network, which can replace a table as the origin of a shared encoding."""

TABLES = ("csv", "parquet", "table")
"""Kinds of names of tables; of "table", the suffix says which."""


@dataclass(frozen=True, slots=True)
class DataSpec:
    """A parsed data name.

    Attributes:
        kind: Text before the colon: "mnist", "npz", "csv", ...
        path: Text between the colon and the options; empty without a colon.
        options: The values of each key, in order; a repeated key has several.
    """

    text: str
    kind: str
    path: str = ""
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def allow(self, known: Collection[str]) -> None:
        """Refuse unknown options with an UnknownNameError, or with a SettingsError if `kind` has none."""
        for key in self.options:
            if not known:
                raise SettingsError(f"{self.text!r} has the option {key!r}, but {self.kind} accepts none; leave it out")
            if key not in known:
                raise unknown_name(f"option of {self.kind}", key, known)

    def one(self, key: str) -> str | None:
        """Return the value of an option, None if absent; raises SettingsError if it is repeated."""
        values = self.options.get(key, ())
        if len(values) > 1:
            raise SettingsError(f"{self.text!r} gives {key!r} {len(values)} times; give it once")
        return values[0] if values else None

    def integer(self, key: str) -> int | None:
        """Return the value of an option as an integer of at least 1, None if absent; raises SettingsError otherwise."""
        value = self.one(key)
        if value is None:
            return None
        if not value.isdecimal() or int(value) < 1:
            raise out_of_range(f"{self.text!r}: {key}", value, "a whole number of at least 1")
        return int(value)

    def share(self, key: str) -> float | None:
        """Return the value of an option strictly between 0 and 1, None if absent; raises SettingsError otherwise."""
        share = self.number(key)
        if share is not None and not 0 < share < 1:
            raise out_of_range(f"{self.text!r}: {key}", share, "a number between 0 and 1, as in 0.2")
        return share

    def number(self, key: str) -> float | None:
        """Return the value of an option as a number, None if absent; raises SettingsError otherwise."""
        value = self.one(key)
        try:
            return None if value is None else float(value)
        except ValueError as error:
            raise SettingsError(f"{self.text!r} has {key} = {value!r}; expected a number") from error

    def choice(self, key: str, among: tuple[Word, ...]) -> Word | None:
        """Return the value of an option with fixed choices, None if absent; raises UnknownNameError otherwise."""
        value = self.one(key)
        if value is None:
            return None
        for word in among:
            if word == value:
                return word
        raise unknown_name(f"{key} of {self.kind}", value, among)


Function = TypeVar("Function", bound=Callable[..., Any])


def reads_path(*options: str) -> Callable[[Function], Function]:
    """Mark a function of a `DataSpec` and a seed as a reader of names with a path: KIND:PATH?key=value.

    Relative paths become absolute: in study files relative to the file, otherwise to the working directory.

    Args:
        options: Options of the name that are also paths.
    """

    def marked(function: Function) -> Function:
        function.path_options = options  # type: ignore[attr-defined]
        return function

    return marked


def path_options(function: object) -> tuple[str, ...] | None:
    """Return the options that are paths for a kind of names with a path; None for a kind without one."""
    found = getattr(function, "path_options", None)
    return found if isinstance(found, tuple) else None


def reads_name(function: Function) -> Function:
    """Mark a function of a `DataSpec` and a seed as a reader of names that contain another name: KIND:NAME?key=value.

    Relative paths in that name become absolute; the function passes it to `load`.
    """
    function.holds_name = True  # type: ignore[attr-defined]
    return reads_path()(function)


def holds_name(function: object) -> bool:
    """Return whether the path of a kind of names is the name of other data."""
    return getattr(function, "holds_name", False) is True


def with_option(text: str, option: str) -> str:
    """Return a data name with a further option, as in "test_share=0.5"; unchanged if the option is empty."""
    return f"{text}{'&' if parse_spec(text).options else '?'}{option}" if option else text


def parse_spec(text: str) -> DataSpec:
    """Parse a data name.

    The last "?" starts the options, so that a name can hold another one with options of its own, as in
    `half-images:folder:photos?resize=32?parts=AB`. Values may hold any character; write "&" as %26 and "%" as %25.

    Returns:
        Its parts; whether the kind exists is not checked.

    Raises:
        SettingsError: The name is empty, or an option is not of the form key=value.
    """
    head, _, query = text.rpartition("?") if "?" in text else (text, "", "")
    kind, _, path = head.partition(":")
    if not kind:
        raise SettingsError(f"{text!r} contains no data; expected a name such as 'mnist' or 'npz:PATH'")
    options: dict[str, tuple[str, ...]] = {}
    for item in query.split("&") if query else ():
        key, equals, value = item.partition("=")
        if not (key and equals and value):
            raise SettingsError(f"{text!r} has the option {item!r}; expected key=value, as in 'csv:PATH?label=COLUMN'")
        options[key] = (*options.get(key, ()), unquote(value))
    return DataSpec(text, kind, path, options)
