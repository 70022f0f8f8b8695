"""Parsing of tables of a study file to frozen dataclasses: strict types, no unknown keys, one sentence per mistake."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from transferscope.errors import SettingsError, unknown_name
from transferscope.records import declared

T = TypeVar("T")

_EXPECTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "text in quotes",
    "tuple_type": "a list in [ ]",
    "list_type": "a list in [ ]",
    "dict_type": "a table",
}

_OUT_OF_RANGE = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")


@dataclass(frozen=True)
class Mistakes:
    """The mistakes of a file, collected to be reported together."""

    place: str
    sentences: list[str] = field(default_factory=list)

    def add(self, sentence: str) -> None:
        """Record a mistake."""
        self.sentences.append(sentence)

    def raise_any(self) -> None:
        """Raise the recorded mistakes, if any, as one SettingsError."""
        if len(self.sentences) == 1:
            raise SettingsError(f"{self.place}: {self.sentences[0]}")
        if self.sentences:
            listed = "".join(f"\n  {sentence}" for sentence in self.sentences)
            raise SettingsError(f"{self.place} has {len(self.sentences)} mistakes:{listed}")


def read_table(kind: type[T], table: object, where: str, mistakes: Mistakes) -> T | None:
    """Read a dataclass from a table of a study file; None after a mistake.

    Types are strict: 1 is a number, "1" and true are not. Lists become tuples.

    Args:
        kind: The dataclass; its own checks run too.
        where: The path of the table, as in "[training]".
    """
    if not isinstance(table, Mapping):
        mistakes.add(f"{where} is {_shown(table)}; write a line {where}, and its settings below it")
        return None
    inner = {key: kind_of for key, kind_of in _inner_tables(kind).items() if isinstance(table.get(key), Mapping)}
    if inner:
        known = len(mistakes.sentences)
        parts = {key: read_table(of, table[key], f"{where} {key}".strip(), mistakes) for key, of in inner.items()}
        whole = read_table(kind, {key: value for key, value in table.items() if key not in inner}, where, mistakes)
        if whole is None or len(mistakes.sentences) > known:
            return None
        try:
            return replace(whole, **parts)  # type: ignore[type-var]
        except SettingsError as error:
            mistakes.add(f"{where} {error}".strip())
            return None
    unfit = [f"{where} {key} {why}".strip() for key, value in table.items() if (why := _unfit(value))]
    if unfit:
        mistakes.sentences.extend(unfit)
        return None
    try:
        values = _model(cast(type, kind)).model_validate_json(json.dumps(dict(table), default=str))
        return kind(**{item.name: getattr(values, item.name) for item in _settings(kind)})
    except ValidationError as error:
        for sentence in _sentences(error, kind, where):
            mistakes.add(sentence)
    except SettingsError as error:
        mistakes.add(f"{where} {error}".strip())
    return None


def _inner_tables(kind: type) -> dict[str, type]:
    hints = get_type_hints(kind)
    inner: dict[str, list[type]] = {
        item.name: [one for one in get_args(hints[item.name]) if isinstance(one, type) and is_dataclass(one)]
        for item in _settings(kind)
    }
    return {name: kinds[0] for name, kinds in inner.items() if kinds}


def read_setting(kind: type, path: Sequence[str], value: object) -> tuple[object, list[str]]:
    """Read a value of one setting like `read_table`, and return it with its mistakes.

    Args:
        path: Path of the setting, including nested tables.
        value: JSON value; a single value or comma-separated text becomes a list if one is expected.
    """
    name, *below = path
    if name not in setting_names(kind):
        return value, [str(unknown_name("key", name, setting_names(kind)))]
    inner = _inner_tables(kind).get(name)
    hint = get_type_hints(kind, include_extras=True)[name]
    if below:
        return (value, []) if inner is None else read_setting(inner, below, value)
    if why := _unfit(value):
        return value, [why]
    if inner is not None or _holds(hint, dict):
        return value, []  # a table, which is read as a whole
    wrong = _refused(kind, name, value)
    if wrong and not isinstance(value, list) and _holds(hint, tuple):
        several = list(map(_plain_value, value.split(","))) if isinstance(value, str) else [value]
        other = _refused(kind, name, several)
        return (value, wrong) if other and len(several) == 1 else (several, other)
    return value, wrong


def _refused(kind: type, name: str, value: object) -> list[str]:
    try:
        _one_setting(kind, name).model_validate_json(json.dumps({name: value}, default=str))
    except ValidationError as error:
        return _sentences(error, kind, "")
    return []


def _holds(hint: Any, kind: type) -> bool:
    """Return whether a value of a type can be of a kind."""
    if get_origin(hint) is Annotated or get_origin(hint) in (Union, UnionType):
        return any(_holds(one, kind) for one in get_args(hint) if one is not None)
    return (get_origin(hint) or hint) is kind


def _plain_value(text: str) -> object:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text.strip()


def member_of(
    family: Mapping[str, T], key: str, name: str, table: Mapping[str, Any], where: str, mistakes: Mistakes
) -> T | None:
    """Return the member of a family that a table names by a key, or by its own name; None if there is none."""
    named = table.get(key, name)
    try:
        if not isinstance(named, str):
            raise unknown_name(key, str(named), family)
        return family[named]
    except SettingsError as error:
        mistakes.add(f"{where} {error}")
        return None


def settings_of(kind: type[T], plain: object) -> T:
    """Parse settings from their JSON values; raises SettingsError if they do not fit this version."""
    mistakes = Mistakes(f"a stored {kind.__name__} (run the study file if another version planned it)")
    settings = read_table(kind, plain, "", mistakes)
    mistakes.raise_any()
    assert settings is not None
    return settings


def json_schema_of(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a table with the descriptions of its fields; nested tables go to `definitions`."""
    schema = _model(kind).model_json_schema(ref_template="#/definitions/{model}")
    for inner in _inner_tables(kind).values():
        definitions[inner.__name__] = json_schema_of(inner, definitions)
    of_fields = declared(kind)
    for name, one in schema["properties"].items():
        one.pop("title", None)
        if (says := of_fields[name].says).phrase:
            one["description"] = f"{says.phrase}. {says.detail}".strip()
    return {key: value for key, value in schema.items() if key in ("type", "properties", "required")} | {
        "additionalProperties": False
    }


