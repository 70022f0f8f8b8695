"""Encoding of values for the database: JSON text, arrays as bytes, and NaN as NULL."""

import io
import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np

from transferscope.errors import StoreError

DAMAGED = "a value in the store is damaged; restore the store from a copy, or give another path and run again"

_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)
_strict = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False)


def to_json(value: object) -> str:
    """Return JSON text with sorted keys and without spaces; raises StoreError for values that JSON cannot represent."""
    try:
        return _in_utf8(_encoder.encode(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"only JSON values can be stored: {error}") from error


def _in_utf8(text: str) -> str:
    """Escape halves of surrogate pairs in JSON text, which no database accepts."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(c if not "\ud800" <= c <= "\udfff" else f"\\u{ord(c):04x}" for c in text)
    return text


def from_json(text: object) -> Any:
    """Parse JSON text; raises StoreError if it is damaged, since a column of SQLite may contain anything."""
    if not isinstance(text, str):
        raise StoreError(DAMAGED)
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreError(DAMAGED) from error


def table_from_json(text: object) -> dict[str, Any]:
    """Parse a JSON object; raises StoreError if it is damaged or another kind of value."""
    value = from_json(text)
    if not isinstance(value, dict):
        raise StoreError(DAMAGED)
    return value


def tables_from_json(texts: Sequence[object]) -> list[dict[str, Any]]:
    """Apply `table_from_json` to many texts, parsed as one list, which takes a fifth of the time for short ones."""
    if not set(map(type, texts)) <= {str}:
        raise StoreError(DAMAGED)
    decoded = from_json(f"[{','.join(map(str, texts))}]")
    if len(decoded) != len(texts) or not set(map(type, decoded)) <= {dict}:
        raise StoreError(DAMAGED)
    return cast(list[dict[str, Any]], decoded)


def to_bytes(name: str, array: np.ndarray) -> bytes:
    """Return an array in NumPy's format; raises StoreError for Python objects or named fields."""
    if array.dtype.hasobject or array.dtype.names:
        raise StoreError(f"array {name!r} has the type {array.dtype}; expected numbers or text")
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def from_bytes(content: object) -> np.ndarray:
    """Return the read-only array in `content`; raises StoreError if it is damaged."""
    if not isinstance(content, bytes):
        raise StoreError(DAMAGED)
    try:
        begin = 10 + int.from_bytes(content[8:10], "little")  # as `to_bytes` writes arrays without named fields
        shape, by_columns, dtype = _header(content[:begin])
        if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(content) - begin:
            raise StoreError(DAMAGED)
        array = np.frombuffer(content, dtype, offset=begin) if len(content) > begin else np.empty(0, dtype)
        return array.reshape(shape, order="F" if by_columns else "C")
    except Exception as error:  # a header is read as Python source, in which anything can be wrong
        raise StoreError(DAMAGED) from error


@lru_cache(maxsize=64)
def _header(content: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and dtype of an array from its first bytes; cached, since most arrays of a study agree."""
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise StoreError(DAMAGED)
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
    return shape, by_columns, dtype


def document_to_bytes(name: str, document: Mapping[str, Any]) -> bytes:
    """Return a JSON document as UTF-8 text in strict JSON; raises StoreError for values such as NaN."""
    try:
        return _in_utf8(_strict.encode(document)).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"document {name!r} is not valid JSON ({error}); write NaN and infinity as text") from error


def to_number(value: float | np.floating) -> float | None:
    """Return a number, with None for NaN, which SQLite cannot store."""
    return None if math.isnan(value) else float(value)


def printable(text: str) -> str:
    """Escape null characters and halves of surrogate pairs, which not every database accepts."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
