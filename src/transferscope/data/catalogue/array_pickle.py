"""Dicts of byte arrays out of pickles, without running anything that a pickle asks for.

A pickle is a program: it names functions and calls them. The reader below answers the three names that NumPy's pickles
of arrays use with stand-ins that only remember what they were given, and refuses every other name. The array is then
made from the remembered shape and bytes.
"""

import io
import pickle
from typing import Any

import numpy as np

from transferscope.errors import CorruptDataError

_BYTE_TYPES = ("u1", b"u1")


def read_array_pickle(content: bytes, *, name: str) -> dict[str, Any]:
    """Decode a pickled dict whose values are plain Python values and arrays of unsigned bytes.

    Args:
        content: The pickle, of Python 2 or 3.
        name: What to call it in messages.

    Returns:
        The dict, with keys as text.

    Raises:
        CorruptDataError: It is damaged, is no dict, holds other arrays, or names anything else that should be run.
    """
    try:
        values = _Reader(io.BytesIO(content), encoding="latin1").load()
        if not isinstance(values, dict):
            raise pickle.UnpicklingError("it is no dict")
        return {str(key): value.to_array() if isinstance(value, _Array) else value for key, value in values.items()}
    except Exception as error:  # damaged bytes fail in any way; none of them ran anything
        raise CorruptDataError(f"{name} cannot be read ({error}); delete the file and fetch it again") from error


class _Type:
    """Stands for `numpy.dtype`: remembers the code, as in "u1"."""

    def __init__(self, code: object, *_: object) -> None:
        self.code = code

    def __setstate__(self, state: object) -> None:
        """Byte order and alignment do not matter for bytes."""


class _Array:
    """Stands for the call of `numpy.core.multiarray._reconstruct`: remembers the state of the array."""

    def __init__(self, *_: object) -> None:
        self.state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def to_array(self) -> np.ndarray:
        """The array that the state describes."""
        _version, shape, dtype, column_major, content = self.state
        if not isinstance(dtype, _Type) or dtype.code not in _BYTE_TYPES:
            raise pickle.UnpicklingError("an array of other things than bytes")
        buffer = content if isinstance(content, bytes) else content.encode("latin1")
        return np.frombuffer(buffer, np.uint8).reshape(shape, order="F" if column_major else "C")


_STAND_INS: dict[tuple[str, str], type] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): object,
    ("numpy", "dtype"): _Type,
}


class _Reader(pickle.Unpickler):
    """Finds the three NumPy names that pickled arrays use, and refuses all others."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        """The stand-in for a name; called for everything that a pickle could run."""
        try:
            return _STAND_INS[module_name, global_name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks to run {module_name}.{global_name}") from None
