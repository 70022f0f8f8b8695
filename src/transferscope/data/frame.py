"""The one reader of tables: csv, tab-separated text, JSON (lines) and parquet, for data, plans, scaling and history."""

import bz2
import codecs
import csv
import gzip
import hashlib
import io
import json
import lzma
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pv
from jaxtyping import Int64
from pyarrow.parquet import read_metadata

from transferscope.data.cells import Cells, as_arrow, as_codes, as_objects, read_cells
from transferscope.data.places import check_bytes, most_bytes
from transferscope.errors import CorruptDataError, DataError, TransferscopeError, first_line, missing_file
from transferscope.files import require_regular, stamp_of
from transferscope.once import made_once

Format = Literal["csv", "tsv", "json", "jsonl", "parquet"]
"""File formats of tables."""

SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
"""File suffix of each table format."""

_SEPARATORS = (",", "\t", ";", "|")
_DECLARED = re.compile(r'"?sep=(.)"?(?:\r\n|\r|\n)')  # separator line of spreadsheets
_LINES_TRIED = 50
_LINE = "line"
_BLANK = " \t\r\n"
_TEXT_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BLOCK = 1 << 22  # bytes that Arrow reads at a time, which stay in the cache; longer rows are read by pandas
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark is its prefix
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_OPENERS: dict[str, Callable[[BinaryIO], BinaryIO]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}  # type: ignore[dict-item]


@dataclass(frozen=True)
class Frame:
    """A table from a file.

    Attributes:
        rows: The rows without summary rows. Text columns with only plain numbers are numeric; other text is unchanged,
            None if empty; typed files keep their types. For text files the index, named "line", is the line at which
            each row begins, from 1; for other files the position of the row, from 0 (`place_of`).
        notes: Sentences on how the file was read.
        numbers: Positions of the rows in the file, from 0; empty if unknown.
        written: Original text of the columns that became numbers, for all rows of the file, for `as_text`.
        checksum: SHA-256 of the file, in hexadecimal digits.
    """

    rows: pd.DataFrame
    notes: tuple[str, ...]
    numbers: Int64[np.ndarray, " N"] = field(default_factory=lambda: np.arange(0))
    written: Cells = field(default_factory=dict)
    checksum: str = ""

    def as_text(self, names: Collection[str]) -> "Frame":
        """Return the frame with some numeric columns as their original text."""
        columns = {}
        for name in [one for one in names if one in self.written]:
            own = self.written[name].take(self.numbers)
            columns[name] = (own if isinstance(own, pd.Series) else as_codes(own)).set_axis(self.rows.index)
        written = {name: one for name, one in self.written.items() if name not in columns}
        return replace(self, rows=self.rows.assign(**columns), written=written) if columns else self

    def take(self, places: Int64[np.ndarray, " n"]) -> "Frame":
        """Return some of the rows."""
        return replace(self, rows=self.rows.iloc[places], numbers=self.numbers[places])


def place_of(index: pd.Index, at: int) -> str:
    """Say where a row of a `Frame` is, by the index and its position there: "line 3" of a text file, else "row 2"."""
    label = index[at]
    if isinstance(label, str):
        return label
    return f"line {label}" if index.name == _LINE else f"row {int(str(label)) + 1}"


def places_of(index: pd.Index) -> pd.Index:
    """Return the places of all rows."""
    if index.dtype == object or isinstance(index.dtype, pd.StringDtype):
        return index
    return f"{_LINE} " + index.astype(str) if index.name == _LINE else "row " + (index + 1).astype(str)


def form_of(path: Path) -> Format:
    """Return the format of a file by its suffix; "csv" by default."""
    return next((SUFFIXES[one.lower()] for one in reversed(path.suffixes) if one.lower() in SUFFIXES), "csv")


def read_frame(
    path: Path,
    form: Format | None = None,
    *,
    as_it_is: bool = False,
    quoted: bool = True,
    has_header: bool = True,
    of_runs: bool = False,
    as_places: bool = False,
    check: Callable[[Sequence[str]], None] = lambda _: None,
) -> Frame:
    """Read a table, whatever its encoding (UTF-8, UTF-16 or -32 with a mark, else Windows-1252), separator (a comma,
    tab, semicolon or bar) and decimal mark.

    Args:
        path: The file; text may be compressed as .gz, .bz2, .xz or .zip.
        form: Format; None to infer it from the suffix.
        as_it_is: Whether to keep numbers and rows unchanged, as for texts; all rows must then have the same length.
        quoted: Whether values of csv and tab-separated text may be quoted.
        has_header: Whether the first line names the columns; otherwise they are numbered from 1.
        of_runs: Whether rows are runs: NaN in JSON is then infinite (a diverged run), not missing.
        as_places: Whether text is returned as in `cells.as_codes`.
        check: Called with the column names, which it may refuse, before cells of text files are read.

    Raises:
        CorruptDataError: The file cannot be parsed.
        DataError: It is not a regular file, is too large when unpacked, has no rows, or has duplicate or missing column
        names.
    """
    form = form or form_of(path)
    require_regular(path, f"a {_words(form)} file")
    if not path.is_file():
        raise missing_file(f"{_words(form)} file", path, "write it again")
    frame = read_rows(path, form, as_it_is, quoted, has_header, of_runs, as_places, check)
    check([str(name) for name in frame.rows.columns])
    return replace(frame, rows=frame.rows.copy(deep=False))


