"""Values as the database keeps them: JSON text, arrays as bytes, and NaN as NULL."""

import io
import json
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from transferscope.errors import StoreError

_DAMAGED = "a value in the store is damaged; restore the store from a copy, or give another path and run again"

_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)
_strict = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False)


def to_json(value: object) -> str:
    """JSON text with sorted keys and without spaces.

    Raises:
        StoreError: The value holds something that JSON has no word for.
    """
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError) as error:
        raise StoreError(f"only JSON values can be stored: {error}") from error


def labels_to_json(labels: Mapping[str, str | int | float | None]) -> str:
    """`to_json` for labels: plain values under few different names, many thousand times.

    Raises:
        StoreError: A label is something else.
    """
    return "{" + ",".join([begin + _label(labels[name]) for name, begin in _beginnings(tuple(labels))]) + "}"


@lru_cache
def _beginnings(names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Each name with the text before its value, in the order of JSON."""
    return [(name, f"{_encoder.encode(name)}:") for name in sorted(names)]


def _label(value: object) -> str:
    if type(value) is int:
        return str(value)
    if type(value) is str:
        return _text(value)
    return "null" if value is None else to_json(value)


_text = lru_cache(_encoder.encode)


def from_json(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        StoreError: It is damaged.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise StoreError(_DAMAGED) from error


def to_bytes(name: str, array: np.ndarray) -> bytes:
    """An array in NumPy's own format.

    Raises:
        StoreError: It holds Python objects.
    """
    if array.dtype.hasobject:
        raise StoreError(f"array {name!r} holds Python objects; only numbers and text can be stored")
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def from_bytes(content: bytes) -> np.ndarray:
    """The array in `content`.

    Raises:
        StoreError: It is damaged.
    """
    try:
        array: np.ndarray = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise StoreError(_DAMAGED) from error
    return array


def document_to_bytes(name: str, document: Mapping[str, Any]) -> bytes:
    """A JSON document as UTF-8 text that any JSON reader takes.

    Raises:
        StoreError: It holds something that JSON has no word for; NaN and infinity are such numbers.
    """
    try:
        return _strict.encode(document).encode()
    except (TypeError, ValueError) as error:
        raise StoreError(
            f"document {name!r} cannot be stored: {error}; expected JSON values, with NaN and infinity as text"
        ) from error


def to_number(value: float | None) -> float | None:
    """A number, with NaN as None: SQLite cannot keep NaN."""
    return None if value is None or math.isnan(value) else float(value)
