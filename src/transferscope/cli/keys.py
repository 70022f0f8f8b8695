"""`--set KEY=VALUE`: settings by the keys of a study file, validated by their tables."""

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from transferscope.cli.complete import Kinds, Tables, loaded
from transferscope.errors import SettingsError, unknown_name
from transferscope.study.tables import Mistakes, read_setting, read_table, setting_names

T = TypeVar("T")


def read_set(given: Sequence[str], tables: Tables) -> tuple[dict[tuple[str, ...], object], list[str]]:
    """Parse KEY=VALUE arguments; return values by the path of their setting, and one sentence per mistake.

    A value is written as in TOML; invalid TOML counts as text, and text with commas as a list if one is expected.
    """
    values: dict[tuple[str, ...], object] = {}
    mistakes: list[str] = []
    for text in given:
        key, _, value = (part.strip() for part in text.partition("="))
        path = _path(key)
        if not path or not value:
            mistakes.append(f"--set {text} cannot be read; write it as KEY=VALUE, as in --set training.lr=0.01")
        elif any(path[: len(one)] == one or one[: len(path)] == path for one in values):
            mistakes.append(f"--set {key} is given twice; give it once")
        else:
            values[path], wrong = _checked(path, as_toml(value), tables)
            of_value = f"{path[-1]} "  # what is wrong with one begins with the setting
            mistakes += [f"--set {key} {one[len(of_value) :]}" for one in wrong if one.startswith(of_value)]
            mistakes += [f"--set {key}: {one}" for one in wrong if not one.startswith(of_value)]
    return values, mistakes


def as_toml(text: str) -> Any:
    """Return the TOML value of a text; the text itself if it is not valid TOML."""
    try:
        read = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return text
    return read["value"] if [*read] == ["value"] else text


def made(kind: type[T], table: Mapping[str, Any]) -> T:
    """Return the settings of a table from the command line; raises SettingsError with all mistakes."""
    mistakes = Mistakes("")
    settings = read_table(kind, table, "", mistakes)
    if settings is None:
        raise SettingsError("; ".join(mistakes.sentences))
    return settings


def _path(key: str) -> tuple[str, ...]:
    """Split a key into names as in TOML: names with dots are in quotes."""
    try:
        within: Any = tomllib.loads(f"{key} = 0")
    except (tomllib.TOMLDecodeError, RecursionError):
        return ()
    path = []
    while isinstance(within, dict):
        if len(within) != 1:
            return ()
        ((name, within),) = within.items()
        path.append(name)
    return tuple(path)


def _checked(path: tuple[str, ...], value: object, tables: Tables) -> tuple[object, list[str]]:
    """Return the validated value, and its mistakes."""
    for table in sorted(filter(None, tables), key=len, reverse=True):
        names = table.split(".")
        if len(path) > len(names) and all(name in ("NAME", own) for name, own in zip(names, path, strict=False)):
            return _as_setting(tables[table], path[len(names) :], value)
    groups = {table.partition(".")[0] for table in tables if table}
    outside = tables.get("", ())
    if path[0] in _names(outside):
        return _as_setting(outside, path, value)
    if path[0] in groups and value == {}:
        return value, []
    if path[0] in groups:
        return value, [f"it names a table; give a setting of it, as in --set {'.'.join(path)}.KEY=VALUE"]
    return value, [str(unknown_name("key", path[0], [*_names(outside), *groups]))]


def _as_setting(kinds: Kinds, path: Sequence[str], value: object) -> tuple[object, list[str]]:
    for kind in map(loaded, kinds):
        if path[0] in setting_names(kind):
            return read_setting(kind, path, value)
    return value, [str(unknown_name("key", path[0], _names(kinds)))] if kinds else []


def _names(kinds: Kinds) -> list[str]:
    return [name for kind in kinds for name in setting_names(loaded(kind))]


def keys_of_option(option: str, tables: Tables) -> list[str]:
    """Return the keys that an option of this name could have meant."""
    name = option.removeprefix("--").removeprefix("no-")
    found = [
        f"{table}.{setting}" if table else setting
        for table, kinds in tables.items()
        for setting in _names(kinds)
        if name in (setting.replace("_", "-"), f"{table}-{setting}".replace("_", "-"))
    ]
    return found or ([f"{name}.KEY"] if name in tables else [])
