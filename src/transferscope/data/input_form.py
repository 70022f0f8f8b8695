"""The input conversion of a study, as stored with an exported network."""

import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError, safe_open

from transferscope.data.column_encoding import TableEncoding
from transferscope.data.spec import NETWORK_FILE
from transferscope.errors import CorruptDataError


@dataclass(frozen=True, slots=True)
class InputForm:
    """The input conversion of a study, to read further inputs in the same way.

    Attributes:
        data: Name of the study's data, as in "folder:photos?resize=64"; with the chosen "size=" for images of mixed
            sizes.
        raw_shape: Shape of one input before the transformations.
        input_shape: Shape of one input after them.
        columns: Names of the features of a table, in order; empty for anything else.
        encoding: Encoding of the columns of a table; None for other data.
        left_out: Features of vectors, from 0, left out as row numbers.
        ranges: Smallest and largest training value of each feature of vectors; empty for other data.
    """

    data: str
    transforms: tuple[str, ...]
    raw_shape: tuple[int, ...]
    input_shape: tuple[int, ...]
    columns: tuple[str, ...] = ()
    encoding: TableEncoding | None = None
    left_out: tuple[int, ...] = ()
    ranges: tuple[tuple[float, float], ...] = ()


NETWORK_NOTE = "transferscope.card"
"""Metadata key of the description of an exported network."""


def table_of_network(path: Path) -> TableEncoding | None:
    """Return the table encoding of an exported network; None for a file without one."""
    if path.suffix != NETWORK_FILE or not path.is_file():
        return None
    try:
        with safe_open(path, framework="np") as file:
            notes = dict(file.metadata() or {})
    except (SafetensorError, OSError):
        return None  # reported when the network is opened
    try:
        if NETWORK_NOTE not in notes:
            return None
        form = TypeAdapter(InputForm).validate_python(json.loads(notes[NETWORK_NOTE])["inputs"])
    except (KeyError, ValueError, TypeError, ValidationError, RecursionError) as error:
        raise CorruptDataError(f"{path} has no valid description of its inputs; export the network again") from error
    return form.encoding
