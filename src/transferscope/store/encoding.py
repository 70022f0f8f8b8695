"""Values as the database keeps them: JSON text, arrays as bytes, and NaN as NULL."""

import io
import json
import math
from typing import Any

import numpy as np

from transferscope.errors import StoreError

_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def to_json(value: object) -> str:
    """JSON text with sorted keys and without spaces.

    Raises:
        StoreError: The value holds something that JSON has no word for.
    """
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError) as error:
        raise StoreError(f"only JSON values can be stored: {error}") from error


def from_json(text: str) -> Any:
    """The value of a JSON text."""
    return json.loads(text)


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
    """The array in `content`."""
    array: np.ndarray = np.load(io.BytesIO(content), allow_pickle=False)
    return array


def to_number(value: float | None) -> float | None:
    """A number, with NaN as None: SQLite cannot keep NaN."""
    return None if value is None or math.isnan(value) else float(value)
