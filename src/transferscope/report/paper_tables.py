"""A table for a paper (LaTeX with the rules of booktabs) or for a page on GitHub (Markdown)."""

import html
import re

from transferscope.report.blocks import Cell, Table

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "†": r"$^{\dagger}$",
    "‡": r"$^{\ddagger}$",
    "²": "$^{2}$",
    "<": "$<$",
    ">": "$>$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "*": "$^{*}$",
    "×": r"$\times$",
    "“": "``",
    "”": "''",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
_TO_ESCAPE = re.compile("|".join(map(re.escape, _ESCAPED)))
_MARKS_OF_MARKDOWN = re.compile(r"[\\`*_\[\]|#~$!]")


def escaped(text: str) -> str:
    """Escape text for LaTeX and join its lines."""
    return _TO_ESCAPE.sub(lambda matched: _ESCAPED[matched[0]], _in_one_line(text))


def _in_one_line(text: str) -> str:
    return "".join(sign for sign in " ".join(text.split()) if sign.isprintable())


def latex_table(table: Table) -> str:
    """Return the table as LaTeX, for the package booktabs.

    Cells with the tone "best" are set in bold; details stand in brackets; every text is escaped.
    """
    lines = [
        r"\begin{table}",
        r"\centering",
        *([rf"\caption{{{escaped(table.caption)}}}"] if table.caption else []),
        rf"\begin{{tabular}}{{{''.join('r' if column.numeric else 'l' for column in table.columns)}}}",
        r"\toprule",
        _row([escaped(column.title) for column in table.columns]),
        r"\midrule",
        *(_row([_cell(cell) for cell in row]) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _cell(cell: Cell) -> str:
    text = escaped(f"{cell.text} ({cell.detail})" if cell.detail else cell.text)
    return rf"\textbf{{{text}}}" if cell.tone == "best" else text


def _row(cells: list[str]) -> str:
    first, *others = cells
    guarded = f"{{{first}}}" if first.startswith("[") else first  # after \\\\ a bracket would be its argument
    return rf"{' & '.join([guarded, *others])} \\"


def markdown_table(table: Table) -> str:
    """Return the table as GitHub's Markdown, the caption below; best cells bold, details in brackets, all escaped."""
    lines = [
        _markdown_row([_markdown(column.title) for column in table.columns]),
        _markdown_row(["---:" if column.numeric else "---" for column in table.columns]),
        *(_markdown_row([_markdown_cell(cell) for cell in row]) for row in table.rows),
        *(["", _markdown(table.caption)] if table.caption else []),
    ]
    return "\n".join(lines) + "\n"


def _markdown(text: str) -> str:
    return html.escape(_MARKS_OF_MARKDOWN.sub(lambda matched: f"\\{matched[0]}", _in_one_line(text)), quote=False)


def _markdown_cell(cell: Cell) -> str:
    text = _markdown(f"{cell.text} ({cell.detail})" if cell.detail else cell.text)
    return f"**{text}**" if cell.tone == "best" and text else text


def _markdown_row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