def _words(form: Format) -> str:
    return {"tsv": "tab-separated", "csv": "csv", "json": "JSON", "jsonl": "JSON lines"}.get(form, form)


@made_once(lambda path, *asked: (path.absolute(), stamp_of(path), *asked[:-1]), passing=True)
def read_rows(
    path: Path,
    form: Format,
    as_it_is: bool,
    quoted: bool,
    has_header: bool,
    of_runs: bool,
    as_places: bool,
    check: Callable[[Sequence[str]], None],
) -> Frame:
    """Read a file like `read_frame`, without its checks."""
    notes: tuple[str, ...] = ()
    separator, index = ",", None
    columns: Sequence[pa.ChunkedArray | pd.Series] | None = None
    try:
        check_bytes(path, path.stat().st_size)
        raw = path.read_bytes()
        check_bytes(path, _unpacked_bytes(path, raw, form))
        if form == "parquet":
            rows = pd.read_parquet(io.BytesIO(raw))
            for position, kind in enumerate(rows.dtypes):
                if not pd.api.types.is_numeric_dtype(kind):
                    rows.iloc[:, position].map(str)  # invalid UTF-8 must raise here, not later
        elif form in ("json", "jsonl"):
            text = _decoded(path, raw)[0]
            rows = _json(text, form, diverged=of_runs)
            rows = rows if as_it_is else _flat(rows).infer_objects()
            if form == "jsonl":
                filled = [number for number, line in enumerate(text.split("\n"), 1) if line.strip()]
                index = pd.Index(filled, name=_LINE)
        else:
            text, content, decoded = _decoded(path, raw)
            names, columns, index, separator, notes = _separated(
                text, content, path, form, as_it_is=as_it_is, quoted=quoted, has_header=has_header, check=check
            )
            notes = (*decoded, *notes)
    except (TransferscopeError, MemoryError):
        raise
    except Exception as error:  # the readers may raise anything on a damaged file
        reason = "" if form == "parquet" else f" ({first_line(error)})"  # parquet: internals of the reader
        raise CorruptDataError(f"{path} cannot be read as a {_words(form)} file{reason}; write it again") from error
    if columns is None:
        names, columns = list(rows.columns), [rows.iloc[:, place] for place in range(rows.shape[1])]
    n = len(columns[0]) if columns else 0
    if not n:
        raise DataError(f"{path} has no rows; expected at least one below the header")
    names = [str(name).strip() for name in names]
    if len(twice := pd.Index(names)[pd.Index(names).duplicated()]):
        raise DataError(f"{path} has several columns {twice[0]!r}; give each its own name")
    index = pd.RangeIndex(n) if index is None else index  # a stored index may have duplicates
    checksum = hashlib.sha256(raw).hexdigest()
    plain = (one.reset_index(drop=True) if isinstance(one, pd.Series) else one for one in columns)
    by_name: Cells = dict(zip(names, plain, strict=True))
    if as_it_is:
        held = {name: one if isinstance(one, pd.Series) else as_objects(one) for name, one in by_name.items()}
        return Frame(pd.DataFrame(held).set_axis(index, axis=0), notes, np.arange(n), {}, checksum)
    rows, written, changed = read_cells(by_name, separator, as_places=as_places)
    numbers = rows.index.to_numpy()
    return Frame(rows.set_axis(index[numbers], axis=0), (*notes, *changed), numbers, written, checksum)


