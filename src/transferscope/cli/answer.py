"""How a command shows an analysis: progress while it works, its answer as text, its figures and tables as files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.progress import Progress

from transferscope.report.blocks import Block, Cell, Figure, Table, Text
from transferscope.report.save import save_figure, write_table

_SAID_EVERY = 0.1  # of all, in a log


@contextmanager
def counted_progress(doing: str, unit: str, *, hidden: bool = False) -> Iterator[Callable[[float, int], None]]:
    """A bar with the time left on a terminal, a line for every tenth in a log; yields what takes (done, in all)."""
    console = Console(stderr=True, quiet=hidden)
    columns = Progress.get_default_columns()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task, said = bar.add_task(doing), 0.0

        def show(done: float, total: int) -> None:
            nonlocal said
            bar.update(task, completed=done, total=total)
            if not console.is_terminal and total and done / total >= said + _SAID_EVERY:
                said = done / total
                console.print(f"{doing[:1].lower()}{doing[1:]}: {round(done, 1):g} of {total} {unit} done")

        yield show


def as_text(blocks: Sequence[Block]) -> str:
    """Paragraphs and tables as a terminal shows them; other blocks are left out."""
    texts = [
        block.text if isinstance(block, Text) else _table(block) for block in blocks if isinstance(block, Text | Table)
    ]
    return "\n\n".join(texts)


def _table(table: Table) -> str:
    """Columns in line, quieter lines in brackets but for row headings."""

    def in_a_line(cell: Cell) -> str:
        return f"{cell.text} ({cell.detail})" if cell.detail else cell.text

    rows = [[row[0].text, *map(in_a_line, row[1:])] for row in table.rows]
    lines = [[column.title for column in table.columns], *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def write_files(
    folder: Path, figures: Mapping[str, Figure], tables: Mapping[str, pd.DataFrame] | None = None
) -> list[Path]:
    """Write figures as SVG and PDF with their numbers as CSV, and tables as CSV, into a folder that exists."""
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
    """Files of one folder: the first with its folder, the others by name."""
    first, *others = files
    return ", ".join([str(first), *(path.name for path in others)])
