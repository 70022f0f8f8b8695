"""Results of a command in its folder: its numbers, and the contribution of each test example to its score."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from transferscope.data.frame import read_frame
from transferscope.errors import DataError
from transferscope.estimate import Estimate
from transferscope.files import require_regular
from transferscope.records import Record
from transferscope.study.context import RunFailed
from transferscope.study.example_scores import example_scores

MOST_NUMBERS = 500
"""Most numbers of a result that are stored, including the score."""

_LARGEST_FILE = 20_000_000  # bytes


def read_numbers(score: str, out: Path) -> tuple[Record, ...]:
    """Return the numbers in the result of a run, the score first.

    Args:
        score: "FILE:KEY": a JSON file in the run's folder, and the key of the score; "a.b" is the key b in the table a.

    Returns:
        The finite numbers by key; another one can become the study's metric without repeating runs.

    Raises:
        RunFailed: The file or key does not exist, or its value is not a finite number.
    """
    name, _, key = score.partition(":")
    table = _table(out / name, name)
    numbers = dict(_numbers(table))
    if key not in numbers:
        known = ", ".join(list(numbers)[:20])
        other = _at(table, key)
        if other is not None:
            raise RunFailed(f"{key} in {name} is {json.dumps(other)[:80]}; expected a number")
        raise RunFailed(
            f"{name} has no {key!r}; its numbers are {known}: name one of these and run with --retry-failed, which "
            "repeats no run for that"
            if known
            else f"{name} has no {key!r}, and no number at all"
        )
    if not math.isfinite(numbers[key]):
        raise RunFailed(f"{key} in {name} is {numbers[key]}; expected a finite number", kind="non_finite")
    kept = [key, *(other for other in numbers if other != key and math.isfinite(numbers[other]))][:MOST_NUMBERS]
    return tuple(Record(one, Estimate(numbers[one], None, 1)) for one in kept)


def _table(path: Path, name: str) -> dict[str, Any]:
    try:
        require_regular(path, "a JSON file")
        if not path.exists():
            raise RunFailed(f"the command wrote no {name} into its folder {{out}}")
        if path.stat().st_size > _LARGEST_FILE:
            raise RunFailed(f"{name} has {path.stat().st_size:,} bytes; expected a few numbers in JSON")
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (DataError, OSError) as error:
        raise RunFailed(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise RunFailed(f"{name} is not JSON ({error})") from error
    if not isinstance(content, dict):
        raise RunFailed(f'{name} is not a JSON object; expected numbers by name, as in {{"accuracy": 0.91}}')
    return content


def _numbers(table: dict[str, Any], before: str = "") -> Iterator[tuple[str, float]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{before}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            try:
                yield f"{before}{key}", float(value)
            except OverflowError:  # a whole number of hundreds of digits
                yield f"{before}{key}", math.inf


def _at(table: dict[str, Any], key: str) -> object:
    """Return the non-numeric value stored at a key, or None."""
    if key in table:
        return table[key]
    first, dot, rest = key.partition(".")
    inner = table.get(first)
    return _at(inner, rest) if dot and isinstance(inner, dict) else None


def read_examples(name: str, out: Path, score: float) -> Float[np.ndarray, " N"]:
    """Return the contribution of each test example to the score of a run, which is their mean.

    Args:
        name: A CSV file in the run's folder with a header and the columns of `example_scores`.

    Raises:
        RunFailed: The file or column does not exist, or its mean differs from the score.
    """
    table = read_examples_table(name, out)
    try:
        return example_scores({str(key): table[key] for key in table}, score, place=name, tolerance=1e-3)
    except (DataError, ValueError) as error:
        raise RunFailed(str(error)) from error


def read_examples_table(name: str, out: Path) -> pd.DataFrame:
    """Read a CSV file with one row per test example, as text; raises RunFailed if missing."""
    try:
        return read_frame(out / name, "csv", as_it_is=True).rows
    except FileNotFoundError:
        raise RunFailed(f"the command wrote no {name} into its folder {{out}}") from None
    except (DataError, OSError) as error:
        raise RunFailed(str(error).replace(str(out / name), name)) from error