def _unpacked_bytes(path: Path, raw: bytes, form: Format) -> int:
    """Return the unpacked size of a file, reading at most a megabyte at a time."""
    if form == "parquet":
        about = read_metadata(io.BytesIO(raw))
        groups = sum(about.row_group(index).total_byte_size for index in range(about.num_row_groups))
        least = int(about.num_rows) * int(about.num_columns) * 8  # repeated values take up no space in the file
        return max(int(groups), least)
    suffix = path.suffix.lower()
    if suffix == ".zip":
        with ZipFile(io.BytesIO(raw)) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    if suffix in _OPENERS:
        size, most = 0, most_bytes()
        with _OPENERS[suffix](io.BytesIO(raw)) as stream:
            while size <= most and (piece := stream.read(1 << 20)):
                size += len(piece)
        return size
    if suffix in (".tar", ".zst", ".tgz", ".tbz", ".txz"):
        raise DataError(f"{path} is compressed as {suffix}; decompress it, or use .gz")
    return len(raw)


def _content(path: Path, raw: bytes) -> bytes:
    suffix = path.suffix.lower()
    if suffix in _OPENERS:
        with _OPENERS[suffix](io.BytesIO(raw)) as stream:
            return stream.read()
    if suffix == ".zip":
        with ZipFile(io.BytesIO(raw)) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            if len(names) != 1:
                raise DataError(f"{path} contains {len(names)} files; expected one table")
            return archive.read(names[0])
    return raw


def _decoded(path: Path, raw: bytes) -> tuple[str, bytes, tuple[str, ...]]:
    """Return the text of a file, the same in UTF-8, and a note on its encoding if it is another."""
    content = _content(path, raw)
    for mark, name in _MARKS.items():
        if content.startswith(mark):
            text = content.decode(name).removeprefix("\ufeff")
            return text, text.encode(), (() if name == "utf-8" else (f"read as {name.upper()}",))
    if b"\0" in content:
        raise DataError(f"{path} contains null bytes, as UTF-16 text does; save it as UTF-8")
    try:
        return content.decode("utf-8"), content, ()
    except UnicodeDecodeError:
        try:
            text, shown = content.decode("cp1252"), "Windows-1252"
        except UnicodeDecodeError:
            text, shown = content.decode("latin-1"), "Latin-1"
        return text, text.encode(), (f"read as {shown}, since it is not UTF-8",)


def _json(text: str, form: Format, *, diverged: bool) -> pd.DataFrame:
    loads = partial(json.loads, parse_constant=lambda _: math.inf) if diverged else json.loads
    if form == "json":
        return pd.DataFrame(loads(text))
    rows = []
    for number, line in enumerate(text.split("\n"), 1):  # splitlines also splits at Unicode separators
        if line.strip():
            row = loads(line)
            if not isinstance(row, dict):
                raise TypeError(f"line {number} is not an object")
            rows.append(row)
    return pd.DataFrame(rows, dtype=object)