def setting_names(kind: type) -> list[str]:
    """Return the keys of a table of this kind."""
    return [item.name for item in _settings(kind)]


def _settings(kind: type) -> list[Field[Any]]:
    return [item for item in fields(kind) if item.init]


def _unfit(value: object) -> str:
    """Explain why no setting can have a value, whatever its type; empty if one can.

    Integers of TOML, arrays and databases have 64 bits; NUL characters end paths and text in databases.
    """
    level, depth = [value], 0
    while level:
        inner: list[object] = []
        for item in level:
            if isinstance(item, int) and not -(2**63) <= item < 2**63:
                return f"holds a whole number of {item.bit_length()} bits; expected at most 63"
            if isinstance(item, str) and "\x00" in item:
                return "contains a null character; leave it out"
            if isinstance(item, Mapping):
                inner += [*item.keys(), *item.values()]
            elif isinstance(item, list | tuple):
                inner += item
        level, depth = inner, depth + 1
        if depth > _DEEPEST:
            return f"is nested more than {_DEEPEST} levels deep; no setting is"
    return ""


_DEEPEST = 20


@cache
def _one_setting(kind: type, name: str) -> type[BaseModel]:
    hint = get_type_hints(kind, include_extras=True)[name]
    columns: dict[str, Any] = {name: (hint, ...)}
    return create_model(kind.__name__, __config__=_STRICT, **columns)


_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=())


@cache
def _model(kind: type) -> type[BaseModel]:
    hints = get_type_hints(kind, include_extras=True)
    columns: dict[str, Any] = {item.name: (hints[item.name], _default(item)) for item in _settings(kind)}
    return create_model(kind.__name__, __config__=_STRICT, **columns)


def _default(item: Field[Any]) -> Any:
    if item.default is not MISSING:
        return item.default
    return ... if item.default_factory is MISSING else item.default_factory()


def _sentences(error: ValidationError, kind: type, where: str) -> list[str]:
    valid = setting_names(kind)
    expected: dict[str, list[tuple[str, str]]] = {}  # what was seen; why each thing that there may be does not fit, it
    others: list[str] = []
    for item in error.errors(include_url=False):
        key, seen, why = str(item["loc"][0]), _shown(item["input"]), item["type"]
        seen = f"{key} holds {seen}, which" if any(isinstance(at, int) for at in item["loc"]) else f"{key} = {seen}"
        if why in _EXPECTED:
            expected.setdefault(seen, []).append(("of the wrong type", _EXPECTED[why]))
        elif why in _OUT_OF_RANGE:
            expected.setdefault(seen, []).append(("out of range", declared(kind)[key].range_in_words))
        elif why == "literal_error":
            expected.setdefault(seen, []).append(("unknown", str(item["ctx"]["expected"])))
        elif why == "extra_forbidden":
            others.append(str(unknown_name("key", key, valid)) if valid else f"has the key {key!r}; it takes none")
        elif why == "missing":
            others.append(f"lacks the key {key!r}")
        else:
            others.append(f"{seen}: {item['msg']}")
    wrong = [
        f"{seen} is {min(why for why, _ in all_)}; expected {' or '.join(dict.fromkeys(words for _, words in all_))}"
        for seen, all_ in expected.items()
    ]
    return [f"{where} {sentence}".strip() for sentence in (*others, *wrong)]


def _shown(value: object) -> str:
    """Return a value for a message, without its middle if it is long."""
    shown = json.dumps(value, default=str, ensure_ascii=False)
    return shown if len(shown) <= 2 * _SHOWN else f"{shown[:_SHOWN]} ... {shown[-_SHOWN // 4 :]}"


_SHOWN = 80
