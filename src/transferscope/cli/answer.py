"""Output of an analysis by a command: progress, the answer as text, figures and tables as files."""

import io
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table as Grid
from rich.text import Text as Words

from transferscope.analyses.result import AnalysisResult
from transferscope.cli.as_json import print_analysis
from transferscope.cli.options import file_in
from transferscope.cli.terminal import say, shown, terminal_width, wrapped
from transferscope.errors import SettingsError
from transferscope.report.blocks import Block, Cell, Figure, Table, Text
from transferscope.report.save import csv_text, file_name, save_figure, write_parquet, write_table, write_text

_REPORTED_EVERY = 0.1  # of all, in a log
_GAP = 2


def as_typed() -> str:
    """Return the command line, ready to copy, without passwords."""
    return shown(shlex.join(["transferscope", *sys.argv[1:]]))


@contextmanager
def counted_progress(doing: str, unit: str, *, hidden: bool = False) -> Iterator[Callable[[float, int], None]]:
    """Show a progress bar with the time left on a terminal, and a line per tenth in a log; yields a function of (done,
    total).
    """
    console = Console(stderr=True, quiet=hidden)
    columns = Progress.get_default_columns()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task, reported = bar.add_task(shown(doing)), 0.0

        def show(done: float, total: int) -> None:
            nonlocal reported
            bar.update(task, completed=done, total=total)
            if not (hidden or console.is_terminal) and total and done / total >= reported + _REPORTED_EVERY:
                reported = done / total
                say(f"{doing[:1].lower()}{doing[1:]}: {round(done, 1):g} of {total} {unit} done", err=True)

        try:
            yield show
        except KeyboardInterrupt:
            say("transferscope: stopped before everything was done", err=True)
            raise typer.Exit(130) from None


def conclude(result: AnalysisResult, out: Path | None, name: str, *, as_json: bool, notes: Sequence[str] = ()) -> None:
    """Print the answer with notes, and write its report into a folder; with --json only --out writes one.

    Args:
        name: Name of the report.
    """

    def page() -> Path:
        return result.report(file_in(out, f"{file_name(name)}.html"), command=as_typed()).html

    if as_json:
        print_analysis(result.kind, result, [] if out is None else [page()])
        return
    say(as_text([Text(str(result.verdict)), *result.shown_tables()]))
    for note in notes:
        say(f"note: {note}")
    say(f"\nReport: {page()}")


def as_text(blocks: Sequence[Block]) -> str:
    """Format paragraphs and tables for the width of the terminal without breaking words; other blocks are left out.

    Without a terminal or COLUMNS, lines have any length.
    """
    width = terminal_width()
    return "\n\n".join(
        wrapped(block.text) if isinstance(block, Text) else _table(block, width)
        for block in blocks
        if isinstance(block, Text | Table)
    )


def _table(table: Table, width: int) -> str:
    """Format columns side by side, wrapped at words, or one paragraph per row if a word does not fit.

    Secondary lines of a cell are in brackets, except in row headings.
    """

    def in_a_line(cell: Cell) -> str:
        return f"{cell.text} ({cell.detail})" if cell.detail else cell.text

    titles = [column.title for column in table.columns]
    rows = [[row[0].text, *map(in_a_line, row[1:])] for row in table.rows]
    columns = [list(column) for column in zip(titles, *rows, strict=True)]
    least = [max(len(word) for text in column for word in ("", *text.split())) for column in columns]
    widths = [max(map(len, column)) for column in columns]
    if sum(least) + _GAP * (len(least) - 1) > width:
        told = (
            [row[0], *(f"  {title}: {text}" for title, text in zip(titles[1:], row[1:], strict=True))] for row in rows
        )
        return "\n".join(wrapped(line) for lines in told for line in lines)
    while sum(widths) + _GAP * (len(widths) - 1) > width:
        widest = max((i for i in range(len(widths)) if widths[i] > least[i]), key=widths.__getitem__)
        widths[widest] -= 1
    grid = Grid(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_edge=False, header_style="")
    for title, fixed in zip(titles, widths, strict=True):
        grid.add_column(Words(title), width=fixed)
    for row in rows:
        grid.add_row(*map(Words, row))
    shown = io.StringIO()
    Console(file=shown, width=max(width, sum(widths) + _GAP * len(widths)), color_system=None).print(grid)
    return "\n".join(line.rstrip() for line in shown.getvalue().splitlines())


def write_table_as(result: AnalysisResult, form: str, out: Path | None) -> None:
    """Print the table of an answer as csv, parquet, latex or markdown, or write it to a folder or file."""
    if form == "parquet" and out is None:
        raise SettingsError("parquet is not text; give a file with --out, as in --out table.parquet")
    ending = {"latex": "tex", "markdown": "md"}.get(form, form)
    file = None if out is None else file_in(out, f"{file_name(result.title)}.{ending}")
    if form == "parquet" and file is not None:
        write_parquet(result.table(), file)
    else:
        as_text = {"latex": result.to_latex, "markdown": result.to_markdown}
        text = as_text[form]() if form in as_text else csv_text(result.table())
        if file is None:
            say(text, nl=False)
        else:
            write_text(file, text)
    if file is not None:
        say(f"written: {file}")


def write_files(
    folder: Path, figures: Mapping[str, Figure], tables: Mapping[str, pd.DataFrame] | None = None
) -> list[Path]:
    """Write figures as SVG and PDF with their numbers as CSV, and tables as CSV, to an existing folder."""
    written: list[Path] = []
    for name, figure in figures.items():
        written += save_figure(figure.canvas, figure.svg, folder, name)
        written.append(folder / f"{name}.csv")
        write_table(figure.data, written[-1])
    for name, table in (tables or {}).items():
        written.append(folder / f"{name}.csv")
        write_table(table, written[-1])
    return written


def in_a_line(files: Sequence[Path]) -> str:
    """Return the files of one folder in a line: the first with its folder, the others by name."""
    first, *others = files
    return ", ".join([str(first), *(path.name for path in others)])
