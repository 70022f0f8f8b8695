"""How results leave as files: whole or not at all, under safe names, and without formulas for a spreadsheet to run."""

import re
from pathlib import Path

import pandas as pd

from transferscope.files import written_whole

_LONGEST_NAME = 100
_FORMULA = re.compile(r"[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def file_name(name: str) -> str:
    """A name as part of a file's name: what is no letter, digit, ".", "_" or "-" becomes "_", so it is no path.

    Args:
        name: Such as a study's, which another program may have put into the store.
    """
    return re.sub(r"[^\w.-]|^\.+", "_", name)[:_LONGEST_NAME] or "_"


def write_text(path: Path, text: str) -> None:
    """Write a page or an image as UTF-8; a half of a surrogate pair, which UTF-8 has no bytes for, becomes an escape.

    Raises:
        OSError: It cannot be written; what was there before stays.
    """
    with written_whole(path) as unfinished:
        unfinished.write_bytes(text.encode("utf-8", "backslashreplace"))


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV.

    A spreadsheet takes a cell that begins with = + - or @ for a formula, so a name that does gets an apostrophe before
    it, which a spreadsheet shows as text. Numbers stay as they are.

    Raises:
        OSError: It cannot be written; what was there before stays.
    """
    harmless = table.rename(columns=_harmless, index=_harmless)
    for position, kind in enumerate(harmless.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            harmless.isetitem(position, harmless.iloc[:, position].astype(object).map(_harmless).to_numpy())
    write_text(path, harmless.to_csv(index=False, lineterminator="\n"))


def _harmless(value: object) -> object:
    if not isinstance(value, str):
        return value
    value = value.replace("\r\n", "\n").replace("\r", "\n")  # what a spreadsheet may take for the end of a row
    return f"'{value}" if _FORMULA.match(value) and not _NUMBER.fullmatch(value) else value