def _flat(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of JSON with a column per nested value, such as metrics.accuracy."""
    if not rows.map(lambda cell: isinstance(cell, dict)).any(axis=None):
        return rows
    return pd.json_normalize([{str(name): cell for name, cell in row.items()} for row in rows.to_dict("records")])


def _lines(text: str, n: int, separator: str, quoting: Literal[0, 3]) -> pd.Index | None:
    """Return the line at which each of n rows begins, the first line being 1; None if unknown.

    Lines end as in an editor, also within quotation marks; blank lines are ignored.
    """
    is_usual = "\r" not in text or text.count("\r") == text.count("\r\n")
    if is_usual and text.count("\n") + (not text.endswith("\n")) == n:
        return pd.RangeIndex(1, n + 1)  # every line is a row
    blank = _BLANK.replace(separator, "")
    filled = [number for number, line in enumerate(_TEXT_LINE.findall(text), 1) if line.strip(blank)]
    if len(filled) > n:  # a cell has several lines
        with suppress(csv.Error):
            filled = [line for line, _ in _records(_TEXT_LINE.findall(text), separator, quoting)]
    return pd.Index(filled) if len(filled) == n else None


def _records(lines: Iterable[str], separator: str, quoting: Literal[0, 3]) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line of each row, and its cells; blank lines are ignored."""
    reader, line = csv.reader(lines, delimiter=separator, quoting=quoting), 1
    for cells in reader:
        if len(cells) > 1 or "".join(cells).strip(_BLANK):
            yield line, cells
        line = reader.line_num + 1


def _separated(
    text: str,
    content: bytes,
    path: Path,
    form: Format,
    *,
    as_it_is: bool,
    quoted: bool,
    has_header: bool,
    check: Callable[[Sequence[str]], None],
) -> tuple[list[str], list[pa.ChunkedArray], pd.Index | None, str, tuple[str, ...]]:
    """Return the names of the columns, their cells, the line of each row, the separator, and notes.

    Raises:
        DataError: A row is longer than the first, or shorter where it must not be.
    """
    notes: tuple[str, ...] = ()
    declared = _DECLARED.match(text)
    if declared:
        text, content = text[declared.end() :], content[len(declared[0].encode()) :]
    above = int(declared is not None)
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    separator = declared[1] if declared else "\t" if form == "tsv" else _separator(text, quoting)
    if not text or text.isspace():
        return [], [], None, separator, ()
    lines = (line[0] for line in _TEXT_LINE.finditer(text))
    first = next(cells for _, cells in _records(lines, separator, quoting))
    names = [str(position + 1) for position in range(len(first))]
    if has_header:
        names = [name.strip() or f"Unnamed: {place}" for place, name in enumerate(first)]
        check(names)
    columns = _by_arrow(content, separator, quoted, len(names), as_it_is=as_it_is)
    if columns is None:
        columns = _row_by_row(text, path, separator, quoting, above, as_it_is=as_it_is)
    n = len(columns[0])
    index = _lines(text, n, separator, quoting)
    index = pd.RangeIndex(n) if index is None else (index + above).rename(_LINE)
    columns, index = [one[int(has_header) :] for one in columns], index[int(has_header) :]
    if as_it_is:
        held = np.sum([one.is_valid().to_numpy() for one in columns], axis=0)
        if (short := held < len(columns)).any():
            row = int(short.argmax())
            place = place_of(index, row)
            raise DataError(
                f"{path}: {place} has {held[row]} values, but there are {len(columns)} columns; fix that row"
            )
    if not as_it_is and len(names) == 1:
        raise DataError(f"{path} has one column, {names[0]!r}; expected several, separated by commas")
    unusual = {";": "semicolons", "|": "bars", "\t": "tabs"}
    if form == "csv" and separator in unusual and not as_it_is:
        notes = (f"{unusual[separator]} between values",)
    return names, columns, index, separator, notes


def _by_arrow(content: bytes, separator: str, quoted: bool, n: int, *, as_it_is: bool) -> list[pa.ChunkedArray] | None:
    """Return the cells of each column as text, null if empty; None for rows of different lengths.

    None also for input that Arrow accepts silently: blank lines of a single column, and an unclosed quotation.
    """
    has_quotes = quoted and b'"' in content
    if n == 1 or (has_quotes and content.count(b'"') % 2):
        return None
    try:
        table = pv.read_csv(
            pa.BufferReader(content),
            pv.ReadOptions(use_threads=False, block_size=_BLOCK, autogenerate_column_names=True),
            pv.ParseOptions(
                delimiter=separator,
                quote_char='"' if quoted else False,
                newlines_in_values=has_quotes,
            ),
            pv.ConvertOptions(
                column_types={f"f{place}": pa.string() for place in range(n)},
                null_values=[""],
                strings_can_be_null=not as_it_is,
                check_utf8=False,  # as it was decoded
            ),
        )
    except pa.ArrowInvalid:
        return None
    return table.columns if table.num_columns == n else None


def _row_by_row(
    text: str, path: Path, separator: str, quoting: Literal[0, 3], above: int, *, as_it_is: bool
) -> list[pa.ChunkedArray]:
    """Return the cells of rows that may be shorter than the first; a longer one is refused.

    Args:
        above: Number of lines above the text.
    """
    try:
        cells = pd.read_csv(
            io.StringIO(text),
            header=None,
            dtype=object,
            sep=separator,
            keep_default_na=False,
            quoting=quoting,
        )
    except pd.errors.ParserError as error:
        match = re.search(r"Expected (\d+) fields in line \d+, saw (\d+)", str(error))
        if match is None:
            raise
        records = _records(_TEXT_LINE.findall(text), separator, quoting)
        line = above + next(line for line, cells in records if len(cells) > int(match[1]))
        raise DataError(
            f"{path} has {match[2]} values in line {line}, but {match[1]} names in its first line; name every column, "
            "and quote values that contain a separator"
        ) from error
    return [as_arrow(one if as_it_is else one.where(one != "")) for _, one in cells.items()]


def _separator(text: str, quoting: Literal[0, 3]) -> str:
    """Return the separator that splits all of the first lines into equally many values, and the most.

    A comma if there is none, or a tie.
    """
    lines = [line[0] for line in islice(_TEXT_LINE.finditer(text), _LINES_TRIED)]
    counts = {}
    for separator in _SEPARATORS:
        rows = [cells for _, cells in _records(lines, separator, quoting)]
        widths = {len(row) for row in rows[:-1] or rows}  # the last line may be incomplete
        counts[separator] = len(rows[0]) if rows and len(widths) == 1 else 0
    best = max(counts, key=lambda one: counts[one])
    return best if counts[best] > 1 else ","
