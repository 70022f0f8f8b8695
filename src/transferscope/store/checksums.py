"""Checksums of stored outcomes, which detect changed bits."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Int, Shaped

_BYTES = 16
_NO_STEP = -(2**63)


def checksum(*parts: object) -> str:
    """Return the digest of the content of an array, or of texts and numbers, in hexadecimal digits."""
    content = parts[0] if isinstance(parts[0], bytes) else repr(parts).encode(errors="surrogatepass")
    return hashlib.blake2b(content, digest_size=_BYTES).hexdigest()


def text_codes(texts: Iterable[str]) -> Int[np.ndarray, " n"]:
    """Return a number for each text, reproducible on every machine."""
    digests = [hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest() for text in texts]
    return np.array([int.from_bytes(digest, "little", signed=True) for digest in digests], dtype=np.int64)


def step_codes(steps: Iterable[int | None]) -> Int[np.ndarray, " n"]:
    """Return steps, with a reserved number for None."""
    return np.array([_NO_STEP if step is None else step for step in steps], dtype=np.int64)


def record_checksums(
    cells: Int[np.ndarray, " n_records"], columns: Sequence[Shaped[np.ndarray, " n_records"]]
) -> Iterator[tuple[int, str]]:
    """Yield each cell with records, and the digest of its records.

    Args:
        cells: The cell of each record, in ascending order, its records in theirs.
        columns: Codes of name, part, step and status, and count, as int64, value and standard error as float64.
    """
    packed = np.empty((len(cells), len(columns)), dtype="<i8")
    for place, column in enumerate(columns):
        # of all NaN one, and of both zeros too, which databases do not tell apart
        is_float = column.dtype == np.float64
        packed[:, place] = np.where(np.isnan(column), np.nan, column + 0.0).view(np.int64) if is_float else column
    starts = np.flatnonzero(np.diff(cells, prepend=-1))  # numbers of cells begin with 1
    view, width = packed.tobytes(), packed.strides[0]
    for start, end in pairwise([*starts, len(cells)]):
        content = view[start * width : end * width]
        yield int(cells[start]), hashlib.blake2b(content, digest_size=_BYTES).hexdigest()


NO_RECORDS = hashlib.blake2b(b"", digest_size=_BYTES).hexdigest()
"""The digest of no records."""
