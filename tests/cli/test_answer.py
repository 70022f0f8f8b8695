"""Answers as a terminal of any width shows them."""

import pytest

from transferscope.cli.answer import as_text
from transferscope.report.blocks import Cell, Column, Table, Text

SENTENCE = "A sentence of many words, which is longer than the narrowest terminal that anybody has."
ROWS = tuple(
    (Cell(name), Cell("0.12", "± 0.01"), Cell("0.5"), Cell(SENTENCE)) for name in ("resnet18.a1_in1k", "hf:models/vit")
)
TABLE = Table((Column("Network", numeric=False), Column("logme"), Column("knn"), Column("What it says")), ROWS)


@pytest.mark.parametrize("width", [*range(18, 140, 7), None])
def test_no_word_is_broken_and_no_line_too_long(width: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if width is not None:
        monkeypatch.setenv("COLUMNS", str(width))
    shown = as_text([Text(SENTENCE), TABLE])
    words = {word for row in ROWS for cell in row for word in f"{cell.text} {cell.detail}".split()}
    found = set(shown.replace("(", " ").replace(")", " ").replace(":", " ").split())
    assert {part for word in words for part in word.split(":")} <= found
    lines = shown.splitlines()
    if width is None:
        assert lines[0] == SENTENCE
    else:
        assert max(map(len, lines)) <= width
